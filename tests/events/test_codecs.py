"""Token text and JSON: what decodes, what is refused, and that encoding is the way back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayWarning, UsageError
from assay.events import codec, decode, encode
from assay.events.codecs import NAMES, Codec, kernels
from assay.events.codecs.tokens import CLAMPED, IGNORED_TOKENS, TokenCodec
from assay.events.stream import IGNORED_BYTES, EventStream, Kind, Problem

GOLDEN = Path(__file__).parents[1] / "golden"
TOKEN_ENCODINGS = ("hierarchical", "hierarchical-time-first", "factorized")

SCREEN = "<EVENT_START><SCREEN><0><0><5><fake_image_placeholder><EVENT_END>"
PRESS_A = "<EVENT_START><KEYBOARD><0><0><3><65><press><EVENT_END>"
MOVE = "<EVENT_START><MOUSE><0><0><0><0><1><0><19><2><9><3><4><0><0><0><EVENT_END>"  # dx 23, dy −6

Event = dict[str, Any]


def token_codec(name: str, **settings: Any) -> TokenCodec:
    found = codec(name, **settings)
    assert isinstance(found, TokenCodec)
    return found


def golden(encoding: str) -> list[dict[str, Any]]:
    lines = (GOLDEN / f"codec_{encoding}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


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
def test_strict_refuses_only_what_lenient_reads(encoding: str) -> None:
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
    """Events that the encoding holds exactly."""
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
def test_what_was_encoded_decodes_to_itself(name: str, settings: dict[str, Any]) -> None:
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
def test_quantising_is_encoding_and_decoding(name: str) -> None:
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


def test_time_is_floored_to_its_unit_and_wraps() -> None:
    stream = EventStream.from_events(
        [{"kind": "screen", "ts": ts} for ts in (9_999_999, 16_000_000_000, 16_019_000_000)]
    )
    assert codec("hierarchical").quantise(stream).time_ns.tolist() == [0, 0, 10_000_000]
    assert codec("factorized").quantise(stream).time_ns.tolist() == [0, 6_000_000_000, 6_010_000_000]
    assert (codec("hierarchical").wrap_ns, codec("factorized").wrap_ns) == (16 * 10**9, 10 * 10**9)


def test_encoding_by_hand() -> None:
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


def test_json_by_hand() -> None:
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
def test_json_that_is_no_event_is_refused_and_keeps_its_place(body: str) -> None:
    good = '<EVENT_START>{"topic":"screen","timestamp":1,"message":{}}<EVENT_END>'
    found = codec("json").decode(f"{good}<EVENT_START>{body}<EVENT_END>{good}").to_events()
    assert found == [{"kind": "screen", "ts": 1}, None, {"kind": "screen", "ts": 1}]


@pytest.mark.parametrize("name", NAMES)
def test_an_invalid_event_cannot_be_encoded(name: str) -> None:
    stream = EventStream.from_events([{"kind": "screen", "ts": 0}, None])
    with pytest.raises(UsageError, match="event 1: an invalid event cannot be encoded"):
        codec(name).encode_each(stream)


# --- framing ---------------------------------------------------------------------------------------------------------


def test_a_second_start_cuts_the_first_short_and_keeps_its_place() -> None:
    found = codec("hierarchical").decode(f"{SCREEN}<EVENT_START><MOUSE><0><0>{PRESS_A}")
    assert [event and event["kind"] for event in found.to_events()] == ["screen", None, "keyboard"]
    assert found.problem.tolist() == [Problem.NONE, Problem.CUT_SHORT, Problem.NONE]
    assert found.kind[1] == Kind.MOUSE  # what it was meant to be could still be read


def test_a_second_start_cuts_json_short_too() -> None:
    good = encode(decode(SCREEN), "json")
    found = codec("json").decode(f'{good}<EVENT_START>{{"topic":"scr{good}<EVENT_START>')
    assert found.problem.tolist() == [Problem.NONE, Problem.CUT_SHORT, Problem.NONE, Problem.CUT_SHORT]
    assert IGNORED_BYTES not in found.notes


def test_an_event_without_an_end_is_cut_short_by_the_end_of_the_text() -> None:
    found = codec("hierarchical").decode(PRESS_A + PRESS_A[: -len("<EVENT_END>")])
    assert found.problem.tolist() == [Problem.NONE, Problem.CUT_SHORT]


def test_what_lies_between_events_is_ignored_and_counted() -> None:
    for encoding, event in (("hierarchical", SCREEN), ("json", encode(decode(SCREEN), "json"))):
        found = codec(encoding).decode(f"hello {event}<EVENT_END><0>{event}\n")
        assert len(found) == 2
        assert found.valid.all()
        assert found.notes[IGNORED_BYTES] == len("hello ") + len("<EVENT_END><0>") + len("\n")


def test_a_text_without_events_is_all_ignored() -> None:
    for text in ("", "no events here", "<EVENT_END>", "<EVENT_STAR", "<<<<>>>>"):
        found = codec("hierarchical").decode(text)
        assert len(found) == 0
        assert found.notes[IGNORED_BYTES] == len(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SCREEN, Problem.NONE),
        (f"  {SCREEN}\n", Problem.NONE),
        ("", Problem.UNFRAMED),
        ("   ", Problem.UNFRAMED),
        (SCREEN + SCREEN, Problem.UNFRAMED),
        (f"x{SCREEN}", Problem.UNFRAMED),
        (f"{SCREEN}x", Problem.UNFRAMED),
        ("<EVENT_START>" + SCREEN, Problem.UNFRAMED),
        (SCREEN[:-1], Problem.CUT_SHORT),
        ("<EVENT_START><EVENT_END>", Problem.UNKNOWN_TYPE),
        ("<EVENT_START><0><0><5><SCREEN><fake_image_placeholder><EVENT_END>", Problem.UNKNOWN_TYPE),
        ("<EVENT_START><SCREEN><0><0><5><EVENT_END>", Problem.WRONG_LENGTH),
        ("<EVENT_START><KEYBOARD><0><0><3><65><press><press><EVENT_END>", Problem.WRONG_LENGTH),
        ("<EVENT_START><KEYBOARD><0><0><3><65><65><EVENT_END>", Problem.WRONG_TOKEN),
        ("<EVENT_START><KEYBOARD><0><0><3><256><press><EVENT_END>", Problem.OUT_OF_RANGE),
        ("<EVENT_START><KEYBOARD><0><0><3><VK_65><press><EVENT_END>", Problem.WRONG_TOKEN),
        ("<EVENT_START><KEYBOARD><0> <0><3><65><press><EVENT_END>", Problem.WRONG_LENGTH),
        ("<EVENT_START><KEYBOARD><0><-1><3><65><press><EVENT_END>", Problem.WRONG_TOKEN),
        ("<EVENT_START><KEYBOARD><0><1.5><3><65><press><EVENT_END>", Problem.WRONG_TOKEN),
        (MOVE.replace("<2><9>", "<999999999><9>"), Problem.OUT_OF_RANGE),
        (MOVE.replace("<2><9>", f"<{10**30}><9>"), Problem.WRONG_TOKEN),
    ],
)
def test_an_element_is_one_event_or_says_why_not(text: str, problem: Problem) -> None:
    assert codec("hierarchical").decode_each([text]).problem.tolist() == [problem]


def test_every_element_is_judged_alone() -> None:
    # The end of one element must not complete the beginning of another.
    found = codec("hierarchical").decode_each([PRESS_A[:20], PRESS_A[20:], PRESS_A])
    assert found.valid.tolist() == [False, False, True]


def test_a_bad_start_does_not_hide_the_event_behind_it() -> None:
    for junk in ("<", "<<", "<EVENT_", "<EVENT_START", "<12", "<VK_", "<fake_token_around_image", "\x00", "é"):
        found = codec("hierarchical").decode(junk + PRESS_A + junk + PRESS_A)
        assert found.valid.tolist() == [True, True], junk


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 64, 65, 10_000])
def test_a_token_of_any_length_is_one_wrong_token(size: int) -> None:
    text = PRESS_A.replace("<65>", f"<{'x' * size}>")
    assert codec("hierarchical").decode(text).problem.tolist() == [Problem.WRONG_TOKEN]
    many = PRESS_A.replace("<65>", "<65>" * (size + 1))
    assert codec("hierarchical").decode(many).problem.tolist() == [Problem.WRONG_LENGTH]


def test_bytes_that_are_no_utf8_are_no_token() -> None:
    found = codec("hierarchical").decode(
        b"\xff\xfe" + PRESS_A.encode() + b"\xc3" + PRESS_A.encode().replace(b"65", b"6\xff5")
    )
    assert found.valid.tolist() == [True, False]
    assert found.notes[IGNORED_BYTES] == 3
    assert codec("json").decode(b"\xff<EVENT_START>\xff<EVENT_END>").to_events() == [None]
    assert not codec("hierarchical").decode_each(["\ud800" + PRESS_A]).valid.any()  # a lone surrogate


def test_text_that_is_not_ascii_does_not_shift_its_neighbours() -> None:
    found = codec("hierarchical").decode_each([PRESS_A, "žluťoučký", PRESS_A, "日本", SCREEN])
    assert found.valid.tolist() == [True, False, True, False, True]


# --- lenient and strict ----------------------------------------------------------------------------------------------


def test_digits_beyond_their_base_are_summed_or_refused() -> None:
    text = "<EVENT_START><KEYBOARD><0><0><123><65><press><EVENT_END>"
    # Lenient: 0·100 + 0·10 + 123 units of 10 ms.
    assert codec("hierarchical").decode(text).time_ns.tolist() == [1_230_000_000]
    assert codec("hierarchical", strict=True).decode(text).problem.tolist() == [Problem.BEYOND_BASE]
    assert codec("hierarchical", strict=True).decode(PRESS_A).problem.tolist() == [Problem.NONE]


def test_a_lenient_delta_is_turned_over_once_only() -> None:
    # 1·2000 + 25·100 + 0 + 0 = 4500, which is 2000 or more: 4500 − 4000 = 500.
    text = "<EVENT_START><MOUSE><0><0><0><1><0><25><0><0><0><0><0><0><0><0><EVENT_END>"
    assert codec("hierarchical").decode(text).dx.tolist() == [500]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("hierarchical", MOVE.replace("<0><0><0><EVENT_END>", "<{}><0><0><EVENT_END>")),
        (
            "factorized",
            "<EVENT_START><MOUSE><0><0><0><SIGN_PLUS><0><0><2><3><SIGN_MINUS><0><0><0><6>"
            "<MB_{}><MB_0><MB_0><EVENT_END>",
        ),
    ],
)
def test_button_flags_beyond_their_range_are_refused_in_both_ways_of_decoding(
    encoding: str, text: str, strict: bool
) -> None:
    decoder = codec(encoding, strict=strict)
    assert decoder.decode(text.format(15)).flags.tolist() == [0xF00]
    for digit in (16, 300, 2**28 - 1):
        problem = Problem.BEYOND_BASE if strict else Problem.OUT_OF_RANGE
        assert decoder.decode(text.format(digit)).problem.tolist() == [problem]
        assert decoder.decode_each([text.format(digit)]).problem.tolist() == [problem]


def test_large_button_digits() -> None:
    text = MOVE.replace("<0><0><0><EVENT_END>", "<0><0><16><EVENT_END>")
    assert codec("hierarchical").decode(text).flags.tolist() == [16]
    assert codec("hierarchical", strict=True).decode(text).problem.tolist() == [Problem.BEYOND_BASE]


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "valid"),
    [
        ("<fake_image_placeholder>", True),
        ("<fake_token_around_image><global-img><fake_token_around_image>", True),
        ("<fake_token_around_image><global-img>" + "<image>" * 500 + "<fake_token_around_image>", True),
        ("<img>" + "<IMG_CONTEXT>" * 256 + "</img>", True),
        ("<img></img>", True),
        ("<img>", False),
        ("</img><img>", False),
        ("<img><IMG_CONTEXT>", False),
        ("<fake_token_around_image>", False),
        ("<fake_token_around_image><global-img></img>", False),
        ("<fake_image_placeholder><fake_image_placeholder>", False),
        ("<fake_image_placeholder", False),
        ("<other>", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("name", TOKEN_ENCODINGS)
def test_a_frame_holds_one_image(name: str, image: str, valid: bool) -> None:
    kind = "<0><0><5><SCREEN>" if name == "hierarchical-time-first" else "<SCREEN><0><0><5>"
    found = codec(name).decode_each([f"<EVENT_START>{kind}{image}<EVENT_END>"])
    assert found.to_events() == [{"kind": "screen", "ts": 50_000_000} if valid else None]


def test_another_image_token() -> None:
    own = codec("hierarchical", image="<image>")
    text = SCREEN.replace("<fake_image_placeholder>", "<image>")
    assert own.decode(text).valid.all()
    assert not own.decode(SCREEN).valid.any()
    assert own.encode_each(own.decode(text)) == [text]


def test_the_older_layout_has_the_time_first() -> None:
    older = codec("hierarchical-time-first")
    text = "<EVENT_START><0><0><3><KEYBOARD><65><press><EVENT_END>"
    assert older.decode(text).to_events() == codec("hierarchical").decode(PRESS_A).to_events()
    assert older.decode(PRESS_A).problem.tolist() == [Problem.UNKNOWN_TYPE]


# --- threads ---------------------------------------------------------------------------------------------------------


def test_a_large_text_gives_the_same_events_on_any_number_of_threads() -> None:
    rows = [row["text"] for row in golden("hierarchical")]
    part, times = " ".join(rows) + " ", 250
    text = part * times
    assert len(text) > 8_000_000
    decoder = token_codec("hierarchical")
    one = decoder.decode(part)
    for whole in (text, text.encode()):
        for threads in (1, 2, 3, 7):
            found = decoder.decode(whole, threads=threads)
            assert found.notes[IGNORED_BYTES] == one.notes[IGNORED_BYTES] * times
            for name in ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem"):
                assert np.array_equal(getattr(found, name), np.tile(getattr(one, name), times)), name


def test_a_large_text_without_events_may_be_cut_nowhere() -> None:
    found = token_codec("hierarchical").decode("x" * 5_000_000, threads=4)
    assert len(found) == 0
    assert found.notes[IGNORED_BYTES] == 5_000_000


# --- token ids -------------------------------------------------------------------------------------------------------


class Tokenizer:
    """The least a tokenizer can be: a list of tokens, the first of which stands for unknown ones."""

    unk_token_id = 0

    def __init__(self, *leave_out: str) -> None:
        vocabulary = token_codec("hierarchical").vocabulary() | token_codec("factorized").vocabulary()
        self.tokens = ["<unk>", "hello", *(token for token in vocabulary if token not in leave_out)]
        self.numbers = {token: number for number, token in enumerate(self.tokens)}

    def convert_tokens_to_ids(self, tokens: list[str], /) -> list[int]:
        return [self.numbers.get(token, self.unk_token_id) for token in tokens]

    def ids(self, text: str) -> list[int]:
        return [self.numbers.get(f"<{piece}", 0) for piece in text.split("<")[1:]]


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
def test_token_ids_decode_like_their_text(encoding: str) -> None:
    tokenizer, decoder = Tokenizer(), token_codec(encoding)
    texts = [row["text"] for row in golden(encoding)]
    known = [text for text in texts if 0 not in tokenizer.ids(text)]
    assert len(known) > 400
    for text in known:
        by_id, by_text = decoder.decode_ids(tokenizer.ids(text), tokenizer), decoder.decode(text)
        assert by_id.to_events() == by_text.to_events()
        assert by_id.problem.tolist() == by_text.problem.tolist()
    joined = decoder.decode_ids([number for text in known for number in tokenizer.ids(text)], tokenizer)
    assert joined.to_events() == decoder.decode("".join(known)).to_events()


def test_masked_positions_are_left_out() -> None:
    tokenizer, decoder = Tokenizer(), token_codec("hierarchical")
    event = tokenizer.ids(PRESS_A)
    # Labels in training: −100 over the prompt and the padding.
    labels = [-100] * 4 + event + [-100] * 3
    assert decoder.decode_ids(labels, tokenizer).to_events() == decoder.decode(PRESS_A).to_events()
    # Predicted ids at the positions whose label counts.
    predicted = [7] * 4 + event + [9] * 3
    found = decoder.decode_ids(predicted, tokenizer, labels=labels)
    assert found.to_events() == decoder.decode(PRESS_A).to_events()
    assert IGNORED_TOKENS not in found.notes


@pytest.mark.parametrize("name", TOKEN_ENCODINGS)
@pytest.mark.parametrize("masked", [1, 5])
def test_an_image_that_is_masked_as_a_whole_is_an_image(name: str, masked: int) -> None:
    decoder, tokenizer = token_codec(name), Tokenizer()
    head, image, end = "<EVENT_START><SCREEN><0><0><5>", "<fake_image_placeholder>", "<EVENT_END>"
    if decoder.time_first:
        head = "<EVENT_START><0><0><5><SCREEN>"
    begin, stop = tokenizer.ids(head), tokenizer.ids(end)
    frame = [*begin, *[-100] * masked, *stop]
    whole = decoder.decode(head + image + end).to_events()
    assert whole != [None]
    assert decoder.decode_ids([-100, *frame, *frame, -100], tokenizer).to_events() == whole * 2
    # Where nothing is masked there is no image, and other masked tokens are not made up.
    assert decoder.decode_ids([*begin, *stop], tokenizer).to_events() == [None]
    assert decoder.decode_ids([*begin[:-1], -100, -100, *stop], tokenizer).to_events() == [None]
    assert decoder.decode_ids([*begin, -100, *begin, -100], tokenizer).to_events() == [None, None]


def test_each_row_of_ids_is_a_sequence_of_its_own() -> None:
    tokenizer, decoder = Tokenizer(), token_codec("hierarchical")
    event = tokenizer.ids(PRESS_A)
    half = len(event) // 2
    rows = [event[:half] + [-100] * (len(event) - half), event[half:] + [-100] * half, event]
    found = decoder.decode_ids(np.array(rows), tokenizer)
    # The first row is cut short, the second has no beginning, the third is whole.
    assert [event and event["kind"] for event in found.to_events()] == [None, "keyboard"]
    assert found.problem.tolist() == [Problem.CUT_SHORT, Problem.NONE]
    assert found.notes[IGNORED_TOKENS] == len(event) - half


@pytest.mark.parametrize("stranger", [0, 1, 10**9, -5, 2**62])
def test_unknown_ids_are_wrong_tokens(stranger: int) -> None:
    tokenizer, decoder = Tokenizer(), token_codec("hierarchical")
    event = tokenizer.ids(PRESS_A)
    event[5] = stranger
    found = decoder.decode_ids([stranger, *event], tokenizer)
    assert found.problem.tolist() == [Problem.WRONG_TOKEN]
    assert found.notes[IGNORED_TOKENS] == 1


def test_no_ids_are_no_events() -> None:
    assert len(token_codec("hierarchical").decode_ids([], Tokenizer())) == 0
    assert len(token_codec("hierarchical").decode_ids(np.empty((0,), np.int64), Tokenizer())) == 0
    assert len(token_codec("hierarchical").decode_ids(np.full((3, 4), -100), Tokenizer())) == 0


def test_ids_that_cannot_be_decoded_are_an_error_of_use() -> None:
    decoder = token_codec("hierarchical")
    with pytest.raises(UsageError, match="does not know <EVENT_START>"):
        decoder.decode_ids([1, 2], Tokenizer("<EVENT_START>"))
    with pytest.raises(UsageError, match="whole numbers"):
        decoder.decode_ids([1.5], Tokenizer())
    with pytest.raises(UsageError, match="whole numbers"):
        decoder.decode_ids(np.zeros((2, 2, 2), np.int64), Tokenizer())
    with pytest.raises(UsageError, match="one label per id"):
        decoder.decode_ids([1, 2], Tokenizer(), labels=[1])


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"time_bases": ()}, "make no digits"),
        ({"delta_bases": (0, 10)}, "make no digits"),
        ({"scroll_bases": (2,) * 9}, "make no digits"),
        ({"time_bases": (2**16, 2**16)}, "make no digits"),
        ({"unit_ns": 0}, "makes no sense"),
        ({"unit_ns": -1}, "makes no sense"),
        ({"image": "image"}, "not one token"),
        ({"image": "<a><b>"}, "not one token"),
        ({"image": "<>"}, "not one token"),
        ({"image": "<MOUSE>"}, "another meaning"),
        ({"image": "<17>"}, "another meaning"),
        ({"image": "<SIGN_PLUS>"}, "another meaning"),
        ({"image": "<VK_65>"}, "another meaning"),
        ({"delta_bases": (2_000_000_000,)}, "make no digits"),
        ({"basis": (10,)}, "no setting of a token encoding called 'basis'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        codec("hierarchical", **settings)


def test_an_unknown_encoding_hints_at_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'factorized'"):
        codec("factorised")
    with pytest.raises(UsageError, match="no setting 'unit_ns'"):
        codec("json", unit_ns=5)


def test_offsets_must_lie_inside_the_text() -> None:
    raw = np.frombuffer(PRESS_A.encode(), np.uint8)
    for offsets in ([0, len(raw) + 1], [-1, 5], [5, 3], []):
        with pytest.raises(UsageError, match="offsets"):
            token_codec("hierarchical").decode_slices(raw, np.array(offsets, np.int64))


# --- mirrors ---------------------------------------------------------------------------------------------------------


def test_the_kernels_numbers_are_those_of_the_stream() -> None:
    for kind in Kind:
        assert getattr(kernels, f"_KIND_{kind.name}") == kind
    names = (
        "_UNFRAMED",
        "_CUT_SHORT",
        "_UNKNOWN_TYPE",
        "_WRONG_TOKEN",
        "_WRONG_LENGTH",
        "_OUT_OF_RANGE",
        "_BEYOND_BASE",
    )
    assert kernels._OK == Problem.NONE
    for name in names:
        assert getattr(kernels, name) == Problem[name.removeprefix("_")]


def test_every_problem_has_a_sentence() -> None:
    assert len({problem.sentence for problem in Problem}) == len(Problem)
