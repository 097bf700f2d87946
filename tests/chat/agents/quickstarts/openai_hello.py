"""As in the README of the OpenAI Agents SDK: an agent that is run when the module is imported."""

from agents import Agent, Runner

agent = Agent(name="Assistant", instructions="You are a helpful assistant")
result = Runner.run_sync(agent, "Hello!")
