"""The values that all other modules exchange: mergeable states, and the estimates computed from them.

A state is the result of scoring. `a + b` of two states is associative and commutative and loses nothing,
so shards, ranks and batches may be merged in any order and give the same numbers, bit for bit.
This module uses NumPy and knows nothing about events or conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay._integers import Columns, Packing, count, ends_of_each, kind_for, smallest
from assay.errors import UsageError
from assay.recorded import Case as Case
from assay.recorded import Run as Run

Call = Literal["better", "worse", "same", "inconclusive", "unmeasured", "descriptive"]
Direction = Literal["higher", "lower", "zero", "none"]
"""Which values of a metric are better; 'none' if it only describes the data."""

_LIMB = 2**21 - 1
_LIMB_CHUNK = 2**20

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its uncertainty."""

    value: float | None
    """The estimate itself; None if there was nothing to measure."""
    low: float | None = None
    """Lower end of the interval; None if there is no interval."""
    high: float | None = None
    """Upper end of the interval."""
    level: float = 0.95
    """Confidence level of the interval."""
    method: str = "none"
    """How the interval was computed, e.g. 't interval on the logit scale, jackknife of 20 episodes'."""
    unit: str = "none"
    """What the interval varies: 'reference', 'event', 'episode', 'scenario' or 'none'."""
    n: int = 0
    """How many values the estimate is computed from."""
    n_units: int = 0
    """How many such units there were."""
    n_skipped: int = 0
    """How many cases had nothing to measure and are not part of the value."""
    replicates: Floats | None = field(default=None, repr=False, compare=False)
    """The statistic of every resample, shape (reps,), NaN if undefined. Kept only if a comparison asked for it."""
    contributions: Floats | None = field(default=None, repr=False, compare=False)
    """What each unit contributes to the value, shape (n_units,), if nothing was resampled. Kept like `replicates`."""
    freedom: float | None = field(default=None, repr=False, compare=False)
    """Degrees of freedom of the interval. Kept like `replicates`."""

    def ends_json(self) -> dict[str, float | None]:
        """The value and the ends of its interval, ready for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Ratio:
    """Hits out of a total."""

    hits: int = 0
    total: int = 0

    def __add__(self, other: Ratio) -> Ratio:
        return Ratio(self.hits + other.hits, self.total + other.total)

    @property
    def value(self) -> float | None:
        """The share, or None if the total is 0."""
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, sum and sum of squares of integers, kept exactly (Python integers never overflow)."""

    n: int = 0
    total: int = 0
    squares: int = 0

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @classmethod
    def of(cls, values: NDArray[np.integer[Any]]) -> Moments:
        """The moments of 64-bit integers, 0 or more, shape (n,)."""
        total = squares = 0
        for start in range(0, len(values), _LIMB_CHUNK):
            # Three limbs of 21 bits: a product has 42 bits, and 2**21 of them still fit into 63.
            chunk = values[start : start + _LIMB_CHUNK].astype(np.int64)
            limbs = [chunk & _LIMB, chunk >> 21 & _LIMB, chunk >> 42]
            total += sum(int(limb.sum()) << 21 * i for i, limb in enumerate(limbs))
            squares += sum(int(a @ b) << 21 * (i + j) for i, a in enumerate(limbs) for j, b in enumerate(limbs))
        return cls(len(values), total, squares)

    @property
    def sum_of_squared_deviations(self) -> float:
        """Σ(x − mean)², from exact integers; 0.0 if there are no values."""
        return float((self.n * self.squares - self.total**2) / self.n) if self.n else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Distinct values, ascending, with how often each occurred."""

    values: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    """Shape (k,), float64, strictly ascending, no NaN."""
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Shape (k,), int64, all positive."""

    @classmethod
    def of(cls, values: ArrayLike, counts: ArrayLike | None = None) -> Distribution:
        """The distribution of `values`, each occurring once or `counts` times. Raises UsageError if a value is NaN."""
        if counts is None and isinstance(values, list) and len(values) < 2:
            # Most metrics have one value in a scenario; sorting it would take ten times as long.
            if not values:
                return cls()
            if type(values[0]) is float and values[0] == values[0]:
                return cls(np.array((values[0] + 0.0,), np.float64), np.array((1,), np.int64))
        flat = np.asarray(values, np.float64).ravel()
        if np.isnan(flat).any():
            raise UsageError("values must not be NaN", hint="Leave out undefined values and count them as skipped")
        if counts is None:
            distinct, times = np.unique(flat, return_counts=True)
            return cls(distinct + 0.0, times.astype(np.int64))
        weights = np.asarray(counts, np.int64).ravel()
        distinct, where = np.unique(flat, return_inverse=True)
        # Exact: float64 holds every integer below 2**53, and a sum of counts stays far below.
        times = np.bincount(where, weights=weights, minlength=len(distinct)).astype(np.int64)
        kept = times > 0
        return cls(distinct[kept] + 0.0, times[kept])  # + 0.0 turns -0.0 into 0.0

    def __add__(self, other: Distribution) -> Distribution:
        return Distribution.merge([self, other])

    @classmethod
    def merge(cls, parts: Iterable[Distribution]) -> Distribution:
        """The distribution of all parts together."""
        return _cascade((part for part in parts if len(part)), cls._merge_all) or cls()

    @classmethod
    def _merge_all(cls, parts: Sequence[Distribution]) -> Distribution:
        return cls.of(np.concatenate([part.values for part in parts]), np.concatenate([part.counts for part in parts]))

    def __len__(self) -> int:
        """How many distinct values there are."""
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Distribution)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.counts, other.counts)
        )

    @property
    def n(self) -> int:
        """How many values there are, repeats included."""
        return int(self.counts.sum())

    def map(self, function: Callable[[Floats], Floats]) -> Distribution:
        """The distribution of `function(value)`; `function` is vectorised over the distinct values."""
        return Distribution.of(function(self.values), self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Distinct rows of integers with how often each occurred, from which several metrics can be derived.

    A mouse error, its direction and its percentage all follow from the same four deltas. Keeping the distinct rows
    of deltas, rather than each derived number, is smaller, exact, and computes each derived value once per row.
    Every column is kept in the smallest integers that hold it: a tally has one of these for each episode.
    """

    columns: tuple[NDArray[np.integer[Any]], ...] = ()
    """Columns of the distinct rows, shape (k,) each; the rows are in lexicographic order."""
    occurrences: NDArray[np.integer[Any]] = field(default_factory=lambda: np.empty(0, np.int8))
    """How often each row occurred, shape (k,)."""

    @classmethod
    def of(cls, *columns: NDArray[np.integer[Any]], counts: Ints | None = None) -> Joint:
        """The distribution of the rows of `columns`, shape (n,) each; each row occurs once or `counts` times."""
        if not columns or not len(columns[0]):
            return cls()
        packing = Packing.of(columns)
        if packing is not None:
            keys, times = count(packing.pack(columns), counts)
            return cls(tuple(packing.unpack(keys)), smallest(times))
        order = np.lexsort(columns[::-1])
        ordered = [column[order] for column in columns]
        changes = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered])
        first = np.flatnonzero(np.concatenate([[True], changes]))
        ones = np.ones(len(order), np.int64) if counts is None else counts[order]
        return cls.of_distinct([column[first] for column in ordered], np.add.reduceat(ones, first))

    @classmethod
    def of_distinct(
        cls, columns: Columns | Iterable[NDArray[np.integer[Any]]], counts: NDArray[np.integer[Any]]
    ) -> Joint:
        """From rows that are already distinct and in order."""
        if isinstance(columns, np.ndarray) and columns.size:
            kinds = [kind_for(*range_) for range_ in ends_of_each(columns)]
            return cls(tuple(map(np.ndarray.astype, columns, kinds)), smallest(counts))
        return cls(tuple(smallest(column) for column in columns), smallest(counts))

    def __add__(self, other: Joint) -> Joint:
        return Joint.merge([self, other])

    @classmethod
    def merge(cls, parts: Iterable[Joint]) -> Joint:
        """The joint distribution of all parts together."""
        return _cascade((part for part in parts if len(part.occurrences)), cls._merge_all) or cls()

    @classmethod
    def _merge_all(cls, parts: Sequence[Joint]) -> Joint:
        columns = [np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)]
        return cls.of(*columns, counts=np.concatenate([part.occurrences for part in parts]).astype(np.int64))

    @classmethod
    def chain(cls, parts: Sequence[Joint], at_once: int) -> Iterator[tuple[Joint, list[int]]]:
        """The rows of several parts, one after the other, about `at_once` at a time, with how many each part has.

        They are not distinct and not in order: this is for computing something from every row in few calls.
        """
        sizes = cls.sizes(parts)
        start = size = 0
        for stop, own in enumerate(sizes, start=1):
            size += own
            if size < at_once and stop < len(parts):
                continue
            filled = [one for one, rows in zip(parts[start:stop], sizes[start:stop], strict=True) if rows]
            columns = tuple(np.concatenate(column) for column in zip(*(one.columns for one in filled), strict=True))
            counts = np.concatenate([one.occurrences for one in filled]) if filled else np.empty(0, np.int8)
            yield cls(columns, counts), sizes[start:stop]
            start, size = stop, 0

    @staticmethod
    def sizes(parts: Iterable[Joint]) -> list[int]:
        """How many distinct rows each part has; there may be thousands of parts, and a call for each takes longer."""
        return [len(part.occurrences) for part in parts]

    def where(self, chosen: NDArray[np.bool_]) -> Joint:
        """The rows for which `chosen`, shape (k,), is true."""
        return Joint.of_distinct([column[chosen] for column in self.columns], self.occurrences[chosen])

    def __len__(self) -> int:
        """How many distinct rows there are."""
        return len(self.occurrences)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Joint)
            and len(self) == len(other)
            and np.array_equal(self.occurrences, other.occurrences)
            and all(map(np.array_equal, self.columns, other.columns))
        )

    @property
    def n(self) -> int:
        """How many rows there are, repeats included."""
        return int(self.occurrences.sum())

    @property
    def counts(self) -> Ints:
        """How often each row occurred, shape (k,), int64."""
        return self.occurrences.astype(np.int64)

    def column(self, index: int) -> Ints:
        """Column `index` of the distinct rows, shape (k,), int64."""
        return self.columns[index].astype(np.int64) if self.columns else np.empty(0, np.int64)


_Sorted = TypeVar("_Sorted", Distribution, Joint)

# How many entries are merged in one sort: sorting takes several times their memory.
_MERGED_AT_ONCE = 500_000


def _cascade(parts: Iterable[_Sorted], merge_all: Callable[[Sequence[_Sorted]], _Sorted]) -> _Sorted | None:
    """All parts merged, or None if there are none, without sorting all of them at once.

    Waiting parts are merged when they are larger than what has been merged already, so each entry is sorted only a few
    times.
    """
    waiting: list[_Sorted] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if len(waiting) > 1 and size > max(_MERGED_AT_ONCE, 2 * len(waiting[0])):
            waiting = [merge_all(waiting)]
            size = len(waiting[0])
    if len(waiting) > 1:
        return merge_all(waiting)
    return waiting[0] if waiting else None


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """Single values in the order of arrival. Addition keeps that order, so it does not commute. Used only for the one
    interval that is defined by order (`reference`).
    """

    values: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    """Shape (n,), float64."""

    def __add__(self, other: InOrder) -> InOrder:
        return InOrder(np.concatenate([self.values, other.values]))


State = Ratio | Moments | Distribution | Joint | InOrder


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a comparison for one metric: the candidate against the baseline, on the cases that both have."""

    metric: str
    """Key of the metric."""
    difference: float | None
    """Candidate − baseline; if 0 is best, the difference of their distances from 0. None if either is undefined."""
    low: float | None
    """Lower end of the difference's interval."""
    high: float | None
    p_adjusted: float | None
    """Two-sided p-value after Holm's correction over the metrics of the comparison."""
    call: Call
    """'better', 'worse', 'same' (the interval lies within the margin) or 'inconclusive'; 'unmeasured' if a side is
    undefined or has no interval, 'descriptive' if neither direction is better."""
    n_needed: int | None
    """With how many cases the comparison would be decided in 80 % of all repetitions if the difference seen is the true
    one; the upper end of a range if there are few cases. None if it is decided or cannot be computed."""
    reason: str = ""
    """Why there is no verdict, or a remark on it; may be empty."""
    n_needed_low: int | None = None
    """The lower end of that range; None if there is no range."""

    @property
    def needed(self) -> str:
        """The number of cases needed in words, such as '120' or '40–310'; empty if there is none."""
        if self.n_needed is None:
            return ""
        return f"{self.n_needed:,}" if self.n_needed_low is None else f"{self.n_needed_low:,}–{self.n_needed:,}"
