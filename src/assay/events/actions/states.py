"""What one episode leaves behind under `assay@1`: names of its states, and how sums are kept in them.

A state of sums is a Joint whose rows are (which sum, whether negative) with the size of the sum as the number of
occurrences: whole numbers that add up exactly, in any order, and are stored like any other state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.types import Floats, Ints, Joint

OUTCOMES = "outcomes"
"""(label, outcome): how many actions of each label were matched, missed, or predicted without a truth."""
MATCHED, MISSED, EXTRA = range(3)
SUBSTITUTED = 3
"""Of those missed and extra, the ones that took each other's place; told apart only where single actions are kept."""

CONFUSION = "confusion"
"""(true label, predicted label) of substitutions."""
TIME_ERRORS = "time_errors"
"""(kind of action, predicted − true time in ns) of matches."""
CURVE = "curve"
"""(index of the tolerance): matches of keys and buttons."""
LAG = "lag"
"""(0 for the sum over the lag's tolerances and 1 for the headline's, index of the shift): matches."""
DISTANCE = "distance"
"""Ratio: cost of turning the prediction into the truth, in nanoseconds of shifting, and true actions."""
HOLDS = "holds"
"""(what is held, which of HOLD_SUMS): counts and nanoseconds."""
HOLD_SUMS = ("true", "predicted", "onset", "both", "shared_ns", "either_ns")
LENGTH_ERRORS = "hold_length_errors"
"""(predicted − true length in ns) of holds matched by onset."""
POINTER = "pointer"
"""Sums, by the names of pointer.SUMS."""
DIRECTIONS = "pointer_directions"
"""(angle in 1/100°) of bins in which both sides move."""
PATH = "pointer_path"
"""(bin, true x, y, predicted x, y): a few points of both paths, for drawing."""
BASELINE_COUNTS = "baselines"
"""(baseline, which): keys and buttons matched at the tolerance, predicted, and matched at each of the curve."""
COVERAGE = "coverage"
"""Ratio: time of the truth's span that predictions cover, and that span."""
FACTS = "facts"
"""Sums, by the names of FACT_SUMS."""
FACT_SUMS = (
    "missing", "unknown", "stray_true", "stray_predicted", "silences_true", "silences_predicted", "auto_repeats_true",
    "auto_repeats_predicted", "unreleased_true", "unreleased_predicted", "frames_true", "frames_predicted",
    "predicted_actions", "predicted_events", "copied", "positions", "invalid", "clock_fell_back",
    "unpaired_logprobs",
)  # fmt: skip
"""missing, unknown: 1 for an episode without predictions, without truth. copied: positions at which the prediction is
the event before, of `positions` in all, where both sides have the same length. clock_fell_back: 1 if only one side has
frames with video times, so that the clock 'auto' could not use them. unpaired_logprobs: 1 if predictions have
log-probabilities and are not as many as the truths."""
MOMENTS = "moments"
"""(start of a window in ms, side, ms into the window, label, outcome, ms of the partner) of the worst windows."""
OUTLINE = "outline"
"""(slice of the truth's span, side, outcome) of keys and buttons."""
CONFIDENCE = "confidence"
"""By tenth of the predicted event's probability, packed: events, Σ (probability − right), Σ −log p of the true event;
the last two in billionths."""
LIKELIHOOD = "likelihood"
"""Packed: events whose prediction is right, by tenth of its probability; then for each of LIKELIHOOD_KINDS the number
of true events whose probability is known, and Σ −log p of them in billionths."""
LIKELIHOOD_KINDS = ("keyboard", "mouse")


def pack(values: Sequence[int]) -> Joint:
    """Sums as a state; negative ones too. What 62 bits cannot hold stays at their limit."""
    array = np.array([max(-(2**62), min(2**62, int(value))) for value in values], np.int64)
    at = np.flatnonzero(array)
    return Joint.of_distinct([at, (array[at] < 0).astype(np.int8)], np.abs(array[at]))


def unpack(state: Joint, size: int) -> Floats:
    """The sums of a state that `pack` made, shape (size,)."""
    signs = 1 - 2 * state.column(1)
    return np.bincount(state.column(0), weights=signs * state.counts, minlength=size).astype(np.float64)


def named(state: Joint, names: Sequence[str]) -> Mapping[str, int]:
    """The sums of a state by name."""
    return {name: int(value) for name, value in zip(names, unpack(state, len(names)), strict=True)}


def counts_array(state: Joint, shape: tuple[int, ...]) -> Ints:
    """Occurrences by the row's columns, as an array of this shape."""
    out = np.zeros(shape, np.int64)
    if len(state):
        out[tuple(state.column(at) for at in range(len(shape)))] = state.counts
    return out


def counts_state(array: Ints) -> Joint:
    """The way back from `table`: a row for each entry that is not 0."""
    where = np.nonzero(array)
    return Joint.of_distinct(where, array[where])
