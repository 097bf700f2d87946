"""A user's own agent of Google ADK: every LlmAgent of the process gets the model of the run.

That includes agents that are tools of others, nodes of a workflow, or called by functions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import Workflow

from assay.chat.agents import Setup
from assay.chat.agents._shared.assistant import NAME, openai_client
from assay.chat.agents.google_adk._spans import CountedOnce
from assay.chat.agents.google_adk.assistant import Assistant
from assay.chat.agents.own import cannot_redirect, instances_of

TYPES = (BaseAgent, Workflow, App)
_WITHOUT_MODEL = (SequentialAgent, ParallelAgent, LoopAgent)


@asynccontextmanager
async def open_own(setup: Setup, found: Any) -> AsyncIterator[Assistant]:
    """The user's agent, ready to answer."""
    root = found.root_agent if isinstance(found, App) else found
    async with openai_client(setup, has_own_tools=True) as client:
        model = CountedOnce(model=setup.model, max_tokens=setup.limits.max_tokens, client=client)
        for agent in _tree(root):
            if not isinstance(agent, (LlmAgent, *_WITHOUT_MODEL)):
                raise cannot_redirect(f"'{agent.name}', a {type(agent).__name__},")
        for agent in instances_of(LlmAgent):
            agent.model = model
        part = "agent" if isinstance(root, BaseAgent) else "node"
        given: dict[str, Any] = {"app": found} if isinstance(found, App) else {"app_name": NAME, part: root}
        runner = Runner(**given, session_service=InMemorySessionService(), auto_create_session=True)
        async with runner:
            yield Assistant(runner, setup.limits)


def _tree(part: Any) -> Iterator[BaseAgent]:
    """The agent, its sub-agents, the agents that are its tools, and those that are nodes of a workflow."""
    if isinstance(part, Workflow):
        for node in part.graph.nodes if part.graph is not None else ():
            yield from _tree(node)
    if not isinstance(part, BaseAgent):
        return
    yield part
    for below in part.sub_agents:
        yield from _tree(below)
    for tool in getattr(part, "tools", ()):
        if isinstance(tool, AgentTool):
            yield from _tree(tool.agent)
