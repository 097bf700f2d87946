"""A clock that runs fast or slow is called a drift, with its rate, and not a constant lag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.events.assay.streams import MS, late, result, stream, typed
from tests.events.test_recordings import RECORDINGS

from assay.events import EventStream, decode
from assay.events.evaluation import ProtocolResult
from assay.events.stream import concatenate

TRUTH = typed(3, seconds=120.0)


def drifting(events: Iterable[Mapping[str, Any]], rate: float, ms: float = 0.0) -> list[dict[str, Any]]:
    return [{**event, "ts": round(event["ts"] * (1 + rate) + ms * MS)} for event in events]


def findings(found: ProtocolResult) -> dict[str, dict[str, Any]]:
    return {finding["kind"]: finding for finding in found.details["verdict"]}


@pytest.mark.parametrize("rate", [0.02, -0.02, 0.05, 0.001])
def test_a_clock_that_runs_fast_or_slow_is_a_drift(rate: float) -> None:
    said = findings(result(drifting(TRUTH, rate), TRUTH))
    assert "lag" not in said
    figures = said["drift"]["figures"]
    assert figures["drift_ms_a_minute"] == pytest.approx(60_000 * rate, rel=0.01)
    assert figures["f1_without_drift"] >= 0.99
    assert figures["f1"] < 0.6
    assert figures["drift_low"] is None, "one episode has no interval"
    assert ("later" if rate > 0 else "earlier") in said["drift"]["text"]


def test_the_drift_of_several_episodes_has_an_interval() -> None:
    rng = np.random.default_rng(8)
    truths = [typed(seed, seconds=60.0) for seed in range(8)]
    guesses = [drifting(truth, rng.normal(0.02, 0.001), ms=30) for truth in truths]
    sides = [concatenate([stream(one, f"e{at}") for at, one in enumerate(side)]) for side in (guesses, truths)]
    said = findings(result(*sides, reps=200))
    figures = said["drift"]["figures"]
    assert figures["drift_low"] < figures["drift_ms_a_minute"] < figures["drift_high"]
    assert figures["drift_low"] < 1200 < figures["drift_high"]
    assert "lag" not in said


def test_jitter_does_not_hide_a_drift() -> None:
    rng = np.random.default_rng(4)
    jittered = [{**one, "ts": max(0, one["ts"] + round(rng.normal(0, 15) * MS))} for one in drifting(TRUTH, 0.02)]
    found = findings(result(jittered, TRUTH))["drift"]["figures"]
    assert found["drift_ms_a_minute"] == pytest.approx(1200, rel=0.01)
    assert found["f1_without_drift"] >= 0.95


@pytest.mark.parametrize("ms", [-200, -80, 80, 200])
def test_a_constant_lag_is_not_a_drift(ms: float) -> None:
    assert "drift" not in findings(result(late(TRUTH, ms + 500), late(TRUTH, 500)))


def test_what_has_nothing_to_do_with_the_truth_does_not_drift() -> None:
    truths, others = ([typed(seed + first, seconds=60.0) for seed in range(6)] for first in (0, 100))
    sides = [concatenate([stream(one, f"e{at}") for at, one in enumerate(side)]) for side in (others, truths)]
    assert "drift" not in findings(result(*sides))


def test_episodes_that_drift_each_in_its_own_way_share_no_drift() -> None:
    truths = [typed(seed, seconds=60.0) for seed in range(6)]
    guesses = [
        drifting(truth, rate) for truth, rate in zip(truths, (0.03, -0.03, 0.01, -0.01, 0.02, -0.02), strict=True)
    ]
    sides = [concatenate([stream(one, f"e{at}") for at, one in enumerate(side)]) for side in (guesses, truths)]
    assert "drift" not in findings(result(*sides))


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the real recordings are not here")
def test_the_drift_of_a_real_recording_is_found() -> None:
    truth: EventStream = decode(str(RECORDINGS / "typing-game.mcap"))
    begin = int(truth.time_ns.min())
    fast = replace(truth, time_ns=begin + np.rint((truth.time_ns - begin) * 1.02).astype(np.int64))
    said = findings(result(fast, truth, settings={"clock": "shared"}))
    assert said["drift"]["figures"]["drift_ms_a_minute"] == pytest.approx(1200, rel=0.02)
    assert said["drift"]["figures"]["f1_without_drift"] == 1.0
    assert "lag" not in said
