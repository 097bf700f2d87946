"""Parquet and Arrow: every way a table can hold events, and tables that hold none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ColumnError, SourceError
from assay.events.codecs import codec
from assay.events.sources import ReadOptions, _tables, read
from assay.events.sources._rows import EPISODE_ROWS, FIELDS, NO_VALUE, TOO_LONG
from assay.events.sources.parquet import _open
from assay.events.stream import Episode, EventStream, Problem, concatenate

Row = dict[str, Any]
ReadWhole = Callable[..., EventStream]

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"
KEY_EVENT = {"kind": "keyboard", "ts": 30_000_000, "vk": 13, "press": True}
TYPES = [
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.string_view(),
    pa.binary_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]


def as_type(texts: list[str | None], kind: pa.DataType) -> pa.Array:
    plain = pa.array(texts, pa.string())
    return plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain.cast(kind)


def write(table: pa.Table, path: Path, chunk: int | None = None) -> Path:
    """Writes in the format that the suffix names: .parquet, .arrow (file), .arrows (stream), .feather."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=chunk)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path, chunksize=chunk)
    else:
        opener = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, opener(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=chunk)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows", ".feather"])
@pytest.mark.slow
def test_texts_in_any_format_are_events(whole: ReadWhole, tmp_path: Path, golden: list[Row], suffix: str) -> None:
    table = pa.table({"text": [row["text"] for row in golden], "other": range(500)})
    path = write(table, tmp_path / f"x{suffix}", chunk=77)
    assert whole(path, batch_rows=50).to_events() == [row["event"] for row in golden]


def test_texts_in_json_are_events(whole: ReadWhole, tmp_path: Path, golden: list[Row]) -> None:
    events = [row["event"] for row in golden]
    encoded = iter(codec("json").encode_each(EventStream.from_events(event for event in events if event)))
    table = pa.table({"text": [next(encoded) if event else "<EVENT_START>" for event in events]})
    path = write(table, tmp_path / "x.parquet", chunk=77)
    assert whole(path, codec=codec("json"), batch_rows=50).to_events() == events


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
def test_texts_of_any_type_are_events_and_nulls_are_invalid(
    whole: ReadWhole, tmp_path: Path, golden: list[Row], kind: pa.DataType, suffix: str
) -> None:
    texts: list[str | None] = [row["text"] for row in golden[:100]]
    texts[3:5] = [None, None]
    expected = [None if text is None else row["event"] for text, row in zip(texts, golden[:100], strict=True)]
    path = write(pa.table({"text": as_type(texts, kind)}), tmp_path / f"x{suffix}", chunk=30)
    stream = whole(path, batch_rows=7)
    assert stream.to_events() == expected
    assert stream.notes == {NO_VALUE: 2}
    assert stream.problem[3] == Problem.BAD_ROW


def test_text_behind_a_null_is_not_read(whole: ReadWhole, tmp_path: Path) -> None:
    text = KEY.encode()
    offsets = pa.py_buffer(np.array([0, len(text), 2 * len(text)], np.int32).tobytes())
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), offsets, pa.py_buffer(text * 2)])
    stream = whole(write(pa.table({"text": hidden}), tmp_path / "x.arrow"))
    assert stream.to_events() == [None, KEY_EVENT]
    assert (stream.kind[0], stream.time_ns[0], stream.vk[0]) == (-1, 0, 0)


@given(data=st.data(), kind=st.sampled_from(TYPES))
def test_a_slice_of_an_array_has_the_texts_of_the_slice(
    data: st.DataObject, kind: pa.DataType, golden: list[Row]
) -> None:
    rows = data.draw(st.lists(st.sampled_from(golden), max_size=20))
    begin = data.draw(st.integers(0, len(rows)))
    length = data.draw(st.integers(0, len(rows) - begin))
    texts: list[str | None] = [row["text"] for row in rows]
    array = _tables._flat(as_type(texts, kind).slice(begin, length), 1 << 20)
    raw, offsets = _tables._buffers(array)
    cut = [raw[a:b].tobytes().decode() for a, b in pairwise(offsets.tolist())]
    assert cut == texts[begin : begin + length]
    assert offsets.dtype == np.int64


def test_episodes_and_strata_are_named_by_columns(whole: ReadWhole, tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": [KEY] * 5,
            "episode_path": pa.array(["b", "a", "a", None, "b"]).dictionary_encode(),
            "game": [1, 1, 2, 1, 1],
        }
    )
    stream = whole(write(table, tmp_path / "x.parquet"), batch_rows=2)
    named = [stream.episodes[at] for at in stream.episode]
    assert named == [Episode("b", "1"), Episode("a", "1"), Episode("a", "2"), Episode("", "1"), Episode("b", "1")]


def test_a_row_of_many_events_is_an_episode(whole: ReadWhole, tmp_path: Path) -> None:
    table = pa.table({"text": [KEY * 2, None, KEY * 3, ""], "episode": ["a", "b", None, "d"]})
    stream = whole(write(table, tmp_path / "x.parquet"))
    assert stream.to_events() == [KEY_EVENT] * 2 + [None] + [KEY_EVENT] * 3
    assert [episode.name for episode, _ in stream.segments()] == ["a", "b", "row 3"]
    assert stream.notes == {EPISODE_ROWS: 4, NO_VALUE: 1}


def test_a_damaged_row_of_two_events_is_one_invalid_event(whole: ReadWhole, tmp_path: Path) -> None:
    path = write(pa.table({"text": [KEY * 2, KEY, KEY]}), tmp_path / "x.parquet")
    assert whole(path).to_events() == [None, KEY_EVENT, KEY_EVENT]
    assert len(whole(path, rows="episode")) == 4


def test_a_row_longer_than_the_limit_is_one_invalid_event(whole: ReadWhole, tmp_path: Path) -> None:
    path = write(pa.table({"text": [KEY, KEY + " " * 100, KEY]}), tmp_path / "x.parquet")
    stream = whole(path, max_event_bytes=100)
    assert stream.to_events() == [KEY_EVENT, None, KEY_EVENT]
    assert stream.notes == {TOO_LONG: 1}
    assert whole(path, rows="episode", max_episode_bytes=100).to_events() == [KEY_EVENT, None, KEY_EVENT]


# --- events as values -------------------------------------------------------------------------------------------------


def columns_of(events: list[Row | None]) -> dict[str, list[Any]]:
    return {name: [event and event.get(name) for event in events] for name in FIELDS}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_events_as_structs_or_as_columns_are_read(
    whole: ReadWhole, tmp_path: Path, golden: list[Row], suffix: str
) -> None:
    events = [row["event"] for row in golden]
    structs = whole(write(pa.table({"event": events}), tmp_path / f"s{suffix}", chunk=60), batch_rows=7)
    columns = whole(write(pa.table(columns_of(events)), tmp_path / f"c{suffix}", chunk=60), batch_rows=7)
    assert structs.to_events() == columns.to_events() == events
    assert structs.quantised is None


def test_columns_of_values_can_have_other_names(whole: ReadWhole, tmp_path: Path) -> None:
    table = pa.table({"what": ["screen"], "when": [5], "text": ["not this"]})
    stream = whole(write(table, tmp_path / "x.parquet"), columns={"kind": "what", "ts": "when"})
    assert stream.to_events() == [{"kind": "screen", "ts": 5}]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (([5.0, float("nan"), -1.0, 0.5, None, float("inf")],), [5, None, None, None, None, None]),
        (([5, -1, None],), [5, None, None]),
        (([5, 2**63, 2**64 - 5], pa.uint64()), [5, None, None]),
        (([5, None], pa.timestamp("us", "UTC")), [5000, None]),
        (([5], pa.duration("ms")), [5_000_000]),
        (([None, None],), [None, None]),
    ],
)
def test_an_invalid_time_makes_the_event_invalid(
    whole: ReadWhole, tmp_path: Path, values: tuple[Any, ...], expected: list[int | None]
) -> None:
    times = pa.array(*values)  # not in the list above: it imports pandas
    stream = whole(write(pa.table({"kind": ["screen"] * len(times), "ts": times}), tmp_path / "x.arrow"))
    assert [event and event["ts"] for event in stream.to_events()] == expected
    assert set(stream.problem.tolist()) <= {Problem.NONE, Problem.BAD_TIME}


VALUES = st.fixed_dictionaries(
    {"kind": st.sampled_from(["keyboard", "mouse", "screen", "window", "KEYBOARD"]), "ts": st.integers(-2, 2**63 - 1)},
    optional={
        "vk": st.integers(-1, 300),
        "press": st.booleans(),
        **{name: st.integers(-(2**40), 2**40) | st.integers(-9, 9) for name in ("dx", "dy", "flags", "data")},
    },
)


@given(events=st.lists(st.none() | VALUES, max_size=30))
@pytest.mark.slow
def test_a_table_of_values_has_the_events_of_its_rows(
    events: list[Row | None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    kinds = {"kind": pa.string(), "press": pa.bool_()}
    schema = pa.struct([(name, kinds.get(name, pa.int64())) for name in FIELDS])
    path = tmp_path_factory.mktemp("values") / "x.arrow"
    write(pa.table({"event": pa.array(events, schema)}), path)
    found = concatenate(list(read(path, ReadOptions(codec("hierarchical")))))
    # In Arrow a field cannot be absent, only null, and a null movement is invalid.
    there = dict.fromkeys(("dx", "dy"))
    expected = EventStream.from_events(
        there | event if event is not None and event["kind"] == "mouse" else event for event in events
    )
    assert found.to_events() == expected.to_events()
    assert found.problem.tolist() == expected.problem.tolist()
    assert found.kind.tolist() == expected.kind.tolist()


# --- bad tables -------------------------------------------------------------------------------------------------------


def test_the_error_for_a_table_without_events_lists_its_columns(whole: ReadWhole, tmp_path: Path) -> None:
    path = write(pa.table({"output": [KEY], "id": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ColumnError, match=r"x\.parquet: .*it has 'output', 'id'.*--column text=NAME"):
        whole(path)
    assert whole(path, columns={"text": "output"}).to_events() == [KEY_EVENT]


@pytest.mark.parametrize("ours", ["text", "episode"])
def test_a_column_named_by_the_user_must_exist(whole: ReadWhole, tmp_path: Path, ours: str) -> None:
    path = write(pa.table({"text": [KEY]}), tmp_path / "x.parquet")
    with pytest.raises(ColumnError, match=rf"no column 'absent' \(for {ours}\); it has 'text'"):
        whole(path, columns={ours: "absent"})


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"text": [1]}, "'text' contains int64, not text"),
        ({"text": [[1, 2]]}, "contains list.*not text"),
        ({"event": ["x"]}, "'event' contains string, not structs"),
        ({"event": [{"kind": "screen"}]}, "not structs with kind and ts"),
        ({"kind": ["screen"], "ts": ["now"]}, "'ts' contains string, not whole numbers"),
        ({"kind": ["keyboard"], "ts": [1], "vk": [1], "press": [1]}, "'press' contains int64, not booleans"),
        ({"text": [KEY], "episode": [[1]]}, "'episode' contains list.*not names"),
    ],
)
def test_a_column_of_the_wrong_type_is_named(
    whole: ReadWhole, tmp_path: Path, columns: dict[str, list[Any]], what: str
) -> None:
    with pytest.raises(ColumnError, match=what):
        whole(write(pa.table(columns), tmp_path / "x.parquet"))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("name", ["text", "event"])
def test_a_table_without_rows_has_no_events(whole: ReadWhole, tmp_path: Path, suffix: str, name: str) -> None:
    kind = pa.string() if name == "text" else pa.struct([("kind", pa.string()), ("ts", pa.int64())])
    assert len(whole(write(pa.table({name: pa.array([], kind)}), tmp_path / f"x{suffix}"))) == 0


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
def test_a_file_that_was_cut_short_is_an_error(
    whole: ReadWhole, tmp_path: Path, golden: list[Row], suffix: str
) -> None:
    path = write(pa.table({"text": [row["text"] for row in golden]}), tmp_path / f"x{suffix}")
    content = path.read_bytes()
    for length in (9, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:length])
        with pytest.raises(SourceError, match="damaged, cut short"):
            whole(path)


def test_an_arrow_stream_cut_between_batches_is_noted(whole: ReadWhole, tmp_path: Path) -> None:
    path = write(pa.table({"text": [KEY] * 3}), tmp_path / "x.arrows", chunk=1)
    assert not whole(path).notes
    path.write_bytes(path.read_bytes()[:-8])
    stream = whole(path)
    assert len(stream) == 3
    assert stream.notes == {_tables.NO_END: 1}


WRITTEN: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "prefixes": {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    "plain": {"use_dictionary": False, "write_batch_size": 4, "data_page_size": 1 << 14},
}


# 300 rows of 27 KB after 1,100 short ones, 8 MB in all, in files of a few kilobytes.
@pytest.mark.parametrize("how", WRITTEN)
def test_rows_that_are_far_longer_than_the_first_ones_are_decoded_a_few_at_a_time(tmp_path: Path, how: str) -> None:
    texts = [KEY] * 1100 + [KEY * 500] * 300
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", **WRITTEN[how])
    reading = ReadOptions(codec("hierarchical"), max_memory=1 << 20, rows="event")
    with ExitStack() as stack:
        batches = [batch.nbytes for batch in _open(str(path), stack, reading).batches(["text"], 1 << 16)]
    assert max(batches) < 1 << 20
    assert sum(len(stream) for stream in read(str(path), reading)) == 1400


@pytest.mark.slow
def test_damaged_bytes_never_crash_the_process_or_cause_other_errors(tmp_path: Path) -> None:
    script = Path(__file__).with_name("damaged_tables.py")
    done = subprocess.run([sys.executable, script, tmp_path, "1", "700"], capture_output=True, text=True)
    assert done.returncode == 0, f"exit code {done.returncode} (negative: a signal)\n{done.stderr[-3000:]}"
    fine, refused = map(int, done.stdout.split())
    assert fine + refused == 700
    assert min(fine, refused) > 140


def test_a_text_that_is_not_utf8_is_one_invalid_event(whole: ReadWhole, tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, len(KEY), len(KEY) + 1], np.int32).tobytes())
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(KEY.encode() + b"\xff")])
    for suffix in (".parquet", ".arrow"):
        assert whole(write(pa.table({"text": texts}), tmp_path / f"x{suffix}")).to_events() == [KEY_EVENT, None]


@pytest.mark.parametrize(
    ("content", "what"), [(b"", "is empty"), (b"FEA1xxxx", "Feather version 1"), (b"{}", "neither a Parquet nor")]
)
def test_the_error_for_a_file_of_another_format_names_the_format(
    whole: ReadWhole, tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=what):
        whole(path)


def test_the_format_is_recognised_by_content_not_by_name(whole: ReadWhole, tmp_path: Path) -> None:
    path = write(pa.table({"text": [KEY]}), tmp_path / "x.arrow")
    assert whole(path.rename(tmp_path / "x.parquet")).to_events() == [KEY_EVENT]


def test_long_rows_are_read_a_few_at_a_time(
    reading: ReadOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tables, "BATCH_BYTES", 10 * len(KEY) * 100)
    texts = [f"{KEY * 100}{at}" for at in range(50)]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    sizes = [len(batch) for batch in read(path, reading)]
    assert sum(sizes) == 5000
    assert max(sizes) <= 1000
