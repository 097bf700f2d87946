"""Decoding token text and JSON: framing, lenient and strict digits, images, threads."""

from __future__ import annotations

import numpy as np
import pytest
from tests.events.encodings import MOVE, PRESS_A, SCREEN, TOKEN_ENCODINGS, golden, token_codec

from assay.events import codec, decode, encode
from assay.events.stream import IGNORED_BYTES, Kind, Problem

# --- framing ---------------------------------------------------------------------------------------------------------


def test_a_second_start_ends_the_first_event_which_keeps_its_position() -> None:
    found = codec("hierarchical").decode(f"{SCREEN}<EVENT_START><MOUSE><0><0>{PRESS_A}")
    assert [event and event["kind"] for event in found.to_events()] == ["screen", None, "keyboard"]
    assert found.problem.tolist() == [Problem.NONE, Problem.CUT_SHORT, Problem.NONE]
    assert found.kind[1] == Kind.MOUSE  # its type could still be read


def test_a_second_start_ends_a_json_event_too() -> None:
    good = encode(decode(SCREEN), "json")
    found = codec("json").decode(f'{good}<EVENT_START>{{"topic":"scr{good}<EVENT_START>')
    assert found.problem.tolist() == [Problem.NONE, Problem.CUT_SHORT, Problem.NONE, Problem.CUT_SHORT]
    assert IGNORED_BYTES not in found.notes


def test_an_event_without_an_end_is_cut_short_by_the_end_of_the_text() -> None:
    found = codec("hierarchical").decode(PRESS_A + PRESS_A[: -len("<EVENT_END>")])
    assert found.problem.tolist() == [Problem.NONE, Problem.CUT_SHORT]


def test_text_between_events_is_ignored_and_counted() -> None:
    for encoding, event in (("hierarchical", SCREEN), ("json", encode(decode(SCREEN), "json"))):
        found = codec(encoding).decode(f"hello {event}<EVENT_END><0>{event}\n")
        assert len(found) == 2
        assert found.valid.all()
        assert found.notes[IGNORED_BYTES] == len("hello ") + len("<EVENT_END><0>") + len("\n")


def test_a_text_without_events_is_ignored_as_a_whole() -> None:
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
def test_an_element_is_one_event_or_has_a_problem(text: str, problem: Problem) -> None:
    assert codec("hierarchical").decode_each([text]).problem.tolist() == [problem]


def test_every_element_is_decoded_separately() -> None:
    # The end of one element must not complete the beginning of another.
    found = codec("hierarchical").decode_each([PRESS_A[:20], PRESS_A[20:], PRESS_A])
    assert found.valid.tolist() == [False, False, True]


def test_text_before_an_event_does_not_hide_it() -> None:
    for junk in ("<", "<<", "<EVENT_", "<EVENT_START", "<12", "<VK_", "<fake_token_around_image", "\x00", "é"):
        found = codec("hierarchical").decode(junk + PRESS_A + junk + PRESS_A)
        assert found.valid.tolist() == [True, True], junk


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 64, 65, 10_000])
def test_a_token_of_any_length_is_one_wrong_token(size: int) -> None:
    text = PRESS_A.replace("<65>", f"<{'x' * size}>")
    assert codec("hierarchical").decode(text).problem.tolist() == [Problem.WRONG_TOKEN]
    many = PRESS_A.replace("<65>", "<65>" * (size + 1))
    assert codec("hierarchical").decode(many).problem.tolist() == [Problem.WRONG_LENGTH]


def test_bytes_that_are_not_utf8_are_not_a_token() -> None:
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


def test_digits_beyond_their_base_are_added_or_refused() -> None:
    text = "<EVENT_START><KEYBOARD><0><0><123><65><press><EVENT_END>"
    # Lenient: 0·100 + 0·10 + 123 units of 10 ms.
    assert codec("hierarchical").decode(text).time_ns.tolist() == [1_230_000_000]
    assert codec("hierarchical", strict=True).decode(text).problem.tolist() == [Problem.BEYOND_BASE]
    assert codec("hierarchical", strict=True).decode(PRESS_A).problem.tolist() == [Problem.NONE]


def test_a_lenient_delta_wraps_only_once() -> None:
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
def test_button_flags_beyond_their_range_are_refused_by_lenient_and_strict_decoding(
    encoding: str, text: str, strict: bool
) -> None:
    decoder = codec(encoding, strict=strict)
    assert decoder.decode(text.format(15)).flags.tolist() == [0xF00]
    for digit in (16, 300, 2**28 - 1):
        problem = Problem.BEYOND_BASE if strict else Problem.OUT_OF_RANGE
        assert decoder.decode(text.format(digit)).problem.tolist() == [problem]
        assert decoder.decode_each([text.format(digit)]).problem.tolist() == [problem]


def test_a_button_digit_of_16_is_accepted_only_by_lenient_decoding() -> None:
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
def test_a_frame_contains_one_image(name: str, image: str, valid: bool) -> None:
    kind = "<0><0><5><SCREEN>" if name == "hierarchical-time-first" else "<SCREEN><0><0><5>"
    found = codec(name).decode_each([f"<EVENT_START>{kind}{image}<EVENT_END>"])
    assert found.to_events() == [{"kind": "screen", "ts": 50_000_000} if valid else None]


def test_the_image_token_is_a_setting() -> None:
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


def test_a_large_text_without_events_is_not_split() -> None:
    found = token_codec("hierarchical").decode("x" * 5_000_000, threads=4)
    assert len(found) == 0
    assert found.notes[IGNORED_BYTES] == 5_000_000
