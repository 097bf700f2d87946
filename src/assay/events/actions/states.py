"""The states of one episode under `assay@1`: their names, and how numbers are kept in them.

Whole numbers that are added up, such as counts by label, are in tables, and the tables one after the other in one long
array. A state has a row for each of its numbers that is not 0: its position, and the number itself as how often the row
occurs. So they add up exactly, in any order, and are stored like any other state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.events.actions.baselines import BASELINES
from assay.events.actions.comparing import ActionMatches
from assay.events.actions.holds import HELD, HOLD_SUMS
from assay.events.actions.labels import KIND_EDGES, LABELS, SUBSTITUTED
from assay.events.actions.pointer import SUMS as POINTER_SUMS
from assay.events.compiled import njit
from assay.events.counting import count_keys, list_signed_numbers, packed_rows
from assay.events.tally import Tally
from assay.stats import UnitRows
from assay.types import Floats, Ints, Joint

TOLERANCES_MS = (10, 20, 50, 100, 200, 500)
"""Tolerances at which F1 is computed for its curve."""
SLICES = 48
"""Slices of equal length that the outline of an episode has."""
POSITION_SUMS = ("episodes", "true", "predicted", "equal", "aligned", "longer", "shorter", "out_of_step")
FACT_SUMS = (
    "missing", "unknown", "stray_true", "stray_predicted", "silences_true", "silences_predicted", "auto_repeats_true",
    "auto_repeats_predicted", "unreleased_true", "unreleased_predicted", "frames_true", "frames_predicted",
    "predicted_actions", "predicted_events", "copied", "positions", "invalid", "clock_fell_back",
    "unpaired_logprobs", "drifting", "drift_gain", "straight", "echoed", "changed",
)  # fmt: skip
"""missing, unknown: 1 for an episode without predictions, without truth. copied: positions at which the prediction is
the event before, of `positions` in all, if both sides have the same length. clock_fell_back: 1 if only one side has
frames with video times, so that the clock 'auto' could not use them. unpaired_logprobs: 1 if predictions have
log-probabilities and there is not one for each truth. drifting: 1 if a drift was looked for, and drift_gain: how many
more keys and buttons match without it; straight: 1 if a constant lag explains them too, but their errors lie on a line.
echoed: positions at which the prediction is the event before, its time aside, of those `changed` at which that is not
also the event itself."""
_ROOM = 64
"""Room for facts, so that a new one moves no other number of a stored run."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of whole numbers, as a part of a long array."""

    start: int
    shape: tuple[int, ...]
    stop: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop", self.start + math.prod(self.shape))

    def within(self, numbers: Ints) -> Ints:
        """The table in a long array, sharing its memory."""
        return numbers[self.start : self.stop].reshape(self.shape)


COUNTS = "counts"
"""(index): the tables of counts that follow."""
OUTCOMES = Table(0, (LABELS, 3))
"""(label, outcome): how many actions of each label were matched, missed, or predicted without a truth."""
CURVE = Table(OUTCOMES.stop, (len(TOLERANCES_MS),))
"""(index of the tolerance): matches of keys and buttons."""
BASELINE_COUNTS = Table(CURVE.stop, (len(BASELINES) + 1, 2 + len(TOLERANCES_MS)))
"""(baseline, which): keys and buttons matched at the tolerance, predicted, and matched at each of the curve. The copied
input comes last of the baselines."""
OUTLINE = Table(BASELINE_COUNTS.stop, (SLICES, 2, SUBSTITUTED + 1))
"""(slice of the truth's span, side, outcome) of keys and buttons."""
POSITIONS = Table(OUTLINE.stop, (len(POSITION_SUMS),))
"""By the names of POSITION_SUMS."""
FACTS = Table(POSITIONS.stop, (_ROOM,))
"""By the names of FACT_SUMS."""


@lru_cache(maxsize=16)
def lag_table(n_shifts: int) -> Table:
    """(0 for the sum over the lag's tolerances and 1 for the headline's, index of the shift): matches. The last."""
    return Table(FACTS.stop, (2, n_shifts))


SUMS = "sums"
"""(index, whether negative): the tables of larger numbers that follow."""
HOLDS = Table(0, (HELD, len(HOLD_SUMS)))
"""(what is held, which of HOLD_SUMS): counts and nanoseconds."""
POINTER = Table(HOLDS.stop, (len(POINTER_SUMS),))
"""By the names of pointer.SUMS."""

VALUES = "values"
"""(which of the following, value): single whole numbers."""
TIME_ERRORS = range(3)
"""By kind of action: predicted − true time in ns of matches."""
LENGTH_ERRORS = 3
"""Predicted − true length in ns of holds matched by onset."""
DIRECTIONS = 4
"""Angle in 1/100° of bins in which both sides move."""
CONFUSION = 5
"""True label · LABELS + predicted label of substitutions."""
OFFSETS = 6
"""Position of the first event out of step, of an episode that went out of step."""
DRIFTS = 7
"""Nanoseconds a second by which predictions fall behind, of an episode that no constant lag explains."""

DISTANCE = "distance"
"""Ratio: cost of turning the prediction into the truth, in nanoseconds of shifting, and true actions."""
PATH = "pointer_path"
"""(bin, true x, y, predicted x, y): a few points of both paths, for drawing."""
COVERAGE = "coverage"
"""Ratio: time of the truth's span that predictions cover, and that span."""
MOMENTS = "moments"
"""(start of a window in ms, side, ms into the window, label, outcome, ms of the partner) of the worst windows."""
CONFIDENCE = "confidence"
"""By tenth of the predicted event's probability, packed: events, Σ (probability − right), Σ −log p of the true event;
the last two in billionths."""
LIKELIHOOD = "likelihood"
"""Packed: events whose prediction is right, by tenth of its probability; then for each of LIKELIHOOD_KINDS the number
of true events whose probability is known, and Σ −log p of them in billionths."""
LIKELIHOOD_KINDS = ("keyboard", "mouse")

LIMIT = 2**62
"""No number of SUMS is larger, either way."""


def pack(values: Sequence[int] | Ints) -> Joint:
    """Numbers as a state; negative ones too. Numbers beyond 62 bits are clamped."""
    if not isinstance(values, np.ndarray):
        values = np.array([max(-LIMIT, min(LIMIT, int(value))) for value in values], np.int64)
    return list_signed_numbers(values)


def unpack_each(tally: Tally, name: str, size: int) -> Floats:
    """The numbers of states that `pack` made, in the order of `tally.episodes`, shape (episodes, size)."""
    rows, n = UnitRows.joined(*tally.rows(name)), len(tally.episodes)
    if not rows.columns:
        return np.zeros((n, size))
    at, negative = rows.columns
    signed = (1 - 2 * negative.astype(np.int64)) * rows.counts
    numbers = np.bincount(rows.units * np.int64(size) + at, signed, n * size)  # float64, as weights are given
    return numbers.reshape(n, size).astype(np.float64, copy=False)


_NO_DRIFT = 2**62


def values_state(
    found: ActionMatches, length_errors: Ints, directions: Ints, offset: int | None, drift: int | None
) -> Joint:
    """Single values: errors of time and length, directions, substitutions, where both sides went out of step, drift."""
    lists = found.time_errors_ns, length_errors, directions, found.substitutions
    labels = found.truth.labels, found.predicted.labels
    rest = (-1 if offset is None else offset), (_NO_DRIFT if drift is None else drift)
    rows, keys, ranges = _listed(found.counts, *lists, *labels, *rest)
    return count_keys(keys, ranges) if len(keys) else Joint.of(*rows)


@njit(nogil=True, cache=True)
def _listed(counts, errors, lengths, directions, substitutions, true_labels, labels, offset, drift):  # type: ignore[no-untyped-def]
    """Rows of the values, each with what it is of the above, and what `packed_rows` makes of them.

    `offset` is below 0 if there is none, and `drift` is _NO_DRIFT.
    """
    sizes = len(errors), len(lengths), len(directions), len(substitutions)
    rows = np.empty((2, sizes[0] + sizes[1] + sizes[2] + sizes[3] + (offset >= 0) + (drift != _NO_DRIFT)), np.int64)
    n = 0
    # Errors of time are in the order of the labels, and thereby of the kinds.
    for kind in range(len(KIND_EDGES) - 1):
        matches = np.int64(0)
        for label in range(KIND_EDGES[kind], KIND_EDGES[kind + 1]):
            matches += counts[label, 0]
        for _ in range(matches):
            rows[0, n], rows[1, n] = kind, errors[n]
            n += 1
    for one in lengths:
        rows[0, n], rows[1, n] = LENGTH_ERRORS, one
        n += 1
    for one in directions:
        rows[0, n], rows[1, n] = DIRECTIONS, one
        n += 1
    for i in range(sizes[3]):
        true, predicted = substitutions[i, 0], substitutions[i, 1]
        rows[0, n], rows[1, n] = CONFUSION, true_labels[true] * np.int64(LABELS) + labels[predicted]
        n += 1
    if offset >= 0:
        rows[0, n], rows[1, n] = OFFSETS, offset
        n += 1
    if drift != _NO_DRIFT:
        rows[0, n], rows[1, n] = DRIFTS, drift
        n += 1
    if n == 0:
        return rows, np.empty(0, np.int64), np.empty((2, 2), np.int64)
    keys, ranges = packed_rows(rows)
    return rows, keys, ranges


_Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Some rows of one state of many episodes, to be computed with."""

    n: int
    """Number of episodes."""
    episode: Ints
    """The episode of each row, as a number; shape (rows,), ascending."""
    columns: tuple[Ints, ...]
    counts: Ints


@dataclass(frozen=True, slots=True)
class StateRows:
    """The rows of one state of many episodes, one episode after the other.

    They are in small integers, to be compared and not to be computed with: there may be millions.
    """

    n: int
    """Number of episodes."""
    episode: _Integers
    """The episode of each row, as a number; shape (rows,), ascending."""
    columns: tuple[_Integers, ...]
    counts: _Integers

    @classmethod
    def of(cls, tally: Tally, name: str) -> StateRows:
        """All rows of a state, in the order of `tally.episodes`."""
        rows, sizes = tally.rows(name)
        episode = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return cls(len(sizes), episode, rows.columns or (episode, episode), rows.occurrences)

    def where(self, chosen: NDArray[np.bool_]) -> ChosenRows:
        """The rows for which `chosen`, shape (rows,), is true."""
        episode, counts, *columns = (
            array[chosen].astype(np.int64) for array in (self.episode, self.counts, *self.columns)
        )
        return ChosenRows(self.n, episode, tuple(columns), counts)

    def table(self, table: Table) -> Ints:
        """A table of counts of each episode, shape (episodes, *table.shape)."""
        rows = self.where((self.columns[0] >= table.start) & (self.columns[0] < table.stop))
        out = np.zeros((self.n, table.stop - table.start), np.int64)
        out[rows.episode, rows.columns[0] - table.start] = rows.counts
        return out.reshape(self.n, *table.shape)

    def grouped(self, table: Table, groups: Ints) -> Ints:
        """A table of two axes of each episode, with rows added up by group, shape (episodes, groups, second axis).

        `groups` has the number of the group of each row of the table, −1 if it is left out. Most rows of a large table
        are 0 in most episodes, and none of these is written.
        """
        rows = self.where((self.columns[0] >= table.start) & (self.columns[0] < table.stop))
        row, which = np.divmod(rows.columns[0] - table.start, table.shape[1])
        group, kept = groups[row], groups[row] >= 0
        size = (self.n, int(groups.max()) + 1, table.shape[1])
        at = (rows.episode * size[1] + group) * size[2] + which
        out = np.zeros(math.prod(size), np.int64)
        np.add.at(out, at[kept], rows.counts[kept])
        return out.reshape(size)

    def sums(self, table: Table) -> Floats:
        """A table of sums of each episode, shape (episodes, size of the table); of a state that has negative ones."""
        size = table.stop - table.start
        rows = self.where((self.columns[0] >= table.start) & (self.columns[0] < table.stop))
        at = rows.episode * size + rows.columns[0] - table.start
        out = np.bincount(at, weights=(1 - 2 * rows.columns[1]) * rows.counts, minlength=self.n * size)
        return out.astype(np.float64).reshape(self.n, size)

    def total(self, table: Table) -> Ints:
        """A table summed over all episodes; of a state without negative ones in that table."""
        rows = self.where((self.columns[0] >= table.start) & (self.columns[0] < table.stop))
        out = np.zeros(table.stop - table.start, np.int64)
        np.add.at(out, rows.columns[0] - table.start, rows.counts)
        return out.reshape(table.shape)


def facts(rows: StateRows, table: Table, names: Sequence[str]) -> dict[str, int]:
    """The numbers of a table by name, over all episodes."""
    return dict(zip(names, rows.total(table).tolist(), strict=False))
