"""As in Google ADK's README: a workflow of two agents, neither of which names a model."""

from google.adk import Agent, Workflow

first = Agent(name="first", instruction="Answer the question.")
second = Agent(name="second", instruction="Say it again in other words.")
root_agent = Workflow(name="root_agent", edges=[("START", first, second)])
