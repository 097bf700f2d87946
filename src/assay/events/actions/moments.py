"""The worst moments of an episode: windows of two seconds with the most errors, with what happened in them."""

from __future__ import annotations

import numpy as np

from assay.events.actions.comparing import ActionMatches
from assay.events.actions.states import EXTRA, MATCHED, MISSED
from assay.types import Ints, Joint

WINDOW_NS = 2_000_000_000
_WINDOWS = 2
"""Windows kept of each episode."""
_ACTIONS = 60
"""Actions kept of each window."""

TRUE, PREDICTED = 0, 1


def worst_moments(comparison: ActionMatches, origin_ns: int) -> Joint:
    """Rows (start of the window in ms after `origin_ns`, side, ms into the window, label, outcome).

    Of equally bad windows the earliest. A substitution is one error, not two.
    """
    truth, predicted = comparison.truth, comparison.predicted
    missed, extra = comparison.missed, comparison.extra
    extra = np.setdiff1d(extra, comparison.substitutions[:, 1], assume_unique=True)
    errors = np.concatenate([truth.time_ns[missed], predicted.time_ns[extra]]) - origin_ns
    if not len(errors):
        return Joint()
    windows, counts = np.unique(errors // WINDOW_NS, return_counts=True)
    worst = np.sort(windows[np.lexsort((windows, -counts))][:_WINDOWS])
    rows = []
    outcomes = np.where(comparison.partner >= 0, MATCHED, MISSED)
    answers = np.full(len(predicted), MATCHED)
    answers[comparison.extra] = EXTRA
    for side, actions, outcome in ((TRUE, truth, outcomes), (PREDICTED, predicted, answers)):
        rows += [_rows(window, side, actions.time_ns - origin_ns, actions.labels, outcome) for window in worst.tolist()]
    return Joint.of(*np.concatenate(rows, axis=1))


def _rows(window: int, side: int, time_ns: Ints, labels: np.ndarray, outcomes: Ints) -> Ints:
    inside = np.flatnonzero(time_ns // WINDOW_NS == window)
    inside = inside[np.argsort(time_ns[inside], kind="stable")][:_ACTIONS]
    offset = (time_ns[inside] - window * WINDOW_NS) // 1_000_000
    constant = np.ones(len(inside), np.int64)
    start = window * WINDOW_NS // 1_000_000
    return np.stack([constant * start, constant * side, offset, labels[inside].astype(np.int64), outcomes[inside]])
