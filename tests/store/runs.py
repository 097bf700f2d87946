"""Runs to put into a store, for processes that need not import pytest."""

from __future__ import annotations

import numpy as np

from assay.store.ids import new_id
from assay.types import Case, Distribution, InOrder, Joint, Moments, Ratio, Run, State


def some_run(name: str = "", *, cases: int = 3, groups: tuple[str, ...] = ("owa", "d2e"), kind: str = "events") -> Run:
    """A run of which every kind of state is a part."""
    return Run(
        id=new_id(),
        kind=kind,
        name=name,
        created="2026-01-02T03:04:05+00:00",
        command="assay events eval a b",
        settings={"interval": "episode", "level": 0.95, "nested": {"list": [1, 2]}},
        seed=2**70,
        versions={"owa": 1, "d2e": 1},
        inputs={"truth": {"source": "a.jsonl", "sha256": "00"}},
        environment={"python": "3.11"},
        tallies={group: {Case(f"case {n}", f"s{n % 2}"): states_of(n) for n in range(cases)} for group in groups},
        tags=("first",),
    )


def states_of(n: int) -> dict[str, State]:
    return {
        "right": Ratio(n, n + 1),
        "sums": Moments(n, -(2**90), 2**180 + n),
        "errors": Distribution.of([0.5, 0.5, n, -1.25]),
        "moves": Joint.of(np.array([1, 1, -300, n]), np.array([2, 2, 70_000, 2**40])),
        "values": InOrder(np.array([3.0, 1.0, n])),
        "none": Distribution(),
    }
