"""JSON Lines: good rows, bad rows, and files that are something else."""

from __future__ import annotations

import gzip
import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ColumnError, SourceError
from assay.events.codecs import codec
from assay.events.sources import ReadOptions, jsonl, read
from assay.events.sources._rows import EPISODE_ROWS, NO_VALUE, TOO_LONG, shape_of
from assay.events.stream import Episode, EventStream, Problem, concatenate

GOLDEN = Path(__file__).parents[2] / "golden"
Row = dict[str, Any]
ReadWhole = Callable[..., EventStream]
WriteRows = Callable[..., Path]

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"
KEY_EVENT = {"kind": "keyboard", "ts": 30_000_000, "vk": 13, "press": True}
MOUSE_EVENT = {"kind": "mouse", "ts": 1, "dx": -2, "dy": 3, "flags": 1, "data": -120}


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
def test_the_golden_files_are_read(whole: ReadWhole, encoding: str) -> None:
    path = GOLDEN / f"codec_{encoding}.jsonl"
    expected = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert whole(path, codec=codec(encoding)).to_events() == expected
    assert whole(path, codec=codec(encoding), columns={"event": "event"}).to_events() == expected


def test_a_row_of_values_is_an_event_and_null_is_an_invalid_one(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"event": KEY_EVENT}, {"event": None}, {"event": MOUSE_EVENT}]))
    assert stream.to_events() == [KEY_EVENT, None, MOUSE_EVENT]
    assert stream.quantised is None
    assert not stream.notes


def test_printed_events_can_be_read(whole: ReadWhole, write_rows: WriteRows) -> None:
    events = [KEY_EVENT, None, MOUSE_EVENT, {"kind": "screen", "ts": 9}]
    assert whole(write_rows(events)).to_events() == events


@pytest.mark.parametrize("time", [float("nan"), float("inf"), -1, 1.5, 2**63, "5", None, True])
def test_an_invalid_time_makes_the_event_invalid(whole: ReadWhole, write_rows: WriteRows, time: object) -> None:
    stream = whole(write_rows([{"event": KEY_EVENT}, {"event": {**KEY_EVENT, "ts": time}}]))
    assert stream.problem.tolist() == [Problem.NONE, Problem.BAD_TIME]


def test_columns_can_have_other_names(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([{"output": KEY, "file": "one", "app": "game"}])
    stream = whole(path, columns={"text": "output", "episode": "file", "stratum": "app"})
    assert stream.to_events() == [KEY_EVENT]
    assert stream.episodes == (Episode("one", "game"),)


@pytest.mark.parametrize(("episode", "stratum"), [("episode", "stratum"), ("episode_path", "game")])
def test_rows_of_events_name_their_episode_and_stratum(
    whole: ReadWhole, write_rows: WriteRows, episode: str, stratum: str
) -> None:
    rows = [{"text": KEY, episode: name, stratum: group} for name, group in ("ax", "ax", "bx", "ay")]
    stream = whole(write_rows(rows), batch_rows=3)
    assert stream.episodes == (Episode("a", "x"), Episode("b", "x"), Episode("a", "y"))
    assert stream.episode.tolist() == [0, 0, 1, 2]


# --- what a row stands for --------------------------------------------------------------------------------------------


def test_a_row_of_many_events_is_an_episode(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"episode": "a", "text": KEY * 3}, {"text": KEY * 2, "game": "g"}, {"text": ""}]))
    assert stream.to_events() == [KEY_EVENT] * 5
    assert [(episode.name, part.stop - part.start) for episode, part in stream.segments()] == [("a", 3), ("row 2", 2)]
    assert stream.notes[EPISODE_ROWS] == 3


def test_a_damaged_row_of_two_events_is_one_invalid_event(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"text": text} for text in (KEY * 2, KEY, KEY, "", KEY)]))
    assert stream.to_events() == [None, KEY_EVENT, KEY_EVENT, None, KEY_EVENT]


def test_the_meaning_of_a_row_is_decided_once_for_a_file(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([{"text": KEY}] * 1000 + [{"text": KEY * 2}] * 3000)
    assert len(whole(path, batch_rows=1000)) == 4000


@pytest.mark.parametrize(("rows", "count"), [("event", 2), ("episode", 4)])
def test_the_meaning_of_a_row_can_be_set(whole: ReadWhole, write_rows: WriteRows, rows: str, count: int) -> None:
    assert len(whole(write_rows([{"text": KEY * 2}] * 2), rows=rows)) == count


@pytest.mark.parametrize(
    ("starts", "shape"),
    [
        ([], "event"),
        ([0, 0], "event"),
        ([1, 1, 2], "event"),
        ([1, 2, 2], "episode"),
        ([1, 2], "event"),
        ([1, 700], "episode"),
        ([5], "episode"),
    ],
)
def test_the_majority_decides_and_a_tie_is_decided_by_the_longest_row(
    reading: ReadOptions, starts: list[int], shape: str
) -> None:
    assert shape_of(starts, reading) == shape


def test_unnamed_episodes_of_several_files_are_separate(whole: ReadWhole, write_rows: WriteRows) -> None:
    write_rows([{"text": KEY * 3}], "set/a.jsonl")
    path = write_rows([{"text": KEY * 3}], "set/b.jsonl")
    assert [episode.name for episode in whole(path.parent).episodes] == ["a row 1", "b row 1"]


# --- bad rows ---------------------------------------------------------------------------------------------------------


def test_a_bad_row_keeps_its_position_and_is_counted(whole: ReadWhole, write_rows: WriteRows) -> None:
    good = {"text": KEY}
    bad = [b"{not JSON", b"[1]", b"7", b"\xff\xfe{}", {"other": 1}, {"text": None}, {"text": 5}, b'{"text": "\\ud800"}']
    stream = whole(write_rows([good, *bad, good]))
    assert stream.to_events() == [KEY_EVENT, *[None] * len(bad), KEY_EVENT]
    assert set(stream.problem[1:-1].tolist()) == {Problem.BAD_ROW}
    assert stream.notes == {jsonl.NOT_JSON: 4, jsonl.NOT_UTF8: 1, NO_VALUE: 3}


def test_bad_rows_before_the_first_good_one_keep_their_positions(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([b"bad"] * 5 + [{"text": KEY}]), batch_rows=2)
    assert stream.to_events() == [None] * 5 + [KEY_EVENT]
    assert stream.notes == {jsonl.NOT_JSON: 5}


def test_a_bad_row_among_episodes_is_one_invalid_event(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"text": KEY * 2}, b"bad", {"text": KEY * 2}]))
    assert stream.to_events() == [KEY_EVENT, KEY_EVENT, None, KEY_EVENT, KEY_EVENT]
    assert stream.notes[jsonl.NOT_JSON] == 1


def test_two_halves_of_a_row_are_two_bad_rows(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"text": KEY}, b'{"text": ["a"', b'"b"]}', {"text": KEY}]))
    assert stream.to_events() == [KEY_EVENT, None, None, KEY_EVENT]


def test_rows_of_another_form_than_the_file_are_bad_rows(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"text": KEY}, {"event": KEY_EVENT}, {"text": KEY}]))
    assert stream.to_events() == [KEY_EVENT, None, KEY_EVENT]
    assert stream.notes == {NO_VALUE: 1}


def test_rows_in_another_encoding_are_invalid(whole: ReadWhole, write_rows: WriteRows) -> None:
    factorized = "<EVENT_START><KEYBOARD><0><0><3><VK_13><press><EVENT_END>"
    stream = whole(write_rows([{"text": KEY}, {"text": factorized}]))
    assert stream.to_events() == [KEY_EVENT, None]


def test_blank_lines_are_not_rows(whole: ReadWhole, write_rows: WriteRows) -> None:
    stream = whole(write_rows([{"text": KEY}, b"", b"  \r", {"text": KEY}]))
    assert stream.to_events() == [KEY_EVENT] * 2
    assert stream.notes == {jsonl.BLANK: 2}


def test_a_byte_order_mark_windows_line_ends_and_a_missing_last_one_are_fine(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    row = json.dumps({"text": KEY}).encode()
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n" + row)
    assert whole(path).to_events() == [KEY_EVENT] * 2


def test_a_row_longer_than_the_limit_is_one_invalid_event(
    whole: ReadWhole, write_rows: WriteRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "_PIECE", 64)
    rows = [{"text": KEY}, {"text": KEY, "x": "y" * 5000}, {"text": KEY}, {"text": KEY, "x": "y" * 300}, {"text": KEY}]
    stream = whole(write_rows(rows), max_event_bytes=200, max_episode_bytes=1000)
    assert stream.to_events() == [KEY_EVENT, None, KEY_EVENT, None, KEY_EVENT]
    assert stream.notes == {TOO_LONG: 2}
    assert stream.problem[1] == Problem.BAD_ROW


def test_an_endless_last_line_is_refused(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([{"text": KEY}])
    with path.open("ab") as file:
        file.write(b"x" * 3_000_000)
    stream = whole(path, max_event_bytes=200, max_episode_bytes=1000)
    assert stream.to_events() == [KEY_EVENT, None]
    assert stream.notes == {TOO_LONG: 1}


@pytest.mark.slow
def test_a_huge_line_is_skipped_in_bounded_memory(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([{"text": KEY}] * 2000)
    with path.open("ab") as file:
        file.write(b'{"text": "')
        file.truncate(file.tell() + (1 << 28))  # a hole of 256 MiB takes no room on the disk
    whole(path, batch_rows=1000, max_event_bytes=1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stream = whole(path, batch_rows=1000, max_event_bytes=1 << 20)
    assert len(stream) == 2001
    assert stream.notes == {TOO_LONG: 1}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # in KiB


# --- bad files --------------------------------------------------------------------------------------------------------


def test_an_empty_file_has_no_events(whole: ReadWhole, write_rows: WriteRows) -> None:
    assert len(whole(write_rows([]))) == 0
    assert len(whole(write_rows([b"", b" "]))) == 0


def test_a_file_without_a_readable_row_is_an_error_that_counts_them(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([b"bad", b"worse", b"\xff\xfd"])
    with pytest.raises(SourceError, match=r"rows\.jsonl: no row can be read \(2 rows .* row 1, 1 rows .* row 3\)"):
        whole(path)


def test_the_error_for_a_file_without_events_lists_its_columns(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([b"bad", {"output": KEY, "id": 1}, {"label": KEY}])
    with pytest.raises(ColumnError, match=r"row 2: .*'output', 'id', 'label'.*--column text=NAME"):
        whole(path)


@pytest.mark.parametrize("ours", ["text", "event", "episode", "stratum"])
def test_a_column_named_by_the_user_must_exist(whole: ReadWhole, write_rows: WriteRows, ours: str) -> None:
    path = write_rows([{"text": KEY, "event": KEY_EVENT}])
    with pytest.raises(ColumnError, match=rf"no column 'absent' \(for {ours}\)"):
        whole(path, columns={ours: "absent"})


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(b"{}", mtime=0), r"a gzip file.*\.jsonl\.gz"),
        (b"PAR1....", "a Parquet file"),
        (b"\x89MCAP0\r\n", "an MCAP recording"),
        ('{"text": ""}'.encode("utf-16"), "UTF-16"),
        (b"\x28\xb5\x2f\xfd....", "Zstandard"),
    ],
)
def test_the_error_for_a_file_of_another_format_names_the_format(
    whole: ReadWhole, tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=what):
        whole(path)


def test_gzipped_rows_are_read(whole: ReadWhole, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps({"text": KEY}) + "\n").encode() * 3))
    assert whole(path).to_events() == [KEY_EVENT] * 3


def test_a_gzip_file_that_was_cut_short_is_an_error(whole: ReadWhole, tmp_path: Path, golden: list[Row]) -> None:
    path = tmp_path / "x.jsonl.gz"
    packed = gzip.compress("\n".join(map(json.dumps, golden)).encode())
    for damaged in (packed[: len(packed) // 2], packed[:100] + b"\x55" * 50 + packed[150:]):
        path.write_bytes(damaged)
        with pytest.raises(SourceError, match="damaged or cut short"):
            whole(path)


def test_plain_text_named_as_gzip_is_an_error(whole: ReadWhole, write_rows: WriteRows) -> None:
    with pytest.raises(SourceError, match="not a gzip file"):
        whole(write_rows([{"text": KEY}], "x.jsonl.gz"))


def test_a_file_without_permission_is_an_error(whole: ReadWhole, write_rows: WriteRows) -> None:
    path = write_rows([{"text": KEY}])
    batches = read(path, ReadOptions(codec("hierarchical")))
    path.unlink()
    with pytest.raises(SourceError, match="cannot be opened"):
        next(batches)


# --- laws -------------------------------------------------------------------------------------------------------------

LINES = st.one_of(
    st.sampled_from([json.dumps({"text": KEY}).encode(), b'{"text": "x"}', b'{"event": null}', b"{}", b"[]", b"  "]),
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
)


@given(
    lines=st.lists(LINES, max_size=20),
    piece=st.integers(1, 100),
    batch_rows=st.integers(1, 7),
    limit=st.sampled_from([20, 70, 10_000]),
)
@pytest.mark.slow
def test_pieces_and_batches_do_not_change_the_events(
    lines: list[bytes], piece: int, batch_rows: int, limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "x.jsonl"
    path.write_bytes(b"\n".join([json.dumps({"text": KEY}).encode(), *lines]))
    plain = ReadOptions(codec("hierarchical"), rows="event", max_event_bytes=limit)
    cut = ReadOptions(codec("hierarchical"), rows="event", max_event_bytes=limit, batch_rows=batch_rows)
    expected = concatenate(list(read(path, plain)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "_PIECE", piece)
        found = concatenate(list(read(path, cut)))
    assert len(found) == 1 + sum(bool(line.strip()) for line in lines)
    assert found.to_events() == expected.to_events()
    assert found.notes == expected.notes


def test_a_split_row_and_two_rows_on_a_line_do_not_cancel_out(tmp_path: Path) -> None:
    # Torn between two lines, and joined on another: the number of JSON values is right, the rows are not.
    path = tmp_path / "torn.jsonl"
    text = "<EVENT_START><SCREEN><0><0><0><fake_image_placeholder><EVENT_END>"
    row = json.dumps({"text": text})
    path.write_text("\n".join([row, '{"text": ["a"', '"b"]}', f"{row},{row}", row]) + "\n")
    (stream,) = read(path, ReadOptions(codec("hierarchical")))
    assert stream.valid.tolist() == [True, False, False, False, True]
