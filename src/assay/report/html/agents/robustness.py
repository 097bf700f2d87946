"""How agents stand faults, and whether they pass again."""

from __future__ import annotations

from typing import Any

from assay.chat.scoring.scores import KS, Scores
from assay.report.facts import Survival, faults
from assay.report.html.chat import name, passes_table, short
from assay.report.html.figures import Figures
from assay.report.html.page import escape, table

_MOST_ERRORS = 5


def survived(scores: Scores) -> str:
    """The section on faults; nothing where none was injected."""
    found = faults(scores)
    if not found:
        return ""
    rows = [[_fault(fault), *map(_cell, by_agent)] for fault, by_agent in found.items()]
    totals = [[by_agent[at] for by_agent in found.values()] for at in range(len(scores.agents))]
    rows.append(
        ["<b>all</b>", *(_share(sum(one.survived for one in some), sum(one.turns for one in some)) for some in totals)]
    )
    return (
        "<p>Of the turns in which something was made to go wrong: how many ended scored and passed their checks. "
        "<code>*1</code> is a fault of the first request only.</p>"
        + table(["fault", *map(name, scores.agents)], rows, label="Faults survived")
        + _errors(found)
    )


def _fault(fault: str) -> str:
    says = fault_words(fault)
    return f"<code>{escape(fault)}</code>" + (f"<small>{escape(says)}</small>" if says else "")


def fault_words(fault: str) -> str:
    """What a fault does; nothing where that is not known here."""
    try:
        # The world needs the extra of agents; a page about what others ran does not.
        from assay.chat.world.situation import FAULTS
    except ImportError:
        return ""
    return FAULTS.get(fault.partition("*")[0], "")


def _cell(one: Survival) -> str:
    failed = f"<small>{one.failed} failed</small>" if one.failed else ""
    return f"{_share(one.survived, one.turns)}{failed}"


def _share(hits: int, total: int) -> str:
    if not total:
        return "–"
    mark = "✓" if hits == total else "◐" if hits else "✗"
    state = "all" if hits == total else "some" if hits else "none"
    return f'<span class="cell {state}">{hits}/{total} {mark}</span>'


def _errors(found: dict[str, list[Survival]]) -> str:
    items = [
        f"<li><code>{escape(fault)}</code>, {name(one.agent)}, {n}×: <bdi>{escape(short(error))}</bdi></li>"
        for fault, by_agent in found.items()
        for one in by_agent
        for error, n in list(one.errors.items())[:_MOST_ERRORS]
    ]
    if not items:
        return ""
    return f"<details><summary>What failed, with its error</summary><ul>{''.join(items)}</ul></details>"


def repetitions(scores: Scores, figures: Figures) -> str:
    """The section on pass^k and pass@k."""
    return (
        "<p>A trial is one repetition of a scenario and passes where all its answers do. pass^k: all of k repetitions "
        "pass. pass@k: at least one does. Over the scenarios with at least k repetitions.</p>"
        + figures.add("passes_by_k", rows=_passes(scores))
        + passes_table(scores)
    )


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
