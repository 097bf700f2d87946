"""Texts cut into tokens, with everything that is known about a word by itself: its stem, list entries, units, cities.

Each word form is looked up once and remembered. Knows nothing of the words around a token.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress
from operator import attrgetter, sub

from assay.chat.reading.arithmetic import Arithmetic
from assay.chat.reading.entries import WordRun, is_form
from assay.chat.reading.lexicon import ANY_NUMBER, APOSTROPHES, PIECE, TOKEN, Lexicon, Phrase, Unit, normal
from assay.chat.reading.places import LARGE_CITY, CityNames, fold, gazetteer, may_name_city
from assay.chat.reading.quantities import parse_number
from assay.chat.reading.traits import (
    ENDS_CLAUSE,
    FOREIGN,
    IN_RUN,
    IS_WORD,
    MARKED,
    NAMES_CITY,
    NOTABLE,
    RELATES,
    having,
)
from assay.chat.reading.visible import as_latin

STOPS = frozenset(".!?…\n")
"""Marks that can end a sentence."""
# How many word forms are remembered, and the longest of them.
_MOST_FORMS = 50_000
_LONGEST_FORM = 60
# Longer words are not looked at as numbers: siebenhundertsiebenundsiebzigtausendsiebenhundertsiebenundsiebzig has 68.
_LONGEST_NUMBER_WORD = 70
# A number in digits that no list has.
_UNLISTED_NUMBER = "123456789"
# The positions of so many tokens are kept in an array; those of fewer in a list, which is read faster.
_MANY = 10_000
_LENGTH = attrgetter("length")
_TRAITS = attrgetter("traits")

CLAUSE_MARKS = frozenset(',;:()[]|—–"“”·•')
"""Marks that separate clauses."""


@dataclass(slots=True, eq=False)
class Token:
    """What is known about a word form, wherever it occurs."""

    raw: str
    length: int
    kind: str
    """'number', 'word', 'newline', 'degree' or 'mark'."""
    text: str
    """In lower case with plain apostrophes; '°' for every degree sign."""
    stem: str
    folded: str
    """In lower case without accents; names are compared in this form."""
    phrases: Sequence[Phrase]
    """List entries of one word that are this word."""
    is_inner: bool
    """Whether it may be the second or a later word of a list entry."""
    units: Sequence[Unit]
    denies: bool
    """Whether it negates by its ending: isn't, won't."""
    value: float | None
    """The value of a number word."""
    digits: tuple[float, int] | None
    """The value and the decimals of a number in digits."""
    cities: CityNames | None
    """Names of cities that start with it; None if there are none that it can name in the case that it is written in."""
    capital: bool
    is_ordinary: bool
    """Whether it is a function word, a list entry or an everyday word; then it hardly ever names a city."""
    hides: bool
    """Whether a list entry of one word that is this word hides what is inside it."""
    seconds: tuple[str, ...]
    """The keys under which entries are found whose second word it may be: its stem, its form."""
    is_number: bool
    """Whether it is a number, in digits or words."""
    joins: bool
    """Whether it is a content word, not a function word; a run of keywords consists of these."""
    traits: int
    """What it may be searched for: whether it starts a list entry or negates (`NOTABLE`), whether the tokeniser has to
    look at it (`MARKED`: formatting, the end of a line or sentence, a number), and so on.
    """
    run: WordRun = field(init=False, repr=False)
    """The list entries that begin with it; only a `NOTABLE` one has it."""


@dataclass(slots=True)
class Tokens:
    """A text's tokens, with their positions."""

    tokens: list[Token]
    starts: Sequence[int]
    ends: Sequence[int]
    stops: list[int]
    """Indices of the tokens that end a sentence, ascending."""
    numbers: list[int]
    """Indices of numbers, in digits or words."""
    traits: bytes
    """The traits of each token."""


class Tokeniser:
    """Cuts texts of one language into tokens."""

    def __init__(self, lexicon: Lexicon, *, use_places: bool) -> None:
        self._lexicon = lexicon
        self._known = _Known(lexicon, use_places=use_places)
        language = lexicon.language
        self._shortened = frozenset((*language.get("shortened", ()), *language.get("months_short", ())))
        self._short_days = frozenset(language.get("shortened_days", ()))

    def cut(self, text: str) -> Tokens:
        """The tokens of `text`, without formatting marks and soft line breaks; a hyphen between spaces is a dash."""
        if " - " in text:
            text = text.replace(" - ", " – ")
        pieces = PIECE.findall(text)
        pieces.pop()  # the end of the text
        if pieces and pieces[-1].isspace() and pieces[-1][-1] != "\n":
            pieces.pop()
        if self._lexicon.elisions and not APOSTROPHES.isdisjoint(text):
            pieces = list(self._without_elisions(pieces))
        tokens: list[Token] = list(map(self._known.__getitem__, pieces))
        positions = list if len(pieces) < _MANY else _compact
        ends = positions(accumulate(map(len, pieces)))
        starts = positions(map(sub, ends, map(_LENGTH, tokens)))
        stops: list[int] = []
        numbers: list[int] = []
        left_out: list[int] = []
        traits = bytes(map(_TRAITS, tokens))
        for at in having(traits, MARKED):
            token = tokens[at]
            kind = token.kind
            if kind == "format" or (kind == "newline" and self._is_soft_wrap(text, ends[at])):
                left_out.append(at)
            elif token.is_number:
                numbers.append(at - len(left_out))
            elif token.raw != "." or (_ends_sentence(text, ends[at]) and not self._shortens(text, tokens, ends, at)):
                stops.append(at - len(left_out))
        if left_out:
            kept = bytearray(b"\1") * len(tokens)
            for at in left_out:
                kept[at] = 0
            tokens, starts, ends = (
                list(compress(tokens, kept)),
                positions(compress(starts, kept)),
                positions(compress(ends, kept)),
            )
            traits = bytes(compress(traits, kept))
        return Tokens(tokens, starts, ends, stops, numbers, traits)

    def _is_soft_wrap(self, text: str, end: int) -> bool:
        """Whether a line break only wraps a sentence: the next line starts with a lower-case letter, not 'mer :'."""
        line = text[end : end + 8].lstrip(" \t")
        return line[:1].islower() and (":" not in line or line.partition(":")[0].rstrip(" .") not in self._short_days)

    def _shortens(self, text: str, tokens: Sequence[Token], ends: Sequence[int], at: int) -> bool:
        """Whether the full stop at token `at` shortens the word before a number: 'min. 6 °C', 'Tue. 6: …'.

        A day is shortened only at the start of its line: 'Plenty of sun. 20 °C'.
        """
        word = tokens[at - 1].text if at else ""
        if word not in self._shortened:
            if word not in self._short_days:
                return False
            before = text[text.rfind("\n", 0, ends[at]) + 1 : ends[at] - len(word) - 1]
            if any(map(str.isalnum, before)):
                return False
        after = text[ends[at] : ends[at] + 3].lstrip(" -−–")[:1]
        return after.isdigit() or after == ":"  # "mer. 15 avr. : nuageux"

    def _without_elisions(self, pieces: Iterable[str]) -> Iterator[str]:
        """The pieces of a text; one that begins with an elided word is two: l'averse."""
        for piece in pieces:
            if APOSTROPHES.isdisjoint(piece):
                yield piece
                continue
            raw = piece.lstrip()
            first, *rest = self._lexicon.split_elision(raw)
            yield piece[: len(piece) - len(raw)] + first
            yield from rest


class _Known(dict[str, Token]):
    """Tokens by the piece of text they were found in; each is made when it is first met."""

    def __init__(self, lexicon: Lexicon, *, use_places: bool) -> None:
        super().__init__()
        self._lexicon = lexicon
        self._use_places = use_places
        self._relating = Arithmetic.of(lexicon.language).combining.union(
            *(
                lexicon.language.get(name, ())
                for name in ("origin_words", "following_words", "comparing_words", "from_words")
            )
        )
        self._negative_endings = tuple(lexicon.language["negation"]["endings"])
        self._possessive_endings = tuple(lexicon.language.get("possessive_endings", ()))
        self._number_words: Mapping[str, float] = {
            **lexicon.language["numbers"],
            **lexicon.language.get("collectives", {}),
        }
        self._number_powers: Mapping[str, float] = lexicon.language.get("number_powers", {})
        self._number_joint = str(lexicon.language.get("number_joint", ""))
        self._after_number = lexicon.starting_with(ANY_NUMBER, exact=True)
        self._number_run: WordRun | None = None  # all numbers in digits begin the same entries
        self._decimal_comma = bool(lexicon.language.get("decimal_comma", False))
        self._function_words = frozenset(lexicon.language["function_words"])
        self._everyday = self._function_words | frozenset(lexicon.language["ordinary_names"].split())
        self._clause_ends = CLAUSE_MARKS | frozenset(lexicon.language["clause_words"])
        # Figures of kinds that are not checked are rare; those may be of something else in any text.
        checked = (foreign for kind, foreign in lexicon.foreign.items() if lexicon.kinds[kind].checked)
        self._foreign = frozenset().union(*(foreign.words for foreign in checked))
        listed = (lexicon.seconds, lexicon.inner, lexicon.units, self._number_words, self._everyday, self._foreign)
        # "8 oktas" begins with a number of its own, "# days" with any.
        self._first_numbers = {word for word in lexicon.by_form if word[:1].isdigit()}
        inner_numbers = {word for words in listed for word in words if word[:1].isdigit()}
        self._listed_numbers = self._first_numbers | inner_numbers
        self._any_number: Token | None = None

    def __missing__(self, piece: str) -> Token:
        raw, kind = piece.lstrip(), "word"
        if normal(raw) not in self._lexicon.elisions:
            match = TOKEN.search(piece)
            assert match is not None
            assert match.lastgroup is not None
            raw, kind = match[0], match.lastgroup
        token = self.get(raw)
        if token is None:
            token = self._number(raw) if kind == "number" else self._token(raw, kind)
        if len(self) > _MOST_FORMS:
            self.clear()
        if len(piece) <= _LONGEST_FORM:
            self[piece] = self[raw] = token
        return token

    def _value(self, text: str) -> float | None:
        """The value of a number word, which may be several in one: zweihundertfünfzig."""
        known = self._number_words.get(text)
        if known is not None or len(text) > _LONGEST_NUMBER_WORD:
            return known
        power = next((power for power in self._number_powers if power in text), None)
        if power is None:
            return None
        times, _, rest = text.partition(power)
        head = self._value(times) if times else 1.0
        tail = self._value(rest.removeprefix(self._number_joint)) if rest else 0.0
        size = self._number_powers[power]
        return None if head is None or tail is None or tail >= size else head * size + tail

    def _folded(self, raw: str, text: str) -> str:
        """A word as names are compared; that of "Oslo's" is "oslo", unless a name is written so: King's Lynn."""
        folded = fold(raw)
        owner = next((text[: -len(end)] for end in self._possessive_endings if text.endswith(end)), None)
        if owner is None or not self._use_places or not raw[0].isupper() or gazetteer().get(folded) is not None:
            return folded
        names = gazetteer().get(fold(owner))
        city = None if names is None else names.cities.get((fold(owner),))
        return fold(owner) if city is not None and city.people >= LARGE_CITY else folded

    def _number(self, raw: str) -> Token:
        """A number in digits. Texts have ever new ones, most of which differ from any other only in their digits."""
        if not raw.isascii() or raw in self._listed_numbers:
            return self._token(raw, "number")
        if self._any_number is None:
            self._any_number = self._token(_UNLISTED_NUMBER, "number")
        like = self._any_number
        digits = parse_number(raw, decimal_comma=self._decimal_comma)
        token = Token(
            raw, len(raw), like.kind, raw, raw, raw, like.phrases, like.is_inner, like.units, like.denies, like.value,
            digits, like.cities, like.capital, like.is_ordinary, like.hides, like.seconds, like.is_number, like.joins,
            like.traits,
        )  # fmt: skip
        token.run = like.run
        return token

    def _token(self, raw: str, kind: str) -> Token:
        length, raw = len(raw), as_latin(raw) if kind == "word" else raw
        text = "°" if kind == "degree" else normal(raw)
        is_word = kind == "word"
        value = self._value(text) if is_word else None
        is_number = kind == "number" or value is not None
        entries = self._lexicon.phrases(text) if kind in ("word", "mark") else []
        if is_number and kind != "number":
            entries = [*entries, *self._after_number]
        alone = [entry for entry in entries if not entry.reach and is_form(entry.parts[0], raw, text)]
        phrases = list({entry.keys: entry for entry in alone}.values())  # two entries of a list may be one word
        denies = is_word and text.endswith(self._negative_endings)
        folded = self._folded(raw, text) if is_word else fold(raw)
        stem = self._lexicon.stem(text) if is_word else text
        seconds = dict.fromkeys([stem, text, ANY_NUMBER] if is_number else [stem, text])
        capital = is_word and raw[0].isupper()
        is_ordinary = bool(phrases) or text in self._everyday
        cities = gazetteer().get(folded) if is_word and self._use_places else None
        if not capital and not may_name_city(cities, text, is_ordinary=is_ordinary):
            cities = None
        joins = is_word and text not in self._function_words
        traits = {
            NOTABLE: bool(entries or denies or (is_number and (self._after_number or raw in self._first_numbers))),
            MARKED: is_number or kind in ("format", "newline") or raw in STOPS,
            NAMES_CITY: cities is not None,
            IN_RUN: joins or text == ",",
            IS_WORD: is_word,
            ENDS_CLAUSE: text in self._clause_ends,
            FOREIGN: text in self._foreign or raw in self._foreign,
            RELATES: text in self._relating or (joins and text.endswith(self._possessive_endings)),
        }
        inner = self._lexicon.inner
        token = Token(
            raw=raw,
            length=length,
            kind=kind,
            text=text,
            stem=stem,
            folded=folded,
            phrases=phrases,
            is_inner=any(key in inner for key in seconds),
            units=self._lexicon.units.get(text, ()),
            denies=denies,
            value=value,
            digits=parse_number(raw, decimal_comma=self._decimal_comma) if kind == "number" else None,
            cities=cities,
            capital=capital,
            is_ordinary=is_ordinary,
            hides=any(phrase.hides for phrase in phrases),
            seconds=tuple(key for key in seconds if key in self._lexicon.seconds),
            is_number=is_number,
            joins=joins,
            traits=sum(trait for trait, has in traits.items() if has),
        )
        if kind == "number" and raw in self._first_numbers:
            own = self._lexicon.starting_with(raw, exact=True)
            token.run = WordRun(token, (), 1, _longer([*own, *self._after_number], raw, text))
        elif kind == "number":
            if self._number_run is None:
                self._number_run = WordRun(token, (), 1, _longer(self._after_number, raw, text))
            token.run = self._number_run
        elif traits[NOTABLE]:
            token.run = WordRun(token, (), 1, _longer(entries, raw, text))
        return token


def _longer(entries: Iterable[Phrase], raw: str, text: str) -> dict[str, list[Phrase]]:
    """The entries of several words that begin with a word, by the second one, the longest first."""
    found: dict[str, list[Phrase]] = {}
    for entry in sorted(entries, key=lambda entry: -len(entry.parts)):
        if len(entry.parts) > 1 and (entry.parts[0][0] == ANY_NUMBER or is_form(entry.parts[0], raw, text)):
            found.setdefault(entry.parts[1][0].lower(), []).append(entry)
    return found


def _compact(numbers: Iterable[int]) -> Sequence[int]:
    """The positions of a long text, which as a list of objects would take more memory than all that is found in it."""
    return array("q", numbers)


def _ends_sentence(text: str, end: int) -> bool:
    """Whether a full stop ends its sentence; one inside a word or before a lower-case letter does not."""
    if end >= len(text):
        return True
    if not text[end].isspace() and text[end] not in "\"'”’)]*_<":
        return False
    return end + 1 >= len(text) or not text[end + 1].islower()
