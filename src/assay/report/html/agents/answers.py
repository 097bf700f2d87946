"""Answers with their evidence, scenario by scenario, the agents beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.scores import Scores
from assay.report.facts import Row
from assay.report.html.agents.cells import anchor_of, state_mark, state_words
from assay.report.html.agents.timing import ms
from assay.report.html.chat import MOST_ANSWERS, asked, calls, evidence, name, said, verdict
from assay.report.html.page import escape

Trial = tuple[Answer, ...]


def answers(scores: Scores, rows: Sequence[Row]) -> tuple[str, set[str]]:
    """The section, and the anchors in it, one for each agent and scenario that is shown."""
    trials = _trials(scores)
    ordered = sorted(rows, key=lambda row: not row.differs)
    chosen = _chosen(trials, ordered, scores.agents)
    number = sum(len(trial) for of_cell in chosen.values() for trial in of_cell)
    left = len(scores.answers) - number
    note = (
        f'<p class="note">{left:,} further answers are left out here; the JSON has them. Of every scenario and agent '
        "there is one repetition first, one that does not pass where there is one.</p>"
        if left
        else ""
    )
    blocks = [_scenario(row, scores.agents, chosen) for row in ordered]
    linked = {
        anchor_of(row, at) for row in rows for at, agent in enumerate(scores.agents) if (agent, row.scenario) in chosen
    }
    text = (
        "<p>Words that moved a score are highlighted; the number beside them is the line of evidence below. "
        f"Scenarios in which agents differ come first.</p>{note}{''.join(blocks)}"
    )
    return text, linked


def _trials(scores: Scores) -> dict[tuple[str, str], list[Trial]]:
    """Every repetition's answers, by agent and scenario; what does not pass comes first."""
    found: dict[tuple[str, str], dict[int, list[Answer]]] = {}
    for answer in scores.answers:
        found.setdefault((answer.agent, answer.scenario), {}).setdefault(answer.repetition, []).append(answer)
    return {
        key: sorted((tuple(trial) for trial in by_repetition.values()), key=lambda t: all(one.passed for one in t))
        for key, by_repetition in found.items()
    }


def _chosen(
    trials: dict[tuple[str, str], list[Trial]], rows: Sequence[Row], agents: Sequence[str]
) -> dict[tuple[str, str], list[Trial]]:
    """As many trials as a page holds: first one of every cell, then a second of every cell, and so on."""
    room = MOST_ANSWERS
    chosen: dict[tuple[str, str], list[Trial]] = {}
    for at in range(max(map(len, trials.values()), default=0)):
        for key in ((agent, row.scenario) for row in rows for agent in agents):
            if at < len(trials.get(key, ())) and len(trials[key][at]) <= room:
                chosen.setdefault(key, []).append(trials[key][at])
                room -= len(trials[key][at])
    return chosen


def _scenario(row: Row, agents: Sequence[str], chosen: dict[tuple[str, str], list[Trial]]) -> str:
    columns = [(at, agent, chosen.get((agent, row.scenario), [])) for at, agent in enumerate(agents)]
    if not any(some for *_, some in columns):
        return ""
    marks = " ".join(
        f'<span class="cell {cell.state}" role="img" title="{hint}" aria-label="{hint}">{state_mark(cell)}</span>'
        for cell in row.cells
        for hint in [escape(f"{cell.agent}: {state_words(cell)}")]
    )
    shown = "".join(
        f'<div class="agent" id="{anchor_of(row, at)}"><h4>{name(agent)}</h4>{"".join(map(_trial, some))}</div>'
        for at, agent, some in columns
        if some
    )
    fault = f' <span class="muted">fault {name(", ".join(row.faults))}</span>' if row.faults else ""
    return (
        f'<details class="answer scenario"><summary>{name(row.scenario)}{fault} <span class="marks">{marks}</span>'
        f'</summary><div class="beside">{shown}</div></details>\n'
    )


def _trial(trial: Trial) -> str:
    return f'<div class="trial">{"".join(map(_answer, trial))}</div>'


def _answer(answer: Answer) -> str:
    scores = evidence(answer.entries)
    folded = f'<details class="why"><summary>Scores and evidence</summary>{scores}</details>' if scores else ""
    return (
        f'<p class="place">repetition {answer.repetition + 1}, turn {answer.turn + 1}: {verdict(answer)}'
        f"{_measured(answer.record)}</p>{asked(answer)}{said(answer)}{calls(answer.record)}{folded}"
    )


def _measured(record: Record | None) -> str:
    if record is None or record.wall is None:
        return ""
    again = f", begun {record.attempts} times" if record.attempts > 1 else ""
    return f' <span class="muted">{ms(record.wall)}{again}</span>'
