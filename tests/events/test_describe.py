"""What `describe` says of a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.events.codecs import codec
from assay.events.describe import describe
from assay.events.sources import ReadOptions
from assay.events.stream import Episode, EventStream, Problem

GOLDEN = Path(__file__).parents[1] / "golden" / "codec_hierarchical.jsonl"
KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"


@pytest.fixture
def reading() -> ReadOptions:
    return ReadOptions(codec("hierarchical"), batch_rows=2)


def test_events_are_counted_by_category_and_problems_by_reason_and_position(reading: ReadOptions) -> None:
    found = describe([KEY, "x", KEY, "y", "<EVENT_START>"], reading)
    assert (found.format, found.encoding) == ("strings", "hierarchical")
    assert (found.events, found.valid) == (5, 2)
    assert found.categories == {"keyboard": 2}
    assert found.problems == {Problem.UNFRAMED: 2, Problem.CUT_SHORT: 1}
    assert found.first_invalid == {Problem.UNFRAMED: [1, 3], Problem.CUT_SHORT: [4]}
    assert (found.first_ns, found.last_ns) == (30_000_000, 30_000_000)


def test_formats_and_episodes_are_named(reading: ReadOptions, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f'{{"text": "{KEY}", "episode": "{name}", "game": "g"}}\n' for name in "aab"))
    found = describe(path, reading)
    assert found.format == "jsonl"
    assert found.episodes == [Episode("a", "g"), Episode("b", "g")]
    assert (found.n_episodes, found.n_strata) == (2, 1)
    assert describe(tmp_path, reading).format == "folder"
    assert describe(KEY, reading).format == "tokens"
    assert describe(EventStream.allocate(0), reading).format == "stream"


def test_an_empty_source_has_no_times_and_no_events(reading: ReadOptions) -> None:
    found = describe("", reading)
    assert (found.events, found.first_ns, found.last_ns) == (0, None, None)


def test_a_golden_file_is_described(reading: ReadOptions) -> None:
    found = describe(GOLDEN, reading)
    assert (found.events, found.valid, found.n_episodes) == (500, 259, 1)
    assert all(len(places) == 5 for places in found.first_invalid.values())
