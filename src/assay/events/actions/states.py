"""The states of one episode under `assay@1`: their names, and how numbers are kept in them.

Whole numbers that are added up, such as counts by label, are in tables, and the tables one after the other in one long
array. A state has a row for each of its numbers that is not 0: its position, and the number itself as how often the row
occurs. So they add up exactly, in any order, and are stored like any other state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay._integers import kind_for, smallest
from assay.events.actions.baselines import BASELINES
from assay.events.actions.holds import HELD, HOLD_SUMS
from assay.events.actions.labels import LABELS, SUBSTITUTED
from assay.events.actions.pointer import SUMS as POINTER_SUMS
from assay.events.counting import count_rows
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
    "unpaired_logprobs",
)  # fmt: skip
"""missing, unknown: 1 for an episode without predictions, without truth. copied: positions at which the prediction is
the event before, of `positions` in all, if both sides have the same length. clock_fell_back: 1 if only one side has
frames with video times, so that the clock 'auto' could not use them. unpaired_logprobs: 1 if predictions have
log-probabilities and there is not one for each truth."""
_ROOM = 64
"""Room for facts, so that a new one moves no other number of a stored run."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of whole numbers, as a part of a long array."""

    start: int
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        return self.start + math.prod(self.shape)

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
_WHICH = np.arange(OFFSETS + 1)

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


def counts_state(numbers: Ints) -> Joint:
    """Numbers that are not negative as a state."""
    at = numbers.nonzero()[0]
    return Joint((at.astype(kind_for(0, len(numbers))),), smallest(numbers[at]))


def pack(values: Sequence[int] | Ints) -> Joint:
    """Numbers as a state; negative ones too. Numbers beyond 62 bits are clamped."""
    if not isinstance(values, np.ndarray):
        values = np.array([max(-LIMIT, min(LIMIT, int(value))) for value in values], np.int64)
    at = values.nonzero()[0]
    numbers = values[at]
    negative = (numbers < 0).view(np.int8)
    return Joint((at.astype(kind_for(0, len(values))), negative), smallest(np.abs(numbers)))


def unpack_each(parts: Sequence[Joint], size: int) -> Floats:
    """The numbers of states that `pack` made, shape (parts, size)."""
    rows = UnitRows.of(parts)
    if not rows.columns:
        return np.zeros((len(parts), size))
    at, negative = rows.columns
    signed = (1 - 2 * negative.astype(np.int64)) * rows.counts
    numbers = np.bincount(rows.units * np.int64(size) + at, signed, len(parts) * size)  # float64, as weights are given
    return numbers.reshape(len(parts), size).astype(np.float64, copy=False)


def values_state(sizes: Sequence[int], values: Sequence[Ints]) -> Joint:
    """Values one after the other; `sizes` says how many belong to each of the above."""
    rows = np.empty((2, sum(sizes)), np.int64)
    rows[0] = np.repeat(_WHICH, sizes)
    np.concatenate(values, out=rows[1])
    return count_rows(rows)


@dataclass(frozen=True, slots=True)
class StateRows:
    """The rows of one state of many episodes, one episode after the other."""

    n: int
    """Number of episodes."""
    episode: Ints
    """The episode of each row, as a number; shape (rows,), ascending."""
    columns: tuple[Ints, ...]
    counts: Ints

    @classmethod
    def of(cls, tally: Tally, name: str) -> StateRows:
        """All rows of a state, in the order of `tally.episodes`."""
        parts = tally.parts(name, Joint)
        filled = [part for part in parts if len(part)]
        episode = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        if not filled:
            return cls(len(parts), episode, (episode, episode), episode)
        columns = [np.concatenate(column).astype(np.int64) for column in zip(*(p.columns for p in filled), strict=True)]
        counts = np.concatenate([part.occurrences for part in filled]).astype(np.int64)
        return cls(len(parts), episode, tuple(columns), counts)

    def where(self, chosen: NDArray[np.bool_]) -> StateRows:
        """The rows for which `chosen`, shape (rows,), is true."""
        columns = tuple(column[chosen] for column in self.columns)
        return StateRows(self.n, self.episode[chosen], columns, self.counts[chosen])

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
