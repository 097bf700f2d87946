"""The sections on what agents cost, and on frameworks and models as factors."""

from __future__ import annotations

from collections.abc import Sequence

from assay.compare import Comparison
from assay.compare.costs import AgentCosts
from assay.report.costs import (
    COSTS_EXPLAINED,
    EFFECT_HEADER,
    EFFECTS_EXPLAINED,
    cost_note,
    cost_table,
    effect_rows,
    has_costs,
)
from assay.report.html.elements import EMPTY, Markup, element, isolated
from assay.report.html.page import table


def costs_section(costs: Sequence[AgentCosts]) -> Markup:
    """Money and seconds beside what passes; empty if nothing was timed or priced."""
    if not has_costs(costs):
        return EMPTY
    header, cells = cost_table(costs)
    rows = [[isolated(row[0]), *row[1:]] for row in cells]
    note = cost_note(costs)
    return (
        element("p", COSTS_EXPLAINED)
        + table(header, rows, numeric=range(1, len(header)), label="Cost")
        + (element("p", note, class_="muted") if note else EMPTY)
    )


def effects_section(effects: Sequence[Comparison]) -> Markup:
    """Main effects and interactions; empty unless frameworks were played with several models."""
    if not effects:
        return EMPTY
    rows = [[isolated(row[0]), *row[1:]] for row in effect_rows(effects)]
    return element("p", EFFECTS_EXPLAINED) + table(EFFECT_HEADER, rows, numeric=(), label="Frameworks and models")
