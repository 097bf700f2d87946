"""The section on failed checks: which check failed, in which scenario, for which agent, and the answer's words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.chat.scoring.scores import Scores
from assay.report.failures import Failure, failures_of, not_applicable_words
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import table
from assay.report.text import shorten

_SHOWN_FIRST = 10
# A longer table would not tell a reader more; the JSON has them all.
_MOST_SHOWN = 200


def failures_section(scores: Scores) -> Markup:
    """The section; empty if every check of every answer passed and all applied."""
    found = failures_of(scores)
    left_out = join(element("p", isolated(words), class_="note") for words in not_applicable_words(scores))
    if not found:
        return left_out
    text = left_out + element("p", f"{len(found):,} checks failed. The words are those of the answer.")
    text += _table(found[:_SHOWN_FIRST])
    more = found[_SHOWN_FIRST:_MOST_SHOWN]
    if more:
        left = len(found) - _SHOWN_FIRST - len(more)
        note = element("p", f"{left:,} further ones are left out here; the JSON has them.", class_="note")
        text += details(f"{len(more):,} more", join([_table(more), note if left else EMPTY]))
    return text


def _table(found: Sequence[Failure]) -> Markup:
    rows: list[list[str]] = [
        [
            join([isolated(one.scenario), element("small", _where(one))]),
            isolated(one.agent),
            join([element("code", shorten(one.failed.check)), element("small", shorten(one.failed.says))]),
            element("q", isolated(shorten(one.failed.words))) if one.failed.words else "–",
        ]
        for one in found
    ]
    return table(["scenario", "agent", "check", "words"], rows, numeric=(), label="Checks that failed")


def _where(one: Failure) -> str:
    return f"turn {one.turn + 1}" + (f", {one.times} times" if one.times > 1 else "")
