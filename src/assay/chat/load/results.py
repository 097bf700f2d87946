"""What a load test measured: steps, the knee, and what stays in memory after sessions are closed.

A step is stored as states of a tally (times, counts, bytes), from which every figure is computed, and as details
(errors with an example, breaches) that are only shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from assay.stats import percentile, slope
from assay.types import Case, Distribution, Estimate, State

KNEE_GAIN = 0.10
"""More users raise throughput by less than this share beyond the knee, while p95 rises by more than this share."""
BUSY = 0.85
"""Share of one core at which the embedded services limit a step. They run in one process."""
MANY = 10
"""From this many users on, an event loop always has something to do."""
EMPTY_ANSWER = "empty answer"
"""The kind of error of a turn that ended without one and without any text."""
_SCALARS = (
    "users", "repetition", "conversations", "finished", "planned_turns", "sessions", "seconds", "cpu_seconds",
    "service_cpu_seconds", "stall", "asked", "recalled", "breach_count", "rss_before", "rss_peak", "rss_open",
    "rss_closed",
)  # fmt: skip
_DETAILS = ("errors", "examples", "breaches")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStep:
    """One step: a number of users at once, played once."""

    users: int
    repetition: int
    conversations: int
    finished: int
    """Conversations that were completed; some may have failed turns."""
    planned_turns: int
    sessions: int
    """Sessions that were opened."""
    seconds: float
    cpu_seconds: float
    """CPU time of the agent's process, all threads."""
    service_cpu_seconds: float
    """CPU time of the process with the model and the weather."""
    stall: float
    """The longest delay of a timer of the event loop, in seconds."""
    asked: int
    """How often a user asked what is known about them."""
    recalled: int
    """How often the answer had both words that this session stated."""
    breach_count: int
    rss_before: int
    rss_peak: int
    rss_open: int
    """Resident bytes with all sessions of the step open, after a collection of garbage."""
    rss_closed: int
    walls: Distribution = field(repr=False)
    """Wall times of the turns that were answered, in ms."""
    own: Distribution = field(repr=False)
    """The framework's own share of them, in ms; empty if there are no spans."""
    errors: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict, repr=False)
    breaches: Sequence[Mapping[str, Any]] = field(default_factory=list, repr=False)

    @classmethod
    def reported(cls, told: Mapping[str, Any]) -> LoadStep:
        """A step from the worker's report."""
        flat = {**told, **{f"rss_{name}": value for name, value in told["rss"].items()}}
        return cls(
            **{name: flat[name] for name in (*_SCALARS, *_DETAILS)},
            walls=Distribution.of(told["walls"]),
            own=Distribution.of(told["own"]),
        )

    @classmethod
    def stored(cls, states: Mapping[str, State], details: Mapping[str, Any]) -> LoadStep:
        """The step that `states` and `details` describe."""
        found = {name: state for name, state in states.items() if isinstance(state, Distribution)}
        scalars = {name: float(found[name].values[0]) for name in _SCALARS}
        whole = {name: value if _is_measured(name) else round(value) for name, value in scalars.items()}
        return cls(
            **whole,  # type: ignore[arg-type]
            **{name: details[name] for name in _DETAILS},
            walls=found["walls"],
            own=found.get("own", Distribution()),
        )

    @property
    def case(self) -> Case:
        """The step's name in a tally: repetitions of one number of users are a stratum."""
        return Case(f"{self.users} users #{self.repetition + 1}", f"{self.users} users")

    @property
    def states(self) -> dict[str, State]:
        """Every number of the step, as a tally keeps it."""
        scalars: dict[str, State] = {name: Distribution.of([float(getattr(self, name))]) for name in _SCALARS}
        return scalars | {"walls": self.walls, "own": self.own}

    @property
    def details(self) -> dict[str, Any]:
        """What is only shown."""
        return {name: getattr(self, name) for name in _DETAILS}

    # --- figures ----------------------------------------------------------------------------------------------------

    @property
    def turns(self) -> int:
        """Turns that were answered."""
        return self.walls.n

    @property
    def is_answered(self) -> bool:
        """Whether any turn was answered with a text. Without an answer, nothing is known about sessions or knee."""
        return self.turns > self.errors.get(EMPTY_ANSWER, 0)

    @property
    def breaches_seen(self) -> float | None:
        """Canaries of other sessions that were seen; None if no turn was answered, so that none could be."""
        return float(self.breach_count) if self.breach_count or self.is_answered else None

    @property
    def throughput(self) -> float | None:
        """Turns answered per second."""
        return self.turns / self.seconds if self.turns and self.seconds else None

    def wall_ms(self, q: float) -> float | None:
        """A percentile of the wall time of a turn."""
        return percentile(self.walls, q)

    def own_ms(self, q: float) -> float | None:
        """A percentile of the framework's own share."""
        return percentile(self.own, q)

    @property
    def cpu_ms(self) -> float | None:
        """CPU time of the agent's process for each turn."""
        return 1000 * self.cpu_seconds / self.turns if self.turns else None

    @property
    def peak_mb(self) -> float:
        """Highest resident memory of the process."""
        return self.rss_peak / 2**20

    @property
    def session_kb(self) -> float | None:
        """Memory that each open session holds."""
        return (self.rss_open - self.rss_before) / 1024 / self.sessions if self.sessions else None

    @property
    def stall_ms(self) -> float:
        return 1000 * self.stall

    @property
    def error_share(self) -> float:
        """Share of the planned turns that were not answered, for whatever reason, or had no text."""
        empty = self.errors.get(EMPTY_ANSWER, 0)
        return (self.planned_turns - self.turns + empty) / self.planned_turns

    @property
    def agent_busy(self) -> float:
        """Share of one core that the agent's process used."""
        return self.cpu_seconds / self.seconds if self.seconds else 0.0

    @property
    def services_busy(self) -> float:
        """Share of one core that the embedded services used."""
        return self.service_cpu_seconds / self.seconds if self.seconds else 0.0


def _is_measured(name: str) -> bool:
    return name in ("seconds", "cpu_seconds", "service_cpu_seconds", "stall")


FIGURES: Mapping[str, tuple[str, str, str]] = {
    "throughput": ("turns answered per second", "turns/s", "higher"),
    "p50_ms": ("median time of a turn", "ms", "lower"),
    "p95_ms": ("95th percentile of a turn", "ms", "lower"),
    "p99_ms": ("99th percentile of a turn", "ms", "lower"),
    "own_p50_ms": ("median of the framework's own share", "ms", "lower"),
    "own_p95_ms": ("95th percentile of its own share", "ms", "lower"),
    "own_p99_ms": ("99th percentile of its own share", "ms", "lower"),
    "cpu_ms": ("CPU time of a turn", "ms", "lower"),
    "peak_mb": ("highest memory of the process", "MB", "lower"),
    "session_kb": ("memory of an open session", "kB", "lower"),
    "stall_ms": ("longest stall of the event loop", "ms", "lower"),
    "error_share": ("share of turns without an answer", "", "lower"),
    "breaches": ("canaries of other sessions that were seen", "", "lower"),
}
"""Figures of a step by name: title, unit, and which direction is better."""


def figure_of(step: LoadStep, name: str) -> float | None:
    """One figure of a step."""
    if name == "breaches":
        return step.breaches_seen
    if name.endswith("_ms") and name[-5:-3].isdigit():
        q = float(name[-5:-3])
        return step.own_ms(q) if name.startswith("own") else step.wall_ms(q)
    found: float | None = getattr(step, name)
    return found


@dataclass(slots=True)
class AgentLoad:
    """All steps of one agent."""

    agent: str
    steps: list[LoadStep] = field(default_factory=list)
    closes: bool = False
    """Whether it can close sessions."""
    idle_bytes: int = 0
    """Resident memory after warming up, before the first step."""
    rounds: list[tuple[int, int, int]] = field(default_factory=list)
    """After each round of closed sessions: how many were closed so far, resident bytes, live blocks of Python."""
    failure: str = ""
    """Why it has no steps, or not all."""

    def at(self, users: int) -> list[LoadStep]:
        """The repetitions of one number of users."""
        return [step for step in self.steps if step.users == users]

    @property
    def users(self) -> list[int]:
        return sorted({step.users for step in self.steps})

    def typical(self, users: int, name: str) -> float | None:
        """A figure of one number of users: the median over repetitions."""
        values = [value for step in self.at(users) if (value := figure_of(step, name)) is not None]
        return median(values) if values else None

    @property
    def answered(self) -> list[int]:
        """Numbers of users at which at least one turn was answered."""
        return [users for users in self.users if any(step.is_answered for step in self.at(users))]

    @property
    def knee(self) -> int | None:
        """The least number of users beyond which more users hardly raise throughput but do raise p95.

        From it to the next step, throughput rises by less than 10 % and the 95th percentile by more than 10 %. None if
        no step is like that.
        """
        for few, many in zip(self.answered, self.answered[1:], strict=False):
            rates = [self.typical(users, "throughput") for users in (few, many)]
            waits = [self.typical(users, "p95_ms") for users in (few, many)]
            if None in rates or None in waits:
                continue
            gain, growth = rates[1] / rates[0] - 1, waits[1] / waits[0] - 1  # type: ignore[operator]
            if gain < KNEE_GAIN < growth:
                return few
        return None

    @property
    def knee_is_unsure(self) -> bool:
        """Whether the knee rests on a step in which something else kept the machine busy."""
        if self.knee is None:
            return False
        following = [users for users in self.answered if users > self.knee]
        return not {self.knee, *following[:1]}.isdisjoint(self.starved)

    @property
    def leak(self) -> Estimate | None:
        """Kilobytes that stay for each closed session: the slope over rounds. None if no sessions were closed.

        The first round is left out: the caches it fills stay for good, but are filled only once.
        """
        later = self.rounds[1:]
        if len(later) < 3:
            return None
        return slope([closed for closed, _, _ in later], [rss / 1024 for _, rss, _ in later])

    @property
    def leaked_blocks(self) -> Estimate | None:
        """Live blocks of Python's allocator that stay for each closed session."""
        later = self.rounds[1:]
        if len(later) < 3:
            return None
        return slope([closed for closed, _, _ in later], [blocks for _, _, blocks in later])

    @property
    def breach_count(self) -> int:
        return sum(step.breach_count for step in self.steps)

    @property
    def starved(self) -> list[int]:
        """Numbers of users at which work was waiting and yet neither the agent nor the services had a core.

        Then something else kept the machine busy, and times are longer than they would be without it.
        """
        return [
            users
            for users in self.users
            if users >= MANY and all(max(step.agent_busy, step.services_busy) < BUSY for step in self.at(users))
        ]

    @property
    def limited_by_services(self) -> list[int]:
        """Numbers of users at which the embedded services were busy nearly all the time."""
        return [users for users in self.users if any(step.services_busy > BUSY for step in self.at(users))]
