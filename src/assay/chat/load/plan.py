"""The plan of a load test: steps of more and more users, and how many conversations each step has.

The work of a step is fixed by the plan, so that two agents, and two runs, do the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.errors import UsageError

MOST_USERS = 1000
MOST_TURNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """Which steps are played, and their limits."""

    users: tuple[int, ...] = (1, 10, 50, 200)
    """Users at the same time, one number for each step."""
    turns: int = 4
    """Turns of each conversation."""
    repeat: int = 1
    """How often each step is played. An interval of a figure needs at least two."""
    least_turns: int = 200
    """A step with few users has several conversations for each user, one after another, up to this many turns."""
    seed: int = 42
    turn_timeout: float = 120.0
    """Seconds that a turn may take."""
    step_timeout: float = 600.0
    """Seconds that a step may take; conversations that are not finished by then are stopped and counted."""
    leak_sessions: int = 160
    """Sessions that are opened and closed before the steps, to see what stays in memory; 0 to leave this out."""

    def __post_init__(self) -> None:
        if not self.users or any(not 1 <= users <= MOST_USERS for users in self.users):
            raise UsageError(
                f"users must be numbers from 1 to {MOST_USERS}, got {', '.join(map(str, self.users)) or 'none'}",
                hint="Write them like 1,10,50,200",
            )
        if list(self.users) != sorted(set(self.users)):
            raise UsageError("users must be different numbers in ascending order", hint="Write them like 1,10,50,200")
        if not 3 <= self.turns <= MOST_TURNS:
            raise UsageError(
                f"turns must be between 3 and {MOST_TURNS}, got {self.turns}",
                hint="A user states something, asks for the weather, and asks what is known about them",
            )
        if self.repeat < 1:
            raise UsageError(f"repeat must be at least 1, got {self.repeat}")

    def steps(self) -> Iterator[PlannedStep]:
        """Every step, in the order in which they are played."""
        for repetition in range(self.repeat):
            for users in self.users:
                each = -(-self.least_turns // (users * self.turns))
                yield PlannedStep(users, repetition, max(1, each))

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self) | {"users": list(self.users)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LoadPlan:
        """The plan that `to_json` wrote."""
        return cls(**{**data, "users": tuple(data["users"])})


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step: a number of users, each with a number of conversations one after another."""

    users: int
    repetition: int
    each: int
    """Conversations of each user."""

    @property
    def conversations(self) -> int:
        return self.users * self.each

    def sessions_of(self, user: int) -> list[str]:
        """Names of the sessions of one user, counted from 0."""
        return [f"load-{self.users}-{self.repetition}-{user}-{at}" for at in range(self.each)]
