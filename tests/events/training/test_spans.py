"""Events are read where the labels say that there is one: checked against a plain reading, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.events.training.batches import MASKED, batch, plain_reading, vocabulary

from assay import events
from assay.errors import UsageError
from assay.events import EventStream, synthetic
from assay.events.codecs.tokens import IGNORED_TOKENS, TokenCodec
from assay.events.training.spans import CUT_OFF, RowEvents, SpanReader
from assay.types import Ints

ENCODINGS = ("hierarchical", "hierarchical-time-first", "factorized")
TRUTH = synthetic.recording(episodes=6, seconds=2, seed=1)


def named(encoding: str) -> TokenCodec:
    codec: TokenCodec = events.codec(encoding)  # type: ignore[assignment]
    return codec


def reader(codec: TokenCodec, *, shift: bool = True) -> SpanReader:
    return SpanReader(codec, codec.codes_of(vocabulary(codec)), shift)


def rows(seed: int, n: int = 4) -> list[EventStream]:
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, len(TRUTH) - 30, n)
    return [TRUTH[start : start + size] for start, size in zip(starts, rng.integers(0, 30, n), strict=True)]


def columns(stream: EventStream) -> list[Ints]:
    return [
        getattr(stream, name) for name in ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")
    ]


def equal(a: EventStream, b: EventStream) -> None:
    for ours, theirs in zip(columns(a), columns(b), strict=True):
        assert np.array_equal(ours, theirs)


def check(codec: TokenCodec, found: RowEvents, texts: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]) -> None:
    for side, plain in zip((found.predicted, found.truth), texts, strict=True):
        equal(side, codec.decode_each([text for row in plain for text in row]))
    assert found.lengths.tolist() == [len(row) for row in texts[1]]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("mask_images", [True, False])
def test_reading_equals_the_plain_one(encoding: str, mask_images: bool) -> None:
    codec = named(encoding)
    table = vocabulary(codec)

    @settings(max_examples=25)
    @given(st.integers(0, 10_000), st.sampled_from([0.0, 0.02, 0.3, 1.0]), st.booleans())
    def law(seed: int, wrong: float, left: bool) -> None:
        made = batch(codec, table, rows(seed), wrong=wrong, mask_images=mask_images, seed=seed, left=left)
        found = reader(codec).read(made.predictions, made.labels, made.inputs)
        check(codec, found, plain_reading(codec, table, made.predictions, made.labels))
        if wrong == 0:
            equal(found.predicted, found.truth)
        assert found.truth.valid.all()

    law()


def test_labels_that_are_spoiled_are_read_as_the_plain_reading_does() -> None:
    """Any tokens in any order as labels: nothing crashes, frames are those of the labels."""
    codec = named("hierarchical")
    table = vocabulary(codec)
    ids = {token: number for number, token in table.items()}
    common = [ids[token] for token in ("<EVENT_START>", "<EVENT_END>", "<KEYBOARD>", "<press>", "<1>", "<65>", "hello")]

    @settings(max_examples=80)
    @given(
        st.lists(st.sampled_from([*common, MASKED]), max_size=40),
        st.lists(st.sampled_from(common), max_size=40),
        st.booleans(),
    )
    def law(labels: list[int], guesses: list[int], shift: bool) -> None:
        width = len(labels)
        asked = np.array([labels], np.int64).reshape(1, width)
        guess = np.resize(np.array(guesses or [0], np.int64), (1, width))
        found = reader(codec, shift=shift).read(guess, asked)
        check(codec, found, plain_reading(codec, table, guess, asked, shift=shift))

    law()


def tokens(codec: TokenCodec, text: str) -> Ints:
    ids = {token: number for number, token in vocabulary(codec).items()}
    parts = [MASKED if part == "·" else ids[part] for part in text.split()]
    return np.array([parts], np.int64)


KEY = "<EVENT_START> <KEYBOARD> <0> <1> <2> <65> <press> <EVENT_END>"
SHOT = "<EVENT_START> <SCREEN> <0> <1> <2>"


def test_one_wrong_token_costs_one_event() -> None:
    """Every single token of every event, replaced by every kind of wrong token: that event changes, no other does."""
    codec = named("hierarchical")
    ids = {token: number for number, token in vocabulary(codec).items()}
    labels = tokens(codec, f"· {KEY} {KEY} {SHOT} · · <EVENT_END> {KEY}")
    right = np.full_like(labels, ids["hello"])
    right[0, :-1] = labels[0, 1:]
    for wrong in ("<EVENT_START>", "<EVENT_END>", "<MOUSE>", "<SCREEN>", "<7>", "hello", "<release>"):
        for at in range(labels.shape[1] - 1):
            spoiled = right.copy()
            spoiled[0, at] = ids[wrong]
            found = reader(codec).read(spoiled, labels)
            assert len(found.truth) == 4
            changed = [a != b for a, b in zip(found.predicted.to_events(), found.truth.to_events(), strict=True)]
            assert sum(changed) <= 1
            asked = labels[0, at + 1] not in (MASKED, ids[wrong])
            assert sum(changed) == (1 if asked else 0)


@pytest.mark.parametrize(
    "image",
    [
        "· <EVENT_END>",
        "· · · · <EVENT_END>",
        "· · · ·",
        "<fake_token_around_image> · · <fake_token_around_image> <EVENT_END>",
        "<img> · · </img> <EVENT_END>",
        "<fake_image_placeholder> <EVENT_END>",
    ],
)
def test_masked_images_are_frames(image: str) -> None:
    """Masked in part, wholly, or together with the <EVENT_END>: the frame's time is scored in each case."""
    codec = named("hierarchical")
    for text, n in ((f"· {SHOT} {image} {KEY}", 2), (f"{KEY} {SHOT} {image}", 2), (f"· {SHOT} {image} ·", 1)):
        labels = tokens(codec, text)
        found = reader(codec).read(np.roll(labels, -1), labels)
        assert len(found.truth) == n
        assert found.truth.valid.all()
        equal(found.predicted, found.truth)
        assert not found.truth.notes


def test_the_end_of_a_row_cuts_events_off() -> None:
    codec = named("hierarchical")
    for broken in ("<EVENT_START> <KEYBOARD> <0>", "<EVENT_START>", SHOT, "<EVENT_START> <KEYBOARD> <0> · ·"):
        labels = tokens(codec, f"{KEY} {broken}")
        found = reader(codec).read(np.roll(labels, -1), labels)
        assert len(found.truth) == 1
        assert found.truth.notes == {CUT_OFF: 1}
    labels = tokens(codec, f"{KEY} <EVENT_START> <KEYBOARD> <0> {KEY}")
    found = reader(codec).read(np.roll(labels, -1), labels)
    assert [problem.name for problem in found.truth.problems()] == ["CUT_SHORT"]  # the data are wrong, and say so


def test_what_lies_between_events_is_counted() -> None:
    codec = named("hierarchical")
    labels = tokens(codec, f"hello {KEY} hello <EVENT_END> · {KEY}")
    found = reader(codec).read(np.roll(labels, -1), labels)
    assert found.truth.notes == {IGNORED_TOKENS: 3}


def test_predictions_may_lack_the_last_position() -> None:
    codec = named("hierarchical")
    labels = tokens(codec, f"· {KEY} {KEY}")
    whole, short = (reader(codec).read(guess, labels) for guess in (np.roll(labels, -1), labels[:, 1:]))
    equal(whole.predicted, short.predicted)


def test_nothing_is_nothing() -> None:
    codec = named("hierarchical")
    for shape in ((0, 0), (0, 5), (3, 0), (2, 4)):
        nothing = np.full(shape, MASKED, np.int64)
        found = reader(codec).read(nothing, nothing)
        assert len(found.truth) == len(found.predicted) == 0
        assert found.lengths.tolist() == [0] * shape[0]


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        (np.zeros((2, 5), int), np.zeros((2, 9), int), r"predictions have shape \(2, 5\) and labels \(2, 9\)"),
        (np.zeros((2, 5)), np.zeros((2, 5), int), "hold float64"),
        (np.zeros(5, int), np.zeros((2, 5), int), "shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(predictions: Ints, labels: Ints, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        reader(named("hierarchical")).read(predictions, labels)
