"""As in Google ADK's guides: a tool with a report as its result, and an agent with an output schema and that tool."""

from google.adk.agents import Agent
from pydantic import BaseModel


class Report(BaseModel):
    """The structured answer."""

    summary: str


def get_weather(city: str) -> dict[str, str]:
    """Retrieves the current weather report for a specified city."""
    return {"status": "success", "report": f"It is sunny in {city} with a temperature of 25 °C."}


plain = Agent(name="plain", model="gemini-2.5-flash", instruction="You tell the weather.", tools=[get_weather])
structured = Agent(
    name="structured",
    model="gemini-2.5-flash",
    instruction="You tell the weather.",
    tools=[get_weather],
    output_schema=Report,
)
