"""The files that a client may name: suites and logs in the folders that were named when the server started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from assay.errors import unknown_name
from assay.runs.folders import files_within

PREFIX = "file:"
"""Marks the name of a file where the name of a run or of a suite could stand too."""
_SUITES = (".yaml", ".yml")
_LOGS = (".eval", ".json", ".jsonl", ".csv", ".tsv", ".parquet")
_MOST_FILES = 2000


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """What the folders hold, looked at anew for each call."""

    folders: Sequence[Path] = ()

    def suites(self) -> Mapping[str, Path]:
        """Suites by their names, which begin with the name of their folder."""
        return self._found(_SUITES)

    def logs(self) -> Mapping[str, Path]:
        """Logs of other tools in the same way."""
        return self._found(_LOGS)

    def log(self, name: str) -> Path:
        """The log of that name; raises UsageError if there is none."""
        found = self.logs()
        if name not in found:
            raise unknown_name("log in the named folders", name, found)
        return found[name]

    def _found(self, suffixes: Sequence[str]) -> dict[str, Path]:
        return dict(islice(files_within(self.folders, suffixes), _MOST_FILES))
