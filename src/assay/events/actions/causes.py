"""What lies behind poor figures, from the same states: a lag of some, a stratum, presses for releases, a gap, an axis.

Evidence only: the verdict decides what is worth a sentence, and words it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from assay.events.actions import lag, states
from assay.events.actions.labels import ACTION_KINDS, EXTRA, KIND_EDGES, MISSED, kind_of
from assay.events.actions.pointer import SUMS
from assay.types import Ints

if TYPE_CHECKING:
    from assay.events.actions.estimates import ActionFigures

# Fewer actions of an episode, a stratum, a part or a gap show nothing.
_FEWEST, _IN_STRATUM = 10, 30
# Of what does not match at the best lag, a second lag has to explain this share, and this share of all.
_OF_MISSING, _OF_ALL = 0.4, 0.03
# By how many standard errors one side has more than the other: many shifts are tried.
_CLEAR = 3.5
# What separates two lags: no tolerance of the search reaches from one to the other.
_APART_NS = 60_000_000
# F1 after each episode's own lag, and what it gains.
_OWN_F1, _OWN_GAIN = 0.5, 0.15
_EPISODES = 3
# Slices of the outline that a gap has at least.
_GAP = 4


@dataclass(frozen=True, slots=True)
class TwoLags:
    """Most actions match at one lag, and many of the others at a second."""

    lag_ms: float
    share: float
    """Of keys and buttons, on the side that has fewer."""
    other_ms: float
    other: float


@dataclass(frozen=True, slots=True)
class EpisodeLags:
    """A lag of its own in each episode."""

    earliest_ms: float
    latest_ms: float
    f1: float
    after: float
    """F1 without each episode's own lag."""


@dataclass(frozen=True, slots=True)
class StratumF1:
    """F1 of keys and buttons in one stratum."""

    name: str
    f1: float
    n: int


@dataclass(frozen=True, slots=True)
class ActionKinds:
    """Presses and releases of keys, or of buttons."""

    kind: str
    n: int
    """True ones of both."""
    presses: tuple[int, int]
    """True and predicted."""
    releases: tuple[int, int]
    swapped: int
    """True ones for which the other one of the same key was predicted."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of the episodes in which nothing is predicted, as shares of their lengths."""

    begin: float
    end: float
    true: int
    """Keys and buttons that the truth has there."""


@dataclass(frozen=True, slots=True)
class Causes:
    """All that was found."""

    two_lags: TwoLags | None = None
    episode_lags: EpisodeLags | None = None
    strata: tuple[StratumF1, ...] = ()
    """From the lowest F1 to the highest; empty if there are fewer than two with enough actions."""
    actions: tuple[ActionKinds, ...] = ()
    gap: Gap | None = None
    axes: tuple[float, float] | None = None
    """How far the pointer moves along each axis, relative to the true one."""
    chance_f1: float = 0.0
    """F1 of the random baseline at the widest tolerance of the curve."""


def find_causes(figures: ActionFigures, f1_without_lag: float | None) -> Causes:
    """What the states of all episodes show beyond the figures."""
    return Causes(
        _two_lags(figures),
        _episode_lags(figures, f1_without_lag or 0.0),
        _strata(figures),
        tuple(_actions(figures, at) for at in range(2)),
        _gap(figures),
        _axes(figures),
        figures.baseline_f1("random", -1) or 0.0,
    )


def _two_lags(figures: ActionFigures) -> TwoLags | None:
    """The second lag is not looked for as a second peak alone: keys that are hit in a rhythm have many. Those stand on
    either side of the first, and only what one side has more than the other counts.
    """
    matched, missed, extra = figures.headline.sum(axis=0).tolist()
    fewest = matched + min(missed, extra)
    if not len(figures.lag_matches) or fewest < _FEWEST:
        return None
    summed, within = figures.lag_matches.sum(axis=0)
    tried = lag.shifts(figures.unit_ns)
    best = int(lag.best_shift(summed, figures.unit_ns))
    missing = fewest - int(within[best])
    mirrored = 2 * best - np.arange(len(tried))
    known = (mirrored >= 0) & (mirrored < len(tried))
    opposite = np.where(known, mirrored, 0)
    more = np.where(known, summed - summed[opposite], 0)
    inside = (np.abs(tried - tried[best]) >= _APART_NS) & (np.abs(tried) < lag.RANGE_NS)
    at = int(np.argmax(np.where(inside, more, -1)))
    there, here = int(within[at]), int(within[opposite[at]])
    gain = there - here if known[at] else 0
    least = max(_FEWEST, _OF_ALL * fewest, _OF_MISSING * missing, _CLEAR * math.sqrt(there + here))
    if gain < least or 2 * more[(at + best) // 2] > more[at]:
        return None
    shifts = (tried / 1e6).tolist()
    return TwoLags(shifts[best], int(within[best]) / fewest, shifts[at], gain / fewest)


def _episode_lags(figures: ActionFigures, f1_without_lag: float) -> EpisodeLags | None:
    matched, missed, extra = figures.headline.T
    fewest = matched + np.minimum(missed, extra)
    if not len(figures.lag_matches) or np.count_nonzero(fewest >= _FEWEST) < _EPISODES:
        return None
    best = lag.best_shift(figures.lag_matches[:, 0].astype(np.float64), figures.unit_ns)
    own = figures.lag_matches[np.arange(len(best)), 1, best]
    own = np.where(fewest >= _FEWEST, np.maximum(own, matched), matched)
    f1, after = figures.headline_f1, float(2 * own.sum() / (2 * matched + missed + extra).sum())
    clear = (fewest >= _FEWEST) & (2 * own >= fewest)
    if after < _OWN_F1 or after - max(f1, f1_without_lag) < _OWN_GAIN or np.count_nonzero(clear) < _EPISODES:
        return None
    shifts = lag.shifts(figures.unit_ns)[best[clear]] / 1e6
    return EpisodeLags(float(shifts.min()), float(shifts.max()), f1, after)


def _strata(figures: ActionFigures) -> tuple[StratumF1, ...]:
    by_stratum: dict[str, Ints] = {}
    for name, counts in zip(figures.strata, figures.headline, strict=True):
        by_stratum[name] = by_stratum.get(name, np.zeros(3, np.int64)) + counts
    found = [
        StratumF1(name, 2 * matched / (2 * matched + missed + extra), matched + missed)
        for name, (matched, missed, extra) in ((name, counts.tolist()) for name, counts in by_stratum.items())
        if matched + missed >= _IN_STRATUM
    ]
    return tuple(sorted(found, key=lambda row: (row.f1, row.name))) if len(found) > 1 else ()


def _actions(figures: ActionFigures, kind: int) -> ActionKinds:
    """Of keys (0) or buttons (1): labels of a press and a release of the same key are neighbours."""
    counts = figures.by_label[KIND_EDGES[kind] : KIND_EDGES[kind + 1]].reshape(-1, 2, 3).sum(axis=0)
    both = [(int(row[:2].sum()), int(row[0] + row[2])) for row in counts]
    if kind_of(int(KIND_EDGES[kind])) == "keyboard":  # a press has the odd label; of buttons, the even one
        both.reverse()
    true, predicted = figures.confusion.column(0), figures.confusion.column(1)
    swapped = (true ^ 1 == predicted) & (true >= KIND_EDGES[kind]) & (true < KIND_EDGES[kind + 1])
    n = both[0][0] + both[1][0]
    return ActionKinds(ACTION_KINDS[kind], n, both[0], both[1], int(figures.confusion.counts[swapped].sum()))


def _gap(figures: ActionFigures) -> Gap | None:
    """The longest part within the episodes, neither at their beginning nor at their end, without a prediction."""
    outline = figures.counts.total(states.OUTLINE)
    true = np.delete(outline[:, 0], EXTRA, axis=1).sum(axis=1)
    silent = np.delete(outline[:, 1], MISSED, axis=1).sum(axis=1) == 0
    found, at = None, 0
    for is_silent, run in groupby(silent.tolist()):
        n = len(list(run))
        misses = int(true[at : at + n].sum())
        inside = at > 0 and at + n < states.SLICES
        if is_silent and inside and n >= _GAP and misses >= _FEWEST and (found is None or misses > found.true):
            found = Gap(at / states.SLICES, (at + n) / states.SLICES, misses)
        at += n
    return found


def _axes(figures: ActionFigures) -> tuple[float, float] | None:
    sums = dict(zip(SUMS, figures.pointer_sums.sum(axis=0).tolist(), strict=True)) if len(figures.pointer_sums) else {}
    squares = [(sums.get(f"pp_{axis}", 0), sums.get(f"tt_{axis}", 0)) for axis in "xy"]
    if not all(predicted > 0 and true > 0 for predicted, true in squares):
        return None
    x, y = (math.sqrt(predicted / true) for predicted, true in squares)
    return x, y
