"""Parts of a response that quote the user's own words, in quotation marks or quoted lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from assay.chat.reading.text import Reading

_MARKS = ('"', "“", "«", "„", ">")
_QUOTES = {'"': '"', "“": "”", "«": "»", "„": "“"}


def quoted_tokens(response: Reading, user_texts: Iterable[Reading]) -> frozenset[int]:
    """Indices of the response's tokens inside quotations that repeat one of the user's texts."""
    text = response.text
    quotations = _quotations(response) if any(mark in text for mark in _MARKS) else []
    if not quotations:
        return frozenset()
    texts = [f" {text.plain()} " for text in user_texts]
    return frozenset(
        at for first, last in quotations if _is_repeated(response, first, last, texts) for at in range(first, last + 1)
    )


def _quotations(response: Reading) -> list[tuple[int, int]]:
    """First and last token inside each pair of quotation marks and on each line that starts with '>'."""
    newlines = [at for at, token in enumerate(response.tokens) if token.kind == "newline"]
    found: list[tuple[int, int]] = []
    open_at: int | None = None
    closing = ""
    for at, token in enumerate(response.tokens):
        if open_at is not None and token.text == closing:
            found.append((open_at + 1, at - 1))
            open_at = None
        elif open_at is None and token.text in _QUOTES:
            open_at, closing = at, _QUOTES[token.text]
        elif token.text == ">" and (at == 0 or response.tokens[at - 1].kind == "newline"):
            newline = bisect_left(newlines, at)
            stop = newlines[newline] if newline < len(newlines) else len(response.tokens)
            found.append((at + 1, stop - 1))
    return found


def _is_repeated(response: Reading, first: int, last: int, user_texts: Sequence[str]) -> bool:
    words = [token.text for token in response.tokens[first : last + 1] if token.kind in ("word", "number")]
    return bool(words) and any(f" {' '.join(words)} " in text for text in user_texts)
