"""Shared by all pages: the store, recently loaded results, and what was named at the start."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio import CapacityLimiter

from assay.runs.results import rebuilt
from assay.runs.summaries import RunSummary, summaries_of
from assay.store.store import Store
from assay.web.running import StartedRuns

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.compare import Comparison
    from assay.result import Result

_Value = TypeVar("_Value")

# More would only alternate: Python runs one thread at a time.
_THREADS = 4
# A loaded run of ten thousand answers takes some hundred megabytes.
_RESULTS_KEPT = 16
_PAGES_KEPT = 64
_COMPARISONS_KEPT = 64
_SUMMARIES_KEPT = 5000


class Recent(Generic[_Value]):
    """A cache of recent values, by key; each is computed once, even if several readers ask at the same time."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Any, _Value] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Any, threading.Lock] = {}

    def get(self, key: Any, make: Callable[[], _Value]) -> _Value:
        """The value of a key, computed now if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            try:
                value = make()
                with self._lock:
                    self._values[key] = value
                    while len(self._values) > self._size:
                        self._values.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return value


@dataclass
class Site:
    """The server's side of every page."""

    store: Store
    agents: Sequence[AgentSpec] = ()
    """Agents that were named when the server started, in addition to those that are installed."""
    suites: Path = field(default_factory=lambda: Path("assay-suites"))
    """The folder that kept conversations are written to."""
    recordings: Sequence[tuple[str, str]] = ()
    """Pairs of predicted and true recordings whose timelines can be viewed."""
    pages: Recent[Any] = field(default_factory=lambda: Recent(_PAGES_KEPT))
    """Recently rendered pages, by run and page; complete runs do not change."""
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_THREADS))
    """Limits how many pages are computed at a time."""
    _results: Recent[Result] = field(default_factory=lambda: Recent(_RESULTS_KEPT))
    _summaries: dict[str, RunSummary] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _comparisons: Recent[list[Comparison]] = field(default_factory=lambda: Recent(_COMPARISONS_KEPT))

    @cached_property
    def started(self) -> StartedRuns:
        """The runs that were started from the page."""
        return StartedRuns(self.store)

    def result(self, run_id: str) -> Result:
        """The result of a complete run, by its whole id."""
        return self._results.get(run_id, lambda: rebuilt(self.store.load(run_id), self.store.answers(run_id)))

    def summaries(self, ids: Sequence[str]) -> dict[str, RunSummary]:
        """The summaries of complete runs by id; recent ones are cached."""
        with self._lock:
            missing = [run_id for run_id in ids if run_id not in self._summaries]
        found = summaries_of(self.store, missing) if missing else {}
        with self._lock:
            if len(self._summaries) > _SUMMARIES_KEPT:
                self._summaries.clear()
            self._summaries |= found
            return {run_id: self._summaries[run_id] for run_id in ids if run_id in self._summaries}

    def comparisons(self, references: Sequence[str]) -> list[Comparison]:
        """Runs or agents of runs, by their whole ids, against the first one."""
        from assay.runs.loading import compare

        return self._comparisons.get(tuple(references), lambda: compare(*references, store=self.store))
