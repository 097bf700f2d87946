"""`d2e@1`: two free-running streams, compared in bins of time.

Each side has its own length. Both are aligned to one clock, divided into bins of 50 ms over the range that both cover,
and compared bin by bin: movement by correlation and scale, keys and buttons by equal counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import SourceError, UsageError
from assay.events.align import (
    CLOCKS,
    Bins,
    Clock,
    Pair,
    clock_shifts,
    fell_back,
    fell_back_sentence,
    frame_clocks,
    unwrapped,
    within_reach,
)
from assay.events.codecs import Codec
from assay.events.protocols import Pairing, ProtocolMetric
from assay.events.stream import EventStream, Kind
from assay.events.tally import Tally
from assay.stats import Resampling, ratio_interval, sum_interval
from assay.types import Estimate, Floats, Ints, Joint, Ratio, State

# Two sides that begin and end at least this far apart, by the same amount, seem to have different clocks.
_CLOCK_OFF_MS = 1000
# Left, right and middle, down and up: the transitions that count as buttons.
_TRANSITIONS = (0x1, 0x2, 0x4, 0x8, 0x10, 0x20)
_ANY_TRANSITION = 0x3F
# Episodes that a sentence names.
_NAMED = 10
_KEYBOARD, _MOUSE = int(Kind.KEYBOARD), int(Kind.MOUSE)


def score(pair: Pair, *, bin_ns: int, clock: Clock) -> dict[str, State]:
    """The states of one episode; all empty if the two sides share no time."""
    predicted, truth = (
        within_reach(unwrapped(side if side.valid.all() else side[side.valid])) for side in (pair.predicted, pair.truth)
    )
    shifts, bins = _common_range(predicted, truth, bin_ns, clock)
    covered = Ratio(max(0, bins.end_ns - bins.start_ns), _span(predicted, truth, clock))
    begins = _edges_ms(predicted, truth, shifts)
    ours, theirs = (
        _Binned(side, bins.of(side.time_ns - shift)) for side, shift in zip((predicted, truth), shifts, strict=True)
    )
    both = bool(len(predicted) and len(truth))
    states: dict[str, State] = {
        "bins": Ratio(bins.count, 1),
        "coverage": covered,
        "begins": begins,
        "apart": Ratio(int(both and bins.end_ns < bins.start_ns), int(both)),
        "fell_back": Ratio(int(fell_back(predicted, truth, clock)), int(both)),
    }
    # Only bins with movement are kept: one stray time far away would make very many bins, all of them empty.
    moves = ours.plain_moves, theirs.plain_moves
    moved = np.unique(np.concatenate([side.at[where] for side, where in zip((ours, theirs), moves, strict=True)]))
    rows = [np.searchsorted(moved, side.at[where]) for side, where in zip((ours, theirs), moves, strict=True)]
    for axis in "xy":
        guess, right = (
            _summed(side.column(f"d{axis}")[where], row, len(moved))
            for side, where, row in zip((ours, theirs), moves, rows, strict=True)
        )
        states[f"moved_{axis}"] = Joint.of(right, guess)
        states[f"scale_{axis}"] = Ratio(int(np.abs(right).sum()), int(np.abs(guess).sum()))
    states["keys"] = _equal_counts(ours.keys, theirs.keys)
    states["buttons"] = _equal_counts(ours.buttons, theirs.buttons)
    return states


def _common_range(
    predicted: EventStream, truth: EventStream, bin_ns: int, clock: Clock
) -> tuple[tuple[int, int], Bins]:
    """What to subtract from the times of each side to align their clocks, and the range that both cover."""
    if not len(predicted) or not len(truth):
        return (0, 0), Bins(0, 0, bin_ns)
    sides = (predicted, truth)
    frames, shifts = frame_clocks(predicted, truth, clock), clock_shifts(predicted, truth, clock)
    firsts = [int(side.time_ns.min()) for side in sides] if frames is None else [frame_ns for frame_ns, _ in frames]
    start = max(first - shift for first, shift in zip(firsts, shifts, strict=True))
    end = min(_end(side) - shift for side, shift in zip(sides, shifts, strict=True))
    return shifts, Bins(start, end, bin_ns)


def _edges_ms(predicted: EventStream, truth: EventStream, shifts: tuple[int, int]) -> Joint:
    """How much later the prediction begins and ends than the truth, and whether only one side has frames."""
    if not len(predicted) or not len(truth):
        return Joint()
    ours, theirs = (
        (int(side.time_ns.min()) - shift, int(side.time_ns.max()) - shift)
        for side, shift in zip((predicted, truth), shifts, strict=True)
    )
    frames = [bool((side.kind == Kind.SCREEN).any()) for side in (predicted, truth)]
    row = [(ours[0] - theirs[0]) // 1_000_000, (ours[1] - theirs[1]) // 1_000_000, int(frames[0] != frames[1])]
    return Joint.of(*np.array([row]).T)


def _span(predicted: EventStream, truth: EventStream, clock: Clock) -> int:
    """The time span of the truth: from its first frame or event to its end."""
    if not len(truth):
        return 0
    frames = frame_clocks(predicted, truth, clock)
    return max(0, _end(truth) - (int(truth.time_ns.min()) if frames is None else frames[1][0]))


def _end(stream: EventStream) -> int:
    """A recording ends with its last message of any topic; any other source, and wrapped times, with the last event."""
    end_ns = stream.episodes[int(stream.episode[0])].end_ns
    if end_ns is None or getattr(stream.quantised, "wrap_ns", None) is not None:
        return int(stream.time_ns.max())
    return end_ns


@dataclass(frozen=True)
class _Binned:
    """The events of one side, each with its bin."""

    stream: EventStream
    at: Ints
    """The bin of each event; −1 outside the common range."""

    def column(self, name: str) -> NDArray[Any]:
        return np.asarray(getattr(self.stream, name))

    @cached_property
    def mouse(self) -> NDArray[np.bool_]:
        """Mouse events within the range."""
        return np.asarray((self.stream.kind == _MOUSE) & (self.at >= 0))

    @property
    def plain_moves(self) -> Ints:
        """Indices of the mouse_nop events."""
        return np.flatnonzero(self.mouse & (self.stream.flags == 0))

    @property
    def keys(self) -> Joint:
        """Rows (bin, key, press)."""
        keys = np.flatnonzero((self.stream.kind == _KEYBOARD) & (self.at >= 0))
        return Joint.of(self.at[keys], self.stream.vk[keys], self.stream.press[keys].astype(np.int64))

    @property
    def buttons(self) -> Joint:
        """Rows (bin, transition)."""
        pressed = np.flatnonzero(self.mouse & (self.stream.flags & _ANY_TRANSITION != 0))
        flags, at = self.stream.flags[pressed], self.at[pressed]
        found = [flags & flag != 0 for flag in _TRANSITIONS]
        return Joint.of(
            np.concatenate([at[some] for some in found]),
            np.repeat(_TRANSITIONS, [np.count_nonzero(some) for some in found]),
        )


def _summed(delta: Ints, rows: Ints, n: int) -> Ints:
    """Sum of the deltas in each of n bins."""
    # Exact: float64 holds every sum of 32-bit integers below 2**53.
    return np.bincount(rows, weights=delta, minlength=n).astype(np.int64)


def _equal_counts(predicted: Joint, truth: Joint) -> Ratio:
    """Of the labels that occur in a bin on either side, how many occur equally often on both."""
    difference = Joint.merge([truth, Joint.of_distinct(predicted.columns, -predicted.counts)])
    return Ratio(int((difference.occurrences == 0).sum()), len(difference))


def finish(tally: Tally, plan: Resampling) -> dict[str, Estimate]:
    """Every figure of the protocol."""
    strata = [episode.stratum for episode in tally.episodes]
    bins = tally.total("bins", Ratio).hits
    spans = [np.array([part.hits, part.total], np.float64) for part in tally.parts("coverage", Ratio)]
    out = {
        "bins": Estimate(float(bins), n=bins),
        "coverage": sum_interval(spans, _share, plan, n=bins, strata=strata),
    }
    for axis in "xy":
        parts = [_sums(part) for part in tally.parts(f"moved_{axis}", Joint)]
        n = tally.total(f"moved_{axis}", Joint).n
        out[f"pearson_{axis}"] = sum_interval(parts, _pearson, plan, n=n, strata=strata)
        scale = [np.array([part.hits, part.total], np.float64) for part in tally.parts(f"scale_{axis}", Ratio)]
        out[f"scale_ratio_{axis}"] = sum_interval(scale, _scale_ratio, plan, n=bins, strata=strata)
        out[f"scale_{axis}"] = sum_interval(scale, _scale, plan, n=bins, strata=strata)
    for name, key in (("keys", "key"), ("buttons", "button")):
        accuracy = ratio_interval(tally.parts(name, Ratio), plan, strata=strata)
        out |= {f"{key}_accuracy": accuracy, f"{key}_samples": Estimate(float(accuracy.n), n=accuracy.n)}
    return out


def _check(tally: Tally) -> None:
    """Raise an error if the two sides share no time in any episode: their clocks differ, and nothing was compared."""
    apart = tally.total("apart", Ratio)
    if not apart.total or apart.hits < apart.total:
        return
    begins = tally.total("begins", Joint)
    late_ms = float(np.median(np.repeat(begins.column(0), begins.counts)))
    where = "" if apart.total == 1 else f" in any of {apart.total:,} episodes"
    raise SourceError(
        f"predictions and truths share no time{where}: the predictions begin {abs(late_ms) / 1000:,.1f} s "
        f"{'after' if late_ms > 0 else 'before'} the truths, so d2e@1 has nothing to compare",
        hint="Use --clock start if both begin at the same moment; otherwise check the times, or leave out d2e",
    )


def _cautions(tally: Tally) -> list[str]:
    """Warnings about the figures, as sentences; that only a part was compared comes first."""
    found = []
    coverage = tally.total("coverage", Ratio).value
    if coverage is not None and coverage < 0.95:
        found.append(
            f"d2e@1 compares {coverage:.0%} of the truth's span, which is what both sides cover; a prediction that "
            "stops early can be perfect there."
        )
    alone = [e.name for e, part in zip(tally.episodes, tally.parts("apart", Ratio), strict=True) if part.hits]
    if alone:
        n = tally.total("apart", Ratio).total
        shown = ", ".join(f"'{name}'" for name in alone[:_NAMED])
        more = f" and {len(alone) - _NAMED:,} more" if len(alone) > _NAMED else ""
        found.append(
            f"Predictions and truths share no time in {len(alone):,} of {n:,} episodes, where d2e@1 compares nothing: "
            f"{shown}{more}."
        )
    edges = tally.total("begins", Joint)
    if len(edges):
        begin, end = (float(np.median(np.repeat(edges.column(at), edges.counts))) for at in (0, 1))
        if abs(begin) >= _CLOCK_OFF_MS and abs(begin - end) <= 0.1 * abs(begin):
            found.append(
                f"Predictions begin and end about {abs(begin) / 1000:.1f} s {'after' if begin > 0 else 'before'} the "
                "truth: the two clocks may be off by that much. Try --clock start."
            )
    back = tally.total("fell_back", Ratio)
    frames = edges.where(edges.column(2) == 1) if len(edges) else edges
    if back.hits:
        found.append(fell_back_sentence(back.hits, back.total))
    elif len(frames):
        found.append("Frames exist on one side only, so d2e@1 cannot put both sides on one clock by their frames.")
    return found


def _sums(bins: Joint) -> Floats:
    """n, Σt, Σp, Σt², Σp², Σtp over the bins: all that a correlation needs, and all of them can be added."""
    t, p, w = bins.column(0).astype(np.float64), bins.column(1).astype(np.float64), bins.counts
    return np.array([w.sum(), (t * w).sum(), (p * w).sum(), (t * t * w).sum(), (p * p * w).sum(), (t * p * w).sum()])


def _pearson(sums: Floats) -> Floats:
    """Correlation from sums, shape (…, 6); NaN if a side does not vary."""
    n, t, p, tt, pp, tp = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (n * tt - t * t) * (n * pp - p * p)
        return np.where(spread > 0, (n * tp - t * p) / np.sqrt(np.maximum(spread, 0)), np.nan)


def _share(sums: Floats) -> Floats:
    part, whole = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def _scale(sums: Floats) -> Floats:
    """Predicted ÷ true mean absolute movement, shape (…, 2); above 1 the prediction moves too much."""
    truth, predicted = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((truth > 0) & (predicted > 0), predicted / truth, np.nan)


def _scale_ratio(sums: Floats) -> Floats:
    """Larger ÷ smaller of the two mean absolute movements, shape (…, 2); NaN if a side does not move."""
    truth, predicted = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = truth / predicted
        return np.where((truth > 0) & (predicted > 0), np.maximum(ratio, 1 / ratio), np.nan)


_METRICS = (
    # Coverage first: the other figures say nothing about the time that one side lacks.
    ProtocolMetric("coverage", "Share of the truth's span", "Data", undefined="the truth has no span", headline=True),
    ProtocolMetric("bins", "Bins in the common range", "Data", better="none"),
    ProtocolMetric("key_samples", "Bins and keys compared", "Data", better="none"),
    ProtocolMetric("button_samples", "Bins and buttons compared", "Data", better="none"),
    *(
        ProtocolMetric(
            f"pearson_{axis}", f"Correlation of movement, {axis}", "Movement", undefined=undefined, headline=True
        )
        for axis in "xy"
        for undefined in ["no movement in the common range, or one side never varies"]
    ),
    *(
        ProtocolMetric(
            f"scale_ratio_{axis}", f"Scale ratio, {axis}", "Movement", "×", "lower", undefined, headline=True
        )
        for axis in "xy"
        for undefined in ["one side does not move in the common range"]
    ),
    *(
        ProtocolMetric(
            f"scale_{axis}",
            f"Movement against the truth, {axis} (above 1: too much)",
            "Movement",
            "×",
            "none",
            undefined,
        )
        for axis in "xy"
        for undefined in ["one side does not move in the common range"]
    ),
    ProtocolMetric(
        "key_accuracy", "Keys right by bin", "Actions", undefined="no key event in the common range", headline=True
    ),
    ProtocolMetric(
        "button_accuracy",
        "Buttons right by bin",
        "Actions",
        undefined="no button event in the common range",
        headline=True,
    ),
)


@dataclass(frozen=True)
class D2e:
    """The protocol with its settings, as registered."""

    bin_ms: float = 50.0
    """Width of a bin."""
    clock: Clock = "auto"
    """'frames': by the position of the first frame in its video. 'shared': times are used as they are. 'start': each
    side begins at 0. 'auto': frames if both sides have them, otherwise shared."""
    name: str = "d2e"
    version: int = 1
    pairing: Pairing = "episode"
    metrics: Sequence[ProtocolMetric] = _METRICS

    def __post_init__(self) -> None:
        if not 1e-6 <= self.bin_ms <= 1e9:  # a nanosecond, eleven days
            raise UsageError(
                f"bin_ms must be between 0.000001 and 1000000000, got {self.bin_ms}", hint="Give milliseconds, e.g. 50"
            )
        if self.clock not in CLOCKS:
            raise UsageError(f"there is no clock '{self.clock}'", hint=f"Use one of: {', '.join(CLOCKS)}")

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        return score(pair, bin_ns=round(self.bin_ms * 1e6), clock=self.clock)

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        return finish(tally, plan)

    def check(self, tally: Tally) -> None:
        """Raise an error if nothing could be compared because the clocks do not overlap."""
        _check(tally)

    def cautions(self, tally: Tally, *, beside: Sequence[str]) -> list[str]:
        """Warnings, as sentences, about what makes the figures look better than the prediction is."""
        return _cautions(tally)

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> D2e:
        return replace(self, **{name: settings[name] for name in ("bin_ms", "clock") if name in settings})

    def settings(self) -> Mapping[str, Any]:
        return {"bin_ms": self.bin_ms, "clock": self.clock}


PROTOCOL = D2e()
