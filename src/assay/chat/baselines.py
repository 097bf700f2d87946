"""Baselines of conversations: agents without any skill, played and scored like agents. They call no model and no tool.

`stock` gives one constant text, which the domain wrote to satisfy as many rules as possible; `echo` repeats the
question. A baseline's score needs no skill, so agents are measured by how far they exceed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assay.chat.domains import Domain

Answering = Callable[[str], str]
"""From a message to the answer, whatever came before."""
BASELINES = ("stock", "echo")


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
