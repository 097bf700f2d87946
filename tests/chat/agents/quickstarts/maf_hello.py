"""As in the README of Microsoft Agent Framework: a model from the environment, and a call at import."""

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

agent = Agent(client=OpenAIChatClient(), instructions="Be brief.")
asyncio.run(agent.run("Hello!"))  # type: ignore[arg-type]
