"""The section on answers: each with its evidence, scenario by scenario, the agents side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.scores import Scores
from assay.plural import counted
from assay.report.facts import MatrixRow
from assay.report.html.agents.matrix import anchor_of, state_mark, state_words
from assay.report.html.agents.spans import quirk_trace
from assay.report.html.agents.timing import ms
from assay.report.html.conversation import (
    MOST_ANSWERS,
    evidence,
    failed,
    left_out,
    outcome,
    question,
    response,
    tool_calls,
)
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.parts import Parts, finder

TrialAnswers = tuple[Answer, ...]


def answers_section(scores: Scores, rows: Sequence[MatrixRow], parts: Parts) -> tuple[Markup, set[str]]:
    """The section, and the anchors in it, one for each agent and scenario that was played.

    Trials that are too many to stand in the page go into its compressed parts.
    """
    trials = _trials(scores)
    ordered = sorted(rows, key=lambda row: not row.differs)
    chosen = _chosen(trials, ordered, scores.agents)
    number = sum(len(trial) for of_cell in chosen.values() for trial in of_cell)
    left = len(scores.answers) - number
    linked = {
        anchor_of(row.number, at)
        for row in rows
        for at, agent in enumerate(scores.agents)
        if (agent, row.scenario) in trials
    }
    explained = (
        "Words that changed a score are highlighted; the number beside them is the line of evidence below. "
        "Scenarios in which agents differ come first."
    )
    if left:
        explained += " Of each agent, one repetition comes first, one that does not pass if there is one."
    without_script = f"{left:,} of the answers are shown with JavaScript only; the JSON has them all."
    note = element("noscript", element("p", without_script, class_="note")) if left else EMPTY
    found = finder(("differ", "scenarios in which agents differ"), ("fail", "scenarios in which an agent fails"))
    blocks = (_scenario(row, scores.agents, trials, chosen, parts) for row in ordered)
    return element("p", explained) + note + found + join(blocks), linked


def _trials(scores: Scores) -> dict[tuple[str, str], list[TrialAnswers]]:
    """Every repetition's answers, by agent and scenario; trials that do not pass come first."""
    found: dict[tuple[str, str], dict[int, list[Answer]]] = {}
    for answer in scores.answers:
        found.setdefault((answer.agent, answer.scenario), {}).setdefault(answer.repetition, []).append(answer)
    return {
        key: sorted((tuple(trial) for trial in by_repetition.values()), key=lambda t: all(one.passed for one in t))
        for key, by_repetition in found.items()
    }


def _chosen(
    trials: dict[tuple[str, str], list[TrialAnswers]], rows: Sequence[MatrixRow], agents: Sequence[str]
) -> dict[tuple[str, str], list[TrialAnswers]]:
    """As many trials as fit on a page: first one of every cell, then a second of every cell, and so on."""
    room = float(MOST_ANSWERS)
    chosen: dict[tuple[str, str], list[TrialAnswers]] = {}
    for at in range(max(map(len, trials.values()), default=0)):
        for key in ((agent, row.scenario) for row in rows for agent in agents):
            if at < len(trials.get(key, ())) and _size(trials[key][at]) <= room:
                chosen.setdefault(key, []).append(trials[key][at])
                room -= _size(trials[key][at])
    return chosen


def _has_quirk(trial: TrialAnswers) -> bool:
    return any(answer.record is not None and answer.record.quirk is not None for answer in trial)


def _size(trial: TrialAnswers) -> float:
    """How much of a page a trial takes, in answers; with a quirk it is shown without scores and evidence."""
    return len(trial) / 4 if _has_quirk(trial) else len(trial)


def _scenario(
    row: MatrixRow,
    agents: Sequence[str],
    trials: Mapping[tuple[str, str], Sequence[TrialAnswers]],
    chosen: Mapping[tuple[str, str], Sequence[TrialAnswers]],
    parts: Parts,
) -> Markup:
    keys = [(at, (agent, row.scenario)) for at, agent in enumerate(agents) if (agent, row.scenario) in trials]
    if not keys:
        return EMPTY
    marks = []
    for cell in row.cells:
        hint = f"{cell.agent}: {state_words(cell)}"
        name = element("small", isolated(cell.agent))
        marks.append(element("span", name, " ", state_mark(cell), class_=f"cell {cell.state}", title=hint))
    shown = (
        element(
            "div",
            element("h4", isolated(key[0])),
            *map(_trial, chosen.get(key, ())),
            _rest([trial for trial in trials[key] if trial not in chosen.get(key, ())], parts),
            class_="agent",
            id=anchor_of(row.number, at),
        )
        for at, key in keys
    )
    fails = any(not answer.passed for _, key in keys for trial in trials[key] for answer in trial)
    fault = " " + element("span", "fault ", isolated(", ".join(row.faults)), class_="muted") if row.faults else EMPTY
    summary = join([isolated(row.scenario), fault, " ", element("span", join(marks, " "), class_="marks")])
    beside = element("div", *shown, class_="beside")
    state = " ".join(word for word, holds in (("differ", row.differs), ("fail", fails)) if holds)
    whole = element("details", element("summary", summary), beside, class_="answer scenario", data_state=state)
    return whole + "\n"


def _rest(trials: Sequence[TrialAnswers], parts: Parts) -> Markup:
    if not trials:
        return EMPTY
    number = sum(map(len, trials))
    return parts.add(join(map(_trial, trials)), f"{counted(number, 'further answer')} …")


def _trial(trial: TrialAnswers) -> Markup:
    shown = (answer_view(answer, with_evidence=not _has_quirk(trial)) for answer in trial)
    return element("div", *shown, class_="trial")


def answer_view(answer: Answer, *, with_evidence: bool = True, anchor: str = "") -> Markup:
    """One answer: how it ended, what was asked and said with the evidence marked, tool calls, and scores.

    With an `anchor`, each line of evidence can be linked to.
    """
    scores = evidence(answer.entries, anchor=anchor) if with_evidence else EMPTY
    return join(
        [
            element(
                "p",
                f"repetition {answer.repetition + 1}, turn {answer.turn + 1}: ",
                outcome(answer),
                _measured(answer.record),
                class_="place",
            ),
            failed(answer),
            left_out(answer),
            question(answer),
            # Without evidence below, there is nothing that a highlighted word could refer to.
            response(answer if with_evidence else replace(answer, entries={}), anchor=anchor),
            tool_calls(answer.record),
            quirk_trace(answer.record),
            details("Scores and evidence", scores, class_="why") if scores else EMPTY,
        ]
    )


def _measured(record: Record | None) -> Markup:
    if record is None or record.wall is None:
        return EMPTY
    attempts = f", {record.attempts} attempts" if record.attempts > 1 else ""
    return " " + element("span", f"{ms(record.wall)}{attempts}", class_="muted")
