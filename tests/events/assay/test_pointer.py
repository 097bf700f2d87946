"""The pointer's path over long pauses and absurd times, against a slow computation of every bin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.events.assay.streams import flat, move, number, stream

from assay.events.actions.clock import clock_side
from assay.events.actions.pointer import BIN_NS, SCALE, SUMS, compare_paths
from assay.types import Floats


def positions(events: list[dict[str, Any]], edges: Floats) -> tuple[Floats, Floats]:
    """x and y at each edge in steps of 1/SCALE pixels, linear between events."""
    times = np.array([event["ts"] for event in events], np.float64)
    found = []
    for axis in ("dx", "dy"):
        path = np.cumsum([event[axis] for event in events]) * float(SCALE)
        found.append(np.rint(np.interp(edges, times, path, left=0)))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(6))
def test_pauses_are_summed_as_if_every_bin_were_looked_at(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def moves() -> list[dict[str, Any]]:
        # Pauses from milliseconds to minutes, in which the path still goes straight to the next event.
        pauses = rng.choice([8, 70, 4_000, 60_000, 200_000], 60, p=[0.5, 0.2, 0.15, 0.1, 0.05])
        return [move(ms, *rng.integers(-6, 7, 2).tolist()) for ms in np.cumsum(pauses).tolist()]

    truth, guess = moves(), moves()
    found = compare_paths(clock_side(stream(truth), 0), clock_side(stream(guess), 0))
    times = [event["ts"] for event in (*truth, *guess)]
    origin = truth[0]["ts"]
    first = (min(times) - origin - 1) // BIN_NS
    last = -(-(max(times) - origin) // BIN_NS)
    edges = (origin + np.arange(first, last + 1) * BIN_NS).astype(np.float64)
    (tx, ty), (px, py) = positions(truth, edges), positions(guess, edges)
    t, p = (np.hypot(np.diff(x), np.diff(y)) for x, y in ((tx, ty), (px, py)))
    expected = {
        "n": np.count_nonzero((t > 0) | (p > 0)),
        "edges": len(edges),
        "distance": np.rint(np.hypot(tx - px, ty - py)).sum(),
        "length_t": np.rint(t).sum(),
        "length_p": np.rint(p).sum(),
        "t_still": np.count_nonzero(t < SCALE / 2),
        "idle": np.count_nonzero((t < SCALE / 2) & (p >= SCALE / 2)),
        "tp_x": (np.diff(tx) * np.diff(px)).sum(),
        "last_x": (np.diff(np.diff(tx, prepend=0), prepend=0) ** 2).sum(),
    }
    sums = dict(zip(SUMS, found.sums.tolist(), strict=True))
    assert {name: sums[name] for name in expected} == expected


def test_absurd_times_cost_their_events_and_no_time() -> None:
    # Two events a century away: too many to be stray, and bins of 50 ms up to them would take hours.
    truth = [move(ms, 3, -2) for ms in range(0, 20_000, 10)]
    absurd = [{**event, "ts": event["ts"] + 2**61} if at in (500, 900) else event for at, event in enumerate(truth)]
    assert number(flat(absurd, truth)["pointer_r2"]) > 0.9
    assert number(flat(truth, absurd)["pointer_r2"]) > 0.9
