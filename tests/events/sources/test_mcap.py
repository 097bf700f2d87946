"""OWAMcap recordings: what messages mean, which mouse is read, and recordings that are not whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType, IndexType
from tests.events.sources.plain_mcap import plain_events, plain_statistics

from assay.errors import MissingExtraError, SourceError
from assay.events.codecs import codec
from assay.events.messages import ABSOLUTE_FLAGGED
from assay.events.sources import ReadOptions, mcap, read
from assay.events.stream import Episode, EventStream, Kind, Problem, concatenate

RECORDINGS = Path(__file__).parents[4] / "shared" / "data" / "recordings"
ReadWhole = Callable[..., EventStream]
WriteRecording = Callable[..., Path]

PRESS = {"event_type": "press", "vk": 65}


def mouse(**fields: int) -> dict[str, Any]:
    return {"kind": "mouse", "dx": 0, "dy": 0, "flags": 0, "data": 0, **fields}


@pytest.mark.slow
def test_raw_mouse_messages_are_read_as_they_are(whole: ReadWhole, write_recording: WriteRecording) -> None:
    path = write_recording(
        [
            ("mouse/raw", 1, {"last_x": -3, "last_y": 4, "button_flags": 0, "button_data": 0, "us_flags": 0}),
            ("mouse/raw", 2, {"last_x": 0, "last_y": 0, "button_flags": 0x400, "button_data": 65416}),
            ("mouse/raw", 3, {"last_x": 0, "last_y": 0, "button_flags": 0x400, "button_data": 120}),
            ("mouse/raw", 4, {"last_x": 30000, "last_y": 9, "us_flags": 1}),
            ("mouse", 5, {"event_type": "move", "x": 7, "y": 7}),
        ]
    )
    stream = whole(path)
    assert stream.to_events() == [
        mouse(ts=1, dx=-3, dy=4),
        mouse(ts=2, flags=0x400, data=-120),
        mouse(ts=3, flags=0x400, data=120),
    ]
    assert stream.notes == {"mouse events read from topic 'mouse/raw'": 4, ABSOLUTE_FLAGGED: 1}
    assert stream.quantised is None


def test_absolute_mouse_messages_become_movements_clicks_and_scrolls(
    whole: ReadWhole, write_recording: WriteRecording
) -> None:
    path = write_recording(
        [
            ("mouse", 1, {"event_type": "move", "x": 100, "y": 100}),
            ("mouse", 2, {"event_type": "move", "x": 103, "y": 98}),
            ("mouse", 3, {"event_type": "click", "x": 103, "y": 99, "button": "left", "pressed": True}),
            ("mouse", 4, {"event_type": "click", "x": 103, "y": 99, "button": "right", "pressed": False}),
            ("mouse", 5, {"event_type": "scroll", "x": 104, "y": 99, "dx": 0, "dy": -2}),
            ("mouse", 6, {"event_type": "scroll", "x": 104, "y": 99, "dx": 1, "dy": 0}),
        ]
    )
    stream = whole(path, batch_rows=2)
    assert stream.to_events() == [
        mouse(ts=1),
        mouse(ts=2, dx=3, dy=-2),
        mouse(ts=3, dy=1, flags=0x1),
        mouse(ts=4, flags=0x8),
        mouse(ts=5, dx=1, flags=0x400, data=-240),
        mouse(ts=6, flags=0x800, data=120),
    ]
    assert stream.notes == {"mouse events read from topic 'mouse'": 6}


@pytest.mark.parametrize(
    ("frame", "pts"),
    [
        ({"media_ref": {"uri": "x.mkv", "pts_ns": 40}}, 40),
        ({"path": "x.mkv", "pts": 30}, 30),
        ({"utc_ns": 1}, None),
    ],
)
def test_the_first_frame_of_a_recording_is_kept_for_alignment(
    whole: ReadWhole, write_recording: WriteRecording, frame: dict[str, Any], pts: int | None
) -> None:
    later = {"media_ref": {"uri": "x.mkv", "pts_ns": 99}}
    stream = whole(write_recording([("keyboard", 5, PRESS), ("screen", 7, frame), ("screen", 9, later)]))
    assert stream.episodes == (Episode("recording", first_frame_ns=7, first_pts_ns=pts, end_ns=9),)
    assert stream.kind.tolist() == [Kind.KEYBOARD, Kind.SCREEN, Kind.SCREEN]
    assert stream.time_ns.tolist() == [5, 7, 9]


def test_a_recording_is_named_by_its_file_and_the_folders_it_was_found_in(
    whole: ReadWhole, write_recording: WriteRecording, tmp_path: Path
) -> None:
    path = write_recording([("keyboard", 5, PRESS)], "set/game/one.mcap")
    assert [episode.name for episode in whole(path).episodes] == ["one"]
    assert [episode.name for episode in whole(tmp_path / "set").episodes] == ["game/one"]
    assert [episode.name for episode in whole(f"{tmp_path}/set/*/*.mcap").episodes] == ["game/one"]


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 200},
        {"use_chunking": False},
        {"compression": CompressionType.LZ4},
        {"compression": CompressionType.NONE},
    ],
    ids=str,
)
def test_messages_are_in_order_of_time_and_equal_times_in_order_of_the_file(
    whole: ReadWhole, write_recording: WriteRecording, options: dict[str, Any]
) -> None:
    times = np.random.default_rng(1).integers(0, 40, 200).tolist()
    messages = [("keyboard", time, {**PRESS, "vk": at}) for at, time in enumerate(times)]
    stream = whole(write_recording(messages, **options), batch_rows=30)
    order = np.argsort(times, kind="stable")
    assert stream.vk.tolist() == order.tolist()
    assert stream.time_ns.tolist() == sorted(times)


def test_other_topics_are_skipped(whole: ReadWhole, write_recording: WriteRecording) -> None:
    messages = [("window", 1, {"title": "x"}), ("keyboard", 2, PRESS), ("keyboard/state", 3, {"buttons": []})]
    assert len(whole(write_recording(messages))) == 1


@pytest.mark.parametrize(
    "content",
    [b"not JSON", b"\xff", b"[]", {}, {"event_type": "hold", "vk": 65}, {"event_type": "press"}],
    ids=str,
)
def test_an_invalid_message_is_one_invalid_event(
    whole: ReadWhole, write_recording: WriteRecording, content: object
) -> None:
    stream = whole(write_recording([("keyboard", 1, PRESS), ("keyboard", 2, content), ("keyboard", 3, PRESS)]))
    assert stream.problem.tolist() == [Problem.NONE, Problem.BAD_ROW, Problem.NONE]


def test_metadata_are_read(write_recording: WriteRecording) -> None:
    kept = {"keyboard_repeat_timing": {"repeat_delay_ms": "500", "repeat_interval_ms": "33"}}
    path = write_recording([("keyboard", 1, PRESS)], metadata=kept)
    assert mcap.metadata(str(path)) == kept


def test_an_empty_recording_has_no_events(whole: ReadWhole, write_recording: WriteRecording) -> None:
    stream = whole(write_recording([]))
    assert len(stream) == 0
    assert not stream.notes


def test_the_end_of_a_recording_is_that_of_its_last_message_of_any_topic(
    whole: ReadWhole, write_recording: WriteRecording
) -> None:
    messages = [("keyboard", 5, PRESS), ("keyboard", 7, PRESS), ("window", 90, {"title": "x"})]
    stream = whole(write_recording(messages))
    assert stream.time_ns.tolist() == [5, 7]
    assert [episode.end_ns for episode in stream.episodes] == [90]


# --- the plain reader as the check -----------------------------------------------------------------------------------

NUMBERS = st.integers(-3, 300) | st.sampled_from([2**31, -(2**31), 10**15, 10**18, 2**64, -0.0, 1.5, 1e300])
VALUES: st.SearchStrategy[Any] = NUMBERS | st.sampled_from(
    [None, True, False, "press", "left", "é", "a\\b\n", "\u2028", [], {"a": [1, {}]}]
)
NAMES = ["event_type", "vk", "us_flags", "last_x", "last_y", "dx", "dy", "x", "y", "button_flags", "button_data"]
KEYS = st.sampled_from([*NAMES, "button", "pressed", "button_flagz", "unknown", "event_type ", "ключ", "media_ref"])
PLAIN = st.one_of(
    st.fixed_dictionaries({"event_type": st.sampled_from(["press", "release", "hold"]), "vk": st.integers(0, 300)}),
    st.fixed_dictionaries(
        {"last_x": st.integers(-9, 9), "last_y": st.integers(-9, 9)},
        optional={"button_flags": st.integers(0, 0x1001), "button_data": NUMBERS, "us_flags": st.integers(0, 1)},
    ),
    st.fixed_dictionaries(
        {"event_type": st.sampled_from(["move", "click", "scroll", "drag"]), "x": NUMBERS, "y": st.integers(0, 9)},
        optional={
            "button": st.sampled_from(["left", "right", "middle", "x1", "x2", "x3", 1]),
            "pressed": st.sampled_from([True, False, None, 1]),
            "dx": NUMBERS,
            "dy": st.integers(-2, 2),
        },
    ),
)
TEXTS = [
    b"",
    b"{",
    b"{}",
    b" { } ",
    b"{}{}",
    b"[1]",
    b'{"vk":01}',
    b'{"vk":1,}',
    b'{"vk" : 1 , "event_type":"press"}\n',
]
TEXTS += [b'{"vk":1,"vk":2,"event_type":"press"}', b'{"event_type":"press","vk":1} x', b"\xff", b'{"v\\u006b":1}']
TEXTS += [b'{"event_type":"press","vk":1,"a":[1,2' + end for end in (b"]}", b",]}", b"}}", b'],"b":{"c":{}}}', b"]")]
TEXTS += [b'{"vk":-}', b'{"x":1.,"y":2}', b'{"x":NaN,"y":1}', b'{"a":tru}', b'{"event_type":"press","vk":1,"a":null}']
CONTENTS = PLAIN | st.dictionaries(KEYS, VALUES, max_size=6) | st.sampled_from(TEXTS)


@given(
    messages=st.lists(
        st.tuples(
            st.sampled_from(["keyboard", "mouse/raw", "mouse", "screen", "window"]),
            st.integers(0, 20) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]),
            CONTENTS,
        ),
        max_size=40,
    ),
    chunked=st.booleans(),
    indexed=st.booleans(),
    chunk_size=st.sampled_from([1, 200, 10**6]),
    batch_rows=st.sampled_from([1, 3, 1000]),
    only=st.sampled_from([None, "mouse"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_events_equal_those_of_the_plain_reader(
    messages: list[tuple[str, int, object]],
    chunked: bool,
    indexed: bool,
    chunk_size: int,
    batch_rows: int,
    only: str | None,
    write_recording: WriteRecording,
) -> None:
    if only:  # without raw messages, the absolute ones count
        messages = [(only if topic == "mouse/raw" else topic, time_ns, content) for topic, time_ns, content in messages]
    layout = {
        "use_chunking": chunked,
        "chunk_size": chunk_size,
        "index_types": IndexType.ALL if indexed else IndexType.NONE,
    }
    path = write_recording(messages, **layout)
    agree_with_plain_reader(path, batch_rows)


def agree_with_plain_reader(path: Path, batch_rows: int = 50_000) -> None:
    try:
        expected = plain_events(path)
    except Exception:
        with pytest.raises(SourceError):
            list(read(path, ReadOptions(codec("json"))))
        return
    found = concatenate(list(read(path, ReadOptions(codec("json"), batch_rows=batch_rows))))
    assert found.notes == expected.notes
    for name in ("kind", "problem", "time_ns", "vk", "press", "dx", "dy", "flags", "data"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the real recordings are not here")
@pytest.mark.parametrize("name", ["notepad-0.4.2", "notepad-0.5.1", "typing-game"])
@pytest.mark.parametrize("batch_rows", [7, 50_000])
def test_real_recordings_are_read_as_by_the_plain_reader(name: str, batch_rows: int) -> None:
    agree_with_plain_reader(RECORDINGS / f"{name}.mcap", batch_rows)


# --- recordings that are not whole, or not recordings -----------------------------------------------------------------


@pytest.fixture
def long_recording(write_recording: WriteRecording) -> Path:
    messages = [("keyboard", at, {**PRESS, "vk": at % 256}) for at in range(500)]
    return write_recording(messages, "long.mcap", chunk_size=1000)


@pytest.mark.parametrize("part", [0.01, 0.1, 0.5, 0.9, 0.999])
def test_a_recording_that_was_cut_short_gives_no_events_at_all(
    reading: ReadOptions, long_recording: Path, part: float
) -> None:
    content = long_recording.read_bytes()
    long_recording.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(SourceError, match=r"long\.mcap: .*cut short.*mcap recover"):
        next(read(long_recording, reading))


@pytest.mark.slow
def test_damaged_bytes_never_cause_other_errors_or_fewer_events(
    whole: ReadWhole, long_recording: Path, tmp_path: Path
) -> None:
    content = long_recording.read_bytes()
    expected = whole(long_recording).to_events()
    path = tmp_path / "damaged.mcap"
    refused = 0
    for at in np.random.default_rng(2).integers(0, len(content), 300).tolist():
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            assert whole(path).to_events() == expected
        except SourceError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty"),
        (b"PAR1" * 10, "not an MCAP file"),
        (b"\x89MCAP9\r\n" * 3, "another version"),
        (b"\x89MCAP0\r\n" * 2, "damaged or cut short"),
        (b"\x89MCAP0\r\n", "no end"),
    ],
)
def test_a_file_that_is_not_a_recording_is_refused(whole: ReadWhole, tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=what):
        whole(path)


@pytest.mark.parametrize("profile", ["ros2", ""])
def test_a_recording_of_another_profile_is_refused(
    whole: ReadWhole, write_recording: WriteRecording, profile: str
) -> None:
    with pytest.raises(SourceError, match=f"its profile is '{profile}', not 'owa'"):
        whole(write_recording([("keyboard", 1, PRESS)], profile=profile))


def test_messages_that_are_not_json_are_refused(whole: ReadWhole, write_recording: WriteRecording) -> None:
    with pytest.raises(SourceError, match="topic 'keyboard' is encoded as 'cdr', not json"):
        whole(write_recording([("keyboard", 1, PRESS)], encoding="cdr"))


def test_the_error_for_a_recording_without_events_lists_its_topics(
    whole: ReadWhole, write_recording: WriteRecording
) -> None:
    with pytest.raises(SourceError, match="it has: camera, window"):
        whole(write_recording([("window", 1, {}), ("camera", 1, {})]))


def test_a_recording_without_a_summary_is_refused(whole: ReadWhole, write_recording: WriteRecording) -> None:
    bare = {"use_statistics": False, "use_summary_offsets": False, "repeat_channels": False, "repeat_schemas": False}
    path = write_recording([("keyboard", 1, PRESS)], use_chunking=False, **bare)
    with pytest.raises(SourceError, match="no summary"):
        whole(path)


@pytest.mark.parametrize(("package", "compression"), [("zstandard", "ZSTD"), ("lz4", "LZ4")])
def test_a_missing_decompressor_is_named_with_the_command_that_installs_it(
    whole: ReadWhole, write_recording: WriteRecording, monkeypatch: pytest.MonkeyPatch, package: str, compression: str
) -> None:
    path = write_recording([("keyboard", 1, PRESS)], compression=CompressionType[compression])
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.frame", None)
    with pytest.raises(MissingExtraError, match=rf"'{package}' is needed .*assay-agents\[events\]"):
        whole(path)


# --- real recordings --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the real recordings are not here")
@pytest.mark.parametrize(
    ("name", "keys", "mouse_events", "clicks", "frames", "pts"),
    [
        ("notepad-0.4.2", 24, 550, 4, 33, 20_000_000),
        ("notepad-0.5.1", 20, 218, 2, 17, 0),
        ("typing-game", 32, 209, 6, 590, 0),
    ],
)
def test_real_recordings_of_two_writers_are_read_completely(
    whole: ReadWhole, name: str, keys: int, mouse_events: int, clicks: int, frames: int, pts: int
) -> None:
    stream = whole(RECORDINGS / f"{name}.mcap")
    assert np.bincount(stream.kind).tolist() == [keys, mouse_events, frames]
    assert stream.valid.all()
    assert np.count_nonzero(stream.flags) == clicks
    assert np.isin(stream.flags, [0, 1, 2]).all()
    assert stream.notes == {"mouse events read from topic 'mouse'": mouse_events}
    assert (np.diff(stream.time_ns) >= 0).all()
    first = int(stream.time_ns[stream.kind == Kind.SCREEN][0])
    end_ns = plain_statistics(RECORDINGS / f"{name}.mcap").message_end_time
    assert stream.episodes == (Episode(name, first_frame_ns=first, first_pts_ns=pts, end_ns=end_ns),)
    assert end_ns >= stream.time_ns[-1]
