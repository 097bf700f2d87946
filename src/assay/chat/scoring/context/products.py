"""Products that a text names beside the truth's: another version, one of the same sort, or one with a name of its own.

Knows readings and the words of a language; knows no ground truth but the name of its product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from assay.chat.reading.columns import tables
from assay.chat.reading.places import Place
from assay.chat.reading.text import Reader, Reading
from assay.chat.reading.tokens import CLAUSE_MARKS, Token
from assay.chat.scoring.once import once

# Two compounds share their noun if their last letters are the same, at least this many, after some others.
_LAST_PART = 4
_FIRST_PART = 3
# A product's name after an article, or at the start of a line, has at least this many words.
_SHORTEST_NAME = 2
# What ends a name at the start of a line: "- City Sneaker: €59".
_LABEL_ENDS = frozenset(":|–—-*(,")


class ProductNames:
    """Finds the products that texts of one language name beside one product."""

    def __init__(self, reader: Reader, true: tuple[str, ...]) -> None:
        """`true` are the folded words of the product's name."""
        language = reader.lexicon.language
        self._reader = reader
        self._true = true
        self._articles = frozenset(language.get("articles", ()))
        self._describing = tuple(language.get("describing_endings", ()))
        self.of = frozenset(language.get("of_words", ()))
        """Words between a price and what it is of."""

    def versions_apart(self, reading: Reading, known: Sequence[Place]) -> list[Place]:
        """The names in a text, with another version of the truth's product as one of its own: the Trail Runner Pro.

        A text that names only the longer one may mean the truth's product by it.
        """
        tokens, true = reading.tokens, " ".join(self._true)
        longer = {
            place.first: tokens[place.last + 1]
            for place in known
            if place.name == true and place.last + 1 < len(tokens) and self._is_version(reading, place.last + 1)
        }
        if len(longer) == sum(place.name == true for place in known):
            return list(known)
        return [
            # The addition comes first: of two names, the longer one is not to be the shorter with something added.
            replace(place, last=place.last + 1, name=f"{longer[place.first].folded} {place.name}")
            if place.first in longer
            else place
            for place in known
        ]

    def _is_version(self, reading: Reading, at: int) -> bool:
        """Whether token `at`, after a name, makes it another: Pro, Max, XL, and not 'Trail Runner: In stock'."""
        token = reading.tokens[at]
        return token.capital and self._tells_apart(token) and reading.starts[at] == reading.ends[at - 1] + 1

    def siblings(self, reading: Reading, known: Sequence[Place]) -> list[Place]:
        """Products of the same sort as the truth's that a text names beside it: the week pass beside the day pass.

        A sibling has a name of its own (the City Sneaker), or the noun that the truth's name ends with, or, where the
        language puts it there, begins with (le pass semaine), and another word beside it; in a language that writes
        both as one word, the same last part (Wochenkarte, Tageskarte).
        """
        true = self._true
        if not true or not any(place.name == " ".join(true) for place in known):
            return []
        taken = {at for place in known for at in range(place.first, place.last + 1)}
        named = self._named_products(reading, taken)
        if "\n" in reading.text:
            named += self._listed_products(reading, {place.first for place in known})
        if "|" in reading.text:
            named += self._headed_products(reading, {place.first for place in known})
        taken.update(at for place in named for at in range(place.first, place.last + 1))
        return [*named, *self._products_of_noun(reading, taken)]

    def _named_products(self, reading: Reading, taken: set[int]) -> list[Place]:
        """Other products by name: two capitalised words or more after an article, as in 'the City Sneaker is €59'.

        "In the Summer Sale" names none: before the article may be a preposition only after a figure ("€59 for the …").
        """
        tokens, found = reading.tokens, []
        amounts = {figure.last for figure in reading.quantities}
        for article in [at for at, token in enumerate(tokens) if token.text in self._articles]:
            last = article
            while last + 1 < len(tokens) and tokens[last + 1].capital and last + 1 not in taken:
                last += 1
            if last - article < _SHORTEST_NAME or (last + 1 in taken and last + 1 < len(tokens)):
                continue
            is_placed = article > 0 and tokens[article - 1].text in self._reader.prepositions
            is_owner = article > 0 and any(token.text in self.of for token in tokens[article - 1 : article + 1])
            if is_owner and self._is_price_of(tokens, article, amounts):
                is_named = True
            elif is_placed:
                is_named = article - 2 in amounts
            else:
                is_named = self._begins_predicate(tokens[last + 1 : last + 2])
            if is_named:
                name = " ".join(token.folded for token in tokens[article + 1 : last + 1])
                found.append(Place(reading.starts[article + 1], reading.ends[last], article + 1, last, name))
        return found

    def _is_price_of(self, tokens: Sequence[Token], article: int, amounts: set[int]) -> bool:
        """Whether the name after an article owns the figure before it: '€499 is the price of the Velvet Armchair'."""
        at = article - 1
        while at > 0 and at not in amounts and self.links_price(tokens[at]):
            at -= 1
        return at in amounts and article - at > _SHORTEST_NAME

    def links_price(self, token: Token) -> bool:
        is_small = token.text in self._copulas or token.text in self._articles or token.text in self.of
        return is_small or token.text == "," or any(phrase.keys[-1] == "topic" for phrase in token.phrases)

    def _listed_products(self, reading: Reading, known: set[int]) -> list[Place]:
        """Other products of a list or a table in which lines begin with a name: '- City Sneaker: €59'.

        `known` are the first tokens of the names that are known; one of them has to begin such a line too, unless the
        text speaks of alternatives or the other name ends with the same noun.
        """
        tokens, found, is_list = reading.tokens, [], False
        for line in [0, *(at + 1 for at, token in enumerate(tokens) if token.kind == "newline")]:
            first = line
            while first < len(tokens) and tokens[first].kind not in ("word", "newline"):
                first += 1
            last = first
            while last < len(tokens) and tokens[last].kind == "word":
                last += 1
            if last == len(tokens) or tokens[last].text not in _LABEL_ENDS:
                continue
            is_list |= first in known
            label = tokens[first:last]
            if len(label) >= _SHORTEST_NAME and all(word.capital and self._tells_apart(word) for word in label):
                name = " ".join(token.folded for token in label)
                found.append(Place(reading.starts[first], reading.ends[last - 1], first, last - 1, name))
        noun = self._true[-1]
        return [
            place
            for place in found
            if place.first not in known and (is_list or "others" in reading.lists or place.name.split()[-1] == noun)
        ]

    def _headed_products(self, reading: Reading, known: set[int]) -> list[Place]:
        """Other products that head the columns of a table, beside one whose first token is of `known`."""
        tokens, found = reading.tokens, []
        for head, _ in tables(reading):
            if not any(cell.first <= at < cell.stop for cell in head for at in known):
                continue
            for cell in head:
                label = [at for at in range(cell.first, cell.stop) if tokens[at].kind == "word"]
                if len(label) < _SHORTEST_NAME or not known.isdisjoint(label):
                    continue
                if all(tokens[at].capital and self._tells_apart(tokens[at]) for at in label):
                    name = " ".join(tokens[at].folded for at in label)
                    found.append(Place(reading.starts[label[0]], reading.ends[label[-1]], label[0], label[-1], name))
        return found

    def _products_of_noun(self, reading: Reading, taken: set[int]) -> list[Place]:
        """Products with the same noun: the one that the truth's name ends with or, in some languages, begins with."""
        true = self._true
        language, tokens = self._reader.lexicon.language, reading.tokens
        before, after = (0, 1) if language.get("noun_first") else (1, 0)
        if len(true) > 1:
            noun = true[0 if after else -1]
            nouns = [at for at, token in enumerate(tokens) if token.folded == noun and at > before]
            nouns = [at for at in nouns if tokens[at - before - 1].text in self._articles]
        elif language.get("joins_nouns"):
            before = after = 0
            nouns = [at for at, token in enumerate(tokens) if token.capital and _share_last_part(token.folded, true[0])]
        else:
            return []
        found = []
        for at in nouns:
            first, last = at - before, at + after
            beside = tokens[first:at] + tokens[at + 1 : last + 1]
            if at in taken or len(beside) != before + after or not all(map(self._tells_apart, beside)):
                continue
            if after and not self._begins_predicate(tokens[last + 1 : last + 2]):
                continue  # "le pass vaut 29 €": what follows the noun is its verb
            name = " ".join(token.folded for token in tokens[first : last + 1])
            found.append(Place(reading.starts[first], reading.ends[last], first, last, name))
        return found

    def _tells_apart(self, token: Token) -> bool:
        """Whether a word beside a product's noun can make it another one: not 'the same', nor a word of a list."""
        if token.kind != "word" or token.text in self._not_telling or token.phrases:
            return False
        return token.capital or not token.text.endswith(self._describing)

    def _begins_predicate(self, following: Sequence[Token]) -> bool:
        """Whether the token after a name is a verb, or a mark that ends the name."""
        return any(token.text in self._copulas or token.text in CLAUSE_MARKS or token.phrases for token in following)

    @once
    def _copulas(self) -> frozenset[str]:
        return frozenset(self._reader.lexicon.language["copulas"])

    @once
    def _not_telling(self) -> frozenset[str]:
        same = self._reader.lexicon.language.get("same_words", ())
        return self._reader.function_words | self._copulas | frozenset(same)


def _share_last_part(word: str, other: str) -> bool:
    """Whether two words are different compounds of one noun: Tageskarte, Wochenkarte."""
    ending, beginning = _shared(word[::-1], other[::-1]), _shared(word, other)
    return ending >= _LAST_PART and beginning < _LAST_PART and min(len(word), len(other)) - ending >= _FIRST_PART


def _shared(word: str, other: str) -> int:
    """How many letters two words begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
