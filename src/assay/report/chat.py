"""The HTML page about conversations: the table, and each answer with its evidence highlighted and the points beside it.

All text of users and assistants is untrusted and is escaped; the page has no scripts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from assay.chat.metric import Entry, Evidence, signed
from assay.chat.scoring import KS, Answer, Scores
from assay.errors import UsageError
from assay.report.page import document, escape, table
from assay.types import Estimate

# A page of more answers would be too large to open on a phone; the JSON has them all.
MOST_ANSWERS = 500
# Beyond this, an answer is shown in part: evidence further on is listed, not highlighted.
MOST_CHARACTERS = 20_000

_STYLE = """<style>
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
</style>
"""


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
        _STYLE,
        "<h2>Metrics</h2>",
        _summary(scores),
        "<h2>Repetitions</h2>",
        "<p>pass^k: all of k repetitions of a scenario pass. pass@k: at least one does. Over the scenarios with "
        "at least k repetitions.</p>",
        _passes(scores),
        "<h2>Answers</h2>",
        "<p>Words that moved a score are highlighted; the number beside them is the line of evidence below.</p>",
        note,
        *(_answer(answer) for answer in shown),
    ]
    return document(title="Conversations", lead=f"<p>{lead}</p>", body="\n".join(body))


def _summary(scores: Scores) -> str:
    """Intervals and counts stand below their value, so that it fits on a phone."""
    lines = {(line.agent, line.metric): line.estimate for line in scores.lines()}
    rows = [
        [
            f"<code>{escape(metric.name)}</code><small>{escape(metric.asks)}</small>",
            *(_cell(lines[agent, metric.name]) for agent in scores.agents),
        ]
        for metric in scores.metrics
    ]
    return table(["metric", *map(escape, scores.agents)], rows)


def _cell(estimate: Estimate) -> str:
    counts = f"{estimate.n} measured, {estimate.n_skipped} not"
    if estimate.value is None:
        return f"–<small>{counts}</small>"
    one = estimate.low is None or estimate.high is None
    ends = "one scenario" if one else f"[{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.value:.2f}<small>{ends}</small><small>{counts}</small>"


def _passes(scores: Scores) -> str:
    rows = []
    for agent in scores.agents:
        for name, by_k in scores.passes(agent).items():
            cells = ["–" if (value := by_k[k].value) is None else f"{value:.2f}" for k in KS]
            rows.append([f"{escape(agent)}, {name}", *cells])
    return table(["agent", *(f"k = {k}" for k in KS)], rows)


def _answer(answer: Answer) -> str:
    lines = [(name, line) for name, entry in answer.entries.items() for line in entry.evidence]
    title = f"{answer.agent} · {answer.scenario} · turn {answer.turn + 1}"
    if answer.repetition:
        title += f" · repetition {answer.repetition}"
    verdict = '<span class="good">passes</span>' if answer.passed else '<span class="bad">fails</span>'
    return (
        f'<details class="answer"><summary>{escape(title)} {verdict}</summary>\n'
        f'<p class="asked" dir="auto">{escape(answer.query)}</p>\n'
        f'<p class="said" dir="auto">{highlight(answer.response, [line for _, line in lines])}</p>\n'
        f"{_evidence(answer.entries, lines)}</details>"
    )


def _evidence(entries: dict[str, Entry], lines: Sequence[tuple[str, Evidence]]) -> str:
    rows = []
    number = 0
    for name, entry in entries.items():
        score = f"{entry.score:.2f}" if entry.measured else "not measured"
        base = f"base {entry.base:g}" if entry.measured else ""
        rows.append([f"<strong>{escape(name)}</strong>", base, escape(entry.details), score])
        for line in entry.evidence:
            number += 1
            kind = "good" if line.points > 0 else "bad"
            points = f'<span class="{kind}">{signed(line.points)}</span>'
            rows.append([f"{number} <code>{escape(line.id)}</code>", escape(line.words), escape(line.says), points])
    return table(["metric and rule", "words", "why", "points"], rows, numeric=[3])


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
