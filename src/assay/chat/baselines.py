"""Baselines of conversations: agents without any skill, played and scored like agents. They call no model and no tool.

`stock` gives one constant text, which the domain wrote to satisfy as many rules as possible; `echo` repeats the
question. A baseline's score needs no skill, so agents are measured by how far they exceed it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from assay.chat.agents import Agent, AgentKind, Reply, Setup
from assay.chat.domains import Domain

Answering = Callable[[str], str]
"""From a message to the answer, whatever came before."""


def baselines_of(domain: Domain, language: str) -> dict[str, Answering]:
    """The baselines by name, for conversations about a domain."""
    text = domain.stock_text(language)
    return {"stock": lambda message: text, "echo": lambda message: message}


def free_names(baselines: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of baselines that differ from those of the agents: an agent that is called 'echo' keeps its name."""
    agents = set(taken)
    names = []
    for name in baselines:
        while name in agents:
            name = f"{name}-baseline"
        names.append(name)
    return names


def baseline_kinds(domain: Domain, language: str, taken: Iterable[str]) -> Mapping[str, AgentKind]:
    """The baselines as agents, by names other than those in `taken`."""
    found = baselines_of(domain, language)
    return {name: _kind(name, found[of]) for of, name in zip(found, free_names(found, taken), strict=True)}


@dataclass(frozen=True, slots=True)
class _Baseline:
    answering: Answering

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        text = self.answering(message)
        yield text
        yield Reply(text, ())


def _kind(name: str, answering: Answering) -> AgentKind:
    @asynccontextmanager
    async def opened(setup: Setup) -> AsyncIterator[Agent]:
        yield _Baseline(answering)

    # It could have used the setup, so it is checked against the same truth as agents that do.
    return AgentKind(name, name, opened, uses_setup=True)
