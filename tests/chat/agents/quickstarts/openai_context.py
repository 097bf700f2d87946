"""As in the documentation of the OpenAI Agents SDK: a tool that reads a context, and an agent that is a tool."""

from dataclasses import dataclass

from agents import Agent, RunContextWrapper, function_tool


@dataclass
class User:
    """What the tools know about the user."""

    name: str


@function_tool
async def get_weather(wrapper: RunContextWrapper[User], city: str) -> str:
    """Return the weather for the city."""
    return f"The weather in {city} is sunny, {wrapper.context.name}."


agent = Agent[User](name="Assistant", model="gpt-5", tools=[get_weather])
ADA = User("Ada")
