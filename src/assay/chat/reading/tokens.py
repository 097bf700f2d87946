"""Texts cut into tokens, with everything that is known about a word by itself: its stem, list entries, units, cities.

Each word form is looked up once and remembered. Knows nothing of the words around a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.chat.reading.lexicon import ANY_NUMBER, APOSTROPHES, TOKEN, Lexicon, Phrase, Unit, normal
from assay.chat.reading.places import CityNames, fold, gazetteer

STOPS = frozenset(".!?…\n")
"""Marks that can end a sentence."""
# How many word forms are remembered.
_MOST_FORMS = 50_000


@dataclass(slots=True, eq=False)
class Token:
    """What is known about a word form, wherever it occurs."""

    raw: str
    kind: str
    """'number', 'word', 'newline', 'degree' or 'mark'."""
    text: str
    """In lower case with plain apostrophes; '°' for every degree sign."""
    stem: str
    folded: str
    """In lower case without accents; names are compared in this form."""
    phrases: Sequence[Phrase]
    """List entries of one word that are this word."""
    longer: Mapping[str, Sequence[Phrase]]
    """List entries of several words that start with it or one of its forms, by their second word, longest first."""
    units: Sequence[Unit]
    denies: bool
    """Whether it negates by its ending: isn't, won't."""
    value: float | None
    """The value of a number word."""
    cities: CityNames | None
    """Names of cities that start with it."""
    capital: bool
    notable: bool
    """Whether it starts a list entry or negates; other tokens are skipped."""
    is_number: bool
    """Whether it is a number, in digits or words."""
    joins: bool
    """Whether it is a content word, not a function word; a run of keywords consists of these."""
    marked: bool
    """Whether the tokeniser has to look at it: formatting, the end of a line or sentence, a number."""


@dataclass(slots=True)
class Tokens:
    """A text's tokens, with their positions."""

    tokens: list[Token]
    starts: list[int]
    ends: list[int]
    stops: list[int]
    """Indices of the tokens that end a sentence, ascending."""
    numbers: list[int]
    """Indices of numbers, in digits or words."""


class Tokeniser:
    """Cuts texts of one language into tokens."""

    def __init__(self, lexicon: Lexicon, *, use_places: bool) -> None:
        self._lexicon = lexicon
        self._use_places = use_places
        self._negative_endings = tuple(lexicon.language["negation"]["endings"])
        self._number_words: Mapping[str, float] = lexicon.language["numbers"]
        self._function_words = frozenset(lexicon.language["function_words"])
        self._known: dict[str, Token] = {}

    def cut(self, text: str) -> Tokens:
        """The tokens of `text`, without formatting marks and soft line breaks."""
        tokens: list[Token] = []
        starts: list[int] = []
        ends: list[int] = []
        stops: list[int] = []
        numbers: list[int] = []
        known = self._known
        elides = bool(self._lexicon.elisions)
        for match in TOKEN.finditer(text):
            raw = match[0]
            start, end = match.span()
            token = known.get(raw)
            if token is None:
                kind = match.lastgroup
                assert kind is not None
                if elides and kind == "word" and not APOSTROPHES.isdisjoint(raw):
                    first, *rest = self._lexicon.split_elision(raw)
                    if rest:  # l'averse
                        tokens.append(known.get(first) or self._token(first, "word"))
                        starts.append(start)
                        start += len(first)
                        ends.append(start)
                        raw = rest[0]
                        token = known.get(raw)
                token = token or self._token(raw, kind)
            if token.marked:
                kind = token.kind
                if kind == "format" or (kind == "newline" and _is_soft_wrap(text, end)):
                    continue
                if token.is_number:
                    numbers.append(len(tokens))
                elif _ends_sentence(text, end, raw):
                    stops.append(len(tokens))
            tokens.append(token)
            starts.append(start)
            ends.append(end)
        return Tokens(tokens, starts, ends, stops, numbers)

    def _token(self, raw: str, kind: str) -> Token:
        text = "°" if kind == "degree" else normal(raw)
        is_word = kind == "word"
        is_number = kind == "number" or text in self._number_words
        entries = self._lexicon.phrases(text) if kind in ("word", "mark") else []
        if is_number:
            entries = [*entries, *self._lexicon.by_form.get(ANY_NUMBER, ())]
        phrases = [entry for entry in entries if len(entry.parts) == 1 and is_form(entry.parts[0], raw, text)]
        longer: dict[str, list[Phrase]] = {}
        for entry in sorted(entries, key=lambda entry: -len(entry.parts)):
            if len(entry.parts) > 1:
                longer.setdefault(entry.parts[1][0].lower(), []).append(entry)
        denies = is_word and text.endswith(self._negative_endings)
        token = Token(
            raw=raw,
            kind=kind,
            text=text,
            stem=self._lexicon.stem(text) if is_word else text,
            folded=fold(raw),
            phrases=phrases,
            longer=longer,
            units=self._lexicon.units.get(text, ()),
            denies=denies,
            value=self._number_words.get(text),
            cities=gazetteer().get(fold(raw)) if is_word and self._use_places else None,
            capital=is_word and raw[0].isupper(),
            notable=bool(entries or denies),
            is_number=is_number,
            joins=is_word and text not in self._function_words,
            marked=is_number or kind in ("format", "newline") or raw in STOPS,
        )
        if len(self._known) > _MOST_FORMS:
            self._known.clear()
        self._known[raw] = token
        return token


def is_form(part: tuple[str, bool], raw: str, text: str) -> bool:
    """Whether a word is the form that a list entry gives; an entry with a capital letter requires one."""
    form, exact = part
    return not exact or form == (raw if any(c.isupper() for c in form) else text)


def _ends_sentence(text: str, end: int, mark: str) -> bool:
    """Whether a mark ends its sentence; a full stop inside a word or before a lower-case letter does not."""
    if mark != ".":
        return True
    if end >= len(text):
        return True
    if not text[end].isspace() and text[end] not in "\"'”’)]*_<":
        return False
    return end + 1 >= len(text) or not text[end + 1].islower()


def _is_soft_wrap(text: str, end: int) -> bool:
    """Whether a line break only wraps a sentence: the next line starts with a lower-case letter."""
    return text[end : end + 8].lstrip(" \t")[:1].islower()
