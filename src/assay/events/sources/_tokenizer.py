"""The text of each token id, from a tokenizer's file or object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from assay.errors import SourceError, UsageError

FILE = "tokenizer.json"


@dataclass(frozen=True)
class Tokens:
    """The tokens of a tokenizer."""

    tokens: Mapping[int, str]
    """Text by id."""

    @classmethod
    def of(cls, tokenizer: Any) -> Tokens:
        """From a tokenizer's file or folder, a dictionary, or an object of `tokenizers` or `transformers`."""
        if isinstance(tokenizer, cls):
            return tokenizer
        if isinstance(tokenizer, str | os.PathLike):
            return cls(_of_file(os.fspath(tokenizer)))
        from assay.events.codecs.vocabulary import vocabulary_of

        return cls({number: token for token, number in vocabulary_of(tokenizer).items()})


def _of_file(path: str) -> dict[int, str]:
    """The tokens in a `tokenizer.json` as Hugging Face's `tokenizers` writes it, or in a folder that has one."""
    file = os.path.join(path, FILE) if os.path.isdir(path) else path
    try:
        with open(file, "rb") as opened:
            content = from_json(opened.read())
    except (OSError, ValueError) as error:
        raise SourceError(
            f"the tokenizer cannot be read: {error}", where=file, hint=f"Give a {FILE}, or the folder that has it"
        ) from error
    if not isinstance(content, dict):
        raise SourceError("this is not a tokenizer file", where=file, hint=f"Give a {FILE}")
    model = content.get("model", {})
    vocabulary = model.get("vocab", {}) if isinstance(model, dict) else {}
    if not vocabulary and "model" not in content:
        vocabulary = content  # a plain vocabulary: {token: id}
    tokens: dict[int, str] = {}
    if isinstance(vocabulary, list):  # Unigram: [[token, score], …]
        tokens |= {number: entry[0] for number, entry in enumerate(vocabulary)}
    elif isinstance(vocabulary, dict):
        tokens |= {number: token for token, number in vocabulary.items() if isinstance(number, int)}
    tokens |= {entry["id"]: entry["content"] for entry in content.get("added_tokens", ())}
    if not tokens:
        raise UsageError("the tokenizer's file has no tokens", where=file, hint=f"Give a {FILE}")
    return tokens
