"""What is refused and said about the two sides: missing, unknown and doubled episodes, rows, swapped arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import events
from assay.errors import SourceError, TruthError
from assay.events import EventReport, codec
from assay.events.sources import Decision, ReadOptions, read

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"


@pytest.fixture
def score(tmp_path: Path) -> Any:
    """Scores rows against rows, written to files with these names."""

    def run(
        predicted: list[Any], truth: list[Any], names: tuple[str, str] = ("a", "b"), **settings: Any
    ) -> EventReport:
        paths = [tmp_path / f"{name}.jsonl" for name in names]
        for path, rows in zip(paths, (predicted, truth), strict=True):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return events.evaluate(*paths, protocols=("owa",), **settings)

    return run


def rows(*names: str, text: str = KEY) -> list[dict[str, str]]:
    return [{"text": text, "episode": name} for name in names]


def said(report: EventReport, words: str) -> list[str]:
    return [sentence for sentence in report.warnings if words in sentence]


def test_missing_and_unknown_episodes_are_named(score: Any) -> None:
    report = score(rows("a", "x"), rows("a", "b", "c"))
    assert said(report, "without a prediction;") == [
        "2 of 3 true episodes without a prediction; everything in them counts as missed: 'b', 'c'."
    ]
    assert said(report, "unknown") == [
        "1 of 2 predicted episodes unknown to the truth; nothing in them can be right: 'x'."
    ]
    assert report.flat("owa")["comparable"] == pytest.approx(1 / 3)


def test_the_first_ten_are_named_and_the_rest_counted(score: Any) -> None:
    report = score(rows("a"), rows("a", *(f"e{at:02}" for at in range(25))))
    (sentence,) = said(report, "without a prediction;")
    assert "25 of 26 true episodes" in sentence
    assert sentence.endswith("'e08', 'e09' and 15 more.")


def test_equal_and_single_episodes_give_no_warning(score: Any) -> None:
    for names in (("a", "b"), ("b", "a")):
        assert not said(score(rows("a", "b"), rows(*names)), "episodes without")
    assert not said(score(rows("a"), rows("b")), "without a prediction;")


def test_a_duplicate_episode_is_an_error_unless_allowed(score: Any) -> None:
    doubled = rows("a", "b", "a", text=KEY * 3)
    whole = rows("a", "b", text=KEY * 3)
    with pytest.raises(
        SourceError,
        match=r"a\.jsonl: 1 episode in more than one row, or with rows that come twice: 'a'.*--allow-duplicates",
    ):
        score(doubled, whole)
    with pytest.raises(
        SourceError, match=r"b\.jsonl: 1 episode in more than one row, or with rows that come twice: 'a'"
    ):
        score(whole, doubled)
    report = score(doubled, doubled, allow_duplicates=True)
    assert said(report, "1 episode more than once, joined")
    assert report.flat("owa")["events"] == 9


def events_of(*names: str) -> list[dict[str, str]]:
    """A row per event: five keys of each episode, one after the other, in the order given."""
    texts = [f"<EVENT_START><KEYBOARD><0><{at}><2><65><press><EVENT_END>" for at in range(5)]
    return [{"episode": name, "text": text} for name in names for text in texts]


def test_an_episode_whose_rows_of_one_event_come_twice_is_an_error_unless_allowed(score: Any) -> None:
    whole, doubled = events_of("a", "b"), events_of("a", "b", "a")
    assert score(whole, whole).flat("owa")["comparable"] == 1
    with pytest.raises(SourceError, match=r"a\.jsonl: 1 episode .* with rows that come twice: 'a'.*--allow-duplicates"):
        score(doubled, whole)
    assert score(doubled, doubled, allow_duplicates=True).flat("owa")["events"] == 15


def test_rows_of_episodes_may_be_mixed_and_continue_in_any_batch() -> None:
    mixed = [row for pair in zip(events_of("a"), events_of("b"), strict=True) for row in pair]
    halves = [*mixed[:2], *events_of("c"), *mixed[2:]]
    for table in (mixed, halves):
        for batch_rows in (3, 100):
            decision = Decision()
            reading = ReadOptions(codec("hierarchical"), rows="event", batch_rows=batch_rows, decision=decision)
            assert sum(map(len, read(table, reading))) == len(table)
            assert decision.doubled == {}


def test_an_episode_in_two_files_comes_twice(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(events_of("a"))
    for name in ("1", "2"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    decision = Decision()
    list(read(tmp_path, ReadOptions(codec("hierarchical"), rows="event", decision=decision)))
    assert list(decision.doubled) == ["a"]


def test_rows_of_one_event_may_share_an_episode(score: Any) -> None:
    assert score(rows("a", "b", "a"), rows("a", "b", "a")).flat("owa")["comparable"] == 1


def test_the_report_says_how_rows_were_read_and_warns_if_sides_differ(score: Any) -> None:
    report = score(rows("a", "b", text=KEY * 3), [row for name in "ab" for row in rows(*name * 3)])
    assert report.flat("owa")["comparable"] == 1
    assert (report.predicted.rows, report.truth.rows) == ("episode", "event")
    assert said(report, "A row of the predictions was read as one episode")
    assert said(report, "A row of the truths was read as one event")
    assert said(report, "A row means one thing in the predictions and another in the truths")
    assert not said(score(rows("a", text=KEY * 3), rows("a", text=KEY * 3)), "A row means")
    assert not said(score(rows("a"), rows("a"), rows="event"), "was read as")


@pytest.mark.parametrize(
    ("names", "suspected"),
    [
        (("truth", "predicted"), True),
        (("labels-v2", "generated"), True),
        (("predicted", "truth"), False),
        (("predicted-vs-truth", "outputs"), False),
        (("a", "b"), False),
    ],
)
def test_swapped_sides_are_suspected_by_file_names(score: Any, names: tuple[str, str], suspected: bool) -> None:
    assert bool(said(score(rows("a"), rows("a"), names), "swapped")) == suspected


def test_swapped_sides_are_suspected_if_only_predictions_decode(score: Any) -> None:
    good = rows(*"aaaaaaaaaa")
    spoiled = [*good[1:], {"text": "<EVENT_START>", "episode": "a"}]
    assert said(score(good, spoiled), "All predictions decode and some truths do not: were the two swapped?")
    assert not said(score(spoiled, good), "swapped")
    with pytest.raises(TruthError, match="were PRED and TRUTH swapped"):
        score(good, rows(*"aaaaaaaaaa", text="<EVENT_START>"))


def test_facts_about_the_inputs_are_stored(score: Any) -> None:
    report = score(rows("a", "a", text=KEY * 3), rows("a", text=KEY * 6), allow_duplicates=True)
    kept = type(report.predicted).from_json(json.loads(json.dumps(report.predicted.to_json())), {"a"})
    assert (kept.rows, kept.doubled) == ("episode", {"a"})
