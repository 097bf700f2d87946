"""Two token streams of equal length, compared event by event and digit by digit, for `sequence@1`.

Digits are those of the decoded value in the bases of the encoding: a digit beyond its base counts as the number that
lenient decoding made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import EventStream, Kind, Problem
from assay.stats.by_episode import VALUES_AT_ONCE
from assay.types import Floats, Ints, Joint

if TYPE_CHECKING:
    from assay.events.codecs.tokens import TokenCodec

SECTIONS = {"mouse": Kind.MOUSE, "keyboard": Kind.KEYBOARD, "screen": Kind.SCREEN}
"""Kinds of events by the name of their figures."""

LEVELS = ("p1", "p2", "p3")
"""Agreement of the first, the first two, and all three digits."""

STATUSES = ("valid", "type_mismatch", "invalid_format", "missing_fields", "unpaired")
"""Whether the events at one position can be compared, and if not, why."""
VALID, _MISMATCH, _INVALID, _FIELDS, _UNPAIRED = range(5)

ABSENT = -1
"""In place of a token that an event does not have."""


@dataclass(frozen=True)
class StreamComparison:
    """Two streams of equal length in one token encoding, compared position by position."""

    predicted: EventStream
    truth: EventStream
    codec: TokenCodec

    @classmethod
    def of(cls, predicted: EventStream, truth: EventStream, codec: TokenCodec) -> StreamComparison:
        """From two streams; those that are not in this encoding are converted to it, because digits need one."""
        guess, right = (side if side.quantised == codec else codec.quantise(side) for side in (predicted, truth))
        return cls(guess, right, codec)

    @property
    def status(self) -> NDArray[np.int8]:
        """Index into STATUSES for each position, shape (n,)."""
        problems = [self.truth.problem, self.predicted.problem]
        status = np.where(self.predicted.kind == self.truth.kind, VALID, _MISMATCH).astype(np.int8)
        for problem in problems:
            status[problem != 0] = _INVALID
        for problem in problems:
            status[problem == Problem.WRONG_LENGTH] = _FIELDS
        for problem in problems:
            status[problem == Problem.MISSING] = _UNPAIRED
        return status

    @property
    def same_type(self) -> NDArray[np.bool_]:
        """Whether both types could be read and are equal; the rest of an event may be invalid."""
        return np.asarray((self.predicted.kind == self.truth.kind) & (self.truth.kind != Kind.UNKNOWN))

    def tokens(self, side: EventStream) -> Ints:
        """Time and data tokens of events of one kind, shape (n, width); ABSENT if an event has fewer."""
        columns = [_digits(side.time_ns // self.codec.unit_ns, self.codec.time_bases)]
        if len(side) and side.kind[0] == Kind.KEYBOARD:
            columns += [side.vk[:, None], side.press[:, None]]
        elif len(side) and side.kind[0] == Kind.MOUSE:
            columns += [self.signed_digits(value, self.codec.delta_bases) for value in (side.dx, side.dy)]
            columns.append(np.stack([side.flags >> shift & 15 for shift in (8, 4, 0)], axis=1))
            scroll = self.signed_digits(side.data // 120, self.codec.scroll_bases)
            columns.append(np.where((side.data != 0)[:, None], scroll, ABSENT))
        return np.concatenate([column.astype(np.int64) for column in columns], axis=1)

    def signed_digits(self, value: Ints, bases: tuple[int, ...]) -> Ints:
        """Digits of a signed number as the encoding writes it: modular, or after a sign."""
        span = int(np.prod(bases))
        wide = value.astype(np.int64)
        if not self.codec.signed:
            return _digits(wide % span, bases)
        return np.concatenate([(wide < 0)[:, None].astype(np.int64), _digits(np.abs(wide), bases)], axis=1)


def _digits(value: Ints, bases: tuple[int, ...]) -> Ints:
    """Digits of numbers of 0 or more, most significant first, shape (n, len(bases)); larger numbers are clamped."""
    digits = np.empty((len(value), len(bases)), np.int64)
    rest = np.minimum(value, int(np.prod(bases)) - 1)
    for index in reversed(range(len(bases))):
        rest, digits[:, index] = np.divmod(rest, bases[index])
    return digits


def _levels(predicted: Ints, truth: Ints) -> NDArray[np.bool_]:
    """p1, p2, p3: whether all digits up to the third, second and last from the end agree, shape (n, 3).

    With custom bases a number may have fewer digits: p1 is then its first digit, and p3 all of them.
    """
    agree = np.logical_and.accumulate(predicted == truth, axis=1)
    steps = np.arange(len(LEVELS)) + max(0, agree.shape[1] - len(LEVELS))
    return agree[:, np.minimum(steps, agree.shape[1] - 1)]


def _percent_error(predicted: Floats, truth: Floats) -> Floats:
    """|p − t| ÷ |t| · 100; NaN if the truth is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(truth != 0, np.abs(predicted - truth) / np.abs(truth) * 100, np.nan)


@dataclass(frozen=True)
class Measure:
    """Percent errors, shape (n,), and agreement of digits, shape (n, 3), of one continuous value."""

    error: Floats
    levels: NDArray[np.bool_]


def time_measure(truth_ns: Ints, predicted_ns: Ints, codec: TokenCodec) -> Measure:
    units = [_digits(side // codec.unit_ns, codec.time_bases) for side in (predicted_ns, truth_ns)]
    return Measure(_percent_error(predicted_ns.astype(float), truth_ns.astype(float)), _levels(units[0], units[1]))


def move_measures(comparison: StreamComparison, dx: Ints, dy: Ints, px: Ints, py: Ints) -> dict[str, Measure]:
    bases = comparison.codec.delta_bases
    measures = {
        axis: Measure(
            _percent_error(p.astype(float), t.astype(float)),
            _levels(comparison.signed_digits(p, bases), comparison.signed_digits(t, bases)),
        )
        for axis, t, p in (("dx", dx, px), ("dy", dy, py))
    }
    lengths = [np.hypot(x.astype(float), y.astype(float)) for x, y in ((px, py), (dx, dy))]
    digits = [_digits(np.rint(length).astype(np.int64), bases) for length in lengths]
    measures["euclidean"] = Measure(_percent_error(*lengths), _levels(digits[0], digits[1]))
    return measures


@dataclass(frozen=True)
class Measured:
    """What figures are made of, for each row of a state."""

    error: Callable[[Joint], Floats]
    """Percent errors, NaN if undefined, shape (n,)."""
    levels: Callable[[Joint], NDArray[np.bool_]]
    """Agreement of digits, and last whether the row counts at all; shape (n, 4)."""


def times_measured(codec: TokenCodec) -> dict[str, Measured]:
    """Times of all events and of each kind."""

    def error(times: Joint, kind: Kind | None) -> Floats:
        found = _percent_error(times.column(2).astype(float), times.column(1).astype(float))
        return found if kind is None else np.where(times.column(0) == kind, found, np.nan)

    def levels(times: Joint, kind: Kind | None) -> NDArray[np.bool_]:
        found = _counted(time_measure(times.column(1), times.column(2), codec).levels)
        return found if kind is None else found & (times.column(0) == kind)[:, None]

    prefixes = {"timestamp_metrics.": None} | {f"{name}_metrics.timestamp_": kind for name, kind in SECTIONS.items()}
    return {
        prefix: Measured(partial(error, kind=kind), partial(levels, kind=kind)) for prefix, kind in prefixes.items()
    }


def moves_measured(comparison: StreamComparison) -> dict[str, Measured]:
    """Deltas and lengths of movements."""

    def error(moves: Joint, name: str) -> Floats:
        dx, dy, px, py = (moves.column(at).astype(float) for at in range(4))
        if name == "euclidean":
            return _percent_error(np.hypot(px, py), np.hypot(dx, dy))
        return _percent_error(px, dx) if name == "dx" else _percent_error(py, dy)

    def levels(moves: Joint, name: str) -> NDArray[np.bool_]:
        return _counted(move_measures(comparison, *(moves.column(at) for at in range(4)))[name].levels)

    names = ("dx", "dy", "euclidean")
    return {f"mouse_metrics.{name}_": Measured(partial(error, name=name), partial(levels, name=name)) for name in names}


def _counted(levels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.concatenate([levels, np.ones((len(levels), 1), np.bool_)], axis=1)


def level_hits(parts: Sequence[Joint], measures: Mapping[str, Measured]) -> dict[str, list[list[int]]]:
    """For each measure and part, how many rows agree in each level, and how many count."""
    hits: dict[str, list[list[int]]] = {prefix: [] for prefix in measures}
    for rows, sizes in Joint.chain(parts, VALUES_AT_ONCE):
        unit = np.repeat(np.arange(len(sizes)), sizes)
        for prefix, measure in measures.items():
            # Exact: float64 holds every sum of counts below 2**53.
            columns = [np.bincount(unit, level * rows.counts, len(sizes)) for level in measure.levels(rows).T]
            hits[prefix] += np.stack(columns, axis=1).astype(np.int64).tolist()
    return hits
