"""Tokens are compared as written: a digit beyond its base is not the digits that its value has (SPEC 1.6)."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from tests.events.test_sequence import LEVELS, compared, key, mouse, only_event

from assay import events
from assay.events import Episode
from assay.events.stream import concatenate


def test_tokens_are_compared_as_written() -> None:
    # <0><25><5> decodes to 255 units like <2><5><5>; two of its five tokens are other ones, and so is its first digit.
    event = only_event(key("<0><25><5>"), key("<2><5><5>"))
    assert event["keyboard_metrics"]["loss"] == 2 / 5
    assert event["timestamp_precision_match"] == {"p1": False, "p2": False, "p3": False}
    assert event["timestamp_percent_error"] == 0.0
    # The first digit of <0><5><5> is written in the same way.
    assert only_event(key("<0><25><5>"), key("<0><5><5>"))["timestamp_precision_match"]["p1"] is True
    same = only_event(key("<0><25><5>"), key("<0><25><5>"))
    assert same["timestamp_precision_match"] == {"p1": True, "p2": True, "p3": True}
    assert same["keyboard_metrics"]["loss"] == 0.0


def test_a_minus_before_zero_is_another_token_than_a_plus() -> None:
    minus = mouse(0, 7, "factorized").replace("<SIGN_PLUS>", "<SIGN_MINUS>", 1)
    found = only_event(minus, mouse(0, 7, "factorized"), encoding="factorized")["mouse_metrics"]
    assert found["loss"] == pytest.approx(1 / 16)
    assert found["dx_precision_match"] == {"p1": False, "p2": False, "p3": False}
    assert found["dy_precision_match"] == {"p1": True, "p2": True, "p3": True}


def test_tokens_too_many_cost_as_much_as_wrong_ones() -> None:
    # A movement has 14 tokens; a scroll, also one of 0 notches, adds two.
    scrolled = mouse(0, 0, flags=0x400, data=120)
    assert only_event(scrolled, mouse(0, 0, flags=0x400))["mouse_metrics"]["loss"] == pytest.approx(2 / 14)
    nothing = mouse(0, 0).replace("<EVENT_END>", "<0><0><EVENT_END>")
    assert only_event(nothing, mouse(0, 0))["mouse_metrics"]["loss"] == pytest.approx(2 / 14)
    assert only_event(mouse(0, 0), nothing)["mouse_metrics"]["loss"] == pytest.approx(2 / 16)


def test_hexadecimal_digits_of_buttons_are_compared_as_written() -> None:
    # <0><0><16> is 0x10 as <0><1><0> is.
    odd = mouse(0, 0, flags=0x10).replace("<0><1><0><EVENT_END>", "<0><0><16><EVENT_END>")
    assert only_event(odd, mouse(0, 0, flags=0x10))["mouse_metrics"]["loss"] == pytest.approx(2 / 14)


def written(text: str) -> list[str]:
    """The time and data tokens of one event, as text."""
    return re.findall(r"<[^<>]*>", text)[2:-1]


def spoiled(draw: random.Random, encoding: str) -> str:
    """A mouse event or key that decodes, with digits up to three beyond their base."""

    def digits(bases: tuple[int, ...]) -> list[str]:
        return [f"<{draw.randrange(base + 3 if draw.random() < 0.3 else base)}>" for base in bases]

    time = digits((16, 10, 10) if encoding == "hierarchical" else (10, 10, 10))
    if draw.random() < 0.3:
        vk = draw.randrange(256)
        code = f"<{vk}>" if encoding == "hierarchical" else f"<VK_{vk}>"
        return f"<EVENT_START><KEYBOARD>{''.join(time)}{code}<{draw.choice(['press', 'release'])}><EVENT_END>"
    flags = [draw.randrange(2), draw.randrange(18), draw.randrange(18)]
    scroll = draw.random() < 0.4
    if encoding == "hierarchical":
        both = [digits((2, 20, 10, 10)) for _ in range(2)]
        data = [token for pair in zip(*both, strict=True) for token in pair] + [f"<{flag}>" for flag in flags]
        data += digits((2, 10)) if scroll else []
    else:
        sign = ["<SIGN_PLUS>", "<SIGN_MINUS>"]
        data = [draw.choice(sign), *digits((2, 10, 10, 10)), draw.choice(sign), *digits((2, 10, 10, 10))]
        data += [f"<MB_{flag}>" for flag in flags]
        data += [draw.choice(sign), *digits((10,))] if scroll else []
    return f"<EVENT_START><MOUSE>{''.join([*time, *data])}<EVENT_END>"


@pytest.mark.parametrize("encoding", ["hierarchical", "factorized"])
@pytest.mark.slow
def test_losses_and_levels_equal_those_of_the_texts(encoding: str) -> None:
    draw = random.Random(7)
    truths = [spoiled(draw, encoding) for _ in range(120)]
    # Half of the predictions are the truth with one token of another event in place of its own.
    guesses = []
    for truth in truths:
        other = spoiled(draw, encoding)
        mine, theirs = (re.findall(r"<[^<>]*>", text) for text in (truth, other))
        at = draw.randrange(2, 5)
        guesses.append("".join([*mine[:at], theirs[at], *mine[at + 1 :]]) if draw.random() < 0.5 else other)
    found = compared("".join(guesses), "".join(truths), encoding=encoding)
    hits, n = dict.fromkeys(LEVELS, 0), 0
    for guess, truth, event in zip(guesses, truths, found["event_comparisons"], strict=True):
        if not event["comparable"]:
            continue
        ours, theirs = written(guess), written(truth)
        wrong = sum(a != b for a, b in itertools.zip_longest(ours, theirs))
        kind = "mouse" if "<MOUSE>" in truth else "keyboard"
        assert event[f"{kind}_metrics"]["loss"] == pytest.approx(wrong / len(theirs))
        levels: dict[str, bool] = {
            level: ours[:size] == theirs[:size] for size, level in enumerate(("p1", "p2", "p3"), 1)
        }
        assert event["timestamp_precision_match"] == levels
        if kind == "mouse":
            digits = [side[3:11:2] if encoding == "hierarchical" else side[3:8] for side in (ours, theirs)]
            assert event["mouse_metrics"]["dx_precision_match"] == {
                level: digits[0][: -3 + size or None] == digits[1][: -3 + size or None]
                for size, level in enumerate(("p1", "p2", "p3"), 1)
            }
        n += 1
        hits = {level: hits[level] + levels[level] for level in hits}
    assert n > 40
    assert found["timestamp_metrics"]["precision_accuracy"] == {level: hits[level] / n for level in hits}
    # The protocol, from a list of single events, gives the same figures.
    flat = events.evaluate(guesses, truths, protocols=["sequence"], encoding=encoding).flat("sequence")
    for level in LEVELS:
        for name in ("timestamp", "dx", "dy"):
            of_text = found["mouse_metrics"][f"{name}_precision_accuracy"][level]
            assert flat[f"mouse_metrics.{name}_precision_accuracy.{level}"] == of_text
    for kind in ("mouse", "keyboard"):
        assert flat[f"{kind}_metrics.loss"] == pytest.approx(found[f"{kind}_metrics"]["loss"], rel=1e-12)


def test_spellings_stay_with_their_events() -> None:
    usual, odd = key("<2><5><5>"), key("<0><25><5>")
    codec = events.codec("hierarchical")
    stream = codec.decode(usual + odd + usual)
    assert stream.spelling is not None
    assert stream.spelling.tolist() == [-1, 0, -1]
    assert codec.decode(usual).spelling is None
    whole = concatenate([codec.decode(usual), stream.of_episode(Episode("a")), codec.decode(odd)])
    assert whole.spelling is not None
    assert whole.spellings is not None
    assert whole.spelling.tolist() == [-1, -1, 0, -1, 1]
    assert whole.spellings[:, :3].tolist() == [[0, 25, 5], [0, 25, 5]]
    chosen = whole[np.array([4, 0])]
    assert chosen.spelling is not None
    assert chosen.spelling.tolist() == [1, -1]
    # As an event without an encoding it has no spelling any more, and strict decoding refuses it.
    assert codec.quantise(whole).spelling is None
    assert not events.codec("hierarchical", strict=True).decode(odd).valid.any()


def test_each_way_to_read_tokens_keeps_spellings() -> None:
    odd = key("<0><25><5>")
    assert [side.spelling.tolist() for side in (events.decode([odd]), events.decode(odd))] == [[0], [0]]  # type: ignore[union-attr]
    long = events.decode(key() * 40_000 + odd + key())  # several pieces, on several threads
    assert long.spelling is not None
    assert np.flatnonzero(long.spelling >= 0).tolist() == [40_000]
