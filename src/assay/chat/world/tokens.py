"""Token counts of the scripted model: a simple rule in place of a real tokenizer."""

from __future__ import annotations

import functools
import re

_MAX_CACHED_LENGTH = 10_000
_TOKEN = re.compile(r"\s*(?:\w{1,4}|[^\w\s])|\s+")


def tokenize(text: str) -> list[str]:
    """Split a text into tokens: up to four letters or digits, or one other character, with the space before it.

    Usage and `max_tokens` are counted in these tokens. For English text the count is close to that of real tokenizers.
    """
    return _TOKEN.findall(text)


def count_tokens(text: str) -> int:
    """The number of tokens in a text."""
    return _cached_count(text) if len(text) <= _MAX_CACHED_LENGTH else len(tokenize(text))


@functools.lru_cache(maxsize=4096)
def _cached_count(text: str) -> int:
    # Every request repeats the earlier messages of its conversation.
    return len(tokenize(text))
