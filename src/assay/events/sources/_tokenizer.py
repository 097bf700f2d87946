"""The text of each token id, from a tokenizer's file or object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from assay.errors import SourceError, UsageError
from assay.events.sources._limits import default_max_memory, too_large

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
        largest = default_max_memory() // 4
        with open(file, "rb") as opened:
            raw = opened.read(largest + 1)
        if len(raw) > largest:
            raise too_large("the tokenizer's file", largest, file)
        content = from_json(raw)
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
    pairs: list[tuple[Any, Any]] = []
    if isinstance(vocabulary, list):  # Unigram: [[token, score], …]
        pairs = [(number, entry[0]) for number, entry in enumerate(vocabulary) if isinstance(entry, list) and entry]
    elif isinstance(vocabulary, dict):
        pairs = [(number, token) for token, number in vocabulary.items()]
    tokens: dict[int, str] = {}
    for number, token in pairs:
        if type(number) is not int or not isinstance(token, str):
            continue
        if tokens.setdefault(number, token) != token:
            raise SourceError(
                f"two tokens have the id {number}: {tokens[number][:40]!r} and {token[:40]!r}",
                where=file,
                hint=f"Give a {FILE} in which each token has an id of its own",
            )
    # An added token takes the place of one with its id, as in the library itself.
    added = content.get("added_tokens")
    for one in added if isinstance(added, list) else ():
        if isinstance(one, dict) and type(one.get("id")) is int and isinstance(one.get("content"), str):
            tokens[one["id"]] = one["content"]
    if not tokens:
        raise UsageError("the tokenizer's file has no tokens", where=file, hint=f"Give a {FILE}")
    return tokens
