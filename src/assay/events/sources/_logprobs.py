"""The column `logprob` of a table: natural logarithms of the probabilities that a model gave to events.

If a row is one event, its value is a number, or a list with one number for each token, which are added up. If a row is
one episode, its value is a list with an entry of either form for each event of the row. Null means unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.errors import ColumnError
from assay.events.stream import EventStream
from assay.types import Floats

# Rounding may take a probability of 1 a little above it; anything more cannot be the logarithm of a probability.
_ROUNDING = 1e-6


def with_logprobs(stream: EventStream, values: Sequence[Any], where: str, row: int) -> EventStream:
    """The events of rows that are one event each, with the values of their column; the first is row number `row`."""
    if all(value is None for value in values):
        return stream
    logprob = np.array([_of_event(value, where, row + at) for at, value in enumerate(values)], np.float64)
    return replace(stream, logprob=_checked(logprob, where, row))


def with_numbers(stream: EventStream, logprob: Floats, where: str, row: int) -> EventStream:
    """The same for a column of numbers, NaN where null."""
    return stream if np.isnan(logprob).all() else replace(stream, logprob=_checked(logprob, where, row))


def with_episode_logprobs(stream: EventStream, value: Any, where: str, row: int) -> EventStream:
    """The events of a row that is one episode, with the value of its column."""
    if value is None:
        return stream
    if not isinstance(value, list) or len(value) != len(stream):
        found = f"{len(value):,} log-probabilities" if isinstance(value, list) else type(value).__name__
        raise ColumnError(
            f"a row with {len(stream):,} events has {found} in its column of log-probabilities",
            where=f"{where}, row {row}",
            hint="Give a list with one number, or one list of the tokens' numbers, for each event",
        )
    logprob = np.array([_of_event(one, where, row) for one in value], np.float64)
    over = np.flatnonzero(logprob > _ROUNDING)
    if len(over):
        raise _not_a_logarithm(float(logprob[over[0]]), where, row)
    return replace(stream, logprob=logprob)


def _of_event(value: Any, where: str, row: int) -> float:
    """The logarithm of one event's probability; NaN if it is unknown."""
    if isinstance(value, list):
        if any(token is None for token in value):
            return float("nan")
        if value and all(isinstance(token, int | float) and not isinstance(token, bool) for token in value):
            # Added up as a training loop does it, so that both give the same bits.
            return float(np.add.reduceat(np.array(value, np.float64), [0])[0])
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return float("nan") if value is None else float(value)
    raise ColumnError(
        f"the column of log-probabilities contains {value!r:.60}, not a number or a list of numbers",
        where=f"{where}, row {row}",
        hint="Give natural logarithms of probabilities, one for each event or for each of its tokens",
    )


def _checked(logprob: Floats, where: str, row: int) -> Floats:
    over = np.flatnonzero(logprob > _ROUNDING)
    if len(over):
        raise _not_a_logarithm(float(logprob[over[0]]), where, row + int(over[0]))
    return logprob


def _not_a_logarithm(value: float, where: str, row: int) -> ColumnError:
    return ColumnError(
        f"a log-probability must be at most 0, got {value:g}",
        where=f"{where}, row {row}",
        hint="Give natural logarithms, not probabilities; or name another column with --column logprob=NAME",
    )
