"""Compares the actions of both sides: which match, which are substitutions, and what the matching costs.

Within a label everything is done by `matching`; this file goes over the labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.events.actions.labels import (
    ACTION_KINDS,
    EXTRA,
    HEADLINE,
    KIND_EDGES,
    LABELS,
    MATCHED,
    MISSED,
    SUBSTITUTED,
    Actions,
)
from assay.events.actions.matching import match_within, saved_by_shifting
from assay.events.compiled import inner, njit
from assay.types import Ints

_KINDS = len(ACTION_KINDS)


@dataclass(frozen=True, slots=True)
class ActionMatches:
    """The outcome of every action of both sides."""

    truth: Actions
    predicted: Actions
    counts: Ints
    """Matched, missed and extra actions of each label, shape (LABELS, 3)."""
    true_outcome: Ints
    """MATCHED, MISSED or SUBSTITUTED for each true action."""
    true_partner_ns: Ints
    """Time of the predicted action that a true one is matched with or replaced by; 0 if there is none."""
    predicted_outcome: Ints
    """MATCHED, EXTRA or SUBSTITUTED for each predicted action."""
    predicted_partner_ns: Ints
    substitutions: Ints
    """Pairs (true action, predicted action) of the same kind and different labels, shape (s, 2)."""
    time_errors_ns: Ints
    """Predicted − true time of each match, in the order of the true actions."""


def compare_actions(truth: Actions, predicted: Actions, tolerance_ns: int) -> ActionMatches:
    """The best matching by label, then the best matching by kind of what is left over."""
    found = _compare(
        truth.time_ns, truth.edges, truth.order, predicted.time_ns, predicted.edges, predicted.order, tolerance_ns
    )
    return ActionMatches(truth, predicted, *found)


@njit(nogil=True, cache=True)
def _compare(truth, truth_edges, truth_order, predicted, predicted_edges, predicted_order, tolerance):  # type: ignore[no-untyped-def]
    n, m = len(truth), len(predicted)
    counts = np.zeros((LABELS, 3), np.int64)
    true_outcome, outcome = np.empty(n, np.int64), np.empty(m, np.int64)
    true_outcome[:] = MISSED
    outcome[:] = EXTRA
    true_partner, partner = np.zeros(n, np.int64), np.zeros(m, np.int64)
    errors = np.empty(n, np.int64)
    missed, extra = truth_order, predicted_order  # of the kind
    chosen = np.empty(n, np.int64)
    matches = substitutions = 0
    pairs = np.empty((min(n, m), 2), np.int64)
    # First each label by itself, then what is left over of each kind. One call in a loop is compiled once.
    for step in range(LABELS + _KINDS):
        if step < LABELS:
            a, c = truth_edges[step], predicted_edges[step]
            right, guess = truth[a : truth_edges[step + 1]], predicted[c : predicted_edges[step + 1]]
            counts[step, 1] = len(right)
            counts[step, 2] = len(guess)
        else:
            first, stop = KIND_EDGES[step - LABELS], KIND_EDGES[step - LABELS + 1]
            missed, right = _left(
                truth, truth_order, true_outcome, np.int64(MISSED), truth_edges[first], truth_edges[stop]
            )
            extra, guess = _left(
                predicted, predicted_order, outcome, np.int64(EXTRA), predicted_edges[first], predicted_edges[stop]
            )
        if len(right) == 0 or len(guess) == 0:
            continue
        match_within(right, guess, tolerance, right, guess, -1.0, chosen)
        for i in range(len(right)):
            if chosen[i] < 0:
                continue
            j = chosen[i]
            if step < LABELS:
                true, other = a + i, c + j
                true_outcome[true] = MATCHED
                outcome[other] = MATCHED
                errors[matches] = predicted[other] - truth[true]
                matches += 1
                counts[step, 0] += 1
                counts[step, 1] -= 1
                counts[step, 2] -= 1
            else:
                true, other = missed[i], extra[j]
                true_outcome[true] = SUBSTITUTED
                outcome[other] = SUBSTITUTED
                pairs[substitutions, 0] = true
                pairs[substitutions, 1] = other
                substitutions += 1
            true_partner[true] = predicted[other]
            partner[other] = truth[true]
    return counts, true_outcome, true_partner, outcome, partner, pairs[:substitutions], errors[:matches]


@inner(nogil=True, cache=True)
def _left(times, order, outcome, wanted, first, stop):  # type: ignore[no-untyped-def]
    """Those of the actions first … stop−1 that have the outcome, in the given order, and their times."""
    out, when = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    found = 0
    for i in order:
        if first <= i < stop and outcome[i] == wanted:
            out[found] = i
            when[found] = times[i]
            found += 1
    return out[:found], when[:found]


def matches_at(truth: Actions, predicted: Actions, tolerances_ns: Ints, shift_ns: int = 0) -> Ints:
    """How many keys and buttons match at each tolerance, with the prediction moved `shift_ns` earlier; shape (k,)."""
    return np.asarray(
        count_matches(truth.time_ns, truth.edges, predicted.time_ns, predicted.edges, tolerances_ns, shift_ns)
    )


@njit(nogil=True, cache=True)
def count_matches(truth, truth_edges, predicted, predicted_edges, tolerances, shift):  # type: ignore[no-untyped-def]
    """What `matches_at` returns: `largest_count` of each label, written out, since passing arrays takes long."""
    out = np.zeros(len(tolerances), np.int64)
    for label in range(HEADLINE):
        a, b = truth_edges[label], truth_edges[label + 1]
        c, d = predicted_edges[label], predicted_edges[label + 1]
        if a == b or c == d:
            continue
        for k in range(len(tolerances)):
            tolerance = tolerances[k]
            i, j = a, c
            count = 0
            while i < b and j < d:
                distance = predicted[j] - shift - truth[i]
                if distance < -tolerance:
                    j += 1
                elif distance > tolerance:
                    i += 1
                else:
                    count += 1
                    i += 1
                    j += 1
            out[k] += count
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
