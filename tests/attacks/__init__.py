"""Attacks: what hostile or damaged files, names, stores and agents try, repeated by every run of the tests.

An attack is a function that tries something a number of times and yields, for each try, None if assay held and a
sentence if it broke. `make test` tries a few; `make attack` (`python -m tests.attacks`) tries many and prints a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Outcomes = Iterator[str | None]


@dataclass(frozen=True)
class Attack:
    """One kind of attack."""

    title: str
    run: Callable[[int, Path], Outcomes]
    """Takes a number of tries and an empty folder; an attack with fixed tries ignores the number."""
    few: int
    """Tries in `make test`; 0 if another test tries the same there."""
    many: int
    """Tries in `make attack`."""
    seconds: float = 0
    """Processor time of a few tries, if it is above half a second."""
