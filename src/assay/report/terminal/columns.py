"""Columns of agents side by side: as many as fit, under names that are shortened where they do not differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from assay.report.terminal import plain, plain_table
from assay.report.text import shorten

# How many agents fit side by side in 80 columns, without and with an interval beside each number.
_BESIDE, BESIDE_WIDE = 5, 3
_WIDE_CELL = 17
_LEAST_ROOM = 8
# A shorter beginning that two names share does not hide what tells them apart.
_LEAST_SHARED = 3
_BETWEEN = " @-_"


def chunks(agents: Sequence[str]) -> Iterator[range]:
    """The indices of as many agents as fit side by side."""
    for start in range(0, len(agents), _BESIDE):
        yield range(start, min(start + _BESIDE, len(agents)))


def beside(
    first: str, agents: Sequence[str], some: range, width: int, *, cell: int = 8, rows: Sequence[str] = ()
) -> Table:
    """A table with a column for each of some agents, under its number and as much of its name as fits.

    `cell` is the room that the cells need, and `rows` are the names in the first column, which leave the rest.
    """
    shown = plain_table("")
    cell = _WIDE_CELL if len(agents) <= BESIDE_WIDE else cell
    left = max([_LEAST_ROOM, *map(cell_len, (first, *rows))])
    room = max(cell, (width - left) // len(some) - 2)
    numbers = [f"{at + 1} " for at in range(len(agents))]
    names = names_apart([plain(agent) for agent in agents], room - len(numbers[some[-1]]))
    headers = []
    for at in some:
        header = Text(numbers[at] + names[at])
        header.truncate(room, overflow="ellipsis")
        headers.append(header)
    widths = [max(cell, header.cell_len) for header in headers]
    named(shown, first, width - sum(widths) - 2 * len(some))
    for header, most in zip(headers, widths, strict=True):
        shown.add_column(header, justify="right", no_wrap=True, overflow="ellipsis", max_width=most)
    return shown


def named(shown: Table, title: str, room: int, names: Sequence[str] = ()) -> dict[str, Text]:
    """Add a first column of names chosen by users: however long they are, the numbers stay aligned.

    Gives each of `names` as it is to be shown there.
    """
    room = max(room, _LEAST_ROOM)
    shown.add_column(title, overflow="ellipsis", no_wrap=True, max_width=room)
    return dict(zip(names, map(Text, names_apart([plain(name) for name in names], room)), strict=True))


def names_apart(names: Sequence[str], room: int) -> list[str]:
    """Names that fit, shortened where they are alike: two versions of one framework keep their versions.

    Example:
        >>> names_apart(["openai-agents 0.19.0", "openai-agents 0.20.0", "mine"], 15)
        ['openai-a…0.19.0', 'openai-a…0.20.0', 'mine']

    """
    return [name if len(name) <= room else _shortened(name, names, room) for name in names]


def _shortened(name: str, names: Sequence[str], room: int) -> str:
    shared = max((_shared(name, other) for other in names if other != name), default=0)
    if shared < _LEAST_SHARED:
        return shorten(name, room)
    # Names that differ within a word differ by the word: 0.19.0 and 0.20.0 not only by what follows the first point.
    start = shared
    while start and _in_word(name[shared : shared + 1] or "x") and _in_word(name[start - 1]):
        start -= 1
    differs = name[start or shared :].lstrip(_BETWEEN)
    if len(differs) > room - 2:
        differs = name[shared:].lstrip(_BETWEEN)
    if not differs or len(differs) > room - 2:
        return shorten(f"…{differs}", room) if differs else shorten(name, room)
    return f"{name[: room - 1 - len(differs)]}…{differs}"


def _shared(one: str, other: str) -> int:
    """How many letters two names have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "."
