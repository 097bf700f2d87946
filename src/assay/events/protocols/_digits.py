"""Two token streams of equal length, compared event by event and digit by digit, for `sequence@1`.

Tokens are compared as written. Nearly all are those that encoding the decoded value gives; where they are not, such as
a digit beyond its base, the stream has kept them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import NO_TOKEN, EventStream, Kind, Problem
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
        """Time and data tokens of events of one kind as written, shape (n, width); NO_TOKEN if an event has fewer."""
        columns = [_digits(side.time_ns // self.codec.unit_ns, self.codec.time_bases)]
        if len(side) and side.kind[0] == Kind.KEYBOARD:
            columns += [side.vk[:, None], side.press[:, None]]
        elif len(side) and side.kind[0] == Kind.MOUSE:
            columns += [self.signed_digits(value, self.codec.delta_bases) for value in (side.dx, side.dy)]
            columns.append(np.stack([side.flags >> shift & 15 for shift in (8, 4, 0)], axis=1))
            scroll = self.signed_digits(side.data // 120, self.codec.scroll_bases)
            columns.append(np.where((side.data != 0)[:, None], scroll, NO_TOKEN))
        tokens = np.concatenate([column.astype(np.int64) for column in columns], axis=1)
        if side.spelling is not None and len(unusual := np.flatnonzero(side.spelling >= 0)):
            from assay.events.codecs.spelling import written_tokens  # needs numba, which a stream of tokens has needed

            written = written_tokens(self.codec, side[unusual], Kind(int(side.kind[0])))
            tokens[unusual] = written[:, : tokens.shape[1]]
        return tokens

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


def _time_error(predicted_ns: Ints, truth_ns: Ints, wrap_ns: int) -> Floats:
    """Percent error of times on a clock that wraps around: the shorter way round counts; NaN if the truth is 0."""
    apart = np.abs(predicted_ns - truth_ns) % wrap_ns
    shorter = np.minimum(apart, wrap_ns - apart).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(truth_ns != 0, shorter / np.abs(truth_ns) * 100, np.nan)


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
    return Measure(_time_error(predicted_ns, truth_ns, codec.wrap_ns), _levels(units[0], units[1]))


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
        found = _time_error(times.column(2), times.column(1), codec.wrap_ns)
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


# --- levels of events that are spelled in an unusual way --------------------------------------------------------------

RESPELLED = "respelled_levels"
"""Packed sums: by how much the hits of each level change if tokens are compared as written, not as values; for the
times of each kind, then for dx and dy, three levels each."""
_RESPELLED_PARTS = (*(f"{name}_metrics.timestamp_" for name in SECTIONS), "mouse_metrics.dx_", "mouse_metrics.dy_")


N_RESPELLED = len(_RESPELLED_PARTS) * len(LEVELS)


def respelled_levels(comparison: StreamComparison, predicted: EventStream, truth: EventStream, kind: Kind) -> Ints:
    """The sums of RESPELLED for comparable events of one kind, shape (parts · levels,)."""
    changes = np.zeros((len(_RESPELLED_PARTS), len(LEVELS)), np.int64)
    unusual = np.zeros(len(truth), np.bool_)
    for side in (predicted, truth):
        unusual |= False if side.spelling is None else side.spelling >= 0
    if unusual.any():
        guess, right = predicted[unusual], truth[unusual]
        written = [comparison.tokens(side) for side in (guess, right)]
        value = time_measure(right.time_ns, guess.time_ns, comparison.codec).levels
        size = len(comparison.codec.time_bases)
        name = next(name for name, known in SECTIONS.items() if known == kind)
        part = _RESPELLED_PARTS.index(f"{name}_metrics.timestamp_")
        changes[part] = _gained(_levels(written[0][:, :size], written[1][:, :size]), value)
        if kind == Kind.MOUSE:
            width = len(comparison.codec.delta_bases) + comparison.codec.signed
            moves = move_measures(comparison, right.dx, right.dy, guess.dx, guess.dy)
            for axis, begin in (("dx", size), ("dy", size + width)):
                digits = [tokens[:, begin : begin + width] for tokens in written]
                changes[_RESPELLED_PARTS.index(f"mouse_metrics.{axis}_")] = _gained(
                    _levels(*digits), moves[axis].levels
                )
    return changes.ravel()


def _gained(written: NDArray[np.bool_], value: NDArray[np.bool_]) -> Ints:
    return np.asarray(written.sum(axis=0) - value.sum(axis=0))


def written_levels(comparison: StreamComparison, guess: EventStream, right: EventStream) -> dict[str, list[bool]]:
    """The levels of the one comparable event of both streams, by 'timestamp' and, of a mouse event, 'dx' and 'dy'."""
    kind = Kind(int(right.kind[0]))
    name = next(name for name, known in SECTIONS.items() if known == kind)
    found = {"timestamp": time_measure(right.time_ns, guess.time_ns, comparison.codec).levels}
    if kind == Kind.MOUSE:
        moves = move_measures(comparison, right.dx, right.dy, guess.dx, guess.dy)
        found |= {axis: moves[axis].levels for axis in ("dx", "dy")}
    changes = respelled_levels(comparison, guess, right, kind).reshape(-1, len(LEVELS))
    return {
        value: (levels[0] + changes[_RESPELLED_PARTS.index(f"{name}_metrics.{value}_")] > 0).tolist()
        for value, levels in found.items()
    }


def respell(hits: Mapping[str, list[list[int]]], changes: Sequence[Ints | None]) -> None:
    """Add the changes of each part, as `respelled_levels` gave them, to the hits of `level_hits`."""
    for at, change in enumerate(changes):
        if change is None:
            continue
        by_part = dict(zip(_RESPELLED_PARTS, change.reshape(-1, len(LEVELS)), strict=True))
        times = [rows for name, rows in by_part.items() if "timestamp" in name]
        by_part["timestamp_metrics."] = np.sum(times, axis=0)
        for prefix, rows in hits.items():
            for level, gained in enumerate(by_part.get(prefix, ())):
                rows[at][level] += int(gained)
