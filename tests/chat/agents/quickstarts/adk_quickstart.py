"""As in Google ADK's quick start: a root agent with two tools."""

from google.adk.agents import Agent


def get_weather(city: str) -> dict[str, str]:
    """Retrieves the current weather report for a specified city."""
    if city.lower() == "new york":
        return {"status": "success", "report": "The weather in New York is sunny with a temperature of 25 °C."}
    return {"status": "error", "error_message": f"Weather information for '{city}' is not available."}


def get_current_time(city: str) -> dict[str, str]:
    """Returns the current time in a specified city."""
    return {"status": "success", "report": f"The current time in {city} is 12:00"}


root_agent = Agent(
    name="weather_time_agent",
    model="gemini-2.5-flash",
    description="Agent to answer questions about the time and weather in a city.",
    instruction="You are a helpful agent who can answer user questions about the time and weather in a city.",
    tools=[get_weather, get_current_time],
)
