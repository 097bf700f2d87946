"""A run and its cases. `assay.types` has them too; here they come without NumPy, which a process that only writes them
does not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from assay.types import State


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """The unit that is resampled and paired: an episode, or a scenario."""

    name: str
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One stored evaluation: what is needed to repeat it, and the tallies that scoring produced.

    Estimates are not part of it. They are recomputed from the tallies, so they cannot go stale.
    """

    id: str
    """Unique. Sorted ids are in the order of creation."""
    kind: str
    """'events', 'chat' (scored transcripts), 'experiment' (agents that were run) or 'load' (a load test)."""
    name: str
    """The name its owner gave it; empty if none was given."""
    created: str
    """UTC, ISO 8601."""
    command: str
    """The command line, without secrets."""
    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, int]
    """Versions of the protocols or metrics that scored it, by name."""
    inputs: Mapping[str, Any]
    """What was read, with digests."""
    environment: Mapping[str, str]
    """Package versions, machine, revision."""
    tallies: Mapping[str, Mapping[Case, Mapping[str, State]]]
    """Events: states by protocol and episode. Conversations: distributions of scores by agent, scenario and metric."""
    tags: tuple[str, ...] = ()

    @classmethod
    def unstored(
        cls,
        kind: str,
        *,
        settings: Mapping[str, Any],
        seed: int,
        versions: Mapping[str, int],
        tallies: Mapping[str, Mapping[Case, Mapping[str, State]]],
        inputs: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> Run:
        """A run that is not in any store, with what is needed to compare it."""
        return cls(
            id="",
            kind=kind,
            name=name,
            created="",
            command="",
            settings=settings,
            seed=seed,
            versions=versions,
            inputs=inputs or {},
            environment={},
            tallies=tallies,
        )

    @property
    def half(self) -> Literal["events", "chat"]:
        """Which half of assay it belongs to: runs of one half can be compared."""
        return "events" if self.kind == "events" else "chat"
