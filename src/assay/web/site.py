"""Shared by all pages: the store, recently loaded results, and what was named at the start."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CapacityLimiter

from assay.errors import UnknownRunError
from assay.report.html.elements import Markup
from assay.runs.background import StartedRuns
from assay.runs.results import rebuilt
from assay.runs.summaries import RunSummary, summaries_of
from assay.store.store import Store
from assay.store.watching import Mark, StoreWatch
from assay.web.kept_pages import KeptPages
from assay.web.recent import Recent
from assay.web.shared_answer import SharedAnswer
from assay.web.shell import View

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.prices import ModelPrice
    from assay.compare import Comparison
    from assay.result import Result
    from assay.types import Run
    from assay.web.timeline.opening import Timelines

# More would only alternate: Python runs one thread at a time, and SQLite works within it.
_THREADS = 4
# Most of the time they wait for the server of the database.
_THREADS_OF_SERVER = 8
# A loaded run of ten thousand answers takes some hundred megabytes.
_RESULTS_KEPT = 16
_CHARACTERS_OF_VIEWS = 32_000_000
_COMPARISONS_KEPT = 64
_SUMMARIES_KEPT = 5000
_ROWS_KEPT = 2000
_BYTES_OF_PAGES = 32_000_000


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run, or an agent of it, as something to compare."""

    run: Run
    """Without its tallies."""
    agent: str = ""

    @property
    def reference(self) -> str:
        """What refers to it and to nothing else."""
        return f"{self.run.id}:{self.agent}" if self.agent else self.run.id


def _length(view: View) -> int:
    """Characters of a view, by and large: charts are about as long as text, and are kept as data and as JSON."""
    return len(view.content.body) * (3 if view.content.charts else 1)


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
    views: Recent[View] = field(default_factory=lambda: Recent(_CHARACTERS_OF_VIEWS, _length))
    """Recent views of complete runs, which do not change, by all that they show and that does: names, reviews."""
    rows: Recent[list[Markup]] = field(default_factory=lambda: Recent(_ROWS_KEPT))
    """Lines of lists, by the run as it is listed."""
    kept: KeptPages = field(default_factory=lambda: KeptPages(_BYTES_OF_PAGES))
    """Whole pages, as they were sent."""
    _results: Recent[Result] = field(default_factory=lambda: Recent(_RESULTS_KEPT))
    _summaries: dict[str, RunSummary] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _comparisons: Recent[list[Comparison]] = field(default_factory=lambda: Recent(_COMPARISONS_KEPT))

    @cached_property
    def started(self) -> StartedRuns:
        """The runs that were started from the page."""
        return StartedRuns(self.store)

    def is_in_progress(self, run_id: str) -> bool:
        """Whether an unfinished run is being played, by this server or by any other process."""
        return run_id in self.started.under_way or self.store.is_being_filled(run_id)

    @cached_property
    def threads(self) -> CapacityLimiter:
        """Limits how many pages are rendered at a time."""
        return CapacityLimiter(_THREADS if self.watch.is_instant else _THREADS_OF_SERVER)

    @cached_property
    def watch(self) -> StoreWatch:
        """Tells whether the store has changed."""
        return StoreWatch(self.store)

    async def mark(self) -> Hashable:
        """Differs after every change of what pages about runs show; None if that cannot be told."""
        of_store = self.watch.mark() if self.watch.is_instant else await self._shared_mark.now()
        return None if of_store is None else (of_store, self.started.state)

    @cached_property
    def _shared_mark(self) -> SharedAnswer[Mark | None]:
        return SharedAnswer(self.watch.mark)

    @cached_property
    def timelines(self) -> Timelines:
        """Recordings in the served folders, and what was opened of them lately."""
        from assay.web.timeline.opening import Timelines

        return Timelines(self.store, self.folders)

    def close(self) -> None:
        """End what the pages have started."""
        if "watch" in self.__dict__:
            self.watch.close()
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

    def side(self, reference: str) -> ComparedRun:
        """The run of a reference, and the agent if the reference names one (`RUN:AGENT`)."""
        try:
            return ComparedRun(self.store.describe(reference).run)
        except UnknownRunError:
            head, mark, agent = reference.rpartition(":")
            if not (head and mark and agent):
                raise
            return ComparedRun(self.store.describe(head).run, agent)

    def comparisons(self, sides: Sequence[ComparedRun]) -> list[Comparison]:
        """Runs or agents of runs against the first one."""
        from assay.runs.loading import compare

        # A name or @last may mean another run tomorrow, and comparisons say what their runs are called.
        key = tuple((side.reference, side.run.name) for side in sides)
        references = [side.reference for side in sides]
        return self._comparisons.get(key, lambda: compare(*references, store=self.store, files=False))
