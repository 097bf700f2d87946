"""Products that a text names beside the truth's: another version, one of the same sort, or one with a name of its own.

Knows readings and the words of a language; knows no ground truth but the name of its product.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from assay.chat.reading.columns import tables
from assay.chat.reading.places import Place
from assay.chat.reading.text import Reader, Reading
from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS, Token
from assay.chat.scoring.once import once

# Two compounds share their noun if their last letters are the same, at least this many, after some others.
_LAST_PART = 4
_FIRST_PART = 3
# A product's name after an article, or at the start of a line, has at least this many words.
_SHORTEST_NAME = 2
# Between an article and a name are at most this many words: "the similar Brisa".
_DESCRIBING = 2
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
        if not true:
            return []
        taken = {at for place in known for at in range(place.first, place.last + 1)}
        if not any(place.name == " ".join(true) for place in known):
            return self._named_afterwards(reading, taken)
        named = self._named_products(reading, taken)
        if len(true) > 1:
            named += [*self._plain_versions(reading), *self._other_nouns(reading, known)]
        if "\n" in reading.text:
            named += self._listed_products(reading, {place.first for place in known})
        if "|" in reading.text:
            named += self._headed_products(reading, {place.first for place in known})
        taken.update(at for place in named for at in range(place.first, place.last + 1))
        return [*named, *self._products_of_noun(reading, taken)]

    def _named_afterwards(self, reading: Reading, taken: set[int]) -> list[Place]:
        """Other products of a text that tells of the truth's without its name: '€59. The Brisa is €42.'"""
        claims = [one.first for one in reading.quantities[:1]] + [one.first for one in reading.all("states")[:1]]
        if not claims or self._articles.isdisjoint([token.text for token in reading.tokens]):
            return []
        named = self._named_products(reading, taken)
        return named if named and all(place.first > min(claims) + 1 for place in named) else []

    def _plain_versions(self, reading: Reading) -> list[Place]:
        """A simpler product whose name the truth's begins with: 'the regular AeroPress' beside the AeroPress Go."""
        tokens, start = reading.tokens, self._true[:-1]
        found = []
        for at, token in enumerate(tokens):
            if token.text not in self._plain or at + len(start) >= len(tokens):
                continue
            last = at + len(start)
            is_longer = last + 1 < len(tokens) and tokens[last + 1].folded == self._true[-1]
            if not is_longer and tuple(word.folded for word in tokens[at + 1 : last + 1]) == start:
                name = " ".join(word.folded for word in tokens[at : last + 1])
                found.append(Place(reading.starts[at], reading.ends[last], at, last, name))
        return found

    def _other_nouns(self, reading: Reading, known: Sequence[Place]) -> list[Place]:
        """Products that share the first word with the truth's: 'the Loom pillow is £29 and the Loom blanket £79'."""
        tokens, found = reading.tokens, []
        named = {reading.sentence(place.first) for place in known}
        taken = {place.first for place in known}
        for at, token in enumerate(tokens):
            if token.folded != self._true[0] or not token.capital or at in taken or not at:
                continue
            if tokens[at - 1].text not in self._articles or reading.sentence(at) not in named:
                continue
            last = at
            while last + 1 < len(tokens) and last < at + _DESCRIBING and self._is_noun(tokens[last + 1]):
                last += 1
            if (
                last > at
                and self._begins_predicate(tokens[last + 1 : last + 2])
                and tokens[last].folded not in self._true
            ):
                name = " ".join(word.folded for word in reversed(tokens[at : last + 1]))
                found.append(Place(reading.starts[at], reading.ends[last], at, last, name))
        return found

    def _is_noun(self, token: Token) -> bool:
        """Whether a word may be a part of a name in lower case: no verb, no preposition, no word of a list."""
        return (
            self._tells_apart(token) and token.text not in self._verbs and token.text not in self._reader.prepositions
        )

    def _named_products(self, reading: Reading, taken: set[int]) -> list[Place]:
        """Other products by name, after an article: 'the City Sneaker is €59', 'the similar Brisa', 'le modèle Zénith'.

        "In the Summer Sale" names none: before the article may be a preposition only after a figure ("€59 for the …").
        """
        tokens, found = reading.tokens, []
        amounts = {figure.last for figure in reading.quantities}
        counted = {at for figure in reading.quantities for at in range(figure.first, figure.last + 1)}
        for article in [at for at, token in enumerate(tokens) if token.text in self._articles]:
            first = self._first_capital(tokens, article)
            last = first - 1
            while (
                last + 1 < len(tokens)
                and last + 1 not in taken
                and self._continues_name(tokens, last + 1, first, counted)
            ):
                last += 1
            if last < first or (last + 1 in taken and last + 1 < len(tokens)):
                continue
            if not self._is_name(reading, article, first, last):
                continue
            is_placed = article > 0 and tokens[article - 1].text in self._reader.prepositions
            is_owner = article > 0 and any(token.text in self.of for token in tokens[article - 1 : article + 1])
            if is_owner and self._is_price_of(tokens, article, amounts):
                is_named = True
            elif is_placed:
                is_named = article - 2 in amounts and (last > first or self._ends_name(tokens, last + 1))
            else:
                is_priced = last + 2 in counted and tokens[last + 1].text in self._reader.prepositions
                is_named = is_priced or self._begins_predicate(tokens[last + 1 : last + 2])
            if is_named:
                name = " ".join(token.folded for token in tokens[first : last + 1])
                found.append(Place(reading.starts[first], reading.ends[last], first, last, name))
        return found

    def _first_capital(self, tokens: Sequence[Token], article: int) -> int:
        """Where a name after an article begins: behind a word or two that describe it or say what it is."""
        at, small = article + 1, self._not_telling - self._same
        while at <= article + _DESCRIBING and at < len(tokens) and not tokens[at].capital:
            if tokens[at].kind != "word" or tokens[at].text in small or tokens[at].text in self._reader.prepositions:
                return article + 1
            at += 1
        return at

    def _continues_name(self, tokens: Sequence[Token], at: int, first: int, counted: set[int]) -> bool:
        """Whether token `at` goes on with the name that begins at `first`: a capitalised word, or a number after it."""
        return tokens[at].capital or (at > first and tokens[at].kind == "number" and at not in counted)

    def _is_name(self, reading: Reading, article: int, first: int, last: int) -> bool:
        """Whether capitalised words after an article name another product, and not the truth's or a thing.

        One word does if the language has capital letters for names only, or the sentence speaks of alternatives.
        """
        tokens = reading.tokens
        words = {token.folded for token in tokens[first : last + 1]}
        if words <= set(self._true) or words >= set(self._true):
            return False
        if last - article >= _SHORTEST_NAME and first == article + 1:
            return True
        if not all(token.kind == "number" or self._tells_apart(token) for token in tokens[first : last + 1]):
            return False
        if last > first or not self._reader.joins_nouns:
            return True
        return reading.sentence(first) in reading.sentences_with("others")

    def _is_price_of(self, tokens: Sequence[Token], article: int, amounts: set[int]) -> bool:
        """Whether the name after an article owns the figure before it: '€499 is the price of the Velvet Armchair'."""
        at = article - 1
        while at > 0 and at not in amounts and self.links_price(tokens[at]):
            at -= 1
        return at in amounts and article - at > _SHORTEST_NAME

    def links_price(self, token: Token) -> bool:
        is_small = token.text in self.copulas or token.text in self._articles or token.text in self.of
        return is_small or token.text == "," or any(phrase.keys[-1] == "topic" for phrase in token.phrases)

    def _listed_products(self, reading: Reading, known: set[int]) -> list[Place]:
        """Other products of a list or a table in which lines begin with a name: '- City Sneaker: €59'.

        `known` are the first tokens of the names that are known; one of them has to begin such a line too, unless the
        text speaks of alternatives or the other name ends with the same noun. Of one word, a name needs the same mark.
        """
        tokens, found, marks = reading.tokens, [], set[str]()
        counted = {at for figure in reading.quantities for at in range(figure.first, figure.last + 1)}
        # "Summit Tent 2": a number without a unit may be a part of the name.
        numbers = {at for at, token in enumerate(tokens) if token.kind == "number" and at not in counted}
        for line in [0, *(at + 1 for at, token in enumerate(tokens) if token.kind == "newline")]:
            first = line
            while first < len(tokens) and tokens[first].kind not in ("word", "newline"):
                first += 1
            last = first
            while last < len(tokens) and (tokens[last].kind == "word" or (last > first and last in numbers)):
                last += 1
            if last == len(tokens) or tokens[last].text not in _LABEL_ENDS:
                continue
            if first in known:
                marks.add(_list_mark(tokens[line:first]))
            label = tokens[first:last]
            if all(word.kind == "number" or (word.capital and self._tells_apart(word)) for word in label):
                name = " ".join(token.folded for token in label)
                place = Place(reading.starts[first], reading.ends[last - 1], first, last - 1, name)
                found.append((place, _list_mark(tokens[line:first])))
        noun, is_of_others = self._true[-1], bool(marks) or "others" in reading.lists
        return [
            place
            for place, mark in found
            if place.first not in known
            and (
                mark in marks and mark if place.first == place.last else is_of_others or place.name.split()[-1] == noun
            )
        ]

    def _headed_products(self, reading: Reading, known: set[int]) -> list[Place]:
        """Other products that head the columns of a table, beside one whose first token is of `known`."""
        tokens, found = reading.tokens, []
        for head, _ in tables(reading):
            if not any(cell.first <= at < cell.stop for cell in head for at in known):
                continue
            for column, cell in enumerate(head):
                label = [at for at in range(cell.first, cell.stop) if tokens[at].kind == "word"]
                # The first column may be headed by what its rows are: "Feature".
                if len(label) < _SHORTEST_NAME - bool(column) or not known.isdisjoint(label):
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
        elif self._reader.joins_nouns:
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
        verbs = self.copulas | self._verbs
        return any(token.text in verbs or token.text in CLAUSE_MARKS or token.phrases for token in following)

    @once
    def copulas(self) -> frozenset[str]:
        """Verbs that link a name with what is said of it."""
        return frozenset(self._reader.lexicon.language["copulas"])

    def _ends_name(self, tokens: Sequence[Token], at: int) -> bool:
        """Whether no word follows that a capitalised one before it would only describe: 'in our UK store'."""
        return at >= len(tokens) or tokens[at].text in STOPS or self._begins_predicate(tokens[at : at + 1])

    @once
    def _verbs(self) -> frozenset[str]:
        return frozenset(self._reader.lexicon.language.get("name_verbs", ()))

    @once
    def _plain(self) -> frozenset[str]:
        return frozenset(self._reader.lexicon.language.get("plain_words", ()))

    @once
    def _same(self) -> frozenset[str]:
        return frozenset(self._reader.lexicon.language.get("same_words", ()))

    @once
    def _not_telling(self) -> frozenset[str]:
        return self._reader.function_words | self.copulas | self._same


def _list_mark(before: Sequence[Token]) -> str:
    """What a line begins with before its first word, whatever its number is: '- ', '1. '."""
    return " ".join("#" if token.kind == "number" else token.text for token in before)


def _share_last_part(word: str, other: str) -> bool:
    """Whether two words are different compounds of one noun: Tageskarte, Wochenkarte."""
    ending, beginning = _shared(word[::-1], other[::-1]), _shared(word, other)
    return ending >= _LAST_PART and beginning < _LAST_PART and min(len(word), len(other)) - ending >= _FIRST_PART


def _shared(word: str, other: str) -> int:
    """How many letters two words begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
