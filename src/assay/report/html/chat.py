"""The HTML page about conversations: the table, and each answer with its evidence highlighted and the points beside it.

All text of users and assistants is untrusted and is escaped; the page has no scripts.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.metric import Entry, Evidence, signed
from assay.chat.scoring.scores import KS, Scores
from assay.chat.transcript import ToolCall
from assay.errors import UsageError
from assay.report.html.page import document, escape, table
from assay.types import Estimate

# A page of more answers would be too large to open on a phone; the JSON has them all.
MOST_ANSWERS = 500
# Beyond this, an answer is shown in part: evidence further on is listed, not highlighted.
MOST_CHARACTERS = 20_000
# Beyond these, the calls of a turn and the arguments of a call are shown in part.
_MOST_CALLS = 20
_MOST_OF_A_CALL = 300

STYLE = """<style>
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
.asked { color: var(--muted); white-space: pre-wrap; }
.calls { padding-left: 1.2rem; font-size: .875rem; max-width: none; }
.calls code { overflow-wrap: anywhere; }
</style>
"""
"""How answers look; a page that shows some has it once."""


def write(scores: Scores, path: str | Path) -> Path:
    """Write the page."""
    target = Path(path)
    try:
        target.write_bytes(render(scores).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"the report cannot be written: {error.strerror}", where=str(target)) from error
    return target


def render(scores: Scores) -> str:
    """The page as text."""
    scenarios = len({answer.scenario for answer in scores.answers})
    lead = (
        f"{len(scores.answers):,} answers of {len(scores.agents)} agents in {scenarios:,} scenarios. Intervals are "
        f"95 % by bootstrap over scenarios, seed {scores.seed}. What could not be measured enters no mean."
    )
    shown = scores.answers[:MOST_ANSWERS]
    more = len(scores.answers) - len(shown)
    note = f'<p class="note">{more:,} further answers are left out here; the JSON has them.</p>' if more else ""
    body = [
        STYLE,
        "<h2>Metrics</h2>",
        metric_table(scores),
        "<h2>Repetitions</h2>",
        "<p>pass^k: all of k repetitions of a scenario pass. pass@k: at least one does. Over the scenarios with "
        "at least k repetitions.</p>",
        passes_table(scores),
        "<h2>Answers</h2>",
        "<p>Words that moved a score are highlighted; the number beside them is the line of evidence below.</p>",
        note,
        *(_answer(answer) for answer in shown),
    ]
    return document(title="Conversations", lead=f"<p>{lead}</p>", body="\n".join(body))


def metric_table(scores: Scores) -> str:
    """Each agent's mean of each metric. Intervals and counts stand below their value, so that it fits on a phone."""
    lines = {(line.agent, line.metric): line.estimate for line in scores.lines()}
    rows = [
        [
            f"<code>{escape(metric.name)}</code><small>{escape(metric.asks)}</small>",
            *(_cell(lines[agent, metric.name]) for agent in scores.agents),
        ]
        for metric in scores.metrics
    ]
    return table(["metric", *map(name, scores.agents)], rows, label="Means of the metrics")


def _cell(estimate: Estimate) -> str:
    counts = f"{estimate.n} measured, {estimate.n_skipped} not"
    if estimate.value is None:
        return f"–<small>{counts}</small>"
    one = estimate.low is None or estimate.high is None
    ends = "one scenario" if one else f"[{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.value:.2f}<small>{ends}</small><small>{counts}</small>"


def passes_table(scores: Scores) -> str:
    """Each agent's pass^k and pass@k."""
    rows = []
    for agent in scores.agents:
        for kind, by_k in scores.passes(agent).items():
            cells = ["–" if (value := by_k[k].value) is None else f"{value:.2f}" for k in KS]
            rows.append([f"{name(agent)}, {kind}", *cells])
    return table(["agent", *(f"k = {k}" for k in KS)], rows, label="pass^k and pass@k")


def _answer(answer: Answer) -> str:
    title = f"{answer.agent} · {answer.scenario} · turn {answer.turn + 1}"
    if answer.repetition:
        title += f" · repetition {answer.repetition}"
    return (
        f'<details class="answer"><summary>{name(title)} {verdict(answer)}</summary>\n'
        f"{asked(answer)}{said(answer)}{calls(answer.record)}{evidence(answer.entries)}</details>"
    )


def verdict(answer: Answer) -> str:
    """How an answer ended, in a word."""
    status = "scored" if answer.record is None else answer.record.status
    if status == "scored":
        return '<span class="good">passes</span>' if answer.passed else '<span class="bad">fails</span>'
    return f'<span class="{"bad" if status == "failed" else "warn"}">{status}</span>'


def asked(answer: Answer) -> str:
    """What the user said."""
    return f'<p class="asked" dir="auto">{escape(answer.query[:MOST_CHARACTERS])}</p>\n'


def said(answer: Answer) -> str:
    """What the assistant answered, with what moved a score highlighted; or why there is no answer."""
    shown = highlight(answer.response, [line for entry in answer.entries.values() for line in entry.evidence])
    text = f'<p class="said" dir="auto">{shown}</p>\n' if shown else ""
    if answer.record is not None and answer.record.reason:
        text += f'<p class="note" dir="auto">{escape(answer.record.reason[:MOST_CHARACTERS])}</p>\n'
    return text


def calls(record: Record | None) -> str:
    """The tools that were called; nothing where none was, or where it is not known."""
    if record is None or not record.tool_calls:
        return ""
    items = "".join(f"<li>{_call(call)}</li>" for call in record.tool_calls[:_MOST_CALLS])
    more = len(record.tool_calls) - _MOST_CALLS
    left = f"<li>and {more:,} more</li>" if more > 0 else ""
    return f'<ol class="calls" aria-label="tool calls">{items}{left}</ol>\n'


def _call(call: ToolCall) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
    text = f"<code>{escape(short(call.name))} {escape(short(arguments))}</code>"
    if call.duration is not None:
        text += f' <span class="muted">{1000 * call.duration:,.0f}\u00a0ms</span>'
    if call.error is not None:
        text += f' <span class="bad">error: <bdi>{escape(short(call.error))}</bdi></span>'
    return text


def evidence(entries: Mapping[str, Entry]) -> str:
    """Every metric of an answer with the rules that fired."""
    if not entries:
        return ""
    rows = []
    number = 0
    for metric, entry in entries.items():
        score = f"{entry.score:.2f}" if entry.measured else "not measured"
        base = f"base {entry.base:g}" if entry.measured else ""
        rows.append([f"<strong>{escape(metric)}</strong>", base, escape(entry.details), score])
        for line in entry.evidence:
            number += 1
            kind = "good" if line.points > 0 else "bad"
            points = f'<span class="{kind}">{signed(line.points)}</span>'
            rows.append([f"{number} <code>{escape(line.id)}</code>", escape(line.words), escape(line.says), points])
    return table(["metric and rule", "words", "why", "points"], rows, numeric=[3])


def name(text: str) -> str:
    """A name that others chose, whose direction of writing does not spread to what stands beside it."""
    return f"<bdi>{escape(text)}</bdi>"


def short(text: str, most: int = _MOST_OF_A_CALL) -> str:
    """A text, or its beginning where it is long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def highlight(text: str, lines: Sequence[Evidence]) -> str:
    """The text, escaped, with the words of each line marked and numbered; marks may overlap."""
    text = text[:MOST_CHARACTERS]
    spans: list[tuple[int, int, int, float]] = []
    for number, line in enumerate(lines, 1):
        parts = [(line.start, line.end), *((part["start"], part["end"]) for part in line["also"])]
        spans += [(start, end, number, line.points) for start, end in parts if start < end <= len(text)]
    edges = sorted({0, len(text), *(start for start, *_ in spans), *(end for _, end, *_ in spans)})
    starting: dict[int, list[tuple[int, int, int, float]]] = {}
    for span in spans:
        starting.setdefault(span[0], []).append(span)
    out, active = [], list[tuple[int, int, int, float]]()
    for start, end in itertools.pairwise(edges):
        active = [span for span in active if span[1] > start] + starting.get(start, [])
        piece = escape(text[start:end])
        if active:
            total = sum(points for *_, points in active)
            kind = "up" if total > 0 else "down" if total < 0 else ""
            ended = sorted({number for _, stop, number, _ in active if stop == end})
            marks = f"<sup>{' '.join(map(str, ended))}</sup>" if ended else ""
            piece = f'<mark class="{kind}">{piece}</mark>{marks}'
        out.append(piece)
    return "".join(out)


def page(scores: Scores) -> str:
    """The page about scored conversations."""
    return render(scores)
