"""Scores on their way from the process that scores them: an entry that was sent before is sent as a number.

Most entries of a run repeat ("not measured: …"), and so do whole rows of them, one entry for each metric. Equal ones
become one object for the receiver, so that they are pickled, read and encoded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.chat.scoring.answers import FailedCheck, Record
    from assay.chat.scoring.metric import Entry

EntryRow = Mapping[str, "Entry"]
"""The entries of an answer, by metric."""
ScoringOutcome = tuple[EntryRow, "tuple[FailedCheck, ...]", "Record | None"] | str
"""The row of a turn, its failed checks and its record, if scoring changed it; or why it could not be scored."""
Message = tuple[bool, Sequence[tuple[str, "Entry"]], Sequence[Sequence[int]], Sequence[Any]]
"""Whether all numbers start again from 0; new entries with the names of their metrics, and new rows as numbers of
entries, each of which has the next number; and the outcomes, with numbers in place of rows."""

# Entries with evidence hardly ever repeat, so that what is kept would grow with the run.
_MOST_KEPT = 4096


class Sender:
    """Gives numbers to entries and rows."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], tuple[int, Entry]] = {}
        """By metric and details, which nearly always tell entries apart."""
        self._rows: dict[tuple[int, ...], int] = {}
        self._whole: dict[tuple[str, ...], tuple[int, EntryRow]] = {}
        """Rows by their details: equal ones are compared at once, and not entry by entry."""
        self._next = 0
        self._new_entries: list[tuple[str, Entry]] = []
        self._new_rows: list[tuple[int, ...]] = []

    def message(self, outcomes: Iterable[ScoringOutcome]) -> Message:
        """The message that sends outcomes."""
        forgets = len(self._rows) > _MOST_KEPT or self._next > _MOST_KEPT
        if forgets:
            self._entries, self._rows, self._whole, self._next = {}, {}, {}, 0
        self._new_entries, self._new_rows = [], []
        wanted = [
            outcome if isinstance(outcome, str) else (self._row_number(outcome[0]), outcome[1], outcome[2])
            for outcome in outcomes
        ]
        return forgets, self._new_entries, self._new_rows, wanted

    def _row_number(self, row: EntryRow) -> int:
        details = tuple([entry["details"] for entry in row.values()])
        whole = self._whole.get(details)
        if whole is not None and whole[1] == row:
            return whole[0]
        number = self._number_of_new(row)
        self._whole[details] = number, row
        return number

    def _number_of_new(self, row: EntryRow) -> int:
        numbers = tuple([self._number(name, entry) for name, entry in row.items()])
        known = self._rows.get(numbers)
        if known is None:
            known = self._rows[numbers] = len(self._rows)
            self._new_rows.append(numbers)
        return known

    def _number(self, name: str, entry: Entry) -> int:
        key = name, entry["details"]
        known = self._entries.get(key)
        if known is None or known[1] != entry:
            known = self._entries[key] = self._next, entry
            self._next += 1
            self._new_entries.append((name, entry))
        return known[0]


class Receiver:
    """Knows what a `Sender` has sent."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, Entry]] = []
        self._rows: list[dict[str, Entry]] = []

    def outcomes(self, message: Message) -> list[ScoringOutcome]:
        """The outcomes that were sent; equal rows are one object."""
        forgets, entries, rows, wanted = message
        if forgets:
            self._entries, self._rows = [], []
        self._entries += entries
        self._rows += [dict([self._entries[number] for number in row]) for row in rows]
        return [one if isinstance(one, str) else (self._rows[one[0]], one[1], one[2]) for one in wanted]
