"""Which city or product a part of a text is about.

Knows the names that the gazetteer, the suite and the ground truth have; knows no metric.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.chat.domains import Domain, Truth
from assay.chat.reading.places import Place, main_name, words_of
from assay.chat.reading.text import Reader, Reading
from assay.chat.scoring.once import once

# A number, its unit and a preposition: a place at most this many tokens later is what the number is about.
_CLOSE = 5
# A region may follow these: Portland, Oregon; Newcastle upon Tyne.
_BEFORE_REGION = frozenset((",", "(", "upon", "on", "an", "am"))


@dataclass(frozen=True, slots=True)
class _Named:
    """The subjects that one text names."""

    places: list[Place]
    """In the order of the text."""
    firsts: list[int]
    """Index of each one's first token."""
    all: list[str]
    """The name of each."""
    names: frozenset[str]


class Subjects:
    """The cities or products that texts of one conversation name."""

    def __init__(
        self, *, domain: Domain, reader: Reader, truth: Truth, names: Mapping[str, Sequence[tuple[str, ...]]]
    ) -> None:
        """`names` are the suite's own subjects: the folded words of each, by the first word."""
        self._domain = domain
        self._reader = reader
        self._suite_names = names
        # What follows a comma ("Helsinki, FI") is left out.
        self._true_words = words_of(truth.subject.split(",")[0]) if truth.subject else ()
        self._has_true_subject = bool(truth.subject)
        self._by_reading: dict[Reading, _Named] = {}

    def names_in(self, reading: Reading) -> frozenset[str]:
        """Names of the subjects in a text."""
        return self._named(reading).names

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

    def is_true_name(self, names: Sequence[str]) -> bool:
        """Whether one of `names` is that of the ground truth's subject; true if there are none, or it has none."""
        return not names or not self.true_names or is_one_of(names, self.true_names)

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
        if len(places) == 1 and at == 0:
            return named.all
        first, last = reading.sentence(index)
        if at + 1 < len(places) and self._follows(reading, index, places[at + 1]):
            nearest = at + 1
        elif at >= 0 and places[at].first >= first:
            nearest = at
        elif at + 1 < len(places) and places[at + 1].first <= last:
            nearest = at + 1
        elif at >= 0:
            nearest = at
        else:
            return []
        if len(places) == 1:
            return named.all
        around = places[max(0, nearest - 1) : nearest + 2]
        return [
            place.name for place in around if place is places[nearest] or _is_one_place(reading, place, places[nearest])
        ]

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
        return (
            between[-1].text in self._reader.prepositions
            and not any(token.kind == "word" and not token.units for token in between[:-1])
            and not any(token.text in ",;.|" for token in between)
        )

    def _named(self, reading: Reading) -> _Named:
        named = self._by_reading.get(reading)
        if named is None:
            # A turn is read once and met again with every later answer; only names of a suite are searched each time.
            key = f"subjects with {self._true_words}"
            kept = None if self._suite_names else reading.memory.get(key)
            if isinstance(kept, _Named):
                named = kept
            else:
                places = self._find(reading)
                names = [place.name for place in places]
                named = _Named(places, [place.first for place in places], names, frozenset(names))
                if not self._suite_names:
                    reading.memory[key] = named
            self._by_reading[reading] = named
        return named

    def _find(self, reading: Reading) -> list[Place]:
        if not self._suite_names and any(place.name in self.true_names for place in reading.places):
            return reading.places  # the gazetteer has found it
        known = reading.find(self._names) if self._names else []
        if not known:
            return reading.places
        if self._domain.uses_places:
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


def _is_one_place(reading: Reading, a: Place, b: Place) -> bool:
    """Whether two names stand for one place, as in 'Kallio, Helsinki'."""
    left, right = sorted((a, b), key=lambda place: place.first)
    return right.first == left.last + 2 and reading.tokens[left.last + 1].text == ","


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
