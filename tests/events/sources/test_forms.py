"""Forms that tables of events come in: CSV, JSON arrays, Zstandard, standard input, tables in memory, token ids."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from tests.events.test_recordings import RECORDINGS

from assay.errors import ColumnError, SourceError, UsageError
from assay.events import decode, evaluate
from assay.events.codecs import codec
from assay.events.sources import ReadOptions, format_of, read
from assay.events.sources._rows import EPISODE_ROWS, Decision
from assay.events.stream import EventStream, Problem

Row = dict[str, Any]
ReadWhole = Callable[..., EventStream]
GOLDEN = Path(__file__).parents[2] / "golden" / "codec_hierarchical.jsonl"

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"
KEY_EVENT = {"kind": "keyboard", "ts": 30_000_000, "vk": 13, "press": True}
TOKENS = ["<EVENT_START>", "<KEYBOARD>", "<0>", "<3>", "<13>", "<press>", "<EVENT_END>", "word"]
KEY_IDS = [0, 1, 2, 2, 3, 4, 5, 6]


def names(stream: EventStream) -> list[str]:
    return [episode.name for episode, _ in stream.segments()]


# --- CSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "unnamed"])
def test_a_csv_table_of_texts_is_read(whole: ReadWhole, tmp_path: Path, separator: str, name: str) -> None:
    path = tmp_path / name
    lines = [f"episode{separator}text", f"001{separator}{KEY}", f'"a, ""b"""{separator}{KEY}', f"001{separator}{KEY}"]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    stream = whole(path)
    assert stream.to_events() == [KEY_EVENT] * 3
    assert names(stream) == ["001", 'a, "b"', "001"]


def test_csv_columns_of_values_are_numbers_or_invalid(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [
        "kind,ts,vk,press,dx,dy,flags,data",
        "keyboard,5,65,true,,,,",
        "keyboard,6.0,65,False,,,,",
        "mouse,7,,,3,-4,,",
        "mouse,8,,,,1,0,0",  # a movement that is not there
        "mouse,9,,,x,1,0,0",
        "keyboard,10,65",  # a row that is cut short
        "screen,11,,,,,,",
    ]
    path.write_text("\n".join(rows))
    stream = whole(path)
    assert stream.to_events() == [
        {"kind": "keyboard", "ts": 5, "vk": 65, "press": True},
        {"kind": "keyboard", "ts": 6, "vk": 65, "press": False},
        {"kind": "mouse", "ts": 7, "dx": 3, "dy": -4, "flags": 0, "data": 0},
        None,
        None,
        None,
        {"kind": "screen", "ts": 11},
    ]


def test_the_error_for_csv_without_events_lists_its_columns(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"id,output\n1,{KEY}\n")
    with pytest.raises(ColumnError, match=r"x\.csv: .*it has 'id', 'output'.*--column text=NAME"):
        whole(path)
    assert whole(path, columns={"text": "output"}).to_events() == [KEY_EVENT]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (f"text\n{KEY}\n", "a table of separated values, not token text.*Name it .csv"),
        (json.dumps([{"text": KEY}]), "a JSON array, not token text.*Name it .json"),
        (json.dumps({"text": KEY}), "JSON Lines, not token text.*Name it .jsonl"),
    ],
)
def test_a_table_with_the_suffix_txt_is_refused(whole: ReadWhole, tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(content)
    with pytest.raises(SourceError, match=what):
        whole(path)


# --- JSON arrays ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.json", "unnamed"])
def test_a_json_array_has_a_row_for_each_element(
    whole: ReadWhole, tmp_path: Path, golden: list[Row], name: str
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(golden, indent=1))
    assert whole(path).to_events() == [row["event"] for row in golden]
    path.write_text(json.dumps([KEY, 7, KEY]))
    assert whole(path).to_events() == [KEY_EVENT, None, KEY_EVENT]


def test_json_lines_with_the_suffix_json_are_read(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"text": KEY}) + "\n" + json.dumps({"text": KEY}))
    assert whole(path).to_events() == [KEY_EVENT] * 2
    path.write_text(json.dumps({"text": KEY}, indent=2))
    assert whole(path).to_events() == [KEY_EVENT]


@pytest.mark.parametrize(("content", "what"), [("[1, 2", "not valid JSON"), ("7", "neither a JSON array of rows nor")])
def test_json_without_rows_is_an_error(whole: ReadWhole, tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(SourceError, match=what):
        whole(path)


# --- Zstandard and standard input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "txt", ""])
def test_zstandard_files_of_any_format_are_read(whole: ReadWhole, tmp_path: Path, suffix: str) -> None:
    plain = tmp_path / f"plain.{suffix or 'jsonl'}"
    if suffix == "parquet":
        pq.write_table(pa.table({"text": [KEY, KEY]}), plain)
    else:
        row = json.dumps({"text": KEY})
        plain.write_text({"csv": f"text\n{KEY}\n{KEY}\n", "txt": KEY * 2}.get(suffix, f"{row}\n{row}\n"))
    packed = zstandard.compress(plain.read_bytes())
    path = tmp_path / "set" / (f"x.{suffix}.zst" if suffix else "x.zst")
    path.parent.mkdir()
    path.write_bytes(packed)
    assert whole(path).to_events() == [KEY_EVENT] * 2
    assert whole(path.parent).to_events() == [KEY_EVENT] * 2
    assert format_of(path) == "zst"
    (tmp_path / "unnamed").write_bytes(packed)
    assert whole(tmp_path / "unnamed").to_events() == [KEY_EVENT] * 2
    path.write_bytes(packed * 2 if suffix in ("jsonl", "txt") else packed)  # frames follow each other
    assert len(whole(path)) == (4 if suffix in ("jsonl", "txt") else 2)
    for length in (len(packed) - 5, len(packed) // 2):
        path.write_bytes(packed[:length])
        with pytest.raises(SourceError, match=r"\.zst: .*cut short"):
            whole(path)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "txt", "json"])
def test_standard_input_is_read_in_any_format(whole: ReadWhole, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    table = io.BytesIO()
    pq.write_table(pa.table({"text": [KEY, KEY]}), table)
    row = json.dumps({"text": KEY})
    contents = {"csv": f"text\n{KEY}\n{KEY}\n", "txt": KEY * 2, "jsonl": f"{row}\n{row}", "json": f"[{row},{row}]"}
    content = table.getvalue() if form == "parquet" else contents[form].encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert whole("-").to_events() == [KEY_EVENT] * 2


@pytest.mark.parametrize(
    ("content", "what"), [(b"", "there was no input"), (b"\x00\x01", "not have a readable format")]
)
def test_unreadable_standard_input_is_an_error(
    whole: ReadWhole, monkeypatch: pytest.MonkeyPatch, content: bytes, what: str
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    with pytest.raises(SourceError, match=rf"standard input: .*{what}"):
        whole("-")


# --- in memory --------------------------------------------------------------------------------------------------------


class Dataset:
    """What `datasets.Dataset` has that is needed of it."""

    def __init__(self, table: pa.Table, kind: str | None = None) -> None:
        self.table, self.kind, self.column_names = table, kind, table.schema.names

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def with_format(self, kind: str) -> Dataset:
        return Dataset(self.table, kind)

    def __getitem__(self, part: slice) -> pa.Table:
        assert self.kind == "arrow"
        return self.table[part]


@pytest.mark.parametrize("form", [lambda table: table, lambda table: table.to_batches()[0], Dataset])
def test_a_table_in_memory_is_read(whole: ReadWhole, golden: list[Row], form: Callable[[pa.Table], Any]) -> None:
    table = pa.table({"text": [row["text"] for row in golden], "episode": ["a", "b"] * 250})
    stream = whole(form(table), batch_rows=70)
    assert stream.to_events() == [row["event"] for row in golden]
    assert {episode.name for episode in stream.episodes} == {"a", "b"}
    assert format_of(form(table)) == "table"


@pytest.mark.slow
def test_a_dataset_of_the_real_library_is_read(whole: ReadWhole) -> None:
    import datasets

    texts = [KEY.replace("<13>", f"<{vk}>") for vk in range(65, 71)]
    keys = [event and event["vk"] for event in whole(texts).to_events()]
    found = datasets.Dataset.from_dict({"text": texts, "episode": ["a", "b"] * 3})
    assert [event["vk"] for event in whole(found).to_events() if event] == keys
    # Chosen rows and another format are views: what counts is what the data set shows.
    assert [event["vk"] for event in whole(found.select([5, 1])).to_events() if event] == [keys[5], keys[1]]
    assert len(whole(found.with_format("numpy"))) == 6
    with pytest.raises(UsageError, match=r"a DatasetDict has several tables: 'train', 'test'\. Give one of them"):
        whole(datasets.DatasetDict({"train": found, "test": found}))


@pytest.mark.parametrize("form", ["list", "arrow", "jsonl", "parquet", "csv"])
def test_null_flags_and_data_are_0_and_a_null_movement_is_invalid(whole: ReadWhole, form: str, tmp_path: Path) -> None:
    rows = [
        {"kind": "mouse", "ts": 5, "dx": 3, "dy": -4, "flags": None, "data": None},
        {"kind": "mouse", "ts": 6, "dx": 1, "dy": 2, "flags": 1024, "data": 120},
        {"kind": "mouse", "ts": 7, "dx": None, "dy": 2, "flags": 1, "data": 0},
    ]
    path = tmp_path / f"x.{form}"
    given: Any = path
    if form == "list":
        given = rows
    elif form == "arrow":
        given = pa.Table.from_pylist(rows)
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("kind,ts,dx,dy,flags,data\nmouse,5,3,-4,,\nmouse,6,1,2,1024,120\nmouse,7,,2,1,0\n")
    first, second, third = whole(given).to_events()
    assert first == {"kind": "mouse", "ts": 5, "dx": 3, "dy": -4, "flags": 0, "data": 0}
    assert second == {"kind": "mouse", "ts": 6, "dx": 1, "dy": 2, "flags": 1024, "data": 120}
    assert third is None


def test_a_pandas_frame_is_read(whole: ReadWhole, golden: list[Row]) -> None:
    import pandas

    frame = pandas.DataFrame({"text": [row["text"] for row in golden], "episode": "a"}, index=range(7, 507))
    assert whole(frame).to_events() == [row["event"] for row in golden]


def test_the_error_for_a_table_in_memory_without_events_lists_its_columns(reading: ReadOptions) -> None:
    with pytest.raises(ColumnError, match=r"the Table: .*it has 'output'"):
        list(read(pa.table({"output": [KEY]}), reading))


def test_numpy_arrays_of_texts_and_of_fields_are_read(whole: ReadWhole) -> None:
    assert whole(np.array([KEY, "no event", KEY])).to_events() == [KEY_EVENT, None, KEY_EVENT]
    assert whole(np.array([KEY, KEY], object)).to_events() == [KEY_EVENT] * 2
    fields = np.array([("screen", 5), ("screen", 6)], [("kind", "U10"), ("ts", np.int64)])
    assert whole(fields).time_ns.tolist() == [5, 6]
    with pytest.raises(UsageError, match="array of float64"):
        whole(np.zeros(3))


def test_a_list_of_rows_is_read_like_a_table(whole: ReadWhole) -> None:
    assert whole([{"text": KEY, "episode": "a"}, {"text": KEY, "episode": "b"}]).to_events() == [KEY_EVENT] * 2
    assert whole([KEY_EVENT, None, KEY_EVENT]).to_events() == [KEY_EVENT, None, KEY_EVENT]
    with pytest.raises(ColumnError, match="it has 'output'"):
        whole([{"output": KEY}])


def test_rows_applies_to_a_list_of_texts(whole: ReadWhole) -> None:
    assert whole([KEY, KEY * 3]).to_events() == [KEY_EVENT, None]
    assert whole([KEY, KEY * 3], rows="event").to_events() == [KEY_EVENT, None]
    stream = whole([KEY, KEY * 3], rows="episode")
    assert stream.to_events() == [KEY_EVENT] * 4
    assert names(stream) == ["row 1", "row 2"]


# --- token ids --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["file", "folder", "vocabulary", "dictionary", "object"])
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    vocabulary = {token: number for number, token in enumerate(TOKENS)}
    if request.param == "dictionary":
        return vocabulary
    if request.param == "object":
        import tokenizers

        return tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="word"))
    if request.param == "vocabulary":
        content: Any = vocabulary
    else:
        added = [{"id": number, "content": token} for number, token in enumerate(TOKENS[:5])]
        words = {token: number for token, number in vocabulary.items() if number >= 5}
        content = {"model": {"vocab": words}, "added_tokens": added}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    return tmp_path if request.param == "folder" else tmp_path / "tokenizer.json"


def test_columns_of_token_ids_are_read_with_a_tokenizer(whole: ReadWhole, tmp_path: Path, tokenizer: Any) -> None:
    rows = [KEY_IDS, [-100, *KEY_IDS, -100], [7], None, KEY_IDS]
    expected = [KEY_EVENT, KEY_EVENT, None, None, KEY_EVENT]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"input_ids": rows, "other": range(5)}), path)
    assert whole(path, tokenizer=tokenizer).to_events() == expected
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"ids": row}) + "\n" for row in rows))
    assert whole(path, tokenizer=tokenizer).to_events() == expected
    assert whole(np.array([KEY_IDS, KEY_IDS]), tokenizer=tokenizer).to_events() == [KEY_EVENT] * 2
    assert whole([KEY_IDS, KEY_IDS * 2], tokenizer=tokenizer, rows="episode").to_events() == [KEY_EVENT] * 3


def test_a_sequence_of_token_ids_in_memory_may_hold_many_events(whole: ReadWhole, tokenizer: Any) -> None:
    assert whole(np.array(KEY_IDS * 4), tokenizer=tokenizer).to_events() == [KEY_EVENT] * 4
    stream = whole([KEY_IDS * 3, KEY_IDS * 4], tokenizer=tokenizer)
    assert (stream.to_events(), names(stream)) == ([KEY_EVENT] * 7, ["row 1", "row 2"])
    # One of several that is not one event is one invalid event: positions must not shift.
    assert whole([KEY_IDS, KEY_IDS * 2, KEY_IDS], tokenizer=tokenizer).to_events() == [KEY_EVENT, None, KEY_EVENT]


def test_the_error_for_token_ids_without_a_tokenizer_says_what_to_do(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"input_ids": [KEY_IDS]}), path)
    with pytest.raises(UsageError, match=r"need a tokenizer.*--tokenizer PATH"):
        whole(path)
    with pytest.raises(SourceError, match=r"x\.parquet: the tokenizer cannot be read"):
        whole(path, tokenizer=path)


# --- what a row stands for --------------------------------------------------------------------------------------------


def test_the_meaning_of_a_row_is_decided_once_for_all_files_of_a_source(whole: ReadWhole, tmp_path: Path) -> None:
    # The second file alone would be read as two invalid events.
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": KEY * 3, "episode": f"{at}"}) + "\n" for at in "12"))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": KEY, "episode": f"{at}"}) + "\n" for at in "34"))
    decision = Decision()
    stream = whole(tmp_path, decision=decision)
    assert decision.shape == "episode"
    assert stream.notes[EPISODE_ROWS] == 4
    assert names(stream) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_episodes_that_occur_in_two_rows_are_named(whole: ReadWhole, tmp_path: Path, suffix: str) -> None:
    rows = [{"text": KEY * 3, "episode": name} for name in "abcab"]
    path = tmp_path / f"x.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    decision = Decision()
    whole(path, decision=decision)
    assert list(decision.doubled) == ["a", "b"]


def _written(rows: list[Row], path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def _typed(name: str, n: int) -> list[Row]:
    """Rows of one episode: a key every 10 ms, no two events alike."""
    return [
        {"episode": name, "kind": "keyboard", "ts": at * 10_000_000, "vk": at % 256, "press": True} for at in range(n)
    ]


@pytest.mark.parametrize("batch_rows", [1, 4, 7, 1000])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_episode_whose_rows_are_repeated_at_once_is_named(
    whole: ReadWhole, tmp_path: Path, suffix: str, batch_rows: int
) -> None:
    a, b, c, d = (_typed(name, n) for name, n in zip("abcd", (5, 6, 4, 9), strict=True))
    path = _written([*a, *a, *b, *c, *c, *c, *d, *d], tmp_path / f"x.{suffix}")
    decision = Decision()
    whole(path, decision=decision, batch_rows=batch_rows)
    decision.settle()
    assert sorted(decision.doubled) == ["a", "c", "d"]


def test_frames_that_repeat_halves_that_differ_and_loops_are_not_doubled(whole: ReadWhole, tmp_path: Path) -> None:
    frames = [{"episode": "frames", "kind": "screen", "ts": at * 50_000_000} for at in range(20)]
    other = _typed("other", 8)
    stuck = [{"episode": "stuck", "kind": "keyboard", "ts": 0, "vk": at % 2, "press": True} for at in range(12)]
    rows = [*frames, *frames, *other, *other[:-1], {**other[-1], "vk": 200}, *stuck]
    decision = Decision()
    whole(_written(rows, tmp_path / "x.jsonl"), decision=decision)
    decision.settle()
    assert not decision.doubled


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the real recordings are not here")
def test_a_real_recording_that_is_written_twice_is_refused_by_name(tmp_path: Path) -> None:
    events = decode(str(RECORDINGS / "notepad-0.5.1.mcap")).to_events()
    once = [{"episode": "notepad", **event} for event in events if event is not None]
    truth = _written(once, tmp_path / "truth.jsonl")
    twice = _written([*once, *once], tmp_path / "twice.jsonl")
    evaluate(truth, truth, protocols=("assay",), reps=20)
    with pytest.raises(SourceError, match=r"rows that come twice: 'notepad'"):
        evaluate(twice, truth, protocols=("assay",), reps=20)
    warned = evaluate(twice, truth, protocols=("assay",), reps=20, allow_duplicates=True).warnings
    assert any("more than once, joined" in sentence for sentence in warned)


def test_a_null_movement_is_an_invalid_event_in_every_form(whole: ReadWhole, tmp_path: Path) -> None:
    row: Row = {"kind": "mouse", "ts": 1, "dx": None, "dy": 2, "flags": 0, "data": 0}
    (tmp_path / "columns.jsonl").write_text(json.dumps(row))
    (tmp_path / "event.jsonl").write_text(json.dumps({"event": row}))
    pq.write_table(pa.Table.from_pylist([row, row | {"dx": 1}]), tmp_path / "columns.parquet")
    pq.write_table(pa.Table.from_pylist([{"event": row}, {"event": row | {"dx": 1}}]), tmp_path / "event.parquet")
    for path in tmp_path.iterdir():
        assert whole(path).problem[0] == Problem.BAD_ROW, path.name


def test_golden_rows_are_the_same_in_every_form(whole: ReadWhole, golden: list[Row], tmp_path: Path) -> None:
    texts = [row["text"] for row in golden]
    (tmp_path / "x.csv").write_text("text\n" + "".join(f'"{text}"\n' for text in texts))
    expected = codec("hierarchical").decode_each(texts)
    for source in (tmp_path / "x.csv", [{"text": text} for text in texts], pa.table({"text": texts}), np.array(texts)):
        found = whole(source)
        assert found.to_events() == expected.to_events()
        assert found.problem.tolist() == expected.problem.tolist()
