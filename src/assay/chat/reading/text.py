"""What a text says: mentions of listed words, numbers with units, places, days and times, with their positions.

A text is cut into tokens once; everything else is a look-up by token, so reading takes time linear in its length.
A reading knows nothing of questions, truths or metrics, and can be kept for as long as the text is.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assay.chat.reading.arithmetic import Arithmetic
from assay.chat.reading.clauses import Clauses
from assay.chat.reading.columns import read_columns
from assay.chat.reading.counts import read_counts
from assay.chat.reading.dates import DateReader, Moment, read_relative_days, read_short_weekdays
from assay.chat.reading.figures import FigureReader
from assay.chat.reading.lexicon import Lexicon
from assay.chat.reading.places import Place, PlaceReader
from assay.chat.reading.polarity import PolarWords, answer_own_questions
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.since import SinceReader
from assay.chat.reading.tokens import Token, Tokeniser
from assay.chat.reading.traits import NOTABLE, having
from assay.chat.reading.visible import visible_part
from assay.chat.reading.way_words import WayWords
from assay.chat.reading.withdrawn import withdraw

SHORT = 100
"""Texts of at most this many characters come again: questions with every agent and trial, and refusals."""
# How many readings of short texts are cached, and of longer ones, most of which are answers that come again only in the
# next turn: garbage collections go through all that is cached. Readings of even longer texts are not cached.
_MOST_SHORT, _MOST_LONG = 512, 64
_LONGEST_CACHED = 4_000
# The words that make a question one for yes or no are among this many tokens at its start: "Hi, is it …".
_OPENING = 6
# The list of greetings, thanks and goodbyes.
_BORROWED = "courtesy"


class Mention(msgspec.Struct, eq=False, gc=False):
    """Words of a text that are in one or more lists."""

    start: int
    end: int
    first: int
    """Index of the first token."""
    last: int
    keys: tuple[str, ...]
    denied: bool = False
    """Whether a negation covers it."""
    asserted: bool = True
    """Whether the text states it: not denied, not in a question, not after 'if', not in a run of keywords."""
    refuted: bool = False
    """Whether the text states that it is not so."""

    def of_lists(self, keys: tuple[str, ...]) -> Mention:
        """A mention of other lists by the same words; it is stated."""
        return Mention(self.start, self.end, self.first, self.last, keys)


@dataclass(slots=True, eq=False)
class Reading:
    """A text with everything that was found in it."""

    text: str
    tokens: list[Token]
    starts: Sequence[int]
    ends: Sequence[int]
    stops: list[int]
    """Indices of the tokens that end a sentence, ascending."""
    traits: bytes
    """The traits of each token."""
    lists: dict[str, list[Mention]]
    """Mentions by list, in the order of the text."""
    quantities: list[Quantity] = field(default_factory=list)
    counts: list[Quantity] = field(default_factory=list)
    """Whole numbers without a unit, in a domain that counts something."""
    places: list[Place] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    """Dates and clock times written with numbers."""
    numbers: list[int] = field(default_factory=list)
    """Indices of numbers in digits, except list markers, dates and clock times."""
    vocabulary: frozenset[str] | None = None
    """Its folded words; set when a name is first searched for."""
    shown: str | None = None
    """What a reader sees of it, if that is not all."""
    memory: dict[object, Any] = field(default_factory=dict)
    """Results derived from this reading alone, cached with it."""

    @property
    def length(self) -> int:
        """How many characters a reader sees of it, without white space around them."""
        return len((self.text if self.shown is None else self.shown).strip())

    def all(self, key: str) -> list[Mention]:
        """Mentions of the list `key`, stated or not."""
        return self.lists.get(key, [])

    def stated(self, key: str) -> list[Mention]:
        """Mentions of the list `key` that the text states."""
        return [mention for mention in self.lists.get(key, ()) if mention.asserted]

    def sublists(self, key: str) -> dict[str, list[Mention]]:
        """Stated mentions by the lists directly inside `key`: 'items' → {'umbrella': […]}."""
        found: dict[str, list[Mention]] = {}
        for mention in self.lists.get(key, ()):
            inside = mention.keys.index(key) - 1
            if mention.asserted and inside >= 0:
                found.setdefault(mention.keys[inside][len(key) + 1 :], []).append(mention)
        return found

    def sentence(self, index: int) -> tuple[int, int]:
        """First and last token of the sentence that contains token `index`; the last is its stop, if it has one."""
        at = bisect_left(self.stops, index)
        first = self.stops[at - 1] + 1 if at else 0
        return first, self.stops[at] if at < len(self.stops) else len(self.tokens) - 1

    def sentences_with(self, key: str) -> set[tuple[int, int]]:
        """The sentences that mention the list `key`, stated or not."""
        known = self.memory.get(f"sentences with {key}")
        if not isinstance(known, set):
            known = {self.sentence(mention.first) for mention in self.all(key)}
            self.memory[f"sentences with {key}"] = known
        return known

    def listed_words(self) -> set[int]:
        """Positions of the words at which entries of lists begin, without greetings, which languages borrow."""
        return {
            mention.first for mentions in self.lists.values() for mention in mentions if mention.keys[-1] != _BORROWED
        }

    def is_question(self, index: int) -> bool:
        """Whether the sentence that contains token `index` ends with a question mark."""
        if not self.tokens:
            return False
        return self.tokens[self.sentence(index)[1]].text == "?"

    def find(self, names: Mapping[str, Sequence[tuple[str, ...]]]) -> list[Place]:
        """Where names occur, ignoring case, in the order of the text; `names` maps first words to folded words."""
        if self.vocabulary is None:
            self.vocabulary = frozenset([token.folded for token in self.tokens])
        if self.vocabulary.isdisjoint(names):
            return []
        found = []
        for at in [n for n, token in enumerate(self.tokens) if token.folded in names]:
            for words in names[self.tokens[at].folded]:
                last = at + len(words) - 1
                if tuple(token.folded for token in self.tokens[at : last + 1]) == words:
                    found.append(Place(self.starts[at], self.ends[last], at, last, " ".join(words)))
        return found

    def plain(self) -> str:
        """Its words and numbers in lower case, joined by single spaces."""
        known = self.memory.get("plain")
        if not isinstance(known, str):
            known = " ".join(token.text for token in self.tokens if token.kind in ("word", "number"))
            self.memory["plain"] = known
        return known


class _Recent(dict[str, Reading]):
    """The readings of texts that may come again; the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, text: str, reading: Reading) -> None:
        if len(self) >= self._most:
            for old in [*self][: self._most // 4]:
                self.pop(old, None)  # another thread may have forgotten it too
        self[text] = reading


class Reader:
    """Reads texts of one language about one subject."""

    def __init__(self, lexicon: Lexicon, *, use_places: bool = True) -> None:
        self.lexicon = lexicon
        self.function_words = frozenset(lexicon.language["function_words"])
        self.prepositions = frozenset(lexicon.language["place_prepositions"])
        self.polar = PolarWords(lexicon.language)
        self.present_verbs = frozenset(lexicon.language.get("present_verbs", ()))
        self._from_words = frozenset(lexicon.language.get("from_words", ()))
        self.leading = frozenset(lexicon.language["range_words"]) | self._from_words
        self.day_ranges = frozenset(lexicon.language.get("day_range_words", ()))
        self.between = frozenset(lexicon.language["between_words"])
        other = lexicon.language.get("other_time", {})
        self.other_time = {name: frozenset(other.get(name, ())) for name in ("words", "first", "pairs")}
        self.following = frozenset(lexicon.language.get("following_words", ()))
        self.comparing = frozenset(lexicon.language.get("comparing_words", ()))
        self.origin_words = frozenset(lexicon.language.get("origin_words", ())) | self.following | self.comparing
        """Words before a figure that another one has come from, or is compared with."""
        self.past_origin_words = self.origin_words | self._from_words
        """Words that are such only before a past day: « de 35 °C hier à 22 °C »."""
        self.possessive_endings = tuple(lexicon.language.get("possessive_endings", ()))
        self.adding = frozenset(lexicon.language.get("adding_words", ()))
        self.than_days = frozenset(lexicon.language.get("than_days", ()))
        self.there_words = frozenset(lexicon.language.get("there_words", ()))
        self.there_is = frozenset(lexicon.language.get("there_is", ()))
        self.like_days = frozenset(lexicon.language.get("like_days", ()))
        self.after_compared = frozenset(lexicon.language.get("after_compared", ()))
        self.and_words = frozenset(lexicon.language["and_words"])
        self.copulas = frozenset(lexicon.language["copulas"])
        self.nots = frozenset(lexicon.language["negation"].get("contrast", ()))
        self.when_words = frozenset(lexicon.language.get("when_words", ()))
        self.contrasting = frozenset(lexicon.language["clause_words"])
        self.articles = frozenset(lexicon.language.get("articles", ()))
        joining = self.articles | self.and_words | frozenset(lexicon.language["linking_or"])
        self.beside_place = (self.prepositions | joining) - self._from_words
        """Words beside the name of a place that add nothing: not the 'from' of 'from Oslo'."""
        self.beside_places = self.beside_place - self.leading
        """The same beside several: not the 'to' of 'Oslo to Bergen'."""
        self.reads_places = use_places
        self.joins_nouns = bool(lexicon.language.get("joins_nouns", False))
        self.noun_first = bool(lexicon.language.get("noun_first", False))
        self.anaphors = frozenset(lexicon.language.get("anaphors", ()))
        pronouns, things = lexicon.language.get("pronouns", {}), lexicon.language.get("things", {})
        self.plural_pronouns = frozenset(pronouns.get("plural", ()))
        self.pronouns = self.plural_pronouns | frozenset(pronouns.get("single", ()))
        self.possessives = frozenset(pronouns.get("possessive", ()))
        self._polite = frozenset(pronouns.get("polite", ()))
        self._conjunctions = frozenset(pronouns.get("conjunctions", ()))
        self.pricing = frozenset(lexicon.language.get("pricing_verbs", ()))
        self.definite = frozenset(things.get("definite", ()))
        self.indefinite = frozenset(things.get("indefinite", ()))
        self.placing = frozenset(things.get("placed", ()))
        self.way_words = WayWords.of(lexicon.language)
        self.arithmetic = Arithmetic.of(lexicon.language)
        kinds = lexicon.kinds.items()
        self.multiplied = frozenset(
            name for name, kind in kinds if all(how["zero"] == 0 for how in kind.units.values())
        )
        """Kinds of figures of which twice as much means something: not temperatures."""
        self.has_arrivals = any(kind.asked for _, kind in kinds)
        """Whether a figure may say when something arrives."""
        self.for_users = frozenset(lexicon.language.get("for_users", ()))
        """Words before what is done for the users: 'to stay dry', 'you'll stay dry'."""
        self._day_openers = frozenset(lexicon.language.get("day_openers", ()))
        self.before_a_day = frozenset(lexicon.language.get("before_a_day", ()))
        self.before_days = self.placing | self.articles
        self.purposes = frozenset(things.get("of", ()))
        self.price_nouns = frozenset(things.get("prices", ()))
        """Nouns for what a product costs, which no list has: the 'rate' of 'the rate for the tent'."""
        self.additions = frozenset(things.get("added", ()))
        self.together = frozenset(things.get("with", ()))
        self.whose = frozenset(things.get("whose", ()))
        self.adverbs = frozenset(lexicon.language.get("adverbs", ()))
        self._expletives = frozenset(lexicon.language.get("expletives", ()))
        small = ("copulas", "adverbs", "clause_words", "answer_openers", "after_roles", "perhaps_words")
        self.small_words = self.function_words.union(*(lexicon.language.get(name, ()) for name in small))
        self._tokeniser = Tokeniser(lexicon, use_places=use_places)
        self._clauses = Clauses(lexicon.language)
        self._dates = DateReader(lexicon.language)
        self._since = SinceReader(lexicon.language)
        self._figures = FigureReader(lexicon)
        self._places = PlaceReader(lexicon.language) if use_places else None
        self._short, self._long = _Recent(_MOST_SHORT), _Recent(_MOST_LONG)
        self._ahead: dict[str, Reading] = {}

    def read(self, text: str) -> Reading:
        """The reading of `text`; unless it is very long, that may be a cached one."""
        recent = self._short if len(text) <= SHORT else self._long
        known = recent.get(text)
        if known is None:
            known = self._ahead.pop(text, None) or self._read_all((text,))[0]
            if len(text) <= _LONGEST_CACHED:
                recent.keep(text, known)
        return known

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Read texts that will be asked for soon, together, which is faster; texts read ahead before are forgotten."""
        known = self._short.keys() | self._long.keys()
        wanted = dict.fromkeys(text for text in texts if len(text) <= _LONGEST_CACHED and text not in known)
        self._ahead = dict(zip(wanted, self._read_all(wanted), strict=True))

    def read_figures_only(self, text: str) -> Reading:
        """The figures and names of a text in another language: no word of it is in a list."""
        reading, numbers = self._cut(text, {})
        self._figures.read(reading, numbers)
        if self._places is not None:
            reading.places = self._places.read(reading)
        return reading

    def _cut(self, text: str, lists: dict[str, list[Mention]]) -> tuple[Reading, list[int]]:
        """The reading of a text in which nothing has been found yet, and its numbers."""
        shown = visible_part(text)
        cut = self._tokeniser.cut(text if shown is None else shown.text)
        reading = Reading(text, cut.tokens, cut.starts, cut.ends, cut.stops, cut.traits, lists)
        if shown is not None:
            reading.shown = shown.text
            reading.starts = [shown.positions[start] for start in cut.starts]
            reading.ends = [shown.positions[end - 1] + 1 for end in cut.ends]
        return reading, cut.numbers

    def count_listed(self, text: str) -> int:
        """How many words of a text start an entry of a list; nothing else of it is read."""
        reading, _ = self._cut(text, defaultdict(list))
        _find_mentions(reading)
        return len(reading.listed_words())

    def is_polar_question(self, reading: Reading, index: int) -> bool:
        """Whether the sentence that contains token `index` is a question that is answered by yes or no."""
        first, last = reading.sentence(index)
        tokens = reading.tokens
        starts = [first, *(at + 1 for at in range(first, min(last, first + _OPENING)) if tokens[at].text in ",:!–—")]
        while starts[0] < last and tokens[starts[0]].text in self.polar.question_openers:
            starts[0] += 1
        if any(tokens[at].text in self.polar.questions for at in starts if at <= index):
            return True
        return bool(self.polar.inverted) and self.polar.is_inverted(tokens[first : last + 1])

    def has_anaphor(self, tokens: Sequence[Token], words: frozenset[str] | None = None) -> bool:
        """Whether a word, one of `words` if given, stands for what was named before: not the 'es' of 'gibt es'."""
        words = self.anaphors if words is None else words
        for at, token in enumerate(tokens):
            if token.text not in words:
                continue
            if at and (f"{tokens[at - 1].text} {token.text}" in self._expletives or token.raw in self._polite):
                continue  # "gibt es", "können Sie"
            following = tokens[at + 1].text if at + 1 < len(tokens) else ""
            is_linking = following in self.articles or following in self.function_words - self.copulas
            if token.text in self._conjunctions and is_linking:
                continue  # "note that our …"
            return True
        return False

    def clause_ends(self, reading: Reading) -> list[int]:
        """Indices of the tokens that separate clauses, ascending: commas, colons, 'but'."""
        return self._clauses.clause_ends(reading)

    def _read_all(self, texts: Iterable[str]) -> list[Reading]:
        """The readings of several texts, step by step: each step is done for all of them before the next.

        The code and the data of one step fit into the caches of a processor, those of all steps do not: this takes
        three quarters of the time of reading one text after the other.
        """
        begun = [self._cut(text, defaultdict(list)) for text in texts]
        found = [_find_mentions(reading) for reading, _ in begun]
        for (reading, numbers), mentions in zip(begun, found, strict=True):
            self._read_times(reading, numbers, mentions)
        for reading, numbers in begun:
            self._read_figures(reading, numbers)
        for (reading, _), mentions in zip(begun, found, strict=True):
            self._read_clauses(reading, mentions)
        if self._places is not None:
            for reading, _ in begun:
                reading.places = self._places.read(reading)
        return [reading for reading, _ in begun]

    def _read_times(self, reading: Reading, numbers: Sequence[int], mentions: list[Mention]) -> None:
        mentions += read_relative_days(reading)
        mentions += read_short_weekdays(reading, self.and_words, self._day_openers, self.day_ranges)
        if numbers:
            reading.moments = self._dates.read(reading, numbers)
        if "since" in reading.lists:
            self._since.read(reading)

    def _read_figures(self, reading: Reading, numbers: Sequence[int]) -> None:
        self._figures.read(reading, numbers)
        if numbers and "|" in reading.text:
            read_columns(reading, self._figures, tuple(self.lexicon.roles))
        for kind in self.lexicon.counted if numbers else ():
            read_counts(reading, numbers, self._figures, self.lexicon.kinds[kind])

    def _read_clauses(self, reading: Reading, mentions: Sequence[Mention]) -> None:
        """What the clauses of a text do with what it mentions: deny it, ask for it, take it back."""
        self._clauses.mark(reading, mentions)
        if "?" in reading.text and "states" in reading.lists:
            answer_own_questions(reading, self.polar)
        withdraw(reading, self._from_words)
        if "denies" in reading.lists:
            _add_denials(reading)


def _find_mentions(reading: Reading) -> list[Mention]:
    """Find every entry of every list; entries inside one that hides them are skipped."""
    mentions: list[Mention] = []
    lists = reading.lists
    tokens, starts, ends = reading.tokens, reading.starts, reading.ends
    final = len(tokens) - 1
    hidden_to = -1
    for at in having(reading.traits, NOTABLE):
        run = tokens[at].run
        last = at
        while run.is_open and last < final:
            last += 1
            following = tokens[last]
            if not following.is_inner:
                break
            run = run.steps.get(following) or run.followed_by(following)
        if run.is_silent or at <= hidden_to:
            continue
        start, end = starts[at], ends[at]
        for reach, keys in run.found:
            if reach:
                last = at + reach
                mention = Mention(start, ends[last], at, last, keys)
            else:
                mention = Mention(start, end, at, at, keys)
            mentions.append(mention)
            for key in keys:
                lists[key].append(mention)
        if run.only_says:
            continue
        if run.negates:
            lists["negation"].append(Mention(start, end, at, at, ("negation",)))
        if run.hidden >= 0:
            hidden_to = at + run.hidden
    return mentions


def _add_denials(reading: Reading) -> None:
    """Add the states that some words deny without a negation: 'it stays dry' says that it does not rain."""
    for said in reading.stated("denies"):
        denial = said.of_lists(tuple(key.removeprefix("denies.") for key in said.keys[:-1]))
        denial.asserted, denial.denied, denial.refuted = False, True, True
        for key in denial.keys:
            insort(reading.lists[key], denial, key=lambda mention: mention.first)
