"""Tables in Markdown: the heading of a column or a row tells the role of the figures in it, and may have their unit.

Knows tokens, figures and the words of roles; knows nothing of days and places.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from assay.chat.reading.lexicon import Unit
from assay.chat.reading.numerals import DASHES, Number, NumeralReader, Numerals
from assay.chat.reading.positions import FIRST, within
from assay.chat.reading.quantities import Quantity

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading
    from assay.chat.reading.tokens import Token

_BAR = "|"
_RULE = DASHES | {_BAR, ":"}
# What these say of a figure depends on the words beside it, not on a heading.
_NOT_BY_COLUMN = frozenset({"actual", "above", "below", "change"})
# "6–14" in a cell.
_RANGE = 3


class TableCell(NamedTuple):
    """The tokens `first` to `stop` - 1."""

    first: int
    stop: int


class TextTable(NamedTuple):
    """The cells of a table: those of its heading, and those of each row."""

    head: list[TableCell]
    rows: list[list[TableCell]]


def tables(reading: Reading) -> list[TextTable]:
    """The tables of a text."""
    if _BAR not in reading.text or "\n" not in reading.text:
        return []
    known = reading.memory.get("tables")
    if not isinstance(known, list):
        known = reading.memory["tables"] = list(_tables(reading.tokens))
    return known


def _tables(tokens: Sequence[Token]) -> Iterator[TextTable]:
    lines = _lines(tokens)
    at = 0
    while at + 1 < len(lines):
        head, rule = _cells(tokens, lines[at]), lines[at + 1]
        at += 1
        marks = {token.text for token in tokens[rule.first : rule.stop]}
        if len(head) < 2 or not marks or not marks <= _RULE:
            continue
        rows = []
        while at + 1 < len(lines) and (row := _cells(tokens, lines[at + 1])):
            rows.append(row)
            at += 1
        yield TextTable(head, rows)


def _lines(tokens: Sequence[Token]) -> list[TableCell]:
    ends = [at for at, token in enumerate(tokens) if token.kind == "newline"]
    firsts = [0, *(end + 1 for end in ends)]
    return [TableCell(*line) for line in zip(firsts, [*ends, len(tokens)], strict=True)]


def _cells(tokens: Sequence[Token], line: TableCell) -> list[TableCell]:
    """The cells of a line; none if it has no bar. The bars before the first and after the last may be left out."""
    bars = [at for at in range(line.first, line.stop) if tokens[at].text == _BAR]
    if not bars:
        return []
    edges = [*([] if bars[0] == line.first else [line.first - 1]), *bars]
    edges += [] if bars[-1] == line.stop - 1 else [line.stop]
    return [TableCell(first + 1, stop) for first, stop in pairwise(edges)]


def read_columns(reading: Reading, grammar: Numerals, roles: Sequence[str]) -> None:
    """Give figures in tables the role and the unit of their column, or else those of their row.

    `roles` are the kinds of quantity that have roles.
    """
    for table in tables(reading):
        by_kind = {kind: reading.all(f"role.{kind}") for kind in roles}
        named = [_roles(cell, by_kind) for cell in table.head]
        units = [_unit(reading.tokens, cell) for cell in table.head]
        for row in table.rows:
            is_label = not within(reading.quantities, *row[0])
            label = _roles(row[0], by_kind) if is_label else {}
            unit_of_row = _unit(reading.tokens, row[0]) if is_label else None
            for column, cell in enumerate(row[: len(table.head)]):
                unit = units[column] or (unit_of_row if column else None)
                if unit is not None and not within(reading.quantities, *cell):
                    _add(reading, grammar, cell, unit)
                for figure in within(reading.quantities, *cell):
                    role = named[column].get(figure.kind) or label.get(figure.kind)
                    if role is not None and figure.role == "actual":
                        figure.role = role


def _roles(cell: TableCell, by_kind: dict[str, list[Mention]]) -> dict[str, str]:
    """The role that a heading names, by kind of quantity; "High / Low" names none."""
    found = {}
    for kind, mentions in by_kind.items():
        named = {m.keys[0].rpartition(".")[2] for m in within(mentions, *cell)} - _NOT_BY_COLUMN
        if len(named) == 1:
            [found[kind]] = named
    return found


def _unit(tokens: Sequence[Token], cell: TableCell) -> Unit | None:
    """The unit in a heading: a sign, or a word in brackets. The "min" of a lowest temperature is not a unit of time."""
    for at in range(cell.first, cell.stop):
        if tokens[at].kind == "word" and (at == cell.first or tokens[at - 1].text not in "(["):
            continue
        for unit in tokens[at].units:
            said = tokens[at : min(at + len(unit.tokens), cell.stop)]
            texts = tuple([token.raw if unit.cased else token.text for token in said])
            if texts == unit.tokens and not unit.second:
                return unit
    return None


def _add(reading: Reading, grammar: Numerals, cell: TableCell, unit: Unit) -> None:
    """Add the figure of a cell that has only a number, or a range of two."""
    tokens = reading.tokens
    ends: list[Number] = []
    numerals = NumeralReader(reading, grammar)
    for at in range(cell.first, cell.stop):
        if tokens[at].kind == "number":
            number = numerals.number(at)
            if number is None:
                return
            ends.append(number)
        elif tokens[at].text not in DASHES:
            return
    if not ends or len(ends) > 2 or cell.stop - cell.first > _RANGE + 2:
        return
    written = sorted((ends[0].value, ends[-1].value))
    low, high = sorted(unit.convert(value) for value in written)
    first, last = ends[0].first, ends[-1].last
    decimals = max(end.decimals for end in ends)
    start, end = reading.starts[first], reading.ends[last]
    figure = Quantity(start, end, first, last, unit.kind, unit, low, high, (written[0], written[1]), decimals)
    reading.quantities.insert(bisect_left(reading.quantities, first, key=FIRST), figure)
