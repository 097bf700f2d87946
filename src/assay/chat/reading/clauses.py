"""What a text states: words and numbers that are not denied, not asked, not hypothetical, and part of a sentence.

Knows negation, conditions, questions and small chances inside a clause; which words mark them is the language's data.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.chat.reading.quantities import Quantity
from assay.chat.reading.tokens import STOPS, Token

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

# How many tokens a negation or an "if" reaches ahead inside its clause.
_REACH = 8
# "A 10 % slight chance": how many tokens before "chance" its percentage may be.
_NEXT = 2
# A chance below this, in percent, does not state that something will happen: forecasters call it slight.
_SLIGHT_CHANCE = 30.0
# A run of this many list words or more, without a function word, is keyword stuffing and not a sentence.
_STUFFED = 6
_CLAUSE_MARKS = frozenset(',;:()[]|—–"“”')


class Clauses:
    """Decides for one language what a text states."""

    def __init__(self, language: Mapping[str, Any]) -> None:
        negation = language["negation"]
        self._function_words = frozenset(language["function_words"])
        self._clause_words = frozenset(language["clause_words"])
        self._negation_stops = frozenset(language["negation_stops"])
        self._or = frozenset(language["linking_or"])
        self._copulas = frozenset(language["copulas"])
        self._after_negation = frozenset(negation["after"])
        self._final = frozenset(negation.get("final", ()))
        self._ended = frozenset(negation.get("ended", ()))
        self._free = frozenset(negation.get("compounds", ()))
        self._question_words = frozenset(language.get("question_words", ()))
        self._keyword_lists = frozenset(language["keyword_lists"])

    def ends_clause(self, token: Token) -> bool:
        """Whether a token separates clauses: a comma, a colon, 'but'."""
        return token.text in _CLAUSE_MARKS or token.text in self._clause_words

    def mark(self, reading: Reading, mentions: Iterable[Mention]) -> None:
        """Set `denied` and `asserted` of each mention and quantity."""
        zeros = [q.first for q in reading.quantities if q.kind == "percentage" and q.high == 0]
        negations = sorted([mention.last for mention in reading.all("negation")] + zeros)
        conditions = [mention.last for mention in reading.all("hypothesis")]
        slight = self._slight_chances(reading)
        has_questions = any(reading.tokens[stop].text == "?" for stop in reading.stops)
        stuffed = self._stuffed_tokens(reading)
        everything: list[Mention | Quantity] = [*mentions, *reading.quantities]
        known: dict[tuple[int, int], tuple[bool, bool]] = {}
        for said in everything:
            where = (said.first, said.last)
            result = known.get(where)
            if result is None:
                denied = self._is_denied(reading, said.first, said.last, negations, zeros)
                unsaid = (
                    denied
                    or (bool(conditions) and self._in_reach(reading, said.first, conditions, frozenset()))
                    or (bool(slight) and self._in_reach(reading, said.first, slight, self._negation_stops))
                    or (has_questions and self._is_asked(reading, said.first))
                    or said.first in stuffed
                )
                result = known[where] = (denied, not unsaid)
            said.denied, said.asserted = result

    def _slight_chances(self, reading: Reading) -> list[int]:
        """Where a text gives a small chance of something: 'a 10 % chance of rain', 'chance of rain: 10 %'."""
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
                if not any(token.text in STOPS or token.text == "," for token in between):
                    found.append(chance.last)
        return found

    def _is_asked(self, reading: Reading, index: int) -> bool:
        """Whether token `index` is part of a question and therefore not stated.

        A statement before the question ("It's raining, do you have an umbrella?") is stated, and so is a suggestion in
        the form of a question ("How about a museum?").
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

    def _is_denied(
        self, reading: Reading, first: int, last: int, negations: Sequence[int], zeros: Sequence[int]
    ) -> bool:
        """Whether a negation covers the tokens `first` to `last`; `zeros` are percentages of 0."""
        if self._in_reach(reading, first, negations, self._negation_stops):
            return True
        tokens = reading.tokens
        at = last + 1
        if at + 1 < len(tokens) and tokens[at].text == "-" and tokens[at + 1].text in self._free:
            return True  # rain-free
        while at < len(tokens) and at <= last + 3 and tokens[at].text in self._copulas:
            at += 1
        if at < len(tokens) and at > last + 1 and tokens[at].text in self._ended:
            return True  # rain has stopped
        if at < len(tokens) and at in negations[bisect_left(negations, at) : bisect_right(negations, at)]:
            following = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if following in self._after_negation or tokens[at].text in self._final:
                return True
        next_zero = bisect_left(zeros, last + 1)
        if next_zero < len(zeros) and zeros[next_zero] <= last + 4:
            between = reading.tokens[last + 1 : zeros[next_zero]]
            return not any(token.text in STOPS or token.text in (",", ";") for token in between)
        return False

    def _in_reach(self, reading: Reading, first: int, openers: Sequence[int], ends: frozenset[str]) -> bool:
        """Whether one of `openers` comes before token `first` in the same clause, at most `_REACH` tokens away."""
        at = bisect_left(openers, first) - 1
        if at < 0 or first - openers[at] > _REACH:
            return False
        tokens = reading.tokens
        for index in range(openers[at] + 1, first):
            token = tokens[index]
            if token.text in STOPS or token.text in ends or token.text in self._clause_words:
                return False
            if token.text in _CLAUSE_MARKS and not (token.text == "," and self._continues_list(tokens, index)):
                return False
        return True

    def _continues_list(self, tokens: Sequence[Token], comma: int) -> bool:
        """Whether a comma only separates items of a list: 'no rain, snow or wind'."""
        after = comma + 2
        return after < len(tokens) and (tokens[after].text == "," or tokens[after].text in self._or)

    def _stuffed_tokens(self, reading: Reading) -> set[int]:
        """Indices of tokens in runs of six words and more that are nearly all list words, with no function word."""
        if sum(map(len, map(reading.all, self._keyword_lists))) < _STUFFED - 1:
            return set()
        listed: dict[int, str] = {}
        for root in self._keyword_lists:
            for mention in reading.all(root):
                for at in range(mention.first, mention.last + 1):
                    listed.setdefault(at, root)
        stuffed: set[int] = set()
        first, commas = 0, 0
        for at in range(len(reading.tokens) + 1):
            token = reading.tokens[at] if at < len(reading.tokens) else None
            if token is not None and token.text == ",":
                commas += 1
            elif token is None or token.kind != "word" or token.text in self._function_words:
                words = at - first - commas
                if words >= _STUFFED:
                    roots = [listed[n] for n in range(first, at) if n in listed]
                    if 3 * len(roots) >= 2 * words and len(set(roots)) >= (4 if commas else 2):
                        stuffed.update(range(first, at))
                first, commas = at + 1, 0
        return stuffed
