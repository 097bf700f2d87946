"""Which language a text is in: one that has word lists, or one that has none.

Function words decide between the languages that have lists; a detector from PyPI is asked only if they do not decide.
Knows readers and texts; knows nothing of metrics.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.chat.reading.language_files import read_head, shipped_languages
from assay.chat.reading.lexicon import compile_lexicon
from assay.chat.reading.text import SHORT, Reader, Reading
from assay.chat.reading.traits import IS_WORD, count, having
from assay.errors import missing_extra

# The usual language is recognised by this share of function words that no other language with lists has, and this many;
# a short text by fewer if most of its words are: "What is it?"
_SHARE = 0.25
_FEWEST = 4
_MOST_OF_ALL = 0.6
_FEWEST_OF_SHORT = 2
# The beginning of a long text says which language it is in.
_ENOUGH = 2_000
# A text with fewer letters is too short for a detector. The detector is believed at this probability, or at the lower
# one if the text has a few words and less than this share of them are known.
_LETTERS = 12
_SURE = 0.5
# Letters of a text that is read in the language of its conversation if that has no lists.
_BRIEF = 40
_PROBABLE = 0.3
_CERTAIN = 0.9
_SHORT = 5
_KNOWN = 0.34
# It is not asked if at least this share of the words of a text is known and none belongs to another language; the
# higher one if no function word is among them.
_PLAIN = 0.55
_ALL_PLAIN = 0.9
# What the detector says of a text without words.
_NO_LANGUAGE = "zxx"
_LAST_LATIN = "\u024f"
# Latin letters with marks, and the marks that open a Spanish sentence: a language has only some of them.
_SIGNS = frozenset(map(chr, range(0xC0, 0x250))) | frozenset("¿¡")
# How many short texts are remembered with their language, and how many in a language without lists.
_CACHED = 512
_TEXT = attrgetter("text")


@dataclass(frozen=True, slots=True)
class Read:
    """A text's reading, with the reader of its language."""

    reading: Reading
    reader: Reader
    unknown: str | None = None
    """The code of its language if that has no word lists; only figures and names are read then."""


class Readers:
    """Readers of all languages that have lists for a domain; each is created when a text first needs it."""

    def __init__(
        self, primary: str | Path, folder: Traversable, own_words: Mapping[str, Iterable[str]], *, use_places: bool
    ) -> None:
        """`primary` is the language of texts that do not show theirs: the name of one, or the path of its file."""
        self._folder: Any = folder
        self._own_words = tuple((key, tuple(words)) for key, words in sorted(own_words.items()))
        self._use_places = use_places
        shipped = shipped_languages()
        self._paths: dict[str, str | Path] = {name: name for name in shipped if (folder / f"{name}.toml").is_file()}
        self.name = primary.stem if isinstance(primary, Path) else primary
        self._paths[self.name] = primary
        self._made: dict[str, Reader] = {}
        self._function_words = {name: _function_words(path) for name, path in self._paths.items()}
        counted: dict[str, int] = {}
        for words in self._function_words.values():
            for word in words:
                counted[word] = counted.get(word, 0) + 1
        self._own = {
            name: frozenset(word for word in words if counted[word] == 1)
            for name, words in self._function_words.items()
        }
        letters = {char for path in self._paths.values() for char in _letters(path)}
        self._signs = _SIGNS - letters - {char.upper() for char in letters}
        self._own_of_others = frozenset().union(*(words for name, words in self._own.items() if name != self.name))
        self.primary = self.reader(self.name)
        self._cached = functools.lru_cache(maxsize=_CACHED)(self._read)
        self._unknown = functools.lru_cache(maxsize=_CACHED)(self._read_unknown)
        self._recognise = functools.lru_cache(maxsize=4 * _CACHED)(self._recognised)

    def reader(self, name: str) -> Reader:
        """The reader of a language."""
        if name not in self._made:
            self._made[name] = shared_reader(self._paths[name], self._folder, self._own_words, self._use_places)
        return self._made[name]

    def read(self, text: str, *, usual: str | None = None) -> Read:
        """The reading of a text in its own language; in `usual`, the conversation's, if the text does not show it."""
        return self._cached(text, usual) if len(text) <= SHORT else self._read(text, usual)

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Read texts that will be asked for soon in the usual language, as all are first; together, which is faster."""
        self.primary.read_ahead(text for text in texts if len(text) <= _ENOUGH)

    def _read(self, text: str, usual: str | None) -> Read:
        name = self.language(text)
        if name is None or (usual and usual not in self._paths and name != self.name and _is_brief(text)):
            name = usual or self.name  # "Det er kaldt" has a German word, but the question was in Norwegian
        if name not in self._paths:
            return Read(self._unknown(text), self.primary, name)
        reader = self.reader(name)
        return Read(reader.read(text), reader)

    def language(self, text: str) -> str | None:
        """The code of the language that a text is in; None if it does not show."""
        return self._recognise(text[:_ENOUGH])

    def language_between(self, asked: str, answered: str) -> str | None:
        """The code of the language of a question and its answer: the answer's, if it shows more than a few words."""
        name = self.language(answered)
        if name is None or (name != self.name and name in self._paths and _is_brief(answered)):
            of_question = self.language(asked)
            return name if of_question in self._paths and name else of_question or name
        return name

    def _recognised(self, text: str) -> str | None:
        reading = self.primary.read(text)
        number = count(reading.traits, IS_WORD)
        if not number:
            return None
        own = sum(map(self._own[self.name].__contains__, map(_TEXT, reading.tokens)))
        if own >= max(_FEWEST, _SHARE * number) or own >= max(_FEWEST_OF_SHORT, _MOST_OF_ALL * number):
            return self.name
        if all(_is_glued(reading, at) for at in having(reading.traits, IS_WORD)):
            return None
        other_script = max(text) > _LAST_LATIN and _is_other_script(self._without_places(reading))
        if not other_script and self._is_plain(reading, own):
            return self.name
        rest = self._without_places(reading)
        words = [reading.tokens[at].text for at in having(reading.traits, IS_WORD) if not _is_glued(reading, at)]
        has_signs = not rest.isascii() and any(char in self._signs for char in rest)
        is_short = sum(map(len, words)) < _LETTERS and not other_script and not has_signs
        detected, probability = (_NO_LANGUAGE, 0.0) if is_short else _detector()(rest)
        if has_signs and detected not in self._paths and probability >= _PROBABLE:
            return detected  # "¿Va a llover mañana?", whose words are also French
        if detected in self._paths and probability >= _SURE:
            return detected  # whatever the lists say, which takes longer to find out
        votes = {name: sum(word in listed for word in words) for name, listed in self._own.items()}
        evidence = {name: votes[name] + self._listed(name, reading) for name in self._paths}
        most = max(evidence, key=lambda name: (evidence[name], name == self.name))
        shown = most if votes[most] or evidence[most] > 1 or (evidence[most] and most == self.name) else None
        if is_short:
            return shown
        if detected in self._paths:
            return detected if evidence[detected] == evidence[most] else shown
        # Related languages share function words: a detector that is certain is believed against all but the usual one.
        is_known = evidence[most] >= _KNOWN * len(words) and (most == self.name or probability < _CERTAIN)
        if detected == _NO_LANGUAGE or is_known:
            return shown
        return detected if probability >= (_PROBABLE if len(words) >= _SHORT or other_script else _SURE) else shown

    def _is_plain(self, reading: Reading, own: int) -> bool:
        """Whether most words of a text, names of cities aside, are known in the usual language and none in another.

        Most texts are like this; the detector, whose model takes longer to load than everything else, is not needed.
        """
        listed, tokens = reading.listed_words(), reading.tokens
        words = having(reading.traits, IS_WORD)
        others = [tokens[at].text for at in words if at not in listed]
        unknown = [word for word in others if word not in self._function_words[self.name]]
        if not self._own_of_others.isdisjoint(unknown):
            return False
        in_places = sum(count(reading.traits[place.first : place.last + 1], IS_WORD) for place in reading.places)
        # "in Berlin?" has only a word that several languages share, "temps pluvieux" one that is an English plural.
        known = len(words) - len(unknown)
        return bool(own or listed) and known >= (_PLAIN if own else _ALL_PLAIN) * (len(words) - in_places)

    def _without_places(self, reading: Reading) -> str:
        """A text without the names of cities, which look like the language of their country."""
        kept, at = [], 0
        for place in reading.places:
            kept.append(reading.text[at : place.start])
            at = place.end
        return "".join([*kept, reading.text[at:]])

    def _listed(self, name: str, reading: Reading) -> int:
        """How many words of a text, as read in the usual language, are in the lists of a language."""
        if name == self.name:
            return len(reading.listed_words())
        return self.reader(name).count_listed(reading.text)

    def _read_unknown(self, text: str) -> Reading:
        """Figures and names in a text whose words are unknown; nothing in it is denied, asked or supposed."""
        return self.primary.read_figures_only(text)


@functools.lru_cache(maxsize=64)
def shared_reader(
    language: str | Path, folder: Any, own_words: tuple[tuple[str, tuple[str, ...]], ...], use_places: bool
) -> Reader:
    """One reader for all evaluators with the same words."""
    return Reader(compile_lexicon(language, folder, dict(own_words)), use_places=use_places)


@functools.cache
def _function_words(language: str | Path) -> frozenset[str]:
    stated = read_head(language)
    return frozenset((*stated["function_words"], *stated.get("recognised_by", ())))


def _is_brief(text: str) -> bool:
    """Whether a text is too short for a few words that languages share to show which one it is in."""
    return sum(map(str.isalpha, text[: 2 * _BRIEF])) < _BRIEF


def _is_glued(reading: Reading, at: int) -> bool:
    """Whether a word is the ending or the unit of the number before it, as in 20th and 5pm: it shows no language."""
    return at > 0 and reading.tokens[at - 1].kind == "number" and reading.starts[at] == reading.ends[at - 1]


@functools.cache
def _letters(language: str | Path) -> str:
    """The letters of a language beyond those of English."""
    return str(read_head(language).get("letters", ""))


def _is_other_script(text: str) -> bool:
    """Whether most letters of a text are not Latin."""
    letters = [char for char in text if char.isalpha()]
    return sum(char > _LAST_LATIN for char in letters) * 2 > len(letters)


@functools.cache
def _detector() -> Callable[[str], tuple[str, float]]:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise missing_extra("py3langid", "chat", "recognise languages without word lists") from error
    classify: Callable[[str], tuple[str, float]] = LanguageIdentifier.from_model_file(
        MODEL_FILE, norm_probs=True
    ).classify
    return classify
