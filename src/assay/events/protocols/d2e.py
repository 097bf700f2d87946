"""`d2e@1`: two free-running streams, compared in bins of time.

Each side has its own length. Both are aligned to one clock, divided into bins of 50 ms over the range that both cover,
and compared bin by bin: movement by correlation and scale, keys and buttons by equal counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.errors import SourceError, UsageError
from assay.events.align import (
    CLOCKS,
    Bins,
    Clock,
    Pair,
    fell_back,
    fell_back_sentence,
    frame_clocks,
)
from assay.events.codecs import Codec
from assay.events.counting import count_rows, list_few
from assay.events.protocols import Pairing, ProtocolMetric
from assay.events.protocols._bins import RunningSide, compare_bins
from assay.events.tally import Tally
from assay.stats import CORRELATION, POSITIVE, SHARE, Resampling, UnitRows, ratio_interval, sum_interval
from assay.types import Estimate, Floats, Joint, Ratio, State

# Two sides that begin and end at least this far apart, by the same amount, seem to have different clocks.
_CLOCK_OFF_MS = 1000
# Episodes that a sentence names.
_NAMED = 10


def score(pair: Pair, *, bin_ns: int, clock: Clock) -> dict[str, State]:
    """The states of one episode; all empty if the two sides share no time."""
    sides = RunningSide.of(pair.predicted), RunningSide.of(pair.truth)
    predicted, truth = (side.stream if side.n else side.stream[:0] for side in sides)
    frames = frame_clocks(predicted, truth, clock)
    shifts, bins = _common_range(sides, frames, bin_ns, clock)
    both = int(all(side.n for side in sides))
    states: dict[str, State] = {
        "bins": Ratio(bins.count, 1),
        "coverage": Ratio(max(0, bins.end_ns - bins.start_ns), _span(sides[1], frames)),
        "begins": _edges_ms(sides, shifts),
        "apart": Ratio(int(both and _are_apart(sides, bins)), both),
        "fell_back": Ratio(int(fell_back(predicted, truth, clock)), both),
    }
    found = compare_bins(*sides, shifts, bins)
    for at, axis in enumerate("xy"):
        states[f"moved_{axis}"] = count_rows(found.moved[2 * at : 2 * at + 2])
        states[f"scale_{axis}"] = Ratio(*found.distance[2 * at : 2 * at + 2])
    return states | {"keys": Ratio(*found.keys), "buttons": Ratio(*found.buttons)}


_Sides = tuple[RunningSide, RunningSide]
_Frames = Sequence[tuple[int, int]] | None


def _common_range(sides: _Sides, frames: _Frames, bin_ns: int, clock: Clock) -> tuple[tuple[int, int], Bins]:
    """What to subtract from the times of each side to align their clocks, and the range that both cover."""
    ours, theirs = sides
    if not ours.n or not theirs.n:
        return (0, 0), Bins(0, 0, bin_ns)
    shifts, firsts = (0, 0), [ours.low_ns, theirs.low_ns]
    if frames is not None:
        shifts = (frames[0][0] - frames[0][1], frames[1][0] - frames[1][1])
        firsts = [frame_ns for frame_ns, _ in frames]
    elif clock == "start":
        shifts = (ours.begin_ns, theirs.begin_ns)
    start = max(first - shift for first, shift in zip(firsts, shifts, strict=True))
    end = min(_end(side) - shift for side, shift in zip(sides, shifts, strict=True))
    return shifts, Bins(start, end, bin_ns)


def _are_apart(sides: Sequence[RunningSide], bins: Bins) -> bool:
    """Whether the sides share no time, by more than a bin; of two single events nothing can be said about clocks."""
    return bins.start_ns - bins.end_ns > bins.width_ns and max(side.n for side in sides) > 1


def _edges_ms(sides: _Sides, shifts: tuple[int, int]) -> Joint:
    """How much later the prediction begins and ends than the truth, and whether only one side has frames."""
    ours, theirs = sides
    if not ours.n or not theirs.n:
        return Joint()
    later = shifts[1] - shifts[0]
    begin, end = ours.low_ns - theirs.low_ns + later, ours.high_ns - theirs.high_ns + later
    return list_few([(begin // 1_000_000, end // 1_000_000, int(ours.frames != theirs.frames), 1)], 3)


def _span(truth: RunningSide, frames: _Frames) -> int:
    """The time span of the truth: from its first frame or event to its end."""
    if not truth.n:
        return 0
    return max(0, _end(truth) - (truth.low_ns if frames is None else frames[1][0]))


def _end(side: RunningSide) -> int:
    """A recording ends with its last message of any topic; any other source, and wrapped times, with the last event."""
    stream = side.stream
    end_ns = stream.episodes[int(stream.episode[0])].end_ns
    if end_ns is None or getattr(stream.quantised, "wrap_ns", None) is not None:
        return side.high_ns
    return end_ns


def finish(tally: Tally, plan: Resampling) -> dict[str, Estimate]:
    """Every figure of the protocol."""
    strata = [episode.stratum for episode in tally.episodes]
    bins = tally.total("bins", Ratio).hits
    spans = [np.array([part.hits, part.total], np.float64) for part in tally.parts("coverage", Ratio)]
    out = {
        "bins": Estimate(float(bins), n=bins),
        "coverage": sum_interval(
            spans, _share, plan, n=bins, strata=strata, scale=SHARE, sizes=[span for _, span in spans]
        ),
    }
    for axis in "xy":
        parts, n = _sums_of_each(tally, f"moved_{axis}")
        out[f"pearson_{axis}"] = sum_interval(
            parts, _pearson, plan, n=n, strata=strata, scale=CORRELATION, sizes=[part[0] for part in parts]
        )
        scale = [np.array([part.hits, part.total], np.float64) for part in tally.parts(f"scale_{axis}", Ratio)]
        out[f"scale_ratio_{axis}"] = sum_interval(scale, _scale_ratio, plan, n=bins, strata=strata, scale=_AT_LEAST_1)
        out[f"scale_{axis}"] = sum_interval(scale, _scale, plan, n=bins, strata=strata, scale=POSITIVE)
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


def _sums_of_each(tally: Tally, name: str) -> tuple[list[Floats], int]:
    """`_sums` of a state of each episode, and how many bins they have in all."""
    rows, units = UnitRows.joined(*tally.rows(name)), len(tally.episodes)
    n = int(rows.counts.sum())
    largest = max((int(np.abs(column.astype(np.int64)).max()) for column in rows.columns), default=0)
    if largest**2 * n >= 2**53:  # sums of floats that are not exact depend on their order
        return [_sums(part) for part in tally.parts(name, Joint)], n
    t, p = (column.astype(np.float64) for column in rows.columns or (rows.counts, rows.counts))
    w = rows.counts.astype(np.float64)
    columns = [np.bincount(rows.units, each, units) for each in (w, t * w, p * w, t * t * w, p * p * w, t * p * w)]
    return list(np.column_stack(columns)), n


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


_AT_LEAST_1 = replace(POSITIVE, back=lambda y: np.maximum(np.exp(y), 1.0))


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
