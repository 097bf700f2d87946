"""Decoding token ids with a tokenizer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.events.encodings import PRESS_A, TOKEN_ENCODINGS, golden, token_codec

from assay.errors import UsageError
from assay.events.codecs.tokens import IGNORED_TOKENS
from assay.events.stream import Problem


class Tokenizer:
    """A minimal tokenizer: a list of tokens, the first of which represents unknown ones."""

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
@pytest.mark.slow
def test_token_ids_decode_to_the_same_events_as_their_text(encoding: str) -> None:
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
    # Predicted ids at the positions with a label.
    predicted = [7] * 4 + event + [9] * 3
    found = decoder.decode_ids(predicted, tokenizer, labels=labels)
    assert found.to_events() == decoder.decode(PRESS_A).to_events()
    assert IGNORED_TOKENS not in found.notes


@pytest.mark.parametrize("name", TOKEN_ENCODINGS)
@pytest.mark.parametrize("masked", [1, 5])
def test_a_completely_masked_image_is_an_image(name: str, masked: int) -> None:
    decoder, tokenizer = token_codec(name), Tokenizer()
    head, image, end = "<EVENT_START><SCREEN><0><0><5>", "<fake_image_placeholder>", "<EVENT_END>"
    if decoder.time_first:
        head = "<EVENT_START><0><0><5><SCREEN>"
    begin, stop = tokenizer.ids(head), tokenizer.ids(end)
    frame = [*begin, *[-100] * masked, *stop]
    whole = decoder.decode(head + image + end).to_events()
    assert whole != [None]
    assert decoder.decode_ids([-100, *frame, *frame, -100], tokenizer).to_events() == whole * 2
    # If nothing is masked there is no image, and other masked tokens are not filled in.
    assert decoder.decode_ids([*begin, *stop], tokenizer).to_events() == [None]
    assert decoder.decode_ids([*begin[:-1], -100, -100, *stop], tokenizer).to_events() == [None]
    assert decoder.decode_ids([*begin, -100, *begin, -100], tokenizer).to_events() == [None, None]


def test_each_row_of_ids_is_a_separate_sequence() -> None:
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


def test_an_empty_list_of_ids_has_no_events() -> None:
    assert len(token_codec("hierarchical").decode_ids([], Tokenizer())) == 0
    assert len(token_codec("hierarchical").decode_ids(np.empty((0,), np.int64), Tokenizer())) == 0
    assert len(token_codec("hierarchical").decode_ids(np.full((3, 4), -100), Tokenizer())) == 0


def test_invalid_ids_labels_and_tokenizers_are_refused() -> None:
    decoder = token_codec("hierarchical")
    with pytest.raises(UsageError, match="does not have <EVENT_START>"):
        decoder.decode_ids([1, 2], Tokenizer("<EVENT_START>"))
    with pytest.raises(UsageError, match="whole numbers"):
        decoder.decode_ids([1.5], Tokenizer())
    with pytest.raises(UsageError, match="whole numbers"):
        decoder.decode_ids(np.zeros((2, 2, 2), np.int64), Tokenizer())
    with pytest.raises(UsageError, match="one label per id"):
        decoder.decode_ids([1, 2], Tokenizer(), labels=[1])
