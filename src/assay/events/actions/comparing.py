"""Two sides' actions beside each other: which match, which took another's place, and how many match at what cost.

Within a label everything is done by `matching`; this file goes over the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.events.actions.labels import HEADLINE, KIND_EDGES, LABELS, Actions
from assay.events.actions.matching import largest_count, match, match_within, saved_by_shifting
from assay.events.compiled import njit
from assay.types import Ints


@dataclass(frozen=True)
class ActionMatches:
    """Which true action belongs to which predicted one."""

    truth: Actions
    predicted: Actions
    partner: Ints
    """Index of the predicted action that each true one is matched with, or −1; shape (true actions,)."""
    extra: Ints
    """Predicted actions without a truth, ascending."""
    substitutions: Ints
    """Pairs (true action, predicted action) of the same kind and different labels, shape (s, 2)."""

    @property
    def missed(self) -> Ints:
        """True actions without a prediction, ascending."""
        return np.flatnonzero(self.partner < 0)

    @property
    def time_errors_ns(self) -> Ints:
        """Predicted − true time of each match, in the order of the true actions."""
        found = self.partner >= 0
        return self.predicted.time_ns[self.partner[found]] - self.truth.time_ns[found]


def compare_actions(truth: Actions, predicted: Actions, tolerance_ns: int) -> ActionMatches:
    """The best matching by label, then of what is left over the best matching by kind."""
    partner = _match_labels(truth.time_ns, truth.edges, predicted.time_ns, predicted.edges, tolerance_ns)
    free = np.ones(len(predicted), np.bool_)
    free[partner[partner >= 0]] = False
    extra, missed = np.flatnonzero(free), np.flatnonzero(partner < 0)
    pairs = [np.empty((0, 2), np.int64)]
    if len(extra) and len(missed):
        for first, stop in pairwise(KIND_EDGES.tolist()):
            pairs.append(
                _match_leftovers(
                    truth, _between(missed, truth, first, stop), predicted, _between(extra, predicted, first, stop),
                    tolerance_ns,
                )
            )  # fmt: skip
    return ActionMatches(truth, predicted, partner, extra, np.concatenate(pairs))


def _between(chosen: Ints, actions: Actions, first: int, stop: int) -> Ints:
    """Those of the chosen actions, ascending, whose label is first … stop−1."""
    low, high = np.searchsorted(chosen, [actions.edges[first], actions.edges[stop]])
    return chosen[low:high]


def _match_leftovers(truth: Actions, missed: Ints, predicted: Actions, extra: Ints, tolerance_ns: int) -> Ints:
    if not len(missed) or not len(extra):
        return np.empty((0, 2), np.int64)
    missed = missed[np.argsort(truth.time_ns[missed], kind="stable")]
    extra = extra[np.argsort(predicted.time_ns[extra], kind="stable")]
    partner = np.empty(len(missed), np.int64)
    match(truth.time_ns[missed], predicted.time_ns[extra], tolerance_ns, partner)
    found = partner >= 0
    return np.stack([missed[found], extra[partner[found]]], axis=1)


@njit(nogil=True, cache=True)
def _match_labels(truth, truth_edges, predicted, predicted_edges, tolerance):  # type: ignore[no-untyped-def]
    partner = np.full(len(truth), -1, np.int64)
    for label in range(LABELS):
        a, b = truth_edges[label], truth_edges[label + 1]
        c, d = predicted_edges[label], predicted_edges[label + 1]
        if a < b and c < d:
            match_within(truth[a:b], predicted[c:d], tolerance, truth[a:b], predicted[c:d], -1.0, partner[a:b])
            for i in range(a, b):
                if partner[i] >= 0:
                    partner[i] += c
    return partner


def matches_at(truth: Actions, predicted: Actions, tolerances_ns: Ints, shift_ns: int = 0) -> Ints:
    """How many keys and buttons match at each tolerance, once the prediction is `shift_ns` earlier; shape (k,)."""
    return np.asarray(
        _count(truth.time_ns, truth.edges, predicted.time_ns, predicted.edges, tolerances_ns, shift_ns, HEADLINE)
    )


@njit(nogil=True, cache=True)
def _count(truth, truth_edges, predicted, predicted_edges, tolerances, shift, labels):  # type: ignore[no-untyped-def]
    out = np.zeros(len(tolerances), np.int64)
    for label in range(labels):
        a, b = truth_edges[label], truth_edges[label + 1]
        c, d = predicted_edges[label], predicted_edges[label + 1]
        if a < b and c < d:
            for k in range(len(tolerances)):
                out[k] += largest_count(truth[a:b], predicted[c:d], tolerances[k], shift)
    return out


def saved_ns(truth: Actions, predicted: Actions, limit_ns: int) -> int:
    """What shifting saves against deleting and inserting, over keys and buttons; see `saved_by_shifting`."""
    return int(_saved(truth.time_ns, truth.edges, predicted.time_ns, predicted.edges, limit_ns, HEADLINE))


@njit(nogil=True, cache=True)
def _saved(truth, truth_edges, predicted, predicted_edges, limit, labels):  # type: ignore[no-untyped-def]
    saved = np.int64(0)
    for label in range(labels):
        a, b = truth_edges[label], truth_edges[label + 1]
        c, d = predicted_edges[label], predicted_edges[label + 1]
        if a < b and c < d:
            saved += saved_by_shifting(truth[a:b], predicted[c:d], limit)
    return saved
