"""A clock that runs fast or slow: how quickly predictions fall behind, if no constant lag explains where they are.

The rate is looked for in the first seconds of an episode, where even a fast drift has not gone far, and then made more
exact over a span that doubles until it is the whole episode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.events.actions.labels import HEADLINE, Actions
from assay.events.actions.lag import RANGE_NS
from assay.events.compiled import inner, njit
from assay.types import Estimate, Ints

if TYPE_CHECKING:
    from assay.events.actions.estimates import ActionFigures

_SECOND = 1_000_000_000
# Rates that are tried first: up to this many thousandths either way, over the first seconds.
_MOST_RATE, _FIRST_NS = 50, 20 * _SECOND
# Differences of time are counted in bins of this width; a rate is tried if it moves the end of the span by one.
_BIN_NS = 20_000_000
_BINS = 2 * RANGE_NS // _BIN_NS
# Fewer actions are not looked at. If a constant lag explains this share of them, their own errors show whether there is
# a drift; if it explains all but a few, these have to lie on a line, by this share of their variance.
_FEWEST, _EXPLAINED, _ALL, _STRAIGHT = 10, 0.5, 0.97, 0.8

# A drift is believed if F1 without it is at least this, and this much above what a constant lag gives.
_LEAST_F1, _LEAST_GAIN = 0.5, 0.1
# F1 that differs by less is the same.
_NO_LESS = 0.01
# Its interval may be this wide, as a share of it, and this share of all episodes has to have one.
_WIDEST, _MOST = 0.5, 0.5


@dataclass(frozen=True, slots=True)
class EpisodeDrift:
    """What was found in one episode."""

    rate: int
    """By how many nanoseconds a second predictions fall behind."""
    gain: int
    """How many more keys and buttons match without it, and without what lag then remains; 0 or more."""
    is_straight: bool
    """Whether a constant lag explains nearly all of them too, as in a short episode, but their errors lie on a line."""


def find_drift(
    truth: Actions, predicted: Actions, by_shift: Ints, tried: Ints, tolerance_ns: int
) -> EpisodeDrift | None:
    """The drift of an episode that a constant lag does not explain, or not as well.

    `by_shift` is what `matches_by_shift` found at the shifts `tried`.
    """
    fewest = min(int(truth.edges[HEADLINE]), int(predicted.edges[HEADLINE]))
    at = int(by_shift[1].argmax())
    most, as_is = int(by_shift[1, at]), int(by_shift[1, len(tried) // 2])
    if fewest < _FEWEST or as_is >= (1 - _NO_LESS) * fewest:
        return None
    sides = truth.time_ns, truth.edges, predicted.time_ns, predicted.edges
    explained = most >= _ALL * fewest
    if most >= _EXPLAINED * fewest and not _grows(*sides, tolerance_ns, int(tried[at]), _STRAIGHT * explained):
        return None
    rate, matched = _fit(*sides, tolerance_ns)
    return EpisodeDrift(int(rate), max(0, int(matched) - as_is), explained)


@njit(nogil=True, cache=True)
def _grows(truth, truth_edges, predicted, edges, tolerance, shift, straight):  # type: ignore[no-untyped-def]
    """Whether the errors of matches at this shift change by more than half the tolerance over the episode, and this
    share of their variance by a constant rate.
    """
    _, slope, span, explained = _matches(truth, truth_edges, predicted, predicted, edges, tolerance, shift)
    return abs(slope) * span > tolerance / 2 and explained >= straight


@njit(nogil=True, cache=True)
def _fit(truth, truth_edges, predicted, edges, tolerance):  # type: ignore[no-untyped-def]
    """The rate in ns a second that brings most keys and buttons together, and how many match then."""
    origin, last = truth[0], truth[0]
    for i in range(truth_edges[HEADLINE]):
        origin, last = min(origin, truth[i]), max(last, truth[i])
    moved = np.empty(len(predicted), np.int64)
    bins = np.zeros(_BINS + 1, np.int64)
    span = np.int64(_FIRST_NS)
    best = np.int64(0)
    most = shift = np.int64(-1)
    step, tries = np.int64(1_000_000), np.int64(_MOST_RATE)
    while True:
        around = best
        most = np.int64(-1)
        for k in range(2 * tries + 1):
            # From the middle outwards, so that of equally good rates the nearest is taken.
            rate = around + step * ((k + 1) // 2 if k % 2 else -(k // 2))
            _without(predicted, origin, rate, moved)
            n, at = _together(truth, truth_edges, moved, edges, origin + span, bins)
            if n > most:
                best, most, shift = rate, n, at
        if origin + span >= last:
            break
        span *= 2
        step = max(_BIN_NS // 2 * np.int64(_SECOND) // span, np.int64(1))
        tries = np.int64(6)
    matched = np.int64(0)
    for _ in range(2):
        # The second time at the rate that the errors of all matches give, which bins can only give roughly.
        _without(predicted, origin, best, moved)
        around, most = best, np.int64(-1)
        for off in range(-2, 3):
            found = _matches(truth, truth_edges, moved, predicted, edges, tolerance, shift + off * _BIN_NS // 2)
            if found[0] > most:
                most, best = found[0], np.int64(np.rint(found[1] * _SECOND))
        if most < _FEWEST // 2:
            return around, most
        matched = max(matched, most)
    return best, matched


@inner(nogil=True, cache=True)
def _without(predicted, origin, rate, moved):  # type: ignore[no-untyped-def]
    """Write the times of predictions whose clock does not drift."""
    share = _SECOND / (_SECOND + rate)
    for j in range(len(predicted)):
        moved[j] = origin + np.int64(np.rint((predicted[j] - origin) * share))


@inner(nogil=True, cache=True)
def _together(truth, truth_edges, predicted, edges, until, bins):  # type: ignore[no-untyped-def]
    """The most actions up to `until` that one shift brings within a bin, and that shift."""
    for b in range(len(bins)):
        bins[b] = 0
    for label in range(HEADLINE):
        j = edges[label]
        for i in range(truth_edges[label], truth_edges[label + 1]):
            if truth[i] > until:
                break
            while j < edges[label + 1] and predicted[j] - truth[i] < -RANGE_NS:
                j += 1
            k = j
            while k < edges[label + 1] and predicted[k] - truth[i] < RANGE_NS:
                bins[(predicted[k] - truth[i] + RANGE_NS) // _BIN_NS] += 1
                k += 1
    most, at = np.int64(-1), np.int64(0)
    for b in range(_BINS):
        if bins[b] + bins[b + 1] > most:
            most, at = bins[b] + bins[b + 1], np.int64((b + 1) * _BIN_NS - RANGE_NS)
    return most, at


@inner(nogil=True, cache=True)
def _matches(truth, truth_edges, moved, predicted, edges, tolerance, shift):  # type: ignore[no-untyped-def]
    """How many keys and buttons match one to one, with `moved` predictions made `shift` earlier; by how much the errors
    of the predictions as they are change in a unit of time; the time from the first match to the last; and the share of
    the errors' variance that this change explains.
    """
    n = np.int64(0)
    first, last = np.int64(2**62), -np.int64(2**62)
    t = d = tt = td = dd = 0.0
    for label in range(HEADLINE):
        i, j = truth_edges[label], edges[label]
        while i < truth_edges[label + 1] and j < edges[label + 1]:
            distance = moved[j] - shift - truth[i]
            if distance < -tolerance:
                j += 1
            elif distance > tolerance:
                i += 1
            else:
                time, error = np.float64(truth[i] - truth[0]), np.float64(predicted[j] - truth[i])
                first, last = min(first, truth[i]), max(last, truth[i])
                t += time
                d += error
                tt += time * time
                td += time * error
                dd += error * error
                n += 1
                i += 1
                j += 1
    spread, errors, both = n * tt - t * t, n * dd - d * d, n * td - t * d
    explained = both * both / (spread * errors) if spread > 0 and errors > 0 else 0.0
    return n, both / spread if spread > 0 else 0.0, max(last - first, 0), explained


@dataclass(frozen=True, slots=True)
class ClockDrift:
    """A drift of the prediction's clock that most episodes share."""

    ms_a_minute: Estimate
    """By how much predictions fall behind; negative if they run ahead."""
    f1: float
    """F1 without it."""


def shared_drift(figures: ActionFigures, f1_with_lag: float | None) -> ClockDrift | None:
    """The drift of all episodes, if it explains clearly more than a constant lag, after which F1 is `f1_with_lag`."""
    facts, outcomes = figures.facts, figures.headline
    below = int(2 * outcomes[:, 0].sum() + outcomes[:, 1:].sum())
    known = len(figures.tally.episodes) - facts["missing"] - facts["unknown"]
    if not below or facts["drifting"] < _MOST * known or not facts["drifting"]:
        return None
    f1 = 2 * (int(outcomes[:, 0].sum()) + facts["drift_gain"]) / below
    drift = figures.drift()
    least = _LEAST_GAIN
    if facts["straight"] >= _MOST * known:  # a lag brings as many together, and is not what it is
        least = -_NO_LESS
    if f1 < _LEAST_F1 or f1 - (f1_with_lag or 0.0) < least or f1 - figures.headline_f1 < _NO_LESS or not drift.value:
        return None
    if drift.low is not None and drift.high is not None and drift.high - drift.low > _WIDEST * abs(drift.value):
        return None
    return ClockDrift(drift, min(f1, 1.0))
