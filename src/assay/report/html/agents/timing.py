"""Where each agent's time and tokens go, and whether its framework counts as the spans do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.chat.scoring.scores import Scores
from assay.report.facts import PARTS, Accounts, Times, accounts, times
from assay.report.html.chat import name
from assay.report.html.figures import Figures
from assay.report.html.page import escape, table
from assay.types import Estimate

# More turns than this whose accounts disagree tell a reader nothing more.
_MOST_LISTED = 20


def timing(scores: Scores, figures: Figures) -> str:
    """The section; nothing where nothing was timed."""
    found = [times(scores, agent) for agent in scores.agents]
    if not any(one.turns for one in found):
        return ""
    return (
        "<p>Over the turns that were scored, faults included. Model time is that in which at least one call of the "
        "model was under way; tool time that in which a tool was at work and no such call; the framework's own is the "
        "rest of the wall time.</p>"
        + '<div class="figures">'
        + figures.add("time_split", rows=_split(found))
        + figures.add("waiting_times", rows=_waiting(found))
        + figures.add("framework_overhead", rows=_overheads(found))
        + "</div>"
        + _times_table(found)
        + _accounts([accounts(scores, agent) for agent in scores.agents])
    )


def _split(found: Sequence[Times]) -> list[dict[str, Any]]:
    return [
        {"model": one.agent, "part": part, "ms": 1000 * one.typical[part]}
        for one in found
        for part in PARTS
        if part in one.typical
    ]


def _waiting(found: Sequence[Times]) -> list[dict[str, Any]]:
    return [
        {
            "model": one.agent,
            "first_text_ms": None if one.first_text is None else 1000 * one.first_text[0],
            "p50_ms": 1000 * one.wall[0],
            "p95_ms": 1000 * one.wall[1],
        }
        for one in found
        if one.wall is not None
    ]


def _overheads(found: Sequence[Times]) -> list[dict[str, Any]]:
    return [
        {
            "model": one.agent,
            "value": 1000 * one.overhead.value,
            "low": None if one.overhead.low is None else 1000 * one.overhead.low,
            "high": None if one.overhead.high is None else 1000 * one.overhead.high,
            "turns": one.overhead.n,
        }
        for one in found
        if one.overhead.value is not None
    ]


def _times_table(found: Sequence[Times]) -> str:
    def row(title: str, hint: str, cells: Sequence[str]) -> list[str]:
        return [f"{title}<small>{hint}</small>" if hint else title, *cells]

    rows = [
        row("turns", "scored and timed", [f"{one.turns:,}" for one in found]),
        row("wall time", "median; p95", [_two(one.wall) for one in found]),
        row("to the first text", "median; p95", [_two(one.first_text) for one in found]),
        *(row(part, "median", [ms(one.parts.get(part)) for one in found]) for part in PARTS[:2]),
        row("framework overhead", "median, 95 % interval", [overhead_words(one.overhead) for one in found]),
        row("model calls", "a turn, mean", [_mean(one.model_calls) for one in found]),
        row("tool calls", "a turn, mean", [_mean(one.tool_calls) for one in found]),
        row("tokens in", "a turn, mean", [_count(one.input_tokens) for one in found]),
        row("tokens out", "a turn, mean", [_count(one.output_tokens) for one in found]),
    ]
    return table(["", *(name(one.agent) for one in found)], rows, label="Time and tokens of a turn")


def ms(seconds: float | None) -> str:
    """A time in milliseconds."""
    if seconds is None:
        return "–"
    value = 1000 * seconds
    # A number and its unit stay on one line.
    return f"{value:.1f}\u00a0ms" if value < 10 else f"{value:,.0f}\u00a0ms"


def _two(pair: tuple[float, float] | None) -> str:
    return "–" if pair is None else f"{ms(pair[0])}<small>{ms(pair[1])}</small>"


def overhead_words(estimate: Estimate) -> str:
    """The framework's own time with its interval."""
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return ms(estimate.value)
    return f"{ms(estimate.value)}<small>[{ms(estimate.low)}, {ms(estimate.high)}]</small>"


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _accounts(found: Sequence[Accounts]) -> str:
    rows = [
        ["tool calls", *(_of(one.tool_calls) for one in found)],
        ["tokens", *(_of(one.tokens) for one in found)],
    ]
    listed = [(one.agent, answer, what) for one in found for answer, what in one.differing]
    text = (
        "<h3>Do the frameworks count as the spans do?</h3>"
        "<p>Turns in which the framework's own count differs from that of the spans, of all in which it gave one.</p>"
        + table(["disagree", *(name(one.agent) for one in found)], rows, label="Counts that disagree")
    )
    if listed:
        items = "".join(
            f"<li>{name(agent)} in {name(answer.scenario)}, repetition {answer.repetition + 1}, "
            f"turn {answer.turn + 1}: {escape(what)}</li>"
            for agent, answer, what in listed[:_MOST_LISTED]
        )
        more = f"<li>and {len(listed) - _MOST_LISTED:,} more</li>" if len(listed) > _MOST_LISTED else ""
        text += f"<details><summary>Which turns</summary><ul>{items}{more}</ul></details>"
    return text


def _of(pair: tuple[int, int]) -> str:
    return f"{pair[0]:,} of {pair[1]:,}" if pair[1] else "gives none"
