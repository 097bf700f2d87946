"""The HTML page about scored conversations: tables, and each answer with its evidence."""

from __future__ import annotations

from pathlib import Path

from assay.chat.scoring.answers import Answer
from assay.chat.scoring.scores import Scores
from assay.plural import counted
from assay.report.html.agents.failures import failures_section
from assay.report.html.conversation import (
    MOST_ANSWERS,
    STYLE,
    evidence,
    failed,
    metric_table,
    outcome,
    passes_table,
    question,
    response,
    tool_calls,
)
from assay.report.html.elements import EMPTY, Markup, element, isolated, join
from assay.report.html.page import Content, save
from assay.report.html.parts import Parts, finder


def write(scores: Scores, path: str | Path) -> Path:
    """Write the page to a file."""
    return save(render(scores), path)


def render(scores: Scores) -> str:
    """The page as text."""
    return content(scores).as_document()


def content(scores: Scores, *, shown: Markup | None = None) -> Content:
    """What the page shows; `shown` replaces the answers themselves."""
    scenarios = len(scores.scenarios)
    lead = (
        f"{counted(scores.answer_count, 'answer')} of {counted(len(scores.agents), 'agent')} in "
        f"{counted(scenarios, 'scenario')}. Intervals are "
        "95 %, over scenarios. What could not be measured is left out of the means."
    )
    passes = (
        "pass^k: all of k repetitions of a scenario pass. pass@k: at least one does. Over the scenarios with "
        "at least k repetitions."
    )
    parts = Parts()
    answers = _answers(scores, parts) if shown is None else shown
    body = [
        STYLE,
        element("h2", "Metrics"),
        metric_table(scores),
        element("h2", "Repetitions"),
        element("p", passes),
        passes_table(scores),
        *_failures(scores),
        element("h2", "Answers"),
        answers,
    ]
    scripts = ("answers.js",) if shown is None else ()
    whole = join(body, "\n")
    return Content(title="Conversations", lead=element("p", lead), body=whole, scripts=scripts, data=parts.data())


def _answers(scores: Scores, parts: Parts) -> Markup:
    highlighted = "Words that changed a score are highlighted; the number beside them is the line of evidence below."
    more = scores.answer_count - len(scores.answers)
    note = element("p", f"{more:,} further answers are left out here; the JSON has them.", class_="note")
    folded = len(scores.answers) - MOST_ANSWERS
    without_script = f"The last {folded:,} answers are shown with JavaScript only; the JSON has them all."
    shown = (_answer(answer, parts if at >= MOST_ANSWERS else None) for at, answer in enumerate(scores.answers))
    return join(
        [
            element("p", highlighted),
            note if more else EMPTY,
            element("noscript", element("p", without_script, class_="note")) if folded > 0 else EMPTY,
            finder(("fail", "answers that fail")) if scores.answers else EMPTY,
            *shown,
        ],
        "\n",
    )


def _failures(scores: Scores) -> tuple[Markup, ...]:
    shown = failures_section(scores)
    if shown and scores.table is not None:
        text = "The file is large: only the first answers that failed are listed here; the JSON has them all."
        shown = join([element("p", text, class_="note"), shown])
    return (element("h2", "Checks that failed"), shown) if shown else ()


def _answer(answer: Answer, parts: Parts | None) -> Markup:
    """An answer; in a compressed part of the page but for its title, if there are parts."""
    title = f"{answer.agent} · {answer.scenario} · turn {answer.turn + 1}"
    if answer.repetition:
        title += f" · repetition {answer.repetition}"
    views = (failed(answer), question(answer), response(answer), tool_calls(answer.record), evidence(answer.entries))
    return element(
        "details",
        element("summary", isolated(title), " ", outcome(answer)),
        *(views if parts is None else (parts.add(join(views), "…"),)),
        class_="answer",
        data_state=None if answer.passed else "fail",
    )


def page(scores: Scores) -> str:
    """The page about scored conversations."""
    return render(scores)
