"""Which of a domain's preferences the stored data of a user express."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from assay.chat.domains import Domain, leaves
from assay.chat.reading.text import Reader

_NEGATIVE = ("dislikes", "hates", "avoid", "no", "not", "never", "disliked")


def read_preferences(data: Mapping[str, Any], domain: Domain, reader: Reader) -> frozenset[str]:
    """The domain's preferences in stored data, flat (`dislikes_cold: true`) or nested in any shape.

    Each value and the names that lead to it are read as one line of words: `{"dislikes": ["cold"]}` and
    `{"dislikes_cold": true}` both say "dislikes cold".
    """
    stem = reader.lexicon.stemmer.stem
    patterns, negative = _patterns(domain, reader)
    found = set()
    for path, value in leaves(data):
        if value is None or value is False or (isinstance(value, str) and value.lower() in ("", "false", "no", "none")):
            continue
        line = " ".join(path).replace("_", " ").replace("-", " ")
        if isinstance(value, str):
            line = f"{line} {value.replace('_', ' ')}"
        words = {stem(token.text) for token in reader.read(line).tokens if token.kind == "word"}
        for name, options in patterns.items():
            wants = any(option <= words for option in options)
            needs_dislike = any(option & negative for option in options)
            if wants and (needs_dislike or not words & negative):
                found.add(name)
    return frozenset(found)


@functools.lru_cache(maxsize=64)
def _patterns(domain: Domain, reader: Reader) -> tuple[dict[str, list[frozenset[str]]], frozenset[str]]:
    """The stems that express each preference of a domain, and those that express dislike."""
    stem = reader.lexicon.stemmer.stem
    patterns = {
        name: [frozenset(map(stem, pattern.split())) for pattern in preference["patterns"]]
        for name, preference in domain.preferences.items()
    }
    return patterns, frozenset(map(stem, _NEGATIVE))
