"""Numbers the trials of a file: transcripts of one agent and scenario are repetitions of it.

Logs seldom number them, so that those without a number get the next free one, in the order of the file. Two transcripts
with the same number are an error: they would count as one trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.chat.formats.openai import agent_of, is_message_list, scenario_of
from assay.errors import SourceError


class Repetitions:
    """The trials of a file so far. Keeps a hash of each, not its names, so that a million fit in memory."""

    def __init__(self, path: str, *, is_list: bool = False) -> None:
        """`is_list` if the file is one list and places are positions in it; otherwise they are lines."""
        self._form = f"{path}[{{}}]" if is_list else f"{path}:{{}}"
        self._places: dict[int, int] = {}
        """By trial, its line, or its position in a file that is one list."""
        self._free: dict[int, int] = {}
        """By agent and scenario with several trials: no number below this is free."""

    def number(self, agent: str, scenario: str, given: int | None, place: int) -> int:
        """The number of the trial at `place`: the given one, or the next free one."""
        if given is not None:
            first = self._places.setdefault(hash((agent, scenario, given)), place)
            if first != place:
                raise SourceError(
                    f"is repetition {given} of '{scenario:.100}' by {agent:.100}, and so is {self._form.format(first)}",
                    where=self._form.format(place),
                    hint="Number them by 'repetition', or leave it out to have them numbered in their order",
                )
            return given
        key = hash((agent, scenario))
        number = self._free.get(key, 0)
        while self._places.setdefault(hash((agent, scenario, number)), place) != place:
            number += 1
        if number:
            self._free[key] = number + 1
        return number

    def number_record(self, record: Any, agent: str | None, place: int) -> int | None:
        """The number of a record that is not parsed yet; None if it has no names of its own, or is not valid."""
        if not isinstance(record, Mapping):
            return None
        is_messages = is_message_list(record.get("messages"))
        names = (
            (agent_of(record, agent), scenario_of(record))
            if is_messages
            else (
                record.get("agent"),
                record.get("scenario"),
            )
        )
        given = record.get("repetition")
        if not all(isinstance(name, str) and name for name in names) or not (given is None or type(given) is int):
            return None
        return self.number(str(names[0]), str(names[1]), given, place)
