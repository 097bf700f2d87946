"""What a text says: its words by list, figures with units, places, days and times, each with its place in the text.

A text is cut into tokens once; everything else is a look-up by token, so reading takes time linear in its length.
A reading knows nothing of questions, truths or metrics, and can be kept for as long as the text is.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.chat.reading.dates import Moment, read_moments
from assay.chat.reading.lexicon import TOKEN, Lexicon, Phrase, Unit, normal
from assay.chat.reading.places import City, Names, fold, gazetteer
from assay.chat.reading.quantities import Quantity, read_figures

# How many tokens a negation or an "if" reaches ahead inside its clause.
_REACH = 8
# "A 10 % slight chance": how near a percentage stands before what it is a chance of.
_NEXT = 2
# A chance below this, in percent, does not say that something will be: forecasters call it slight.
_SLIGHT_CHANCE = 30.0
# Texts longer than this are not kept: they are rare, and would crowd out the turns of a conversation.
_LONGEST_KEPT = 4_000
# A lower-case word after "in" or "for" is a place only where at least this many people live there.
_LARGE_CITY = 100_000
# From this many words without a function word on, a run of list words is no sentence.
_STUFFED = 6
_STOPS = frozenset(".!?…\n")
_CLAUSE_MARKS = frozenset(',;:()[]|—–"“”')


@dataclass(slots=True, eq=False)
class Token:
    """What is known about a word form, wherever it occurs."""

    raw: str
    kind: str
    """'number', 'word', 'newline', 'degree' or 'mark'."""
    text: str
    """In lower case with plain apostrophes; '°' for every sign of degrees."""
    stem: str
    folded: str
    """In lower case without accents, by which names are compared."""
    phrases: Sequence[Phrase]
    """Entries of one word that are this word."""
    longer: Mapping[str, Sequence[Phrase]]
    """Entries of several words that begin with it or one of its forms, by their second word, the longest first."""
    units: Sequence[Unit]
    denies: bool
    """Whether it negates by its ending: isn't, won't."""
    value: float | None
    """What a number word stands for."""
    cities: Names | None
    """Names of cities that begin with it."""
    capital: bool
    notable: bool
    """Whether anything at all is to be looked up at it."""


@dataclass(slots=True, eq=False)
class Mention:
    """Words of a text that stand in one or more lists."""

    start: int
    end: int
    first: int
    """Index of the first token."""
    last: int
    keys: tuple[str, ...]
    denied: bool = False
    """Whether a negation covers it."""
    asserted: bool = True
    """Whether the text states it: not denied, not in a question, not after 'if', not in a heap of words."""


@dataclass(frozen=True, slots=True)
class Place:
    """A city named in a text."""

    start: int
    end: int
    first: int
    last: int
    name: str
    """The folded words of its main name, by which two mentions are compared."""


@dataclass(slots=True, eq=False)
class Reading:
    """A text, read."""

    text: str
    tokens: list[Token]
    starts: list[int]
    ends: list[int]
    stops: list[int]
    """Indices of the tokens that end a sentence, ascending."""
    lists: dict[str, list[Mention]]
    """Mentions by list, in the order of the text."""
    quantities: list[Quantity] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    """Dates and clock times written with numbers."""
    numbers: list[int] = field(default_factory=list)
    """Indices of numbers in digits that are no list markers, dates or clock times."""
    vocabulary: frozenset[str] | None = None
    """Its folded words; made when a name is first looked for."""
    memory: dict[str, object] = field(default_factory=dict)
    """What others have derived from this reading alone, kept with it."""

    def all(self, key: str) -> list[Mention]:
        """Mentions of the list `key`, stated or not."""
        return self.lists.get(key, [])

    def stated(self, key: str) -> list[Mention]:
        """Mentions of the list `key` that the text states."""
        return [mention for mention in self.lists.get(key, ()) if mention.asserted]

    def sublists(self, key: str) -> dict[str, list[Mention]]:
        """Stated mentions by the lists directly inside `key`: 'items' → {'umbrella': […]}."""
        depth = len(key) + 1
        found: dict[str, list[Mention]] = {}
        for mention in self.stated(key):
            for name in mention.keys:
                if len(name) > depth and name.startswith(key) and "." not in name[depth:]:
                    found.setdefault(name[depth:], []).append(mention)
        return found

    def sentence(self, index: int) -> tuple[int, int]:
        """First and last token of the sentence that token `index` lies in; the last is its stop, if it has one."""
        at = bisect_left(self.stops, index)
        first = self.stops[at - 1] + 1 if at else 0
        return first, self.stops[at] if at < len(self.stops) else len(self.tokens) - 1

    def is_question(self, index: int) -> bool:
        """Whether the sentence that token `index` lies in ends with a question mark."""
        if not self.tokens:
            return False
        return self.tokens[self.sentence(index)[1]].text == "?"

    def find(self, names: Mapping[str, Sequence[tuple[str, ...]]]) -> list[Place]:
        """Where names occur, in any case and in the order of the text; `names` has their folded words by the first."""
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
        """Its words and numbers in lower case, joined by single blanks."""
        known = self.memory.get("plain")
        if not isinstance(known, str):
            known = " ".join(token.text for token in self.tokens if token.kind in ("word", "number"))
            self.memory["plain"] = known
        return known


class Reader:
    """Reads texts of one language about one subject."""

    def __init__(self, lexicon: Lexicon, *, use_places: bool = True) -> None:
        self.lexicon = lexicon
        self._use_places = use_places
        language = lexicon.language
        self.function_words = frozenset(language["function_words"])
        self._clause_words = frozenset(language["clause_words"])
        self._negation_stops = frozenset(language["negation_stops"])
        self._or = frozenset(language["linking_or"])
        self._copulas = frozenset(language["copulas"])
        self._after_negation = frozenset(language["negation"]["after"])
        self._final = frozenset(language["negation"].get("final", ()))
        self._ended = frozenset(language["negation"].get("ended", ()))
        self._free = frozenset(language["negation"].get("compounds", ()))
        self._question_words = frozenset(language.get("question_words", ()))
        self._denials = tuple(language["negation"]["endings"])
        self.prepositions = frozenset(language["place_prepositions"])
        self._ordinary = frozenset(language["ordinary_names"].split())
        self._numbers: Mapping[str, float] = language["numbers"]
        self._heaps = frozenset(language["heap_lists"])
        self._known: dict[str, Token] = {}
        self._kept = functools.lru_cache(maxsize=1024)(self._read)

    def read(self, text: str) -> Reading:
        """The reading of `text`; that of a short text is remembered."""
        return self._kept(text) if len(text) <= _LONGEST_KEPT else self._read(text)

    def _read(self, text: str) -> Reading:
        reading = self._tokenise(text)
        mentions = self._mentions(reading)
        if any(token.kind == "number" for token in reading.tokens):
            reading.moments = read_moments(reading, self.lexicon)
        read_figures(reading, self.lexicon)
        self._judge(reading, mentions)
        if self._use_places:
            reading.places = self._places(reading)
        return reading

    def ends_clause(self, token: Token) -> bool:
        """Whether a token separates clauses: a comma, a colon, 'but'."""
        return token.text in _CLAUSE_MARKS or token.text in self._clause_words

    # --- tokens -----------------------------------------------------------------------------------------------------

    def _tokenise(self, text: str) -> Reading:
        tokens: list[Token] = []
        starts: list[int] = []
        ends: list[int] = []
        stops: list[int] = []
        known = self._known
        for match in TOKEN.finditer(text):
            raw = match.group()
            token = known.get(raw)
            if token is None:
                kind = match.lastgroup
                assert kind is not None
                token = self._token(raw, kind)
            if token.kind == "format" or (token.kind == "newline" and _is_soft_wrap(text, match.end())):
                continue
            if token.raw in _STOPS and _ends_sentence(text, match.end(), token.raw):
                stops.append(len(tokens))
            tokens.append(token)
            starts.append(match.start())
            ends.append(match.end())
        return Reading(text, tokens, starts, ends, stops, {})

    def _token(self, raw: str, kind: str) -> Token:
        text = "°" if kind == "degree" else normal(raw)
        is_word = kind == "word"
        capital = is_word and raw[0].isupper()
        entries = self.lexicon.phrases(text) if kind in ("word", "mark") else []
        phrases = [entry for entry in entries if len(entry.parts) == 1 and _is_form(entry.parts[0], raw, text)]
        longer: dict[str, list[Phrase]] = {}
        for entry in sorted(entries, key=lambda entry: -len(entry.parts)):
            if len(entry.parts) > 1:
                longer.setdefault(entry.parts[1][0].lower(), []).append(entry)
        denies = is_word and text.endswith(self._denials)
        cities = gazetteer().get(fold(raw)) if is_word and self._use_places else None
        token = Token(
            raw=raw,
            kind=kind,
            text=text,
            stem=self.lexicon.stem(text) if is_word else text,
            folded=fold(raw),
            phrases=phrases,
            longer=longer,
            units=self.lexicon.units.get(text, ()),
            denies=denies,
            value=self._numbers.get(text),
            cities=cities,
            capital=capital,
            notable=bool(entries or denies),
        )
        if len(self._known) > 50_000:
            self._known.clear()
        self._known[raw] = token
        return token

    # --- words in lists ---------------------------------------------------------------------------------------------

    def _mentions(self, reading: Reading) -> list[Mention]:
        """Find every entry of every list; where one hides what it contains, only it is found there."""
        mentions: list[Mention] = []
        lists = reading.lists
        tokens = reading.tokens
        hidden_to = -1
        for at, token in enumerate(tokens):
            if not token.notable:
                continue
            found = [(phrase, at) for phrase in token.phrases]
            if token.longer and at + 1 < len(tokens):
                following = tokens[at + 1]
                candidates = token.longer.get(following.stem, ())
                if following.text != following.stem:
                    candidates = (*candidates, *token.longer.get(following.text, ()))
                fitting = [phrase for phrase in candidates if _fits(tokens, at, phrase)]
                found = [(phrase, at + len(phrase.parts) - 1) for phrase in fitting] + found
            hiding = -1
            for phrase, last in found:
                if phrase.hides and last > hiding:
                    hiding = last
            for phrase, last in found:
                if at <= hidden_to or last < hiding:
                    continue
                mention = Mention(reading.starts[at], reading.ends[last], at, last, phrase.keys)
                mentions.append(mention)
                for key in phrase.keys:
                    lists.setdefault(key, []).append(mention)
            hidden_to = max(hidden_to, hiding)
            if token.denies and at > hidden_to:
                lists.setdefault("negation", []).append(
                    Mention(reading.starts[at], reading.ends[at], at, at, ("negation",))
                )
        return mentions

    # --- what is stated ---------------------------------------------------------------------------------------------

    def _judge(self, reading: Reading, mentions: Iterable[Mention]) -> None:
        """Decide of each mention and figure whether the text states it."""
        zeros = [q.first for q in reading.quantities if q.kind == "percentage" and q.high == 0]
        denials = sorted([mention.last for mention in reading.all("negation")] + zeros)
        guesses = [mention.last for mention in reading.all("hypothesis")]
        faint = self._faint_chances(reading)
        questions = any(reading.tokens[stop].text == "?" for stop in reading.stops)
        heaps = self._word_heaps(reading)
        everything: list[Mention | Quantity] = [*mentions, *reading.quantities]
        judged: dict[tuple[int, int], tuple[bool, bool]] = {}
        for said in everything:
            where = (said.first, said.last)
            verdict = judged.get(where)
            if verdict is None:
                denied = self._is_denied(reading, said.first, said.last, denials, zeros)
                unsaid = (
                    denied
                    or (bool(guesses) and self._in_reach(reading, said.first, guesses, frozenset()))
                    or (bool(faint) and self._in_reach(reading, said.first, faint, self._negation_stops))
                    or (questions and self._is_asked(reading, said.first))
                    or said.first in heaps
                )
                verdict = judged[where] = (denied, not unsaid)
            said.denied, said.asserted = verdict

    def _faint_chances(self, reading: Reading) -> list[int]:
        """Where a small chance of something is told: 'a 10 % chance of rain', 'chance of rain: 10 %'."""
        percentages = [q for q in reading.quantities if q.kind == "percentage"]
        if not percentages:
            return []
        firsts = [q.first for q in percentages]
        found = []
        for chance in reading.all("chance"):
            at = bisect_left(firsts, chance.first)
            before = percentages[at - 1] if at and chance.first - percentages[at - 1].last <= _NEXT else None
            after = percentages[at] if at < len(firsts) and firsts[at] - chance.last <= _REACH else None
            percentage = before or after
            if percentage is not None and percentage.high < _SLIGHT_CHANCE:
                between = reading.tokens[min(chance.last, percentage.last) : max(chance.first, percentage.first)]
                if not any(token.text in _STOPS or token.text == "," for token in between):
                    found.append(chance.last)
        return found

    def _is_asked(self, reading: Reading, index: int) -> bool:
        """Whether what stands at token `index` is asked and not said.

        A statement that leads up to a question ("It's raining, do you have an umbrella?") is said, and so is what is
        suggested by asking ("How about a museum?").
        """
        if not reading.is_question(index):
            return False
        first, _ = reading.sentence(index)
        suggestions = self._first_tokens(reading, "suggestion")
        at = bisect_right(suggestions, index) - 1
        if at >= 0 and suggestions[at] >= first:
            return False
        while first < index and reading.tokens[first].kind != "word":
            first += 1
        if not self._question_words or reading.tokens[first].text in self._question_words:
            return True
        marks = self._clause_marks(reading)
        at = bisect_left(marks, first)
        return at >= len(marks) or not (first + 2 < marks[at] and index < marks[at] <= reading.sentence(index)[1])

    def _first_tokens(self, reading: Reading, key: str) -> list[int]:
        known = reading.memory.get(f"first {key}")
        if not isinstance(known, list):
            known = reading.memory[f"first {key}"] = [mention.first for mention in reading.all(key)]
        return known

    def _clause_marks(self, reading: Reading) -> list[int]:
        known = reading.memory.get("clause marks")
        if not isinstance(known, list):
            known = [at for at, token in enumerate(reading.tokens) if token.text in _CLAUSE_MARKS]
            reading.memory["clause marks"] = known
        return known

    def _is_denied(self, reading: Reading, first: int, last: int, denials: Sequence[int], zeros: Sequence[int]) -> bool:
        if self._in_reach(reading, first, denials, self._negation_stops):
            return True
        tokens = reading.tokens
        at = last + 1
        if at + 1 < len(tokens) and tokens[at].text == "-" and tokens[at + 1].text in self._free:
            return True  # rain-free
        while at < len(tokens) and at <= last + 3 and tokens[at].text in self._copulas:
            at += 1
        if at < len(tokens) and at > last + 1 and tokens[at].text in self._ended:
            return True  # rain has stopped
        if at < len(tokens) and at in denials[bisect_left(denials, at) : bisect_right(denials, at)]:
            following = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if following in self._after_negation or tokens[at].text in self._final:
                return True
        next_zero = bisect_left(zeros, last + 1)
        if next_zero < len(zeros) and zeros[next_zero] <= last + 4:
            between = reading.tokens[last + 1 : zeros[next_zero]]
            return not any(token.text in _STOPS or token.text in (",", ";") for token in between)
        return False

    def _in_reach(self, reading: Reading, first: int, openers: Sequence[int], ends: frozenset[str]) -> bool:
        """Whether one of `openers` stands before token `first` in the same clause, near enough."""
        at = bisect_left(openers, first) - 1
        if at < 0 or first - openers[at] > _REACH:
            return False
        tokens = reading.tokens
        for index in range(openers[at] + 1, first):
            token = tokens[index]
            if token.text in _STOPS or token.text in ends or token.text in self._clause_words:
                return False
            if token.text in _CLAUSE_MARKS and not (token.text == "," and self._goes_on(tokens, index)):
                return False
        return True

    def _goes_on(self, tokens: Sequence[Token], comma: int) -> bool:
        """Whether a comma only separates what is listed: 'no rain, snow or wind'."""
        after = comma + 2
        return after < len(tokens) and (tokens[after].text == "," or tokens[after].text in self._or)

    def _word_heaps(self, reading: Reading) -> set[int]:
        """Runs of six words and more that are nearly all list words and hold no function word: no sentence at all.

        The result holds the indices of their tokens.
        """
        if sum(map(len, map(reading.all, self._heaps))) < _STUFFED - 1:
            return set()
        listed: dict[int, str] = {}
        for root in self._heaps:
            for mention in reading.all(root):
                for at in range(mention.first, mention.last + 1):
                    listed.setdefault(at, root)
        heaps: set[int] = set()
        first, commas = 0, 0
        for at in range(len(reading.tokens) + 1):
            token = reading.tokens[at] if at < len(reading.tokens) else None
            if token is not None and token.text == ",":
                commas += 1
            elif token is None or token.kind != "word" or token.text in self.function_words:
                words = at - first - commas
                if words >= _STUFFED:
                    roots = [listed[n] for n in range(first, at) if n in listed]
                    if 3 * len(roots) >= 2 * words and len(set(roots)) >= (4 if commas else 2):
                        heaps.update(range(first, at))
                first, commas = at + 1, 0
        return heaps

    # --- places -----------------------------------------------------------------------------------------------------

    def _places(self, reading: Reading) -> list[Place]:
        tokens = reading.tokens
        casual: bool | None = None
        places: list[Place] = []
        taken_to = -1
        for at, token in enumerate(tokens):
            if not token.cities or at <= taken_to:
                continue
            previous = tokens[at - 1].text if at else ""
            if not token.capital:
                if casual is None:
                    casual = not any(other.capital for other in tokens)
                if previous not in self.prepositions and not casual:
                    continue
            found = self._city_at(reading, at, previous)
            if found is not None:
                city, taken_to = found
                places.append(Place(reading.starts[at], reading.ends[taken_to], at, taken_to, city.name))
        return places

    def _city_at(self, reading: Reading, at: int, previous: str) -> tuple[City, int] | None:
        """The city that is named from token `at` on and its last token, if the sentence supports that it is one."""
        tokens = reading.tokens
        token = tokens[at]
        assert token.cities is not None
        for length in token.cities.lengths:
            words = tuple([other.folded for other in tokens[at : at + length]])
            city = token.cities.cities.get(words)
            if city is None:
                continue
            large = city.people >= _LARGE_CITY
            if len(words) > 1:
                if token.capital or large:
                    return city, at + len(words) - 1
                continue
            ordinary = token.text in self._ordinary or bool(token.phrases) or token.text in self.function_words
            if token.capital and (not ordinary or (previous in self.prepositions and not _is_time(token))):
                return city, at + len(words) - 1
            if not token.capital and not ordinary and large and len(token.text) >= 4:
                return city, at + len(words) - 1
        return None


def _fits(tokens: Sequence[Token], at: int, phrase: Phrase) -> bool:
    """Whether the words from token `at` on are those of an entry of several words."""
    if at + len(phrase.parts) > len(tokens):
        return False
    for n, (form, exact) in enumerate(phrase.parts):
        token = tokens[at + n]
        if exact:
            if not _is_form((form, exact), token.raw, token.text):
                return False
        elif token.stem != form or token.kind != "word":
            return False
    return True


def _is_form(part: tuple[str, bool], raw: str, text: str) -> bool:
    """Whether a word is the form that an entry names; an entry with a capital letter wants one."""
    form, exact = part
    return not exact or form == (raw if any(c.isupper() for c in form) else text)


def _is_time(token: Token) -> bool:
    return any(phrase.keys[-1] == "times" for phrase in token.phrases)


def _ends_sentence(text: str, end: int, mark: str) -> bool:
    """Whether a mark ends its sentence: a full stop inside a word, or before a small letter, does not."""
    if mark != ".":
        return True
    if end >= len(text):
        return True
    if not text[end].isspace() and text[end] not in "\"'”’)]*_<":
        return False
    return end + 1 >= len(text) or not text[end + 1].islower()


def _is_soft_wrap(text: str, end: int) -> bool:
    """Whether a line break is mere white space: the next line goes on with a small letter."""
    return text[end : end + 8].lstrip(" \t")[:1].islower()
