"""The section on times and tokens, and on whether a framework counts the same calls as the spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.chat.scoring.scores import Scores
from assay.report.facts import PARTS, Accounts, TimeFacts, accounts, time_facts
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.figures import Figures
from assay.report.html.page import table
from assay.types import Estimate

# A longer list of turns whose accounts disagree would not tell a reader more.
_MOST_LISTED = 20


def timing_section(scores: Scores, figures: Figures) -> Markup:
    """The section; empty if nothing was timed."""
    found = [time_facts(scores, agent) for agent in scores.agents]
    if not any(one.turns for one in found):
        return EMPTY
    explained = (
        "Over the turns that were scored, faults included. Model time is the time with at least one model call in "
        "progress; tool time is the time with a tool running and no such call; the framework's own time is the rest "
        "of the wall time."
    )
    charts = element(
        "div",
        figures.add("time_split", rows=_split(found)),
        figures.add("waiting_times", rows=_waiting(found)),
        figures.add("framework_overhead", rows=_overheads(found)),
        class_="figures",
    )
    own = _accounts([accounts(scores, agent) for agent in scores.agents])
    return element("p", explained) + charts + _times_table(found) + own


def _split(found: Sequence[TimeFacts]) -> list[dict[str, Any]]:
    return [
        {"model": one.agent, "part": part, "ms": 1000 * one.typical[part]}
        for one in found
        for part in PARTS
        if part in one.typical
    ]


def _waiting(found: Sequence[TimeFacts]) -> list[dict[str, Any]]:
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


def _overheads(found: Sequence[TimeFacts]) -> list[dict[str, Any]]:
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


def _times_table(found: Sequence[TimeFacts]) -> Markup:
    def row(title: str, hint: str, cells: Sequence[str]) -> list[str]:
        return [join([title, element("small", hint)]), *cells]

    rows = [
        row("turns", "scored and timed", [f"{one.turns:,}" for one in found]),
        row("wall time", "median; p95", [_two(one.wall) for one in found]),
        row("to the first text", "median; p95", [_two(one.first_text) for one in found]),
        *(row(part, "median", [ms(one.parts.get(part)) for one in found]) for part in PARTS[:2]),
        row("framework overhead", "median, 95 % interval", [overhead_words(one.overhead) for one in found]),
        row("model calls", "per turn, mean", [_mean(one.model_calls) for one in found]),
        row("tool calls", "per turn, mean", [_mean(one.tool_calls) for one in found]),
        row("tokens in", "per turn, mean", [_count(one.input_tokens) for one in found]),
        row("tokens out", "per turn, mean", [_count(one.output_tokens) for one in found]),
    ]
    if any(one.broken_streams for one in found):
        rows.append(row("streams that broke off", "turns", [f"{one.broken_streams:,}" for one in found]))
    return table(["figure", *(isolated(one.agent) for one in found)], rows, label="Time and tokens of a turn")


def ms(seconds: float | None) -> str:
    """A time in milliseconds."""
    if seconds is None:
        return "–"
    value = 1000 * seconds
    # A number and its unit stay on one line.
    return f"{value:.1f}\u00a0ms" if value < 10 else f"{value:,.0f}\u00a0ms"


def _two(pair: tuple[float, float] | None) -> Markup:
    return join(["–"] if pair is None else [ms(pair[0]), element("small", ms(pair[1]))])


def overhead_words(estimate: Estimate) -> Markup:
    """The framework's own time with its interval."""
    value = join([ms(estimate.value)])
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return value
    return value + element("small", f"[{ms(estimate.low)}, {ms(estimate.high)}]")


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _accounts(found: Sequence[Accounts]) -> Markup:
    rows = [
        ["tool calls", *(_of(one.tool_calls) for one in found)],
        ["tokens", *(_of(one.tokens) for one in found)],
        ["tokens on the wire", *(_of(one.wire) for one in found)],
    ]
    explained = (
        "Turns in which the framework's own count differs from that of the spans, of all in which it gave one; on the "
        "wire: in which the spans differ from what the model's responses themselves report."
    )
    text = join(
        [
            element("h3", "Do the frameworks' counts agree with the spans?"),
            element("p", explained),
            table(["disagree", *(isolated(one.agent) for one in found)], rows, label="Counts that disagree"),
        ]
    )
    listed = [(one.agent, answer, what) for one in found for answer, what in one.differing]
    if listed:
        items = [
            element(
                "li",
                *(isolated(agent), " in ", isolated(answer.scenario)),
                f", repetition {answer.repetition + 1}, turn {answer.turn + 1}: {what}",
            )
            for agent, answer, what in listed[:_MOST_LISTED]
        ]
        if len(listed) > _MOST_LISTED:
            items.append(element("li", f"and {len(listed) - _MOST_LISTED:,} more"))
        text += details("Which turns", element("ul", *items))
    return text


def _of(pair: tuple[int, int]) -> str:
    return f"{pair[0]:,} of {pair[1]:,}" if pair[1] else "gives none"
