"""What a report draws of an episode: its windows of two seconds with the most errors, and an outline of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.events.actions.comparing import ActionMatches
from assay.events.actions.labels import HEADLINE, Actions
from assay.events.actions.states import EXTRA, MATCHED, MISSED, SUBSTITUTED, counts_state
from assay.types import Ints, Joint

WINDOW_NS = 2_000_000_000
SLICES = 48
"""Slices of equal length that the outline of an episode has."""
NO_PARTNER = -(10**9)
"""Stands for the time of a partner that is not there, in ms."""
_WINDOWS = 2
"""Windows kept of each episode."""
_ACTIONS = 60
"""Actions kept of each window."""
_MS = 1_000_000

TRUE, PREDICTED = 0, 1


@dataclass(frozen=True, slots=True)
class Answered:
    """The actions of one side with what became of each; arrays of shape (n,)."""

    actions: Actions
    outcome: Ints
    partner_ns: Ints
    """Time of the other side's action that it is matched with or was taken for; meaningless without one."""


def answered(comparison: ActionMatches) -> dict[int, Answered]:
    """Both sides' actions, by TRUE and PREDICTED."""
    truth, predicted, substituted = comparison.truth, comparison.predicted, comparison.substitutions
    matched = np.flatnonzero(comparison.partner >= 0)
    pairs = np.concatenate([np.stack([matched, comparison.partner[matched]], axis=1), substituted])
    sides = {}
    for side, actions, other, alone in ((TRUE, truth, predicted, MISSED), (PREDICTED, predicted, truth, EXTRA)):
        outcome = np.full(len(actions), alone)
        outcome[pairs[: len(matched), side]] = MATCHED
        outcome[substituted[:, side]] = SUBSTITUTED
        partner_ns = np.zeros(len(actions), np.int64)
        partner_ns[pairs[:, side]] = other.time_ns[pairs[:, 1 - side]]
        sides[side] = Answered(actions, outcome, partner_ns)
    return sides


def worst_moments(sides: Mapping[int, Answered], origin_ns: int) -> Joint:
    """Rows (start of the window in ms after `origin_ns`, side, ms into the window, label, outcome, ms of the partner).

    Of equally bad windows the earliest. A substitution is one error, not two, and happens when its truth does. The
    partner's time counts from the start of the window too and is NO_PARTNER where there is none.
    """
    wrong = [
        sides[TRUE].actions.time_ns[sides[TRUE].outcome != MATCHED],
        sides[PREDICTED].actions.time_ns[sides[PREDICTED].outcome == EXTRA],
    ]
    errors = np.concatenate(wrong) - origin_ns
    if not len(errors):
        return Joint()
    windows, counts = np.unique(errors // WINDOW_NS, return_counts=True)
    worst = np.sort(windows[np.lexsort((windows, -counts))][:_WINDOWS])
    rows = [_rows(window, side, answered, origin_ns) for side, answered in sides.items() for window in worst.tolist()]
    return Joint.of(*np.concatenate(rows, axis=1))


def _rows(window: int, side: int, answered: Answered, origin_ns: int) -> Ints:
    actions = answered.actions
    start_ns = origin_ns + window * WINDOW_NS
    inside = np.flatnonzero((actions.time_ns - origin_ns) // WINDOW_NS == window)
    inside = inside[np.argsort(actions.time_ns[inside], kind="stable")][:_ACTIONS]
    outcome = answered.outcome[inside]
    paired = (outcome == MATCHED) | (outcome == SUBSTITUTED)
    partner = np.where(paired, (answered.partner_ns[inside] - start_ns) // _MS, NO_PARTNER)
    constant = np.ones(len(inside), np.int64)
    return np.stack(
        [
            constant * (window * WINDOW_NS // _MS),
            constant * side,
            (actions.time_ns[inside] - start_ns) // _MS,
            actions.labels[inside].astype(np.int64),
            outcome,
            partner,
        ]
    )


def outline(sides: Mapping[int, Answered], first_ns: int, last_ns: int) -> Joint:
    """Rows (slice, side, outcome): how the keys and buttons of each slice of the truth's span ended.

    What lies before or after the span stands in the outermost slices.
    """
    span = max(1, last_ns - first_ns)
    counts = np.zeros((SLICES, 2, SUBSTITUTED + 1), np.int64)
    for side, answered in sides.items():
        n = int(answered.actions.edges[HEADLINE])
        share = (answered.actions.time_ns[:n] - first_ns) / span
        at = np.clip((share * SLICES).astype(np.int64), 0, SLICES - 1)
        each = np.bincount(at * (SUBSTITUTED + 1) + answered.outcome[:n], minlength=SLICES * (SUBSTITUTED + 1))
        counts[:, side] = each.reshape(SLICES, SUBSTITUTED + 1)
    return counts_state(counts)
