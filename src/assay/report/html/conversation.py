"""What pages about conversations share: tables of metrics and repetitions, and an answer with its evidence marked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.metric import Entry, Evidence, signed_points
from assay.chat.scoring.scores import KS, Scores
from assay.chat.transcript import ToolCall
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import table
from assay.report.text import shorten
from assay.types import Estimate

# A page of more answers would be too large to open on a phone; the JSON has them all.
MOST_ANSWERS = 500
# Beyond this, an answer is shown in part: evidence further on is listed, not highlighted.
MOST_CHARACTERS = 20_000
# Beyond this, the calls of a turn are shown in part.
_MOST_CALLS = 20

_NO_MARKS: Mapping[str, str] = MappingProxyType({})

STYLE = Markup("""<style>
.answer { border: 1px solid var(--line); border-radius: 8px; margin: 1rem 0; padding: .2rem 1rem;
  background: var(--panel); }
.answer > summary { cursor: pointer; padding: .5rem 0; font-weight: 550; }
.said { white-space: pre-wrap; max-width: none; line-height: 1.9; padding: .75rem 1rem; background: var(--paper);
  border-left: 3px solid var(--line); }
.said mark { color: inherit; background: color-mix(in srgb, var(--muted) 18%, transparent); border-radius: 3px;
  padding: .05em .1em; }
.said mark.up { background: color-mix(in srgb, var(--good) 24%, transparent); }
.said mark.down { background: color-mix(in srgb, var(--bad) 24%, transparent); }
.said sup { font-size: .68em; color: var(--muted); margin-left: .15em; }
.said sup a { color: inherit; }
.asked { color: var(--muted); white-space: pre-wrap; }
.calls { padding-left: 1.2rem; font-size: .875rem; max-width: none; }
.calls code { overflow-wrap: anywhere; }
.failures { padding-left: 1.2rem; font-size: .875rem; max-width: none; color: var(--bad); }
.failures code { overflow-wrap: anywhere; }
</style>
""")
"""The style of answers; a page that shows answers includes it once."""


def metric_table(scores: Scores, *, marks: Mapping[str, str] = _NO_MARKS) -> Markup:
    """Each agent's mean of each metric. Intervals and counts are below their value, so that the table fits on a phone.

    `marks` are shown beside the names of metrics.
    """
    lines = {(line.agent, line.metric): line.estimate for line in scores.lines()}
    rows: list[list[str]] = [
        [
            element("code", metric.name) + _mark(marks.get(metric.name)) + element("small", metric.asks),
            *(_estimate(lines[agent, metric.name]) for agent in scores.agents),
        ]
        for metric in scores.metrics
    ]
    return table(["metric", *map(isolated, scores.agents)], rows, label="Means of the metrics")


def _mark(mark: str | None) -> Markup:
    hint = "a baseline does as well as the best agent"
    return " " + element("abbr", mark, title=hint, aria_label=hint) if mark else EMPTY


def _estimate(estimate: Estimate) -> Markup:
    counts = element("small", f"{estimate.n} measured, {estimate.n_skipped} not")
    if estimate.value is None:
        return join(["–", counts])
    one = estimate.low is None or estimate.high is None
    ends = "one scenario" if one else f"[{estimate.low:.2f}, {estimate.high:.2f}]"
    return join([f"{estimate.value:.2f}", element("small", ends), counts])


def passes_table(scores: Scores) -> Markup:
    """Each agent's pass^k and pass@k."""
    rows: list[list[str]] = []
    for agent in scores.agents:
        for kind, by_k in scores.passes(agent).items():
            cells = ["–" if (value := by_k[k].value) is None else f"{value:.2f}" for k in KS]
            rows.append([isolated(agent) + f", {kind}", *cells])
    return table(["agent", *(f"k = {k}" for k in KS)], rows, label="pass^k and pass@k")


def outcome(answer: Answer) -> Markup:
    """How an answer ended, in a word."""
    if answer.record is not None and answer.record.outcome is not None:
        ended = answer.record.outcome.replace("_", " ")
        return element("span", ended, class_="good" if answer.passed else "bad")
    if answer.status != "scored":
        return element("span", answer.status, class_="bad" if answer.status == "failed" else "warn")
    return element("span", "passes", class_="good") if answer.passed else element("span", "fails", class_="bad")


def failed(answer: Answer) -> Markup:
    """The checks that an answer failed, each with the reason and the words; empty if it failed none."""
    if not answer.failures:
        return EMPTY
    items = (
        element(
            "li",
            element("code", shorten(one.check)),
            ": ",
            isolated(shorten(one.says)),
            " " + element("q", isolated(shorten(one.words))) if one.words else EMPTY,
        )
        for one in answer.failures
    )
    return element("ul", *items, class_="failures", aria_label="checks that failed")


def left_out(answer: Answer) -> Markup:
    """The expectations that are not checked of the agent, each with the reason; empty if all are."""
    if answer.record is None or not answer.record.not_applicable:
        return EMPTY
    items = (element("li", isolated(shorten(one))) for one in answer.record.not_applicable)
    return details("Expectations that are not checked", element("ul", *items))


def question(answer: Answer) -> Markup:
    """What the user said."""
    return element("p", answer.query[:MOST_CHARACTERS], class_="asked", dir="auto")


def response(answer: Answer, *, anchor: str = "") -> Markup:
    """What the assistant answered, with the words that changed a score highlighted; or why there is no answer.

    With an `anchor`, that of its `evidence`, each number leads to its line there.
    """
    lines = [line for entry in answer.entries.values() for line in entry.evidence]
    shown = highlight(answer.response, lines, anchor=anchor)
    text = element("p", shown, class_="said", dir="auto") if shown else EMPTY
    if answer.record is not None and answer.record.reason:
        text += element("p", answer.record.reason[:MOST_CHARACTERS], class_="note", dir="auto")
    return text


def tool_calls(record: Record | None) -> Markup:
    """The tools that were called; empty if there were none or if that is not known."""
    if record is None or not record.tool_calls:
        return EMPTY
    items = [element("li", _tool_call(call)) for call in record.tool_calls[:_MOST_CALLS]]
    more = len(record.tool_calls) - _MOST_CALLS
    if more > 0:
        items.append(element("li", f"and {more:,} more"))
    return element("ol", *items, class_="calls", aria_label="tool calls")


def _tool_call(call: ToolCall) -> Markup:
    arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
    text = element("code", f"{shorten(call.name)} {shorten(arguments)}")
    if call.duration is not None:
        text += " " + element("span", f"{1000 * call.duration:,.0f}\u00a0ms", class_="muted")
    if call.error is not None:
        text += " " + element("span", "error: ", isolated(shorten(call.error)), class_="bad")
    return text


def evidence(entries: Mapping[str, Entry], *, anchor: str = "") -> Markup:
    """Every metric of an answer with the rules that fired; with an `anchor`, each of them can be linked to."""
    if not entries:
        return EMPTY
    rows: list[list[str]] = []
    number = 0
    for metric, entry in entries.items():
        score = f"{entry.score:.2f}" if entry.measured else "not measured"
        base = f"base {entry.base:g}" if entry.measured else ""
        rows.append([element("strong", metric), base, entry.details, score])
        for line in entry.evidence:
            number += 1
            points = element("span", signed_points(line.points), class_="good" if line.points > 0 else "bad")
            name = join([f"{number} ", element("code", line.id)])
            if anchor:
                link = element("a", str(number), href=f"#{anchor}-{number}")
                name = element("span", link, " ", element("code", line.id), id=f"{anchor}-{number}", data_of=metric)
            rows.append([name, line.words, line.says, points])
    return table(["metric and rule", "words", "why", "points"], rows, numeric=[3])


def highlight(text: str, lines: Sequence[Evidence], *, anchor: str = "") -> Markup:
    """The text with the words of each line of evidence marked and numbered; marks may overlap."""
    text = text[:MOST_CHARACTERS]
    spans: list[tuple[int, int, int, float]] = []
    for number, line in enumerate(lines, 1):
        parts = [(line.start, line.end), *((part["start"], part["end"]) for part in line["also"])]
        spans += [(start, end, number, line.points) for start, end in parts if start < end <= len(text)]
    edges = sorted({0, len(text), *(start for start, *_ in spans), *(end for _, end, *_ in spans)})
    starting: dict[int, list[tuple[int, int, int, float]]] = {}
    for span in spans:
        starting.setdefault(span[0], []).append(span)
    out, active = list[str](), list[tuple[int, int, int, float]]()
    for start, end in itertools.pairwise(edges):
        active = [span for span in active if span[1] > start] + starting.get(start, [])
        piece = text[start:end]
        if not active:
            out.append(piece)
            continue
        total = sum(points for *_, points in active)
        numbers = " ".join(str(number) for number in sorted({number for _, _, number, _ in active})) if anchor else None
        out.append(element("mark", piece, class_="up" if total > 0 else "down" if total < 0 else "", data_n=numbers))
        ended = [str(number) for number in sorted({number for _, stop, number, _ in active if stop == end})]
        if ended and anchor:
            links = (element("a", number, href=f"#{anchor}-{number}") for number in ended)
            out.append(element("sup", join(links, " ")))
        elif ended:
            out.append(element("sup", " ".join(ended)))
    return join(out)
