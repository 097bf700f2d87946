"""One episode made ready: both sides on one clock, lanes, holds, the pointer's way, frames, and F1 at every shift.

Times are nanoseconds after `origin_ns`, the first action or movement of either side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.events.actions import baselines, lag
from assay.events.actions.clock import ClockSide
from assay.events.actions.comparing import compare_actions
from assay.events.actions.holds import HELD, Holds
from assay.events.actions.labels import (
    EXTRA,
    HEADLINE,
    KEYS,
    LABELS,
    MATCHED,
    SCROLLS,
    Actions,
    kind_of,
    name_of_key,
)
from assay.events.actions.pointer import knots_of
from assay.events.actions.sides import PairedActions, pair_actions
from assay.events.align import Pair
from assay.events.protocols.assay import Assay
from assay.events.stream import Kind
from assay.types import Floats, Ints

LANES = HELD + SCROLLS
"""Lanes that an episode can have: what can be held has the number of `holds`, then the directions of the wheels."""
_LABELS = np.arange(LABELS)
LANE_OF_LABEL = np.where(_LABELS < HEADLINE, _LABELS >> 1, _LABELS - HEADLINE + HELD).astype(np.int16)
_LABEL_OF_LANE = [2 * lane if lane < HELD else HEADLINE + lane - HELD for lane in range(LANES)]
IS_PRESS = np.where(_LABELS < KEYS, _LABELS & 1, (_LABELS & 1) ^ 1).astype(bool) | (_LABELS >= HEADLINE)


def lane_name(lane: int) -> str:
    """The key, button or wheel of a lane."""
    return name_of_key(_LABEL_OF_LANE[lane])


def lane_kind(lane: int) -> str:
    """'keyboard', 'button' or 'scroll'."""
    return kind_of(_LABEL_OF_LANE[lane])


@dataclass(frozen=True, slots=True)
class Travel:
    """How far one side's pointer has moved, after each of its events."""

    time_ns: Ints
    length: Floats
    """Of its path so far, in pixels."""

    @classmethod
    def of(cls, side: ClockSide, origin_ns: int) -> Travel:
        times, x, y = knots_of(side)
        steps = np.hypot(np.diff(x, prepend=0.0), np.diff(y, prepend=0.0))
        return cls(times - origin_ns, np.cumsum(steps))

    def lengths_at(self, time_ns: Floats) -> Floats:
        """The length of the way at these times; 0 if the side has no pointer."""
        return np.interp(time_ns, self.time_ns, self.length, left=0.0) if len(self.time_ns) else np.zeros(len(time_ns))


@dataclass(frozen=True)
class EpisodeTimeline:
    """One episode, before it is matched at a shift."""

    name: str
    stratum: str
    scoring: Assay
    """Tolerance, clock and unit of time."""
    paired: PairedActions
    origin_ns: int
    """The first action or movement of either side, on their common clock."""
    span_ns: int
    """From there to the last."""
    true_holds: Holds
    predicted_holds: Holds
    true_travel: Travel
    predicted_travel: Travel
    true_frames: Ints
    predicted_frames: Ints
    events: tuple[int, int]
    """True and predicted events, of all kinds."""

    @classmethod
    def of(cls, pair: Pair, scoring: Assay) -> EpisodeTimeline:
        """Raises UsageError for an episode with nothing to draw."""
        name = f"episode '{pair.episode.name}'" if pair.episode.name else "the recording"
        if not len(pair.truth):
            raise UsageError(f"{name} has no truth", hint="Choose another one")
        found = pair_actions(
            pair,
            tolerance_ns=round(scoring.tolerance_ms * 1e6),
            unit_ns=round(scoring.unit_ms * 1e6),
            clock=scoring.clock,
        )
        sides = (found.true_side, found.predicted_side)
        ends = [(side.first_ns, side.last_ns) for side in sides if side.first_ns is not None]
        if not ends:
            raise UsageError(f"{name} has neither actions nor movements", hint="Choose another one")
        origin = min(first for first, _ in ends if first is not None)
        span = max(last for _, last in ends if last is not None) - origin
        return cls(
            name=pair.episode.name,
            stratum=pair.episode.stratum,
            scoring=scoring,
            paired=found,
            origin_ns=origin,
            span_ns=max(span, 1_000_000),
            true_holds=Holds.of(found.true, found.end_ns),
            predicted_holds=Holds.of(found.predicted, found.end_ns),
            true_travel=Travel.of(sides[0], origin),
            predicted_travel=Travel.of(sides[1], origin),
            true_frames=_frames(sides[0]) - origin,
            predicted_frames=_frames(sides[1]) - origin,
            events=(len(pair.truth), len(pair.predicted)),
        )

    def with_baseline(self, name: str) -> EpisodeTimeline:
        """The same episode with a trivial baseline in place of the prediction: keys and buttons, no pointer."""
        tolerance_ns, unit_ns = round(self.scoring.tolerance_ms * 1e6), round(self.scoring.unit_ms * 1e6)
        true = self.paired.true
        made = baselines.predictions(true, tolerance_ns, self.scoring.seed, self.name)[name]
        nothing = np.empty(0, np.int64)
        silent = replace(self.paired.predicted_side, at=nothing, time_ns=nothing, first_ns=None, last_ns=None, stray=0)
        by_shift = lag.matches_by_shift(true, made, unit_ns, tolerance_ns)
        last = int(made.time_ns.max()) - self.origin_ns if len(made) else 0
        return replace(
            self,
            paired=replace(self.paired, predicted=made, predicted_side=silent, by_shift=by_shift),
            span_ns=max(self.span_ns, last),
            predicted_holds=Holds.of(made, self.paired.end_ns),
            predicted_travel=Travel.of(silent, self.origin_ns),
            predicted_frames=nothing,
            events=(self.events[0], len(made)),
        )

    @cached_property
    def lanes(self) -> list[int]:
        """The lanes that have an action, those with the most actions first."""
        counts = np.zeros(LANES, np.int64)
        for actions in (self.paired.true, self.paired.predicted):
            np.add.at(counts, LANE_OF_LABEL, actions.counts)
        return sorted(np.flatnonzero(counts).tolist(), key=lambda lane: (-counts[lane], lane))

    @cached_property
    def f1_by_shift(self) -> list[tuple[float, float | None]]:
        """Shift in ms and F1 of keys and buttons at it; the prediction is moved to earlier times by the shift."""
        total = sum(int(actions.edges[HEADLINE]) for actions in (self.paired.true, self.paired.predicted))
        shifts = lag.shifts(round(self.scoring.unit_ms * 1e6)) / 1e6
        matches = self.paired.by_shift[1]
        return [
            (shift, 2 * n / total if total else None)
            for shift, n in zip(shifts.tolist(), matches.tolist(), strict=True)
        ]

    @cached_property
    def lag_ms(self) -> float | None:
        """The shift at which `assay@1` finds the peak; None if nothing matches at any."""
        unit_ns = round(self.scoring.unit_ms * 1e6)
        summed = self.paired.by_shift[0]
        return float(lag.shifts(unit_ns)[lag.best_shift(summed, unit_ns)] / 1e6) if summed.any() else None


@dataclass(frozen=True)
class ActionColumns:
    """The actions of one side in the order of time; all of shape (n,)."""

    time_ns: Ints
    lane: NDArray[np.int16]
    label: NDArray[np.int16]
    outcome: NDArray[np.int8]
    partner_ns: Ints
    """Time of what it is matched with or was taken for; meaningless without one."""
    partner_lane: NDArray[np.int16]

    def within(self, begin_ns: int, end_ns: int) -> slice:
        """Those at or after the beginning and before the end."""
        first, stop = np.searchsorted(self.time_ns, (begin_ns, end_ns))
        return slice(int(first), int(stop))


@dataclass(frozen=True)
class ShiftedTimeline:
    """An episode matched with its prediction moved to earlier times by `shift_ns`."""

    episode: EpisodeTimeline
    shift_ns: int
    true: ActionColumns
    predicted: ActionColumns
    true_outcome: NDArray[np.int8]
    """By label and then by time, as `Actions` has them."""
    predicted_outcome: NDArray[np.int8]

    @classmethod
    def of(cls, episode: EpisodeTimeline, shift_ns: int) -> ShiftedTimeline:
        paired, origin = episode.paired, episode.origin_ns
        guess = paired.predicted.shifted(-shift_ns)
        found = compare_actions(paired.true, guess, round(episode.scoring.tolerance_ms * 1e6))
        outcomes = found.true_outcome.astype(np.int8), found.predicted_outcome.astype(np.int8)
        partners = paired.true.labels.copy(), guess.labels.copy()
        true, predicted = found.substitutions.T
        partners[0][true], partners[1][predicted] = guess.labels[predicted], paired.true.labels[true]
        return cls(
            episode,
            shift_ns,
            _columns(paired.true, origin, outcomes[0], found.true_partner_ns, partners[0]),
            _columns(guess, origin, outcomes[1], found.predicted_partner_ns, partners[1]),
            *outcomes,
        )

    @cached_property
    def errors(self) -> tuple[Ints, NDArray[np.int16]]:
        """Times and lanes of errors, ascending: a substitution is one error and happens when its truth does."""
        wrong = (self.true.outcome != MATCHED, self.predicted.outcome == EXTRA)
        times = np.concatenate([side.time_ns[chosen] for side, chosen in zip(self._sides, wrong, strict=True)])
        lanes = np.concatenate([side.lane[chosen] for side, chosen in zip(self._sides, wrong, strict=True)])
        order = np.argsort(times, kind="stable")
        return times[order], lanes[order]

    @property
    def _sides(self) -> tuple[ActionColumns, ActionColumns]:
        return self.true, self.predicted


def _columns(
    actions: Actions, origin_ns: int, outcome: NDArray[np.int8], partner_ns: Ints, partner: NDArray[np.int16]
) -> ActionColumns:
    order = actions.order
    label = actions.labels[order]
    return ActionColumns(
        actions.time_ns[order] - origin_ns,
        LANE_OF_LABEL[label],
        label,
        outcome[order],
        partner_ns[order] - origin_ns,
        LANE_OF_LABEL[partner[order]],
    )


def _frames(side: ClockSide) -> Ints:
    return np.asarray(side.time_ns[side.stream.kind[side.at] == Kind.SCREEN])
