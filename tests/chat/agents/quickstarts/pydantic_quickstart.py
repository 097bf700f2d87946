"""As in Pydantic AI's quick start: an agent from a model's name, with a tool."""

from pydantic_ai import Agent

agent = Agent("openai:gpt-5", instructions="Be concise, reply with one sentence.", defer_model_check=True)


@agent.tool_plain
def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city}."
