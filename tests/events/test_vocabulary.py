"""Whatever a tokenizer looks like, the same ids are read as the same tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay import events
from assay.errors import UsageError
from assay.events.codecs import kernels
from assay.events.codecs.tokens import TokenCodec
from assay.events.codecs.vocabulary import code_table

CODEC: TokenCodec = events.codec("hierarchical")  # type: ignore[assignment]
TOKENS = ["<pad>", "<EVENT_START>", "<EVENT_END>", "<KEYBOARD>", "<press>", "hello", "<65>", "<70000>", "<0065>"]
CODES = [-1, kernels.START, kernels.END, kernels.KEYBOARD, kernels.PRESS, -1, 65, 70000, 65]


class Listing:
    """As `tokenizers.Tokenizer` and transformers' tokenizers list their tokens."""

    def get_vocab(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(TOKENS)}


class Processor:
    """As transformers' processors hold their tokenizer."""

    tokenizer = Listing()


@pytest.mark.parametrize(
    "tokenizer",
    [Listing(), Processor(), dict(enumerate(TOKENS)), {token: at for at, token in enumerate(TOKENS)}],
    ids=["get_vocab", "processor", "id to token", "token to id"],
)
def test_every_kind_of_tokenizer_gives_the_same_codes(tokenizer: Any) -> None:
    assert code_table(CODEC.vocabulary(), tokenizer).tolist() == CODES
    ids = np.array([1, 3, 6, 6, 6, 6, 4, 2])
    assert CODEC.decode_ids(ids, tokenizer).to_events() == [
        {"kind": "keyboard", "ts": (65 * 100 + 65 * 10 + 65) * 10_000_000, "vk": 65, "press": True}
    ]


def test_a_number_beyond_every_base_is_read_as_in_text() -> None:
    """A tokenizer may have more number tokens than the encoding writes: ids and text agree on what they mean."""
    ids = [1, 3, 6, 6, 6, 7, 4, 2]
    text = "".join(TOKENS[at] for at in ids)
    assert CODEC.decode_ids(ids, dict(enumerate(TOKENS))).problems() == CODEC.decode(text).problems()


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ({0: "<EVENT_START>", 1: "hello"}, "does not have <EVENT_START> and <EVENT_END>"),
        (object(), "a object is not a supported tokenizer"),
        ({0: 1}, "contains 0: 1"),
        ({"<EVENT_START>": "x"}, "contains '<EVENT_START>': 'x'"),
        ({-1: "<EVENT_START>"}, "has the id -1"),
    ],
)
def test_invalid_tokenizers_are_refused(tokenizer: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        code_table(CODEC.vocabulary(), tokenizer)
