"""As in the quick start of the OpenAI Agents SDK: a triage agent that hands off to an agent with a tool."""

from agents import Agent, function_tool


@function_tool
def get_weather(city: str) -> str:
    """Return the weather for the city."""
    return f"The weather in {city} is sunny"


weather_agent = Agent(
    name="Weather agent", instructions="You answer questions about the weather.", model="gpt-5", tools=[get_weather]
)
