"""Where finished turns go, and how far a run has come. Knows neither agents nor the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from assay.chat.scoring.answers import Answer

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


@dataclass(slots=True)
class Progress:
    """How far a run has come, in conversations."""

    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Turns by status: scored, skipped, failed."""
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
