"""Shared by all pages: the store, recently loaded results, and what was named at the start."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter

from assay.runs.background import StartedRuns
from assay.runs.results import rebuilt
from assay.runs.summaries import RunSummary, summaries_of
from assay.store.store import Store
from assay.web.recent import Recent

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.prices import ModelPrice
    from assay.compare import Comparison
    from assay.result import Result
    from assay.web.timeline.opening import Timelines

# More would only alternate: Python runs one thread at a time.
_THREADS = 4
# A loaded run of ten thousand answers takes some hundred megabytes.
_RESULTS_KEPT = 16
_PAGES_KEPT = 64
_COMPARISONS_KEPT = 64
_SUMMARIES_KEPT = 5000


@dataclass
class Site:
    """The server's side of every page."""

    store: Store
    agents: Sequence[AgentSpec] = ()
    """Agents that were named when the server started, in addition to those that are installed."""
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    """Prices of models that were stated when the server started."""
    takes_addresses: bool = False
    """Whether a user may type the address of an agent. Only if nobody else can reach the server: it would send requests
    to any address for them."""
    suites: Path = field(default_factory=lambda: Path("assay-suites"))
    """The folder that kept conversations are written to."""
    folders: Sequence[Path] = ()
    """Folders with recordings whose timelines can be viewed."""
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

    @cached_property
    def timelines(self) -> Timelines:
        """Recordings in the served folders, and what was opened of them lately."""
        from assay.web.timeline.opening import Timelines

        return Timelines(self.store, self.folders)

    def close(self) -> None:
        """End what the pages have started."""
        if "timelines" in self.__dict__:
            self.timelines.close()

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

        return self._comparisons.get(tuple(references), lambda: compare(*references, store=self.store, files=False))
