"""How a turn grows with the length of its conversation: tokens sent, the framework's own time, memory.

Growth is an exponent: 0 does not grow, 1 grows in proportion to the number of turns. It is the slope of a line through
the logarithms, over the later turns of conversations that are long enough.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.chat.scoring.answers import LONG_CONVERSATION, Answer, Record
from assay.stats import slope
from assay.types import Estimate

FEWEST_TURNS = LONG_CONVERSATION
"""Shorter conversations say nothing about growth."""
# The first turns differ in what they do rather than in what they carry.
_LEFT_OUT = 5
# A model call that carries less than this share of what the most before it carried has lost a part of the history.
_TRIMMED = 0.7


@dataclass(frozen=True, slots=True)
class Growth:
    """One agent in its long conversations."""

    agent: str
    turns: int
    """Turns of the longest conversation."""
    tokens: tuple[float, float] | None
    """Tokens sent with one model call: median of the first ten turns and of the last ten."""
    tokens_exponent: Estimate | None
    own: tuple[float, float] | None
    """The framework's own time, in seconds, likewise."""
    own_exponent: Estimate | None
    memory_kb: Estimate | None
    """Kilobytes that the process grows with each turn."""
    trimmed_at: int | None
    """The turn, counted from 1, at which the history first became shorter; None if it never did."""

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "turns": self.turns,
            "tokens_a_call": self.tokens,
            "tokens_exponent": _ends(self.tokens_exponent),
            "own_seconds": self.own,
            "own_exponent": _ends(self.own_exponent),
            "memory_kb_a_turn": _ends(self.memory_kb),
            "trimmed_at": self.trimmed_at,
        }


def growth_of(answers: Iterable[Answer], agent: str) -> Growth | None:
    """How an agent's turns grow; None if it had no long conversation."""
    conversations: dict[tuple[str, int], list[tuple[int, Record]]] = defaultdict(list)
    for answer in answers:
        if answer.agent == agent and answer.record is not None and answer.record.status == "scored":
            conversations[answer.scenario, answer.repetition].append((answer.turn + 1, answer.record))
    long = [sorted(turns, key=lambda one: one[0]) for turns in conversations.values() if len(turns) >= FEWEST_TURNS]
    if not long:
        return None
    tokens = [_points(turns, _tokens_a_call) for turns in long]
    own = [_points(turns, lambda record: record.overhead) for turns in long]
    memory = [point for turns in long for point in _points(turns, lambda record: record.memory)[_LEFT_OUT:]]
    trimmed = [at for points in tokens if (at := _first_trimmed(points)) is not None]
    return Growth(
        agent,
        max(len(turns) for turns in long),
        _first_and_last(tokens),
        _exponent(tokens),
        _first_and_last(own),
        _exponent(own),
        slope([at for at, _ in memory], [value / 1024 for _, value in memory]) if len(memory) > 2 else None,
        min(trimmed, default=None),
    )


def _tokens_a_call(record: Record) -> float | None:
    if not record.input_tokens or not record.model_calls:
        return None
    return record.input_tokens / record.model_calls


def _points(turns: Sequence[tuple[int, Record]], value: Any) -> list[tuple[int, float]]:
    return [(at, float(found)) for at, record in turns if (found := value(record))]


def _first_and_last(conversations: Sequence[Sequence[tuple[int, float]]]) -> tuple[float, float] | None:
    first = [value for points in conversations for _, value in points[:10]]
    last = [value for points in conversations for _, value in points[-10:]]
    return (median(first), median(last)) if first and last else None


def _exponent(conversations: Sequence[Sequence[tuple[int, float]]]) -> Estimate | None:
    points = [point for one in conversations for point in one[_LEFT_OUT:]]
    if len(points) < FEWEST_TURNS - _LEFT_OUT:
        return None
    return slope([math.log(at) for at, _ in points], [math.log(value) for _, value in points])


def _first_trimmed(points: Sequence[tuple[int, float]]) -> int | None:
    highest = 0.0
    for at, value in points:
        if value < _TRIMMED * highest:
            return at
        highest = max(highest, value)
    return None


def _ends(estimate: Estimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else estimate.ends_json()
