"""Encodings: golden files, encoding and decoding as inverses, settings."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events.encodings import PRESS_A, TOKEN_ENCODINGS, Event, golden, token_codec

from assay.errors import AssayWarning, UsageError
from assay.events import codec, encode
from assay.events.codecs import NAMES, Codec
from assay.events.codecs.kernels import _grammar
from assay.events.codecs.tokens import CLAMPED, TokenCodec
from assay.events.stream import EventStream, Kind, Problem

# --- the golden files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
def test_golden_lines_decode_token_for_token(encoding: str) -> None:
    rows = golden(encoding)
    stream = codec(encoding).decode_each([row["text"] for row in rows])
    for row, event in zip(rows, stream.to_events(), strict=True):
        assert event == row["event"], row["text"]


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
def test_golden_lines_encode_to_themselves(encoding: str) -> None:
    rows = golden(encoding)
    texts = [row["text"] for row in rows]
    valid = codec(encoding, strict=True).decode_each(texts).valid
    events = [row["event"] for row, good in zip(rows, valid, strict=True) if good]
    assert len(events) > 250
    assert codec(encoding).encode_each(EventStream.from_events(events)) == [
        text for text, good in zip(texts, valid, strict=True) if good
    ]


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
def test_strict_decoding_refuses_only_digits_beyond_their_base(encoding: str) -> None:
    texts = [row["text"] for row in golden(encoding)]
    lenient, strict = (codec(encoding, strict=strict).decode_each(texts) for strict in (False, True))
    refused = lenient.valid & ~strict.valid
    assert refused.any()
    assert not (strict.valid & ~lenient.valid).any()
    assert set(strict.problem[refused]) == {Problem.BEYOND_BASE}
    assert [e for e in strict.to_events() if e] == [
        e for e, good in zip(lenient.to_events(), strict.valid, strict=True) if good
    ]


# --- encoding is the inverse -----------------------------------------------------------------------------------------


def events_within(encoder: Codec) -> st.SearchStrategy[list[Event]]:
    """Events that the encoding represents exactly."""
    if isinstance(encoder, TokenCodec):
        times = st.integers(0, encoder.wrap_ns // encoder.unit_ns - 1).map(lambda unit: unit * encoder.unit_ns)
        deltas, notches = st.integers(*encoder.delta_limits), st.integers(*encoder.scroll_limits)
        scrolls = notches.map(lambda notch: notch * 120)
    else:
        times = st.integers(0, 2**63 - 1)
        deltas = scrolls = st.integers(-32768, 32767)
    flags = st.integers(0, 0xFFF)
    keys = st.fixed_dictionaries(
        {"kind": st.just("keyboard"), "ts": times, "vk": st.integers(0, 255), "press": st.booleans()}
    )
    mice = st.fixed_dictionaries(
        {"kind": st.just("mouse"), "ts": times, "dx": deltas, "dy": deltas, "flags": flags, "data": scrolls}
    )
    screens = st.fixed_dictionaries({"kind": st.just("screen"), "ts": times})
    return st.lists(st.one_of(keys, mice, screens), max_size=12)


OTHER_SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("hierarchical", {"time_bases": (7, 3), "delta_bases": (2, 5, 5), "scroll_bases": (3,)}),
    ("hierarchical", {"time_bases": (1000,), "delta_bases": (5,), "scroll_bases": (5, 5), "unit_ns": 1}),
    ("hierarchical-time-first", {"time_bases": (2,) * 8, "delta_bases": (3,) * 8, "image": "<IMG_CONTEXT>"}),
    ("factorized", {"time_bases": (4, 250), "delta_bases": (40_000,), "scroll_bases": (2, 2), "image": "<i>"}),
    ("factorized", {"unit_ns": 33_000_000, "image": "<a rather long image token, with blanks and more>"}),
]


@pytest.mark.parametrize(("name", "settings"), [*((name, {}) for name in NAMES), *OTHER_SETTINGS])
@pytest.mark.slow
def test_decoding_reverses_encoding(name: str, settings: dict[str, Any]) -> None:
    encoder = codec(name, **settings)

    @given(events_within(encoder))
    def law(events: list[Event]) -> None:
        stream = EventStream.from_events(events)
        assert stream.valid.all()
        texts = encoder.encode_each(stream)
        assert encoder.decode_each(texts).to_events() == events
        assert encoder.decode("".join(texts)).to_events() == events
        strict = codec(name, **settings, **({} if name == "json" else {"strict": True}))
        assert strict.decode_each(texts).valid.all()

    law()


@pytest.mark.parametrize("name", TOKEN_ENCODINGS)
@pytest.mark.slow
def test_quantising_equals_encoding_and_decoding(name: str) -> None:
    encoder = token_codec(name)
    numbers = st.integers(-(2**31), 2**31 - 1)
    mice = st.fixed_dictionaries(
        {"kind": st.just("mouse"), "ts": st.integers(0, 2**62), "dx": numbers, "dy": numbers}
        | {"flags": st.integers(0, 0xFFF), "data": numbers}
    )

    @given(st.lists(mice, max_size=10))
    def law(events: list[Event]) -> None:
        stream = EventStream.from_events(events)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssayWarning)
            through = encoder.decode_each(encoder.encode_each(stream))
        once = encoder.quantise(stream)
        assert through.to_events() == once.to_events()
        assert encoder.quantise(once).to_events() == once.to_events()
        changed = sum(
            (a["dx"], a["dy"], a["data"]) != (b["dx"], b["dy"], b["data"])
            for a, b in zip(events, once.to_events(), strict=True)
            if b
        )
        assert once.notes[CLAMPED] == changed

    law()


def test_a_delta_out_of_range_is_clamped_and_counted() -> None:
    mouse = {"kind": "mouse", "ts": 0, "dx": 5000, "dy": -5000, "flags": 0, "data": 0}
    stream = EventStream.from_events([mouse, mouse | {"dx": 1999, "dy": -2000}, mouse | {"dx": 0, "dy": 0}])
    found = codec("hierarchical").quantise(stream)
    assert (found.dx.tolist(), found.dy.tolist()) == ([1999, 1999, 0], [-2000, -2000, 0])
    assert found.notes[CLAMPED] == 1
    with pytest.warns(AssayWarning, match="1 deltas or scrolls"):
        codec("hierarchical").encode_each(stream)
    found = codec("factorized").quantise(stream)
    assert (found.dx.tolist(), found.dy.tolist()) == ([1999, 1999, 0], [-1999, -1999, 0])
    assert found.notes[CLAMPED] == 2


def test_time_is_rounded_down_to_its_unit_and_wraps() -> None:
    stream = EventStream.from_events(
        [{"kind": "screen", "ts": ts} for ts in (9_999_999, 16_000_000_000, 16_019_000_000)]
    )
    assert codec("hierarchical").quantise(stream).time_ns.tolist() == [0, 0, 10_000_000]
    assert codec("factorized").quantise(stream).time_ns.tolist() == [0, 6_000_000_000, 6_010_000_000]
    assert (codec("hierarchical").wrap_ns, codec("factorized").wrap_ns) == (16 * 10**9, 10 * 10**9)


def test_an_event_is_encoded_as_computed_by_hand() -> None:
    event = {"kind": "mouse", "ts": 1_230_000_000, "dx": -1, "dy": 1234, "flags": 0x402, "data": -120}
    stream = EventStream.from_events([event])
    # Time 123 is 1·2·3. −1 is 3999 of 4000: 1·19·9·9; 1234 is 0·12·3·4; interleaved. −1 notch is 19 of 20: 1·9.
    assert encode(stream, "hierarchical") == (
        "<EVENT_START><MOUSE><1><2><3><1><0><19><12><9><3><9><4><4><0><2><1><9><EVENT_END>"
    )
    assert encode(stream, "hierarchical-time-first") == (
        "<EVENT_START><1><2><3><MOUSE><1><0><19><12><9><3><9><4><4><0><2><1><9><EVENT_END>"
    )
    assert encode(stream, "factorized") == (
        "<EVENT_START><MOUSE><1><2><3><SIGN_MINUS><0><0><0><1><SIGN_PLUS><1><2><3><4><MB_4><MB_0><MB_2>"
        "<SIGN_MINUS><1><EVENT_END>"
    )


def test_a_key_is_encoded_as_json() -> None:
    event = {"kind": "keyboard", "ts": 5, "vk": 65, "press": False}
    text = encode(EventStream.from_events([event]), "json")
    assert text.startswith("<EVENT_START>{")
    inner = json.loads(text.removeprefix("<EVENT_START>").removesuffix("<EVENT_END>"))
    assert inner["topic"] == "keyboard"
    assert inner["timestamp"] == 5
    assert inner["message"] == {"event_type": "release", "vk": 65}
    assert set(inner) == {"topic", "timestamp", "message_type", "message"}


def test_json_reads_messages_inside_strings_and_unsigned_scrolls() -> None:
    message = json.dumps({"last_x": 3, "last_y": -4, "button_flags": 1024, "button_data": 65416})
    text = "<EVENT_START>" + json.dumps({"topic": "mouse/raw", "timestamp": 7, "message": message}) + "<EVENT_END>"
    assert codec("json").decode(text).to_events() == [
        {"kind": "mouse", "ts": 7, "dx": 3, "dy": -4, "flags": 1024, "data": -120}
    ]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '{"topic":"keyboard"}',
        '{"topic":"keyboard","timestamp":-1,"message":{"event_type":"press","vk":1}}',
        '{"topic":"keyboard","timestamp":NaN,"message":{"event_type":"press","vk":1}}',
        '{"topic":"keyboard","timestamp":1,"message":{"event_type":"hold","vk":1}}',
        '{"topic":"keyboard","timestamp":1,"message":{"event_type":"press","vk":256}}',
        '{"topic":"clipboard","timestamp":1,"message":{}}',
        "[" * 100_000,
    ],
)
def test_json_that_is_not_an_event_is_one_invalid_event(body: str) -> None:
    good = '<EVENT_START>{"topic":"screen","timestamp":1,"message":{}}<EVENT_END>'
    found = codec("json").decode(f"{good}<EVENT_START>{body}<EVENT_END>{good}").to_events()
    assert found == [{"kind": "screen", "ts": 1}, None, {"kind": "screen", "ts": 1}]


@pytest.mark.parametrize("name", NAMES)
def test_an_invalid_event_cannot_be_encoded(name: str) -> None:
    stream = EventStream.from_events([{"kind": "screen", "ts": 0}, None])
    with pytest.raises(UsageError, match="event 1: an invalid event cannot be encoded"):
        codec(name).encode_each(stream)


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"time_bases": ()}, "invalid bases"),
        ({"delta_bases": (0, 10)}, "invalid bases"),
        ({"scroll_bases": (2,) * 9}, "invalid bases"),
        ({"time_bases": (2**16, 2**16)}, "invalid bases"),
        ({"unit_ns": 0}, "time unit must be positive"),
        ({"unit_ns": -1}, "time unit must be positive"),
        ({"image": "image"}, "not one token"),
        ({"image": "<a><b>"}, "not one token"),
        ({"image": "<>"}, "not one token"),
        ({"image": "<MOUSE>"}, "another meaning"),
        ({"image": "<17>"}, "another meaning"),
        ({"image": "<SIGN_PLUS>"}, "another meaning"),
        ({"image": "<VK_65>"}, "another meaning"),
        ({"delta_bases": (2_000_000_000,)}, "invalid bases"),
        ({"basis": (10,)}, "no setting of a token encoding called 'basis'"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        codec("hierarchical", **settings)


def test_the_error_for_an_unknown_encoding_suggests_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="Did you mean 'factorized'"):
        codec("factorised")
    with pytest.raises(UsageError, match="no setting 'unit_ns'"):
        codec("json", unit_ns=5)


def test_offsets_must_lie_inside_the_text() -> None:
    raw = np.frombuffer(PRESS_A.encode(), np.uint8)
    for offsets in ([0, len(raw) + 1], [-1, 5], [5, 3], []):
        with pytest.raises(UsageError, match="offsets"):
            token_codec("hierarchical").decode_slices(raw, np.array(offsets, np.int64))


# --- copied constants ------------------------------------------------------------------------------------------------


def test_the_constants_of_the_kernels_equal_those_of_the_stream() -> None:
    for kind in Kind:
        assert getattr(_grammar, f"_KIND_{kind.name}") == kind
    names = (
        "_UNFRAMED",
        "_CUT_SHORT",
        "_UNKNOWN_TYPE",
        "_WRONG_TOKEN",
        "_WRONG_LENGTH",
        "_OUT_OF_RANGE",
        "_BEYOND_BASE",
    )
    assert _grammar._OK == Problem.NONE
    for name in names:
        assert getattr(_grammar, name) == Problem[name.removeprefix("_")]


def test_every_problem_has_a_sentence() -> None:
    assert len({problem.sentence for problem in Problem}) == len(Problem)
