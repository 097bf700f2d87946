"""From the ids of a tokenizer to the codes of the compiled loops, for several kinds of tokenizer.

Supported are tokenizers and processors of transformers, `tokenizers.Tokenizer`, plain dictionaries (id to token or
token to id), and any object with `convert_tokens_to_ids`. None of these packages is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.events.codecs import kernels


class Tokenizer(Protocol):
    """The method that a tokenizer object must have; Hugging Face's tokenizers have it."""

    def convert_tokens_to_ids(self, tokens: list[str], /) -> list[int]: ...


AnyTokenizer = Tokenizer | Mapping[int, str] | Mapping[str, int] | Any
"""Any tokenizer that `code_table` accepts; `tokenizers.Tokenizer` and processors are recognised by their attributes."""

# A number token of up to nine digits is its own code, independent of the encoding's bases, as in text.
_NUMBER = re.compile(r"<([0-9]{1,9})>")


def code_table(vocabulary: Mapping[str, int], tokenizer: AnyTokenizer) -> NDArray[np.int64]:
    """For each token id the code of its token, shape (largest id of a known token + 1,); OTHER for all others.

    `vocabulary` has the encoding's tokens with their codes.
    """
    pairs = [
        (number, code)
        for token, number in _ids(vocabulary, tokenizer).items()
        if (code := _code(vocabulary, token)) is not None
    ]
    if not {kernels.START, kernels.END} <= {code for _, code in pairs}:
        raise UsageError(
            "the tokenizer does not have <EVENT_START> and <EVENT_END> as single tokens",
            hint="Add the encoding's tokens to it, or decode text instead",
        )
    table = np.full(max(number for number, _ in pairs) + 1, kernels.OTHER, np.int64)
    for number, code in pairs:
        table[number] = code
    return table


def _code(vocabulary: Mapping[str, int], token: str) -> int | None:
    known = vocabulary.get(token)
    if known is None and (number := _NUMBER.fullmatch(token)):
        return int(number[1])
    return known


def vocabulary_of(tokenizer: AnyTokenizer) -> dict[str, int]:
    """All tokens of a tokenizer with their ids."""
    return _ids({}, tokenizer)


def _ids(vocabulary: Mapping[str, int], tokenizer: AnyTokenizer) -> dict[str, int]:
    """Tokens with their ids: all tokens of the tokenizer, or, if it cannot list them, those of the encoding."""
    inner = getattr(tokenizer, "tokenizer", None)  # a processor has its tokenizer as an attribute
    if inner is not None and not hasattr(tokenizer, "get_vocab"):
        tokenizer = inner
    if isinstance(tokenizer, Mapping):
        return _of_mapping(tokenizer)
    if hasattr(tokenizer, "get_vocab"):
        return dict(tokenizer.get_vocab())
    if hasattr(tokenizer, "convert_tokens_to_ids"):
        tokens = list(vocabulary)
        unknown = getattr(tokenizer, "unk_token_id", None)
        found = zip(tokens, tokenizer.convert_tokens_to_ids(tokens), strict=True)
        return {token: number for token, number in found if number is not None and number >= 0 and number != unknown}
    raise UsageError(
        f"a {type(tokenizer).__name__} is not a supported tokenizer",
        hint="Give a transformers tokenizer, a tokenizers.Tokenizer, or a dictionary {id: token}",
    )


def _of_mapping(tokens: Mapping[Any, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in tokens.items():
        number, token = (value, key) if isinstance(key, str) else (key, value)
        if not isinstance(token, str) or isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise UsageError(
                f"the dictionary of tokens contains {key!r}: {value!r}",
                hint="Give {id: token}, e.g. {0: '<EVENT_START>'}",
            )
        if number < 0:
            raise UsageError(f"'{token}' has the id {number}", hint="Ids must be 0 or more")
        found[token] = int(number)
    return found
