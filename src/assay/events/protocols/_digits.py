"""Two token streams of equal length, compared event by event and digit by digit, for `sequence@1`.

Tokens are compared as written. Nearly all are those that encoding the decoded value gives. Others, such as a digit
beyond its base, are kept by the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.events.stream import NO_TOKEN, EventStream, Kind, Problem
from assay.types import Floats, Ints

if TYPE_CHECKING:
    from assay.events.codecs.tokens import TokenCodec

SECTIONS = {"mouse": Kind.MOUSE, "keyboard": Kind.KEYBOARD, "screen": Kind.SCREEN}
"""Kinds of events by the name of their figures."""

Levels = NDArray[np.bool_]
"""Whether the digits of each event agree up to each of LEVELS, shape (n, 3)."""

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

    @property
    def unusual(self) -> NDArray[np.bool_]:
        """Whether an event at a position is spelled in an unusual way, shape (n,); empty if none is."""
        found = [side.spelling >= 0 for side in (self.predicted, self.truth) if side.spelling is not None]
        return np.logical_or.reduce(found) if found else np.empty(0, np.bool_)

    def tokens(self, side: EventStream) -> Ints:
        """Time and data tokens of events of one kind as written, shape (n, width); NO_TOKEN if an event has fewer."""
        columns = [digits_of(side.time_ns // self.codec.unit_ns, self.codec.time_bases)]
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
            return digits_of(wide % span, bases)
        return np.concatenate([(wide < 0)[:, None].astype(np.int64), digits_of(np.abs(wide), bases)], axis=1)


def digits_of(value: Ints, bases: tuple[int, ...]) -> Ints:
    """Digits of numbers of 0 or more, most significant first, shape (n, len(bases)); larger numbers are clamped."""
    digits = np.empty((len(value), len(bases)), np.int64)
    rest = np.minimum(value, int(np.prod(bases)) - 1)
    for index in reversed(range(len(bases))):
        rest, digits[:, index] = np.divmod(rest, bases[index])
    return digits


def agreement(predicted: Ints, truth: Ints) -> Levels:
    """p1, p2, p3: whether all digits up to the third, second and last from the end agree, shape (n, 3).

    With custom bases a number may have fewer digits: p1 is then its first digit, and p3 all of them.
    """
    agree = np.logical_and.accumulate(predicted == truth, axis=1)
    steps = np.arange(len(LEVELS)) + max(0, agree.shape[1] - len(LEVELS))
    return agree[:, np.minimum(steps, agree.shape[1] - 1)]


def time_error(predicted: Ints, truth: Ints, wrap: int) -> Floats:
    """Percent error of times on a clock that wraps around: the shorter way round counts; NaN if the truth is 0."""
    apart = np.abs(predicted - truth) % wrap
    shorter = np.minimum(apart, wrap - apart).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(truth != 0, shorter / np.abs(truth) * 100, np.nan)


def percent_error(predicted: Floats, truth: Floats) -> Floats:
    """|p − t| ÷ |t| · 100; NaN if the truth is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(truth != 0, np.abs(predicted - truth) / np.abs(truth) * 100, np.nan)


def levels_as_written(comparison: StreamComparison, guess: EventStream, right: EventStream) -> dict[str, Levels]:
    """Agreement of the digits of comparable events of one kind: of times, and of a mouse's deltas and lengths."""
    codec = comparison.codec
    written = [comparison.tokens(side) for side in (guess, right)]
    begin, stop = 0, len(codec.time_bases)
    found = {"timestamp": agreement(*(tokens[:, begin:stop] for tokens in written))}
    if len(right) and right.kind[0] == Kind.MOUSE:
        for axis in ("dx", "dy"):
            begin, stop = stop, stop + len(codec.delta_bases) + codec.signed
            found[axis] = agreement(*(tokens[:, begin:stop] for tokens in written))
        lengths = [np.rint(np.hypot(side.dx, side.dy)).astype(np.int64) for side in (guess, right)]
        found["euclidean"] = agreement(*(digits_of(length, codec.delta_bases) for length in lengths))
    return found


def share_of_time(error: Ints, time: Ints) -> Floats:
    """Percent errors of times, both in lowest terms."""
    return error / time * 100


def axis_error(truth: Ints, predicted: Ints) -> Floats:
    """Percent errors of movements along one axis."""
    return percent_error(predicted.astype(float), truth.astype(float))


def length_error(dx: Ints, dy: Ints, px: Ints, py: Ints) -> Floats:
    """Percent errors of the lengths of movements."""
    true_x, true_y, x, y = (column.astype(float) for column in (dx, dy, px, py))
    return percent_error(np.hypot(x, y), np.hypot(true_x, true_y))


MOVE_ERRORS: Mapping[str, tuple[Callable[..., Floats], tuple[int, ...]]] = {
    "dx": (axis_error, (0, 2)),
    "dy": (axis_error, (1, 3)),
    "euclidean": (length_error, (0, 1, 2, 3)),
}
"""Errors of a movement, and which of dx, dy, predicted dx and predicted dy each is derived from."""
