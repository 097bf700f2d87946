"""A figure over all complete runs of one name, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.compare.regressions import TRIALS_PASSED
from assay.errors import UsageError, unknown_name
from assay.runs.summaries import RunFigure, summaries_of
from assay.store.searching import Search
from assay.store.store import Store

# What comparisons and gates call `trials_passed` is a rate in summaries.
_NAMES = {TRIALS_PASSED: "pass_rate"}


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One run of a trend."""

    run: str
    """Its id."""
    created: str
    figures: Sequence[RunFigure]
    """The figure, for each agent or protocol of the run that has it."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A figure from run to run."""

    name: str
    """Name of the runs."""
    key: str
    title: str
    unit: str
    points: Sequence[TrendPoint]
    """Oldest first."""

    @property
    def groups(self) -> list[str]:
        """The agents or protocols, in the order in which they occur."""
        return list(dict.fromkeys(figure.group for point in self.points for figure in point.figures))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each run and agent, in the form that the chart takes."""
        return [
            {
                "model": figure.group,
                "run": f"{point.created[:16].replace('T', ' ')} {point.run}",
                "at": at,
                "value": figure.value,
                "low": figure.low,
                "high": figure.high,
            }
            for at, point in enumerate(self.points, 1)
            for figure in point.figures
        ]

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)


def trend_of(store: Store, name: str, *, metric: str | None = None, limit: int = 30, keep: bool = True) -> Trend:
    """The newest runs of a name with one figure; by default the first that reports show.

    Summaries that are computed for it are stored with `keep`.
    """
    found = store.search(Search(name=name, state="complete"), limit=limit)
    if not found.runs:
        raise UsageError(f"there is no complete run called '{name}'", hint="List all runs with: assay runs list")
    runs = list(reversed(found.runs))
    summaries = summaries_of(store, [run.id for run in runs], keep=keep)
    every = [figure for summary in summaries.values() for figure in summary.figures]
    known = {figure.key: figure for figure in sorted(every, key=lambda one: not one.headline)}
    key = _NAMES.get(metric or "", metric) or next(iter(known), "")
    if key not in known:
        raise unknown_name("figure", key, [*known, *(name for name, one in _NAMES.items() if one in known)])
    points = []
    for run in runs:
        summary = summaries.get(run.id)
        figures = [] if summary is None else [figure for figure in summary.figures if figure.key == key]
        points.append(TrendPoint(run.id, run.created, figures))
    return Trend(name, key, known[key].title, known[key].unit, points)
