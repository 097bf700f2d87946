"""Both sides of an episode on one clock, with their actions: where scoring under `assay@1` and its timeline begin."""

from __future__ import annotations

from dataclasses import dataclass

from assay.events.actions import lag
from assay.events.actions.clock import ClockSide, clock_side
from assay.events.actions.labels import Actions
from assay.events.align import Clock, Pair, clock_shifts
from assay.types import Ints


@dataclass(frozen=True, slots=True)
class PairedActions:
    """What both sides of an episode did."""

    true_side: ClockSide
    predicted_side: ClockSide
    true: Actions
    predicted: Actions
    by_shift: Ints
    """What `lag.matches_by_shift` found."""
    end_ns: int
    """When a hold ends that is never released."""


def pair_actions(pair: Pair, *, tolerance_ns: int, unit_ns: int, clock: Clock) -> PairedActions:
    """The actions of an episode that has a truth."""
    shifts = clock_shifts(pair.predicted, pair.truth, clock)
    truth = clock_side(pair.truth, shifts[1])
    # A late prediction repeats a key late too: as late as the search for a lag goes.
    predicted = clock_side(pair.predicted, shifts[0], truth=truth, tolerance_ns=max(tolerance_ns, lag.RANGE_NS))
    right, guess = (Actions.among(side.stream, side.at, side.time_ns) for side in (truth, predicted))
    turn_ns, by_shift = _turn(right, guess, getattr(pair.truth.quantised, "wrap_ns", None), unit_ns, tolerance_ns)
    if turn_ns:
        guess, predicted = guess.shifted(turn_ns), predicted.shifted(turn_ns)
    end_ns = max((side.last_ns for side in (truth, predicted) if side.last_ns is not None), default=0)
    end_ns = end_ns if truth.last_ns is None else truth.last_ns
    return PairedActions(truth, predicted, right, guess, by_shift, end_ns)


def _turn(truth: Actions, predicted: Actions, wrap_ns: int | None, unit_ns: int, tolerance_ns: int) -> tuple[int, Ints]:
    """Which number of whole periods of the encoding's clock to add to the predictions; and the matches by shift then.

    The first time of each side lies in the first period, so a prediction just before the end of a period and a truth
    just after it would seem a period apart. The shift with the most matches is used; if none has more, no shift.
    """
    best, found = 0, lag.matches_by_shift(truth, predicted, unit_ns, tolerance_ns)
    if wrap_ns is None or not len(truth) or not len(predicted):
        return best, found
    for turn in (0, wrap_ns, -wrap_ns):
        # Compared at the best lag: a late prediction must not seem to belong to another period.
        other = lag.matches_by_shift(truth, predicted.shifted(turn), unit_ns, tolerance_ns) if turn else found
        if other[1].max() > found[1].max():
            best, found = turn, other
        if 2 * found[1].max() >= min(len(truth), len(predicted)):
            break
    return best, found
