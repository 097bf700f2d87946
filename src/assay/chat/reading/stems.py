"""The stems of words, by the algorithms of Snowball: rain, rains and raining are one word."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assay.errors import UsageError, missing_extra

# Longer runs of letters are not words, and finding their stems would waste time.
_LONGEST_WORD = 40
_MOST_KNOWN = 100_000


class Stemmer:
    """Stems of words of a language, each computed once."""

    def __init__(self, name: str, derived_endings: Iterable[str] = ()) -> None:
        self._stem = _algorithm(name)
        self._derived = tuple(derived_endings)
        self._known: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """The stem of a normalised word. A derived word (clearly) keeps its ending: it differs from clear."""
        known = self._known.get(word)
        if known is not None:
            return known
        if len(word) > _LONGEST_WORD or (len(word) > 4 and word.endswith(self._derived)):
            return word
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        stem = self._stem(word)
        self._known[word] = stem
        return stem


def _algorithm(name: str) -> Callable[[str], str]:
    try:
        import Stemmer as Snowball
    except ImportError as error:
        raise missing_extra("Stemmer", "chat", "match words with their inflections") from error
    if name not in (names := Snowball.algorithms()):
        raise UsageError(f"there is no stemmer for '{name}'", hint=f"Use one of: {', '.join(names)}")
    stem: Callable[[str], str] = Snowball.Stemmer(name, maxCacheSize=0).stemWord  # stems are kept here already
    return stem
