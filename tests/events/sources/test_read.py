"""Everything that can be named as a source, and the errors for everything that cannot."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import registry
from assay.errors import MissingExtraError, SourceError, UsageError
from assay.events.codecs import codec
from assay.events.sources import LEFT_OUT, ReadOptions, jsonl, read, tokens
from assay.events.sources._tables import booleans_of, integers_of
from assay.events.stream import EventStream, Problem, concatenate

GOLDEN = Path(__file__).parents[2] / "golden" / "codec_hierarchical.jsonl"
Row = dict[str, Any]
ReadWhole = Callable[..., EventStream]
WriteRecording = Callable[..., Path]

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"
KEY_EVENT = {"kind": "keyboard", "ts": 30_000_000, "vk": 13, "press": True}


def test_a_stream_is_returned_unchanged(reading: ReadOptions) -> None:
    stream = EventStream.from_events([KEY_EVENT])
    assert list(read(stream, reading)) == [stream]


def test_a_stream_with_columns_of_different_lengths_is_refused(reading: ReadOptions) -> None:
    stream = replace(EventStream.from_events([KEY_EVENT]), vk=np.zeros(2, np.int16))
    with pytest.raises(UsageError, match="differ in length"):
        read(stream, reading)


@pytest.mark.parametrize("form", [str, str.encode, lambda text: bytearray(text.encode())])
def test_token_text_is_one_episode_of_many_events(whole: ReadWhole, form: Callable[[str], Any]) -> None:
    stream = whole(form(KEY + KEY))
    assert stream.to_events() == [KEY_EVENT, KEY_EVENT]
    assert len(stream.episodes) == 1


def test_each_string_of_a_list_is_one_event(whole: ReadWhole) -> None:
    stream = whole([KEY, KEY + KEY, "", "no event", KEY], batch_rows=2)
    assert stream.to_events() == [KEY_EVENT, None, None, None, KEY_EVENT]


@pytest.mark.parametrize("nothing", ["", "  \n", b"", [], ()])
def test_an_empty_source_has_no_events(whole: ReadWhole, nothing: Any) -> None:
    assert len(whole(nothing)) == 0


def test_the_error_for_an_element_of_another_type_gives_its_index(reading: ReadOptions) -> None:
    with pytest.raises(UsageError, match="element 1 of the list is a int, not a string"):
        read([KEY, 7], reading)


def test_bytes_without_an_event_are_refused(reading: ReadOptions) -> None:
    with pytest.raises(UsageError, match="not contain <EVENT_START>"):
        read(b"\x00\x01", reading)


def test_an_unsupported_object_is_refused(reading: ReadOptions) -> None:
    with pytest.raises(UsageError, match="cannot be read from a int"):
        read(3, reading)


@pytest.mark.parametrize("text", ["no/such/file.jsonl", "<KEYBOARD><1>", "x" * 1_000_000, "a\0b", "[" * 5000])
def test_a_string_that_is_neither_text_nor_path_is_an_error(reading: ReadOptions, text: str) -> None:
    with pytest.raises(SourceError, match=r"neither token text .* nor an existing file") as caught:
        read(text, reading)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"columns": {"txet": "x"}}, "Did you mean 'text'"),
        ({"rows": "episodes"}, "Did you mean 'episode'"),
        ({"batch_rows": 0}, "batch_rows must be at least 1, got 0"),
    ],
)
def test_invalid_settings_are_refused(reading: ReadOptions, settings: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        replace(reading, **settings)


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "{'pyarrow', 'mcap', 'fsspec', 'numba', 'zstandard'}"
    code = f"""
import sys
from assay.events.sources import SOURCES, ReadOptions, read
from assay.events.codecs import codec
events = list(read({str(GOLDEN)!r}, ReadOptions(codec("json"), columns={{"event": "event"}})))
assert len(events[0]) == 500
assert SOURCES.names() == ["csv", "json", "jsonl", "mcap", "parquet", "tokens"], SOURCES.names()
assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- files, folders, globs, addresses ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, golden: list[Row]) -> Path:
    """The golden rows in two halves, in two formats, among files that are not data."""
    root = tmp_path / "set"
    (root / "b").mkdir(parents=True)
    lines = GOLDEN.read_text().splitlines(keepends=True)
    (root / "a.jsonl").write_text("".join(lines[:250]))
    pq.write_table(pa.table({"text": [row["text"] for row in golden[250:]]}), root / "b" / "part.parquet")
    (root / "README.md").write_text("about")
    (root / "_SUCCESS").write_text("")
    (root / ".hidden.jsonl").write_text("not JSON")
    return root


def test_a_folder_is_all_its_readable_files_in_order(whole: ReadWhole, folder: Path, golden: list[Row]) -> None:
    stream = whole(folder)
    assert stream.to_events() == [row["event"] for row in golden]
    assert stream.notes[LEFT_OUT] == 1


@pytest.mark.parametrize("pattern", ["**/*.*", "*", "[ab]*"])
def test_a_glob_is_all_readable_files_that_match(
    whole: ReadWhole, folder: Path, golden: list[Row], pattern: str
) -> None:
    assert whole(f"{folder}/{pattern}").to_events() == [row["event"] for row in golden]


def test_a_glob_may_match_some_of_the_files(whole: ReadWhole, folder: Path) -> None:
    assert len(whole(f"{folder}/*.jsonl")) == 250


def test_a_file_whose_name_looks_like_a_glob_is_a_file(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "run[1].jsonl"
    shutil.copy(GOLDEN, path)
    assert len(whole(str(path))) == 500


def test_a_glob_without_matches_is_an_error(reading: ReadOptions, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no file matches"):
        read(f"{tmp_path}/*.jsonl", reading)


def test_the_error_for_a_folder_without_data_lists_the_formats(reading: ReadOptions, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("about")
    with pytest.raises(SourceError, match=r"none of its 1 files .*\.jsonl"):
        read(tmp_path, reading)


def test_local_files_can_be_given_as_addresses(whole: ReadWhole) -> None:
    assert len(whole(f"file://{GOLDEN}")) == 500


def test_an_address_of_any_file_system_is_a_file_folder_or_glob(
    whole: ReadWhole, memory_files: Any, folder: Path, golden: list[Row]
) -> None:
    memory_files.put(str(folder), "/set", recursive=True)
    events = [row["event"] for row in golden]
    assert whole("memory://set").to_events() == events
    assert whole("memory://set/**/*.*").to_events() == events
    assert whole("memory://set/a.jsonl").to_events() == events[:250]
    assert whole("memory://set/b/part.parquet").to_events() == events[250:]


def test_every_format_can_be_read_from_an_address(
    whole: ReadWhole, memory_files: Any, tmp_path: Path, write_recording: WriteRecording, golden: list[Row]
) -> None:
    recording = write_recording([("keyboard", 5, {"event_type": "press", "vk": 65})])
    table = pa.table({"text": [row["text"] for row in golden]})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for path in (recording, tmp_path / "x.arrow"):
        memory_files.put(str(path), f"/{path.name}")
    assert len(whole("memory://recording.mcap")) == 1
    assert len(whole("memory://x.arrow")) == 500


def test_an_address_without_a_file_is_an_error(reading: ReadOptions, memory_files: Any) -> None:
    with pytest.raises(SourceError, match="nothing at this address"):
        read("memory://nowhere.jsonl", reading)


def test_an_unknown_scheme_is_an_error(reading: ReadOptions) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read("nosuchscheme://x.jsonl", reading)


def test_without_fsspec_local_files_are_read_and_addresses_name_the_missing_package(
    whole: ReadWhole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert len(whole(GOLDEN)) == 500
    with pytest.raises(MissingExtraError, match=r"assay-agents\[events\]"):
        whole("memory://x.jsonl")


@pytest.mark.parametrize(
    ("package", "suffix", "head"), [("pyarrow", "parquet", b"PAR1"), ("mcap.reader", "mcap", b"\x89MCAP0\r\n")]
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    whole: ReadWhole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, suffix: str, head: bytes
) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(head)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install .*assay-agents\[events\]"):
        whole(path)


def test_a_file_with_an_unknown_suffix_is_recognised_by_its_first_bytes(
    whole: ReadWhole, tmp_path: Path, folder: Path, write_recording: WriteRecording
) -> None:
    recording = write_recording([("keyboard", 5, {"event_type": "press", "vk": 65})])
    for path, count in ((folder / "a.jsonl", 250), (folder / "b" / "part.parquet", 250), (recording, 1)):
        shutil.copy(path, tmp_path / "unnamed")
        assert len(whole(tmp_path / "unnamed")) == count
    (tmp_path / "unnamed").write_text(f"prompt {KEY}")
    assert whole(tmp_path / "unnamed").to_events() == [KEY_EVENT]


@pytest.mark.parametrize(("content", "what"), [(b"", "is empty"), (b"\x00\x01\x02", "does not have a readable format")])
def test_the_error_for_an_unknown_format_lists_the_known_ones(
    reading: ReadOptions, tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "strange.bin"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"strange.bin: .*{what}.*\.jsonl.*\.mcap.*\.parquet"):
        read(path, reading)


# --- plug-ins ---------------------------------------------------------------------------------------------------------


class Shouts:
    """A third party's format: each line is the name of a key."""

    suffixes = (".shout",)

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        lines = Path(address).read_text().splitlines()
        yield EventStream.from_events([{**KEY_EVENT, "vk": ord(line)} for line in lines])


shouts = Shouts()


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "shouts", sys.modules[__name__])
    entries = [
        EntryPoint("shouts", "shouts:shouts", "assay.sources"),
        EntryPoint("broken", "no_such_package:thing", "assay.sources"),
    ]
    monkeypatch.setattr(registry, "_all_declared", lambda folders: EntryPoints(entries))
    registry._declared.cache_clear()
    yield
    monkeypatch.undo()
    registry._declared.cache_clear()


@pytest.mark.usefixtures("plugins")
def test_another_package_can_add_a_format_and_a_broken_one_has_no_effect(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "loud.shout"
    path.write_text("A\nB\n")
    assert whole(path).vk.tolist() == [65, 66]
    assert len(whole(GOLDEN)) == 500


# --- laws -------------------------------------------------------------------------------------------------------------


@given(data=st.data(), batch_rows=st.integers(1, 9))
@pytest.mark.slow
def test_events_are_the_same_however_they_are_stored(
    data: st.DataObject, batch_rows: int, golden: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = data.draw(st.lists(st.sampled_from(golden), max_size=30))
    texts = [row["text"] for row in rows]
    folder = tmp_path_factory.mktemp("same")
    (folder / "x.jsonl").write_text("".join(f'{{"text":"{text}"}}\n' for text in texts))
    pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), folder / "x.parquet")
    reading = ReadOptions(codec("hierarchical"), rows="event", batch_rows=batch_rows)
    expected = concatenate(list(read(texts, reading)))
    for suffix in ("jsonl", "parquet"):
        found = concatenate(list(read(folder / f"x.{suffix}", reading)))
        assert found.to_events() == expected.to_events() == [row["event"] for row in rows]
        assert found.problem.tolist() == expected.problem.tolist()


@given(data=st.data(), piece=st.integers(1, 200))
def test_the_split_of_a_text_file_does_not_change_the_events(
    data: st.DataObject, piece: int, golden: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = "".join(row["text"] for row in data.draw(st.lists(st.sampled_from(golden), min_size=1, max_size=10)))
    text += KEY
    path = tmp_path_factory.mktemp("cut") / "x.txt"
    path.write_text(text)
    reading = ReadOptions(codec("hierarchical"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_PIECE", piece)
        found = concatenate(list(read(path, reading)))
    expected = reading.codec.decode(text)
    assert found.to_events() == expected.to_events()
    assert found.problem.tolist() == expected.problem.tolist()
    assert found.notes == expected.notes


def test_a_text_file_without_events_is_an_error(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("To whom it may concern")
    with pytest.raises(SourceError, match="not contain <EVENT_START>"):
        whole(path)


def test_an_endless_event_in_a_text_file_needs_bounded_memory(
    whole: ReadWhole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_PIECE", 100)
    path = tmp_path / "x.txt"
    path.write_text(KEY + "<EVENT_START>" + "<1>" * 1000 + KEY)
    stream = whole(path, max_event_bytes=300)
    assert stream.to_events() == [KEY_EVENT, None, KEY_EVENT]
    assert stream.problem[1] == Problem.CUT_SHORT


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow", "arrows", "mcap", "txt"])
def test_progress_reports_bytes_read_and_total_bytes(
    whole: ReadWhole,
    tmp_path: Path,
    write_recording: WriteRecording,
    golden: list[Row],
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
) -> None:
    monkeypatch.setattr(jsonl, "_PIECE", 1000)
    monkeypatch.setattr(tokens, "_PIECE", 1000)
    path = tmp_path / f"x.{suffix}"
    table = pa.table({"text": [row["text"] for row in golden]})
    if suffix == "mcap":
        path = write_recording([("keyboard", at, {"event_type": "press", "vk": 65}) for at in range(500)])
    elif suffix == "jsonl":
        shutil.copy(GOLDEN, path)
    elif suffix == "txt":
        path.write_text("".join(row["text"] for row in golden))
    elif suffix == "parquet":
        pq.write_table(table, path)
    else:
        opener = pa.ipc.new_stream if suffix == "arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, opener(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    told: list[tuple[int, int | None]] = []
    whole(path, batch_rows=100, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert len(told) >= 5
    assert told == sorted(told)
    assert {total for _, total in told} == {size}
    assert size - 16 <= told[-1][0] <= size


@pytest.mark.parametrize(("start", "stop"), [(0, 20), (3, 20), (8, 9), (13, 13), (7, 18)])
def test_arrow_values_of_a_slice_are_read_without_pandas(start: int, stop: int) -> None:
    flags = [at % 3 == 0 for at in range(20)]
    assert booleans_of(pa.array(flags)[start:stop]).tolist() == flags[start:stop]
    for kind in (pa.int32(), pa.int64()):
        assert integers_of(pa.array(range(20), kind)[start:stop]).tolist() == list(range(start, stop))
