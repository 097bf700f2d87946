"""The sections on injected faults and on repetitions: which faults agents survive, and whether they pass again."""

from __future__ import annotations

from typing import Any

from assay.chat.scoring.scores import KS, Scores
from assay.report.facts import Survival, survival_by_fault
from assay.report.html.conversation import passes_table
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.figures import Figures
from assay.report.html.page import table
from assay.report.text import shorten

_MOST_ERRORS = 5


def faults_section(scores: Scores) -> Markup:
    """The section on faults; empty if none was injected."""
    found = survival_by_fault(scores)
    if not found:
        return EMPTY
    rows: list[list[str]] = [[_fault(fault), *map(_cell, by_agent)] for fault, by_agent in found.items()]
    totals = [[by_agent[at] for by_agent in found.values()] for at in range(len(scores.agents))]
    sums = (_share(sum(one.survived for one in some), sum(one.turns for one in some)) for some in totals)
    rows.append([element("b", "all"), *sums])
    explained = element(
        "p",
        "Of the turns with an injected fault: how many were scored and passed their checks. ",
        element("code", "*1"),
        " is a fault of the first request only.",
    )
    whole = table(["fault", *map(isolated, scores.agents)], rows, label="Faults survived")
    return explained + whole + _errors(found)


def _fault(fault: str) -> Markup:
    description = fault_description(fault)
    return element("code", fault) + (element("small", description) if description else EMPTY)


def fault_description(fault: str) -> str:
    """What a fault does; empty if it is not one of assay's own."""
    try:
        # The world needs the extra `agents`; a page about what others ran does not.
        from assay.chat.world.faults import FAULTS
    except ImportError:
        return ""
    return FAULTS.get(fault.partition("*")[0], "")


def _cell(one: Survival) -> Markup:
    return _share(one.survived, one.turns) + (element("small", f"{one.failed} failed") if one.failed else EMPTY)


def _share(hits: int, total: int) -> Markup:
    if not total:
        return join(["–"])
    mark = "✓" if hits == total else "◐" if hits else "✗"
    state = "all" if hits == total else "some" if hits else "none"
    return element("span", f"{hits}/{total} {mark}", class_=f"cell {state}")


def _errors(found: dict[str, list[Survival]]) -> Markup:
    items = [
        element("li", element("code", fault), ", ", isolated(one.agent), f", {n}×: ", isolated(shorten(error)))
        for fault, by_agent in found.items()
        for one in by_agent
        for error, n in list(one.errors.items())[:_MOST_ERRORS]
    ]
    return details("What failed, with its error", element("ul", *items)) if items else EMPTY


def repetitions_section(scores: Scores, figures: Figures) -> Markup:
    """The section on pass^k and pass@k."""
    explained = (
        "A trial is one repetition of a scenario and passes if all its answers do. pass^k: all of k repetitions "
        "pass. pass@k: at least one does. Over the scenarios with at least k repetitions."
    )
    chart = figures.add("passes_by_k", rows=_passes(scores))
    return element("p", explained) + chart + passes_table(scores)


def _passes(scores: Scores) -> list[dict[str, Any]]:
    """A line needs two points: with one repetition there is nothing to draw."""
    rows: list[dict[str, Any]] = [
        {"model": agent, "name": kind, "k": k, "value": by_k[k].value, "n": by_k[k].n}
        for agent in scores.agents
        for kind, by_k in scores.passes(agent).items()
        for k in KS
        if by_k[k].value is not None
    ]
    return rows if any(row["k"] > 1 for row in rows) else []
