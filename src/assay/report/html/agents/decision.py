"""The answer that the page opens with: for each priority who leads, by what, how surely, and what is given up."""

from __future__ import annotations

import re

from assay.compare.decision import Decision, PriorityAnswer
from assay.report.decision import basis_words, by_words, given_up_words, leader_words, needed_words, untested_words
from assay.report.html.elements import EMPTY, Markup, element, join, with_options

_CLASSES = {"sure": "good", "once": "good", "open": "warn", "tie": "warn"}


def decision_block(decision: Decision | None) -> Markup:
    """The answer; empty if there is nothing to decide."""
    if decision is None:
        return EMPTY
    answers = [_answer(answer, decision) for answer in decision.answers]
    closing = [basis_words(decision), untested_words(decision)]
    return element(
        "section",
        element("h2", "Answer", id="answer"),
        element("div", *answers, class_="priorities"),
        *(element("p", _with_code(text), class_="basis") for text in closing if text),
        class_="decision",
    )


def _answer(answer: PriorityAnswer, decision: Decision) -> Markup:
    said = [by_words(answer, _isolated), given_up_words(answer, _isolated), needed_words(answer, decision)]
    return element(
        "article",
        element("h3", answer.priority.capitalize()),
        element("p", leader_words(answer, _isolated), class_=f"leader {_CLASSES[answer.sureness]}"),
        *(element("p", text) for text in said if text),
    )


def _isolated(name: str) -> str:
    """A name between the characters that keep its writing direction to itself: sentences are text, not elements."""
    return f"\u2068{name}\u2069"


def _with_code(text: str) -> Markup:
    """Text with what is between backticks as code; it is assay's own text."""
    parts = re.split(r"`([^`]*)`", text)
    return join(element("code", with_options(part)) if at % 2 else part for at, part in enumerate(parts))
