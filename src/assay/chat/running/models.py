"""Models as a factor: every agent that takes the run's model is played with each of several models.

A cell is one agent with one model, under a name of its own, 'google-adk @ gpt-5-mini', like any other agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.chat.agents.function import FunctionAgent
from assay.chat.agents.spec import AgentSpec
from assay.errors import UsageError

ModelChoice = str | Sequence[str] | None
"""The name of a model, several separated by commas or as a list, or None for the scripted one."""

_MARK = " @ "


@dataclass(frozen=True, slots=True)
class Cell:
    """One agent with one model."""

    framework: str
    """The agent's name without the model's."""
    model: str


def chosen_models(choice: ModelChoice) -> tuple[str, ...]:
    """The models of a choice; raises UsageError if one is named twice or not at all."""
    if choice is None:
        return ()
    listed = choice.split(",") if isinstance(choice, str) else choice
    names = tuple(name.strip() for name in listed)
    if not names or not all(names):
        raise UsageError("a model's name is missing", hint="Write --model A, or --model A,B for several")
    if len(set(names)) < len(names):
        raise UsageError(f"a model is named twice in '{', '.join(names)}'", hint="Name each model once")
    return names


def crossed(
    agents: Iterable[AgentSpec | FunctionAgent], models: Sequence[str]
) -> tuple[AgentSpec | FunctionAgent, ...]:
    """Every agent with every model. Agents that have a model of their own are played once, with that."""
    if len(models) < 2:
        return tuple(agents)
    found: list[AgentSpec | FunctionAgent] = []
    for agent in agents:
        if not takes_model(agent):
            found.append(agent)
            continue
        assert isinstance(agent, AgentSpec)
        for model in models:
            name = f"{agent.name}{_suffix(model)}"
            if any(name == other.name for other in found):
                raise UsageError(
                    f"two agents would be called '{name}'", hint="Write NAME=… for models or agents with such names"
                )
            found.append(AgentSpec.model_validate({**agent.to_json(), "name": name, "model": model}))
    return tuple(found)


def takes_model(agent: AgentSpec | FunctionAgent) -> bool:
    """Whether an agent is played with the run's model: a bundled one, or an object of a framework, without its own."""
    if isinstance(agent, FunctionAgent) or agent.model is not None:
        return False
    return agent.agent is not None or agent.object is not None


def cells_of(agents: Iterable[AgentSpec | FunctionAgent]) -> dict[str, Cell]:
    """The agents that are played with a model of their own choice of the run, by name; empty if there is one model."""
    found = {agent.name: cell_of(agent.name, agent.model) for agent in agents if isinstance(agent, AgentSpec)}
    return {name: cell for name, cell in found.items() if cell is not None}


def cell_of(name: str, model: object) -> Cell | None:
    """The cell of an agent with a model, if its name says that it is one."""
    if not isinstance(model, str) or not name.endswith(_suffix(model)):
        return None
    return Cell(name.removesuffix(_suffix(model)), model)


def is_grid(cells: Mapping[str, Cell]) -> bool:
    """Whether every framework was played with every model, and there are several of both."""
    frameworks, models = ({getattr(cell, part) for cell in cells.values()} for part in ("framework", "model"))
    return min(len(frameworks), len(models)) > 1 and len(cells) == len(frameworks) * len(models)


def _suffix(model: str) -> str:
    return _MARK + re.sub(r"[^A-Za-z0-9 ._@+-]", "-", model)
