"""The HTML page about scored conversations: tables, and each answer with its evidence. The page has no scripts."""

from __future__ import annotations

from pathlib import Path

from assay.chat.scoring.answers import Answer
from assay.chat.scoring.scores import Scores
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


def write(scores: Scores, path: str | Path) -> Path:
    """Write the page to a file."""
    return save(render(scores), path)


def render(scores: Scores) -> str:
    """The page as text."""
    return content(scores).as_document()


def content(scores: Scores, *, shown: Markup | None = None) -> Content:
    """What the page shows; `shown` takes the place of the answers themselves."""
    scenarios = len(scores.scenarios)
    lead = (
        f"{scores.answer_count:,} answers of {len(scores.agents)} agents in {scenarios:,} scenarios. Intervals are "
        "95 %, over scenarios. What could not be measured enters no mean."
    )
    passes = (
        "pass^k: all of k repetitions of a scenario pass. pass@k: at least one does. Over the scenarios with "
        "at least k repetitions."
    )
    body = [
        STYLE,
        element("h2", "Metrics"),
        metric_table(scores),
        element("h2", "Repetitions"),
        element("p", passes),
        passes_table(scores),
        *_failures(scores),
        element("h2", "Answers"),
        _answers(scores) if shown is None else shown,
    ]
    return Content(title="Conversations", lead=element("p", lead), body=join(body, "\n"))


def _answers(scores: Scores) -> Markup:
    highlighted = "Words that moved a score are highlighted; the number beside them is the line of evidence below."
    shown = scores.answers[:MOST_ANSWERS]
    more = scores.answer_count - len(shown)
    note = element("p", f"{more:,} further answers are left out here; the JSON has them.", class_="note")
    return join([element("p", highlighted), note if more else EMPTY, *(_answer(answer) for answer in shown)], "\n")


def _failures(scores: Scores) -> tuple[Markup, ...]:
    shown = failures_section(scores)
    if shown and scores.table is not None:
        text = "The file is large: only the first answers that failed are listed here; the JSON has them all."
        shown = join([element("p", text, class_="note"), shown])
    return (element("h2", "Checks that failed"), shown) if shown else ()


def _answer(answer: Answer) -> Markup:
    title = f"{answer.agent} · {answer.scenario} · turn {answer.turn + 1}"
    if answer.repetition:
        title += f" · repetition {answer.repetition}"
    return element(
        "details",
        element("summary", isolated(title), " ", outcome(answer)),
        failed(answer),
        question(answer),
        response(answer),
        tool_calls(answer.record),
        evidence(answer.entries),
        class_="answer",
    )


def page(scores: Scores) -> str:
    """The page about scored conversations."""
    return render(scores)
