"""Shortens text that is too long for its place."""

from __future__ import annotations


def shorten(text: str, most: int = 300) -> str:
    """A text, or its beginning if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
