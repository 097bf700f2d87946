"""Bounded tallies: fewer distinct errors of time, each off by at most a stated share, and still added exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.local import LocalEngine
from assay.errors import UsageError
from assay.events import evaluate
from assay.events.bounded import RELATIVE_ERROR, WORDS, rounded, rounded_shares
from assay.events.evaluation import EventReport, rebuilt_report
from assay.events.sharded import Sharding
from assay.types import Joint

PROTOCOLS = ("assay", "owa", "sequence", "d2e")


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), min_size=1))
def test_rounded_integers_are_near_and_stay_so(values: list[int]) -> None:
    found = rounded(np.array(values, np.int64))
    for given_, near in zip(values, found.tolist(), strict=True):
        assert abs(near - given_) <= abs(given_) * RELATIVE_ERROR
    assert rounded(found).tolist() == found.tolist()


@given(st.lists(st.tuples(st.integers(0, 2**50), st.integers(1, 2**50)), min_size=1))
def test_rounded_shares_are_near(pairs: list[tuple[int, int]]) -> None:
    parts, wholes = np.array(pairs, np.int64).T
    top, below = rounded_shares(parts, wholes)
    for (part, whole), near, power in zip(pairs, top.tolist(), below.tolist(), strict=True):
        # Exactly, in integers, with what a division of floats may add.
        assert abs(near * whole - part * power) <= part * power * RELATIVE_ERROR * (1 + 1e-12)


def _write(folder: Path, events: int) -> None:
    """Two episodes of key presses whose times, in nanoseconds, were never quantised."""
    rng = np.random.default_rng(5)
    for side in ("predicted", "truth"):
        (folder / side).mkdir(parents=True)
    for episode in ("monday", "tuesday"):
        times = np.cumsum(rng.integers(20_000_000, 300_000_000, events))
        late = np.rint(rng.normal(0, 8e6, events)).astype(int)
        for side, shift in (("truth", 0 * late), ("predicted", late)):
            rows = [
                {"episode": episode, "event": _event(int(time), at)} for at, time in enumerate((times + shift).tolist())
            ]
            (folder / side / f"{episode}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _event(time: int, at: int) -> dict[str, Any]:
    return {"kind": "keyboard", "ts": time, "vk": 65 + at // 2 % 5, "press": at % 2 == 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unquantised")
    _write(folder, 8000)
    return folder


def report_on(folder: Path, **given: Any) -> EventReport:
    return evaluate(str(folder / "predicted"), str(folder / "truth"), protocols=PROTOCOLS, **given)


@pytest.mark.slow
def test_tallies_are_smaller_and_figures_off_by_no_more_than_stated(folder: Path) -> None:
    exact, bounded = report_on(folder), report_on(folder, bounded_tallies=True)
    for name, state in (("owa", "times"), ("assay", "values"), ("sequence", "times")):
        sizes = [sum(map(len, one.protocols[name].tally.parts(state, Joint))) for one in (exact, bounded)]
        assert sizes[1] < 0.6 * sizes[0], (name, sizes)
    for name in PROTOCOLS:
        for key, value in exact.flat(name).items():
            near = bounded.flat(name)[key]
            if (
                value is None or near is None or near == value or "_ci_" in key
            ):  # other values are drawn in each resample
                continue
            if "r2" in key:
                assert abs(near - value) <= (2 + RELATIVE_ERROR) * RELATIVE_ERROR * (1 - value), key
            elif "signed" in key:  # a mean, and the mean size of the errors is below 10 ms
                assert abs(near - value) <= RELATIVE_ERROR * 10, key
            else:
                assert "time" in key or "duration" in key, key
                assert abs(near - value) <= RELATIVE_ERROR * abs(value) * (1 + 1e-12), key


@pytest.mark.slow
def test_the_output_names_it(folder: Path, tmp_path: Path) -> None:
    bounded = report_on(folder, bounded_tallies=True)
    assert WORDS in bounded.warnings
    assert bounded.to_json()["settings"]["protocols"]["owa"]["bounded_tallies"] is True
    assert WORDS not in report_on(folder).warnings
    page = tmp_path / "page.html"
    bounded.html(str(page))
    assert "Tallies are bounded" in page.read_text()
    again = rebuilt_report(bounded.as_run())
    assert WORDS in again.warnings
    assert again.flat("owa") == bounded.flat("owa")


@pytest.mark.slow
def test_shards_give_the_same_bits(folder: Path) -> None:
    sharding = Sharding(LocalEngine(1))
    found = report_on(folder, bounded_tallies=True, sharding=sharding)
    assert found.to_json()["protocols"] == report_on(folder, bounded_tallies=True).to_json()["protocols"]


def test_an_interval_that_keeps_every_value_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="keeps every value"):
        report_on(folder, bounded_tallies=True, interval="reference")
