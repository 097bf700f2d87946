"""What is wrong with the fields of a ground truth: names that its domain does not know, numbers that are not finite.

A misspelt field would otherwise be ignored, and whatever is answered would pass.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.chat.domains import Domain
from assay.chat.yamlfile import Steps
from assay.errors import UsageError, unknown_name


def field_problem(data: Any, domain: Domain) -> tuple[Steps, UsageError] | None:
    """The first field, at any depth, that cannot be right, by its path in the truth, and why; None if there is none."""
    return _problem(data, _known(tuple(domain.truth_fields)), domain.truth_tables, ())


@functools.lru_cache(maxsize=16)
def _known(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names)


def _problem(data: Any, known: frozenset[str], tables: Sequence[str], at: Steps) -> tuple[Steps, UsageError] | None:
    kind = type(data)
    if kind is str or kind is int or kind is bool or data is None:  # most values; the rest takes longer to tell
        return None
    inside: Iterable[tuple[str | int, Any]] = ()
    if kind is dict or isinstance(data, Mapping):
        if known and not known.issuperset(data) and not _is_by_name(data, tables, at):
            name = next(str(name) for name in data if name not in known)
            return (*at, name), unknown_name("field of a truth", name, known)
        inside = data.items()
    elif isinstance(data, float):
        if not math.isfinite(data):
            what = f"must be a finite number, got {json.dumps(data)}"
            return at, UsageError(what, hint="Give a number, or leave the field out")
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        inside = enumerate(data)
    for step, value in inside:
        found = _problem(value, known, tables, (*at, step))
        if found is not None:
            return found
    return None


def _is_by_name(data: Mapping[str, Any], tables: Sequence[str], at: Steps) -> bool:
    """Whether it is a table with a table for each day or thing, under any name."""
    return bool(at) and at[-1] in tables and all(isinstance(value, Mapping) for value in data.values())
