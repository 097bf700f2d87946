"""The main table of a result as a piece of HTML: what a notebook shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from assay.report.numbers import number
from assay.result import Result

_MAX_ROWS = 60


def summary(result: Result) -> Markup:
    """A table of the result's rows, at most 60 of them."""
    rows = result.rows()
    shown = rows[:_MAX_ROWS]
    columns = list(dict.fromkeys(name for row in shown for name in row))
    table = _table(columns, [[_cell(row.get(name)) for name in columns] for row in shown])
    if len(rows) == len(shown):
        return table
    return table + Markup("<p>{} more rows: see to_pandas() or to_json()</p>").format(len(rows) - len(shown))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = Markup("").join(Markup("<th>{}</th>").format(column) for column in columns)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, float) else str(value)
