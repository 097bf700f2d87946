"""Which city or product a part of a text is about.

Knows the names that the gazetteer, the suite and the ground truth have; knows no metric.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from assay.chat.domains import Domain
from assay.chat.reading.columns import tables
from assay.chat.reading.places import Place, main_name, words_of
from assay.chat.reading.positions import FIRST, within
from assay.chat.reading.text import Reader, Reading
from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS, Token
from assay.chat.reading.traits import NOTABLE
from assay.chat.scoring.context.namesakes import with_namesakes
from assay.chat.scoring.context.products import ProductNames
from assay.chat.scoring.context.respective import respective
from assay.chat.scoring.context.set_aside import without_rejected
from assay.chat.scoring.context.word_names import find_words
from assay.chat.scoring.once import once

# A number, its unit and a preposition: a place at most this many tokens later is what the number is about.
_CLOSE = 8
# "Both cities are cloudy": how far from a token such a word may be.
_ALL_REACH = 4
_ENDS = CLAUSE_MARKS | STOPS
# How many readings with a suite's own names are kept.
_MOST_KEPT = 64
# A region may follow these: Portland, Oregon; Newcastle upon Tyne.
_BEFORE_REGION = frozenset((",", "(", "upon", "on", "an", "am"))


@dataclass(slots=True)
class _Named:
    """The subjects that one text names."""

    places: list[Place]
    """In the order of the text."""
    firsts: list[int]
    """Index of each one's first token."""
    all: list[str]
    """The name of each."""
    names: frozenset[str]
    names_truth: bool
    """Whether the ground truth's is among them."""
    assigned: Mapping[int, str]
    """The one that a token is about because of a table's heading or a word such as 'respectively'."""


class Subjects:
    """The cities or products that texts of one conversation name."""

    def __init__(
        self,
        *,
        domain: Domain,
        reader: Reader,
        true: str | None,
        names: Mapping[str, Sequence[tuple[str, ...]]],
        others: Sequence[str] = (),
    ) -> None:
        """`true` is the ground truth's; `names` are the suite's own: the folded words of each, by the first word.

        `others` are cities whose names are words: Nice.
        """
        self._domain = domain
        self._reader = reader
        self._suite_names = names
        # What follows a comma ("Helsinki, FI") is left out.
        self._true_words = words_of(true.split(",")[0]) if true else ()
        self._has_true_subject = bool(true)
        self._true = true or ""
        self._articles = frozenset(reader.lexicon.language.get("articles", ()))
        language = reader.lexicon.language["stemmer"]
        self._others = [name for name in others if (name,) != self._true_words]
        self._key = sys.intern(
            f"subjects, in {language}, with {' '.join((self._true, *self._true_words, '|', *self._others))}"
        )
        self._collective = frozenset(reader.lexicon.language.get("collective_words", ()))
        self._than = frozenset(reader.lexicon.language.get("than_words", ()))
        self._comparing = frozenset(reader.lexicon.language.get("comparing_words", ()))
        self._here = frozenset(reader.lexicon.language.get("here_words", ()))
        self._openers = frozenset(reader.lexicon.language["clause_words"])
        self._products = ProductNames(reader, self._true_words)
        self._by_reading: dict[object, _Named] = {}
        self.token = object()
        """Stands for these subjects in what is kept with a reading; it refers to nothing."""

    def names_in(self, reading: Reading) -> frozenset[str]:
        """Names of the subjects in a text."""
        return self._named(reading).names

    def names_in_all(self, readings: Iterable[Reading]) -> set[str]:
        """Names of the subjects in several texts."""
        found: set[str] = set()
        key = None if self._suite_names else self._key
        for reading in readings:
            named = reading.memory.get(key) or self._named(reading)
            found |= named.names
        return found

    def mentions(self, reading: Reading) -> list[Place]:
        """Where a text names subjects, in order."""
        return self._named(reading).places

    def is_about_truth(self, reading: Reading, index: int) -> bool:
        """Whether token `index` of a text is about the ground truth's subject."""
        return not self._has_true_subject or self.is_about(reading, index, self.true_names)

    @once
    def true_names(self) -> list[str]:
        """The name of the ground truth's subject; empty if it has none."""
        words = self._true_words
        if not words:
            return []
        return [main_name(words) if self._domain.uses_places else " ".join(words)]

    @property
    def true_words(self) -> tuple[str, ...]:
        """The words of the name of the ground truth's subject, in lower case without accents."""
        return self._true_words

    @property
    def is_plural(self) -> bool:
        """Whether the ground truth's subject may be several things by its name: Ridge Boots."""
        return any(word.endswith("s") for word in self._true_words)

    def is_true_word(self, folded: str) -> bool:
        """Whether a word, in lower case without accents, is a part of the name of the ground truth's subject."""
        return folded in self._true_words

    def is_true_name(self, names: Sequence[str]) -> bool:
        """Whether one of `names` is that of the ground truth's subject; true if there are none, or it has none."""
        true = self.true_names
        return not names or not true or names[0] == true[0] or is_one_of(names, true)

    def is_about(self, reading: Reading, index: int, subjects: Iterable[str]) -> bool:
        """Whether token `index` of a text is about one of `subjects`; true if the text does not say which."""
        names = self.subject_at(reading, index)
        return not names or is_one_of(names, subjects)

    def subject_at(self, reading: Reading, index: int) -> list[str]:
        """The names of what token `index` of a text is about; empty if the text does not say.

        A token is about the subject that directly follows it ("28 °C in Madrid"), else the nearest one before it in its
        sentence, else the next one in its sentence, else the nearest one in an earlier sentence.
        """
        named = self._named(reading)
        places = named.places
        if not places:
            return []
        at = bisect_right(named.firsts, index) - 1
        if len(places) == 1 and at == 0 and (self._domain.uses_places or self.is_true_name(named.all)):
            return named.all
        if len(places) > 1:
            assigned = named.assigned.get(index)
            if assigned is not None:
                return [assigned]
            if self._is_of_all(reading, index):
                return []
        first, last = reading.sentence(index)
        if at + 1 < len(places) and self._follows(reading, index, places[at + 1]):
            nearest = at + 1
        elif at >= 0 and places[at].first >= first:
            nearest = at + 1 if at + 1 < len(places) and self._is_of_next_clause(reading, index, at, places) else at
        elif at + 1 < len(places) and places[at + 1].first <= last and not self._is_before(reading, index, at, places):
            nearest = at + 1
        else:
            nearest = at
            if nearest >= 0 and not self._domain.uses_places and self._is_compared_with(reading, places[nearest]):
                nearest -= 1  # "It's cheaper than the Brisa. In stock."
            if nearest < 0:
                return []
        if len(places) == 1:
            return named.all
        around = places[max(0, nearest - 1) : nearest + 2]
        chosen = places[nearest]
        return [place.name for place in around if place is chosen or self._is_one_place(reading, place, chosen)]

    def _is_compared_with(self, reading: Reading, place: Place) -> bool:
        """Whether a text names something only to compare another with it."""
        before = reading.tokens[max(0, place.first - 2) : place.first]
        return not self.is_true_name([place.name]) and any(token.text in self._than for token in before)

    def _is_of_all(self, reading: Reading, index: int) -> bool:
        """Whether something is said of all places alike: 'both cities are cloudy'."""
        tokens = reading.tokens
        for stretch in (tokens[max(0, index - _ALL_REACH) : index][::-1], tokens[index + 1 : index + _ALL_REACH]):
            for token in stretch:
                if token.text in self._collective:
                    return True
                if token.text in _ENDS or (token.capital and token.cities is not None):
                    break
        return False

    def _is_of_next_clause(self, reading: Reading, index: int, at: int, places: Sequence[Place]) -> bool:
        """Whether token `index` is in a clause that contrasts the place after it with the one before.

        'Although it's sunny in Rome, it rains in Bonn'; not 'it's wet in Oslo, but 15 °C is more than in Rome'.
        """
        tokens, before, after = reading.tokens, places[at], places[at + 1]
        ends = self._reader.clause_ends(reading)
        first, last = reading.sentence(index)
        end = bisect_right(ends, index)
        start, stop = ends[end - 1] if end else -1, ends[end] if end < len(ends) else last + 1
        if start <= before.last or after.first > min(stop, last):
            return False
        contrasts = any(token.text in self._openers for token in tokens[first:index])
        return contrasts and not any(token.text in self._than for token in tokens[index + 1 : after.first])

    def _is_before(self, reading: Reading, index: int, at: int, places: Sequence[Place]) -> bool:
        """Whether the place of the sentence before is meant: 'Seattle. It's raining there, while Bonn is dry.'"""
        tokens, (first, _) = reading.tokens, reading.sentence(index)
        if at < 0 and self._domain.uses_places:  # "It's 27 °C there, compared with 21 °C in Nairobi."
            between = tokens[index + 1 : places[0].first]
            here = next((n for n, token in enumerate(between) if token.text in self._here), len(between))
            is_parted = any(token.text in _ENDS for token in between[here:])  # "It's clear here; Oslo gets rain."
            return is_parted or any(token.text in self._comparing for token in between)
        if at < 0:  # "It's €59, while the Brisa is €42."
            return not self._named(reading).names_truth
        if reading.sentence(places[at].first)[1] + 1 != first:
            return False
        if not self._domain.uses_places and any(token.text in self._reader.anaphors for token in tokens[first:index]):
            return True  # "It's in stock, and the Breeze Jacket is €99."
        return any(token.text in self._openers for token in tokens[index + 1 : places[at + 1].first])

    def _is_one_place(self, reading: Reading, a: Place, b: Place) -> bool:
        """Whether two names stand for one place, as in 'Kallio, Helsinki'; not 'if it's hot in Rome, Oslo …'."""
        left, right = (a, b) if a.first <= b.first else (b, a)
        if right.first != left.last + 2 or reading.tokens[left.last + 1].text != ",":
            return False
        first = reading.sentence(left.first)[0]
        return not any(token.text in self._openers for token in reading.tokens[first : left.first])

    def regions_in(self, reading: Reading, sentence: tuple[int, int], name: frozenset[str]) -> set[str]:
        """Regions and countries by which a sentence tells places of one name apart: 'Portland, Oregon or Maine'.

        `name` are the folded words of the name.
        """
        tokens = reading.tokens
        before = self._reader.prepositions | _BEFORE_REGION | frozenset(self._reader.lexicon.language["linking_or"])
        found = set()
        for at in range(sentence[0] + 1, sentence[1] + 1):
            token, previous = tokens[at], tokens[at - 1]
            is_after_name = previous.folded in name
            if not token.capital or token.folded in name or (previous.capital and not is_after_name):
                continue
            is_after_article = at > 1 and previous.text in self._reader.function_words
            if is_after_name or previous.text in before or (is_after_article and tokens[at - 2].text in before):
                found.add(token.folded)
        return found

    def _follows(self, reading: Reading, index: int, place: Place) -> bool:
        """Whether a place directly follows the number at token `index`, with a preposition between them."""
        if not 1 < place.first - index <= _CLOSE + 1:
            return False
        between = reading.tokens[index + 1 : place.first]
        if between[-1].text in self._articles and len(between) > 1:
            between = between[:-1]  # "€129 for the week pass"
        if between[-1].text in self._products.of and not self._domain.uses_places:
            # "€499 is the price of the Velvet Armchair"
            return all(token.units or self._products.links_price(token) for token in between)
        if between[-1].text not in self._reader.prepositions or any(token.text in ",;.|" for token in between):
            return False
        words = [token for token in between[:-1] if token.kind == "word" and not token.units]
        return all(map(self._joins, words)) or self._adds_state(words)

    def _adds_state(self, words: Sequence[Token]) -> bool:
        """Whether words add a state with some that describe it: '6 °C and a few scattered clouds in Glasgow'."""
        if not words or words[0].text not in self._reader.and_words or not self._joins(words[-1]):
            return False
        verbs = self._products.copulas
        return not any(token.text in verbs or token.text in self._openers for token in words[1:-1])

    def _joins(self, token: Token) -> bool:
        """Whether a word only adds a state to a figure: '6 °C and rain in Glasgow'."""
        return token.text in self._reader.and_words or any(entry.keys[-1] == "states" for entry in token.phrases)

    def _named(self, reading: Reading) -> _Named:
        # A turn is read once and met again with every later answer. A suite's own names are not those of other suites.
        known = self._by_reading.get(reading) if self._suite_names else reading.memory.get(self._key)
        if known is not None:
            named: _Named = known
            return named
        named = self._find_names(reading)
        if not self._suite_names:
            reading.memory[self._key] = named
            return named
        if len(self._by_reading) >= _MOST_KEPT:
            self._by_reading.clear()
        self._by_reading[reading] = named
        return named

    def _find_names(self, reading: Reading) -> _Named:
        places = self._find(reading)
        if self._others:
            firsts = {place.first for place in places}
            found = find_words(reading, self._others, self._reader)
            places = sorted([*places, *(one for one in found if one.first not in firsts)], key=FIRST)
        if places and self._true_may_have_namesakes:
            places = with_namesakes(places, reading, self._true, self.true_names[0])
        if len(places) > 1 and "negation" in reading.lists and self._domain.uses_places:
            places = without_rejected(places, reading, self._reader)
        names = [place.name for place in places]
        assigned = _assigned(reading, places) if len(places) > 1 else {}
        is_true = self.is_true_name(names)
        return _Named(places, [place.first for place in places], names, frozenset(names), is_true, assigned)

    @once
    def _true_may_have_namesakes(self) -> bool:
        """Whether the ground truth's city is written with its country, or has a name of several words."""
        return self._domain.uses_places and (len(self._true_words) > 1 or "," in self._true) and bool(self.true_names)

    def _find(self, reading: Reading) -> list[Place]:
        if not self._suite_names and any(place.name in self.true_names for place in reading.places):
            return reading.places  # the gazetteer has found it
        known = reading.find(self._names) if self._names else []
        if not known and self._domain.uses_places:
            return reading.places
        if not self._domain.uses_places:
            known = self._products.versions_apart(reading, known)
            known += self._products.siblings(reading, known)
        else:
            known = [replace(place, name=main_name(tuple(place.name.split()))) for place in known]
        taken = {at for place in known for at in range(place.first, place.last + 1)}
        others = [place for place in reading.places if place.first not in taken]
        return sorted([*known, *others], key=lambda place: place.first)

    @once
    def _names(self) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Names by their first word: the suite's and the ground truth's."""
        subject = self._true_words
        if not subject:
            return self._suite_names
        known = self._suite_names.get(subject[0], ())
        return self._suite_names if subject in known else {**self._suite_names, subject[0]: [*known, subject]}


def _assigned(reading: Reading, places: Sequence[Place]) -> dict[int, str]:
    """The place of tokens in tables and in sentences with 'respectively'."""
    found = _by_column(reading, places)
    if "respective" in reading.lists:
        found.update((at, place.name) for at, place in respective(reading, places).items())
    return found


def _by_column(reading: Reading, places: Sequence[Place]) -> dict[int, str]:
    """The place of each token in a table with several columns that have places as headings."""
    found: dict[int, str] = {}
    for head, rows in tables(reading):
        named = [[one.name for one in within(places, *cell)] for cell in head]
        if sum(len(names) == 1 for names in named) > 1:
            for row in rows:
                for names, cell in zip(named, row, strict=False):
                    found.update((at, name) for name in names[:1] for at in range(cell.first, cell.stop))
    return found


def names_in_lists(reading: Reading, places: Sequence[Place]) -> frozenset[int]:
    """Indices of the tokens in names of places that are also words of a list: 'Storm' in Storm Lake."""
    traits = reading.traits
    return frozenset(at for place in places for at in range(place.first, place.last + 1) if traits[at] & NOTABLE)


def is_one_of(names: Iterable[str], subjects: Iterable[str]) -> bool:
    """Whether one of `names` is that of one of `subjects`."""
    for name in names:
        for subject in subjects:
            if same_name(name, subject):
                return True
    return False


def same_name(name: str, other: str) -> bool:
    """Whether two names are equal or one starts with the other: Trail Runner, Trail Runner 2."""
    return name == other or f"{name} ".startswith(f"{other} ") or f"{other} ".startswith(f"{name} ")
