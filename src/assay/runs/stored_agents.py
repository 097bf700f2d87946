"""The agents of a stored run as they were written.

They may be of a package that is not installed here, so they are read without the checks of agents that are to be run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.chat.running.models import Cell, cell_of
from assay.errors import StoreError
from assay.types import Run


def stored_agents(run: Run) -> list[Mapping[str, Any]]:
    """The specifications of a run's agents, each with a name; raises StoreError if the run does not state them."""
    stated = run.settings.get("agents")
    if not isinstance(stated, list) or not all(map(_is_named, stated)):
        raise StoreError(
            f"the agents of run {run.id} cannot be read: its settings do not list them, each with a name",
            hint="'assay runs verify' tells if the run is damaged",
        )
    return stated


def stored_cells(run: Run) -> dict[str, Cell]:
    """The agents that were played with one of several models, by name; empty if there was one model."""
    found = {agent["name"]: cell_of(agent["name"], agent.get("model")) for agent in stored_agents(run)}
    return {name: cell for name, cell in found.items() if cell is not None}


def _is_named(agent: object) -> bool:
    return isinstance(agent, Mapping) and isinstance(agent.get("name"), str)
