"""As in LangChain's quick start: an agent whose tools read a context, and whose answer is structured."""

from dataclasses import dataclass

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime, tool


@dataclass
class Context:
    """What is known about the user."""

    user_id: str


@dataclass
class Spoken:
    """The answer."""

    text: str


@tool
def get_weather(city: str, runtime: ToolRuntime[Context]) -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city}, {runtime.context.user_id}."


agent = create_agent("openai:gpt-5", [get_weather], context_schema=Context, response_format=ToolStrategy(Spoken))


async def context(user: str) -> Context:
    return Context(user.title())
