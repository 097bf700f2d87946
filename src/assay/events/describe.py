"""Summary of a source before scoring: how many events of each kind, which are invalid and why, and their times.

One pass, a batch at a time; the result is plain data for a terminal, a page or a program to show.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.events.sources import AnySource, Decision, ReadOptions, format_of, read
from assay.events.stream import CATEGORIES, Episode, EventStream, Problem

_FIRST = 5
"""Positions named for each reason, and episodes listed."""


@dataclass(slots=True)
class Description:
    """The contents of a source."""

    format: str
    """'jsonl', 'parquet', 'mcap', 'tokens', the name of a plug-in, 'folder', 'strings' or 'stream'."""
    encoding: str | None = None
    """The encoding of the events, or None if they are as recorded."""
    events: int = 0
    """All events, including invalid ones."""
    categories: Counter[str] = field(default_factory=Counter)
    """Valid events by category."""
    problems: Counter[Problem] = field(default_factory=Counter)
    """Invalid events by reason."""
    first_invalid: dict[Problem, list[int]] = field(default_factory=dict)
    """Positions of the first invalid events for each reason, counted from 0."""
    episodes: list[Episode] = field(default_factory=list)
    """The first few episodes."""
    n_episodes: int = 0
    """How many episodes there are; 1 if the source names none."""
    n_strata: int = 0
    """How many groups they belong to; 0 if the source names none."""
    first_ns: int | None = None
    """Earliest time of a valid event, or None."""
    last_ns: int | None = None
    """Latest time of a valid event, or None."""
    notes: Counter[str] = field(default_factory=Counter)
    """Remarks on the input, and how often each applies."""

    rows: str | None = None
    """How a row of token text was read, 'event' or 'episode'; None if there was nothing to decide."""
    first_events: list[dict[str, Any] | None] = field(default_factory=list)
    """The first events themselves, as many as requested; None for invalid ones."""

    @property
    def valid(self) -> int:
        """Events that could be decoded."""
        return self.events - self.problems.total()

    def to_json(self) -> dict[str, Any]:
        """What `assay events decode --json` prints."""
        return {
            "format": self.format,
            "encoding": self.encoding,
            "events": self.events,
            "categories": dict(self.categories),
            "invalid": [
                {"reason": problem.sentence, "events": n, "first": self.first_invalid[problem]}
                for problem, n in self.problems.most_common()
            ],
            "episodes": self.n_episodes,
            "strata": self.n_strata,
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
            "rows": self.rows,
            "notes": dict(self.notes),
            "first_events": self.first_events,
        }


def describe(source: AnySource, reading: ReadOptions, *, first: int = 0) -> Description:
    """What `source` holds when it is read like this, with its `first` events."""
    description = Description(format_of(source))
    decision = Decision()
    reading = replace(reading, decision=decision)
    known: dict[tuple[str, str], Episode] = {}
    for batch in read(source, reading):
        description.first_events += batch[: max(0, first - len(description.first_events))].to_events()
        _add(description, batch)
        for at in np.unique(batch.episode).tolist():
            episode = batch.episodes[at]
            known.setdefault((episode.name, episode.stratum), episode)
    description.rows = decision.shape
    description.n_episodes = len(known)
    description.n_strata = len({stratum for _, stratum in known if stratum})
    description.episodes = list(known.values())[:_FIRST]
    return description


def _add(description: Description, batch: EventStream) -> None:
    valid = batch.valid
    counts = np.bincount(batch.category[valid], minlength=len(CATEGORIES)).tolist()
    description.categories.update({name: count for name, count in zip(CATEGORIES, counts, strict=True) if count})
    for problem, count in batch.problems().items():
        description.problems[problem] += count
        first = description.first_invalid.setdefault(problem, [])
        where = np.flatnonzero(batch.problem == problem)[: _FIRST - len(first)]
        first.extend((where + description.events).tolist())
    times = batch.time_ns[valid]
    if len(times):
        low, high = int(times.min()), int(times.max())
        description.first_ns = low if description.first_ns is None else min(low, description.first_ns)
        description.last_ns = high if description.last_ns is None else max(high, description.last_ns)
    description.encoding = getattr(batch.quantised, "name", None)
    description.notes.update(batch.notes)
    description.events += len(batch)
