"""How turns grow with the length of a conversation, as rows of text for the terminal and the page."""

from __future__ import annotations

from assay.chat.scoring.outcomes.growth import growth_of
from assay.chat.scoring.scores import Scores
from assay.types import Estimate

HEADER = ("agent", "tokens per call", "exponent", "own ms", "exponent", "kB per turn", "history")
"""Columns of the table."""
EXPLAINED = (
    "Tokens sent with one model call and the framework's own time, medians of the first and of the last ten turns. An "
    "exponent of 0 means no growth, 1 growth in proportion to the turns before; with its 95 % interval over turns."
)


def growth_rows(scores: Scores) -> list[list[str]]:
    """A row for each agent that had a long conversation."""
    found = [growth for agent in scores.agents if (growth := growth_of(scores.answers, agent)) is not None]
    return [
        [
            one.agent,
            "–" if one.tokens is None else f"{one.tokens[0]:,.0f} → {one.tokens[1]:,.0f}",
            _interval(one.tokens_exponent, 2),
            "–" if one.own is None else f"{1000 * one.own[0]:,.0f} → {1000 * one.own[1]:,.0f}",
            _interval(one.own_exponent, 2),
            _interval(one.memory_kb, 0),
            "never trimmed" if one.trimmed_at is None else f"trimmed from turn {one.trimmed_at}",
        ]
        for one in found
    ]


def _interval(estimate: Estimate | None, digits: int) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    ends = estimate.low, estimate.high
    if ends[0] is None or ends[1] is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"
