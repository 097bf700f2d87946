"""As in Microsoft Agent Framework's quick start: an agent with a function tool, its client set by the environment."""

from random import Random
from typing import Annotated

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from pydantic import Field


def get_weather(location: Annotated[str, Field(description="The location to get the weather for.")]) -> str:
    """Get the weather for a given location."""
    conditions = ["sunny", "cloudy", "rainy", "stormy"]
    return f"The weather in {location} is {Random(location).choice(conditions)} with a high of 25°C."


agent = Agent(
    client=OpenAIChatClient(model="gpt-5"),
    name="WeatherAgent",
    instructions="You are a helpful weather agent.",
    tools=get_weather,
)
