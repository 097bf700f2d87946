"""As in Pydantic AI's guides to function tools and to output: a tool with a default, and an answer given to a tool."""

from pydantic import BaseModel
from pydantic_ai import Agent


class Report(BaseModel):
    """The structured answer."""

    summary: str


agent = Agent("openai:gpt-5", defer_model_check=True)
structured = Agent("openai:gpt-5", output_type=Report, defer_model_check=True)


@agent.tool_plain
@structured.tool_plain
def get_weather(city: str = "Berlin") -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city}, {10 + len(city)} °C."
