"""Where finished turns go, and how far a run has come. Knows neither agents nor the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from assay.chat.scoring.answers import Answer
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.chat.running.budget import Shortfall
    from assay.chat.running.streamed_times import StreamedTimes


class Sink(Protocol):
    """Where finished turns go."""

    def keep(self, answer: Answer) -> None:
        """Keep a turn; it must be stored within half a second."""

    def flush(self) -> None:
        """Store every turn that was kept now."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        """Delete the turns of a conversation that is started again."""


class MemorySink:
    """Keeps finished turns in memory, for runs without a store."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def keep(self, answer: Answer) -> None:
        self.answers.append(answer)

    def flush(self) -> None:
        """Nothing to do: memory is all there is."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self.answers = [answer for answer in self.answers if answer.key != (agent, scenario, repetition)]


class AgentsFirst:
    """Keeps turns of baselines back until a turn of an agent in the same scenario is kept.

    A store numbers scenarios as they come. So their numbers follow from the order in which agents play them, whatever
    is scored first.
    """

    def __init__(self, baselines: Collection[str]) -> None:
        self._sink: Sink = MemorySink()
        self._baselines = frozenset(baselines)
        self._known: set[str] = set()
        self._waiting: dict[str, list[Answer]] = {}

    def pass_on_to(self, sink: Sink, known: Iterable[str] = ()) -> None:
        """Where turns go from now on, before any agent plays; `known` are scenarios of which it has turns already."""
        self._sink = sink
        self._known.update(known)

    def keep(self, answer: Answer) -> None:
        scenario = answer.scenario
        if answer.agent in self._baselines and scenario not in self._known:
            self._waiting.setdefault(scenario, []).append(answer)
            return
        self._sink.keep(answer)
        self._known.add(scenario)
        self._release(scenario)

    def flush(self) -> None:
        """Left to the owner of the sink behind: one of agents and baselines may still be played."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self._sink.drop(agent, scenario, repetition)

    def release_all(self) -> None:
        """Keep what still waits: no agent will play these scenarios."""
        for scenario in list(self._waiting):
            self._release(scenario)

    def _release(self, scenario: str) -> None:
        for answer in self._waiting.pop(scenario, ()):
            try:
                self._sink.keep(answer)
            except (TypeError, ValueError) as error:  # as an error of the store: it is not that of the agent's turn
                where = f"{answer.agent}, {scenario}"
                raise AssayError(f"an answer of a baseline cannot be stored: {error}", where=where) from error


@dataclass(slots=True)
class Progress:
    """How far a run has come, in conversations."""

    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Turns by status: scored, skipped, failed."""
    before: int = 0
    """Conversations of a run that is continued which were done before."""
    starting: str = ""
    """The agent that is being started, before the first conversation."""
    agent: str = ""
    scenario: str = ""
    stopped: Shortfall | None = None
    """Why the rest is not played; None if it is."""
    spent: float | None = None
    """US dollars that a run with a budget has spent, with what was played before anything was measured."""
    streamed_times: Mapping[str, StreamedTimes] = field(default_factory=dict)
    """The time to the first text with a model that streams like a real one, by agent, if it was measured."""

    @property
    def is_all_skipped(self) -> bool:
        """Whether no turn of the run was played."""
        return not self.before and bool(self.counts["skipped"]) and self.counts.total() == self.counts["skipped"]
