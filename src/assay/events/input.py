"""What was read from one side of an evaluation: counts, reasons and notes, which add up like tallies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.events.stream import EventStream, Kind

# Times that were predicted one by one may go back a little; rows that were shuffled go back far.
_BACK_NS = 1_000_000_000


@dataclass(slots=True)
class Input:
    """What was read of one side."""

    source: str
    """Its path or address, or what kind of object it was."""
    events: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Valid events by kind."""
    spoiled_kinds: Counter[str] = field(default_factory=Counter)
    """Invalid events by kind, if the kind could be read."""
    problems: Counter[str] = field(default_factory=Counter)
    """Invalid events by reason."""
    episodes: set[str] = field(default_factory=set)
    notes: Counter[str] = field(default_factory=Counter)
    sha256: str | None = None
    """Digest of the events as they were read (see `StreamDigest`); None if it was not taken."""
    rows: str = ""
    """How a row of token text was read, as 'event' or 'episode', if that had to be decided."""
    doubled: set[str] = field(default_factory=set)
    """Episodes that more than one row stands for."""

    missing: dict[str, str] = field(default_factory=dict)
    """Shards of the evaluation that could not be read and count nowhere, by name, and why."""
    last_ns: int = 0
    """The greatest time; 0 for tokens, whose clock wraps."""
    backwards: int = 0
    """Events more than a second earlier than the one before of the same episode; 0 for tokens."""

    def see(self, batch: EventStream) -> None:
        self.events += len(batch)
        self.notes.update(batch.notes)
        self.episodes.update(batch.episodes[at].name for at in set(batch.episode[batch.run_starts()].tolist()))
        spoiled = batch.problem != 0
        if batch.quantised is None and len(batch):
            times, episodes = batch.time_ns, batch.episode
            if spoiled.any():  # their times may not have been read
                times, episodes = times[~spoiled], episodes[~spoiled]
            self.last_ns = max(self.last_ns, int(times.max(initial=0)))
            earlier = np.diff(times) < -_BACK_NS
            self.backwards += int(np.count_nonzero(earlier & (episodes[1:] == episodes[:-1])))
        by_kind = np.bincount((batch.kind + 1) | spoiled.view(np.int8) << 2, minlength=8).reshape(2, 4)
        for counts, counter in zip(by_kind.tolist(), (self.kinds, self.spoiled_kinds), strict=True):
            counter.update({kind.name.lower(): counts[kind + 1] for kind in Kind if counts[kind + 1]})
        self.problems.update({problem.sentence: n for problem, n in batch.problems().items()})

    @property
    def invalid(self) -> int:
        return sum(self.problems.values())

    def __add__(self, other: Input) -> Input:
        """Both as one."""
        sources = dict.fromkeys((self.source, other.source))
        return Input(
            " and ".join(sources)[:500],
            self.events + other.events,
            self.kinds + other.kinds,
            self.spoiled_kinds + other.spoiled_kinds,
            self.problems + other.problems,
            self.episodes | other.episodes,
            self.notes + other.notes,
            rows=self.rows if self.rows == other.rows else "",
            doubled=self.doubled | other.doubled,
            missing=self.missing | other.missing,
            last_ns=max(self.last_ns, other.last_ns),
            backwards=self.backwards + other.backwards,
        )

    def extend(self, other: Input) -> None:
        """Add what was read of another part of the same side."""
        self.events += other.events
        for mine, theirs in ((self.kinds, other.kinds), (self.spoiled_kinds, other.spoiled_kinds)):
            mine.update(theirs)
        self.problems.update(other.problems)
        self.notes.update(other.notes)
        self.episodes |= other.episodes
        self.rows, self.doubled = self.rows or other.rows, self.doubled | other.doubled
        self.last_ns = max(self.last_ns, other.last_ns)
        self.backwards += other.backwards

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "events": self.events,
            "kinds": dict(self.kinds),
            "invalid": dict(self.problems),
            "episodes": len(self.episodes - {""}),
            "notes": dict(self.notes),
            "sha256": self.sha256,
            "rows": self.rows or None,
            "doubled": sorted(self.doubled),
            "missing": dict(self.missing),
            "last_ns": self.last_ns or None,
            "backwards": self.backwards,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], episodes: set[str]) -> Input:
        """The inverse of `to_json`, with what a stored run keeps in addition."""
        return cls(
            source=str(kept.get("source", "")),
            events=int(kept.get("events", 0)),
            kinds=Counter(kept.get("kinds", {})),
            spoiled_kinds=Counter(kept.get("spoiled_kinds", {})),
            problems=Counter(kept.get("invalid", {})),
            episodes=episodes,
            notes=Counter(kept.get("notes", {})),
            sha256=kept.get("sha256"),
            rows=str(kept.get("rows") or ""),
            doubled=set(kept.get("doubled", ())),
            missing=dict(kept.get("missing", {})),
            last_ns=int(kept.get("last_ns") or 0),
            backwards=int(kept.get("backwards", 0)),
        )


def described(source: object) -> str:
    """A short description of the source: its path, or its type and size."""
    if isinstance(source, str) and "<EVENT_START>" in source[:1_000_000]:
        return f"token text of {len(source):,} characters"
    if isinstance(source, str | Path):
        return str(source)[:500]
    if isinstance(source, EventStream):
        return f"a stream of {len(source):,} events"
    if isinstance(source, Sequence):
        return f"a list of {len(source):,}"
    return type(source).__name__
