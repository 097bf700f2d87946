"""The main table of a result as a piece of HTML: what a notebook shows of it."""

from __future__ import annotations

from typing import Any

from assay.report.html.elements import EMPTY, Markup, element
from assay.report.numbers import number
from assay.result import Result

_MAX_ROWS = 60


def summary(result: Result) -> Markup:
    """A table of the result's rows, at most 60 of them."""
    rows = result.rows()
    shown = rows[:_MAX_ROWS]
    columns = list(dict.fromkeys(name for row in shown for name in row))
    head = element("tr", *(element("th", column) for column in columns))
    body = (element("tr", *(element("td", _cell(row.get(name))) for name in columns)) for row in shown)
    more = len(rows) - len(shown)
    note = element("p", f"{more} more rows: see to_pandas() or to_json()") if more else EMPTY
    return element("table", element("thead", head), element("tbody", *body)) + note


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, float) else str(value)
