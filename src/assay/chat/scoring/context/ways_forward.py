"""Ways forward that an answer offers where something failed or is not to be had.

Another source, another time, a substitute: they are recognised by what they consist of, which is somebody who acts, an
action, and where or when. A phrase without one of these, such as "we are always there for you", offers nothing. Knows
the words of a language (`ways_forward`); knows no metric.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.chat.reading.positions import within
from assay.chat.reading.text import Mention
from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS, Token

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# How far after an action it says where or when, and how far before it somebody is named or a negation stands.
_REACH, _BEFORE = 12, 4
# Of a long sentence or clause, so many tokens are looked at.
_SENTENCE = 60
# Between a source of information and what it does: "the shop in town can tell".
_LINKS = 3
_ENDS = CLAUSE_MARKS | STOPS
_CONTENT = ("advice", "items", "states", "way_forward", "clarify", "times")


@dataclass(frozen=True, slots=True)
class Ways:
    """Where an answer offers a way forward."""

    alternatives: list[Mention]
    """Something else that it offers to do or to give."""
    fallbacks: list[Mention]
    """Where else to look, whom to ask, or when to come back."""


def ways_forward(context: ScoringContext) -> Ways:
    """The ways forward of an answer, by listed phrases and by what they consist of."""
    known = context.derived.get("ways forward")
    if not isinstance(known, Ways):
        known = context.derived["ways forward"] = _Finder(context).find()
    return known


class _Finder:
    def __init__(self, context: ScoringContext) -> None:
        self.context = context
        self.response = context.response
        self.tokens = context.response.tokens
        self.words = context.reader.way_words
        self.ends = context.reader.clause_ends(context.response)
        self.negations = sorted(one.last for one in self.response.all("negation"))
        self.failed = sorted(one.first for key in ("error", "missing") for one in self.response.all(key))
        self.stated = [one for one in self.response.quantities if one.asserted]
        self.unsaid = context.unsaid

    def find(self) -> Ways:
        alternatives = [one for one in self.context.said("alternatives") if self.has_content(one)]
        fallbacks = self.context.said("fallback")
        for at, token in enumerate(self.tokens):
            if token.kind != "word" or at in self.unsaid:
                continue
            if token.text in self.words.actions and self.is_advised(at):
                fallbacks.append(self.mention(at))
            elif token.text in self.words.offers and self.is_offered(at):
                alternatives.append(self.mention(at))
            elif (
                (token.text in self.words.sources and self.tells(at))
                or (token.text in self.words.restored and self.is_restored(at))
                or (_is_address(token) and not self.is_denied(at) and not self.is_failure(at))
            ):
                fallbacks.append(self.mention(at))
            elif token.text in self.words.substitutes and self.is_substitute(at):
                alternatives.append(self.mention(at))
        key = _first
        return Ways(sorted(alternatives, key=key), sorted(fallbacks, key=key))

    def mention(self, at: int) -> Mention:
        return Mention(self.response.starts[at], self.response.ends[at], at, at, ("ways_forward",))

    def has_content(self, said: Mention) -> bool:
        """Whether a word such as 'instead' leads to something: 'However, thank you for your patience' does not."""
        text = " ".join(token.text for token in self.tokens[said.first : said.last + 1])
        if text not in self.words.connectives:
            return True
        first, last = self.response.sentence(said.first)
        first, last = max(first, said.first - _SENTENCE), min(last, said.last + _SENTENCE)
        if any(self.tokens[at].text in self.words.nothing for at in range(first, said.first)):
            return False  # "there's nothing you can do instead"
        rest = [*range(first, said.first), *range(said.last + 1, last + 1)]
        telling = self.words.actions | self.words.offers | self.words.sources | self.words.substitutes
        if any(self.tokens[at].text in telling or self.tokens[at].is_number for at in rest):
            return True
        listed = (within(self.response.all(key), first, last + 1) for key in _CONTENT)
        if any(one.first != said.first for found in listed for one in found):
            return True
        return bool(
            within(self.response.quantities, first, last + 1) or within(self.context.response_places, first, last + 1)
        )

    def clause(self, at: int) -> tuple[int, int]:
        """First token and end of the clause of a token."""
        first, last = self.response.sentence(at)
        n = bisect_left(self.ends, at)
        start = max(first, self.ends[n - 1] + 1 if n else 0)
        stop = min(last + 1, self.ends[n] if n < len(self.ends) else last + 1)
        return max(start, at - _SENTENCE), min(stop, at + _SENTENCE)

    def is_denied(self, at: int) -> bool:
        """Whether a negation stands shortly before a token of the same clause: 'please don't try again'."""
        n = bisect_left(self.negations, at) - 1
        return n >= 0 and at - self.negations[n] <= _BEFORE and self.negations[n] >= self.clause(at)[0]

    def before(self, at: int) -> int:
        """The token before another one, without adverbs between: 'you can always check'."""
        at -= 1
        while at >= 0 and self.tokens[at].text in self.context.reader.adverbs:
            at -= 1
        return at

    def is_led(self, at: int) -> bool:
        """Whether the user is told to do what token `at` names: 'you could check', 'please ask', 'best to call'."""
        lead = self.before(at)
        if lead < 0 or self.tokens[lead].kind != "word":
            return True
        text = self.tokens[lead].text
        if text in self.words.modals:
            who = self.before(lead)
            return who >= 0 and self.tokens[who].text in self.words.users
        who = self.before(lead)
        if who >= 0 and self.tokens[who].text in self.words.own and text not in self.words.own:
            return False  # "Want me to try again?"
        return text in self.words.before_action

    def is_advised(self, at: int) -> bool:
        if not self.is_led(at) or self.is_denied(at):
            return False
        stop = min(self.response.sentence(at)[1] + 1, at + 1 + _REACH)
        return self.says_where_or_when(at + 1, stop)

    def says_where_or_when(self, first: int, stop: int) -> bool:
        """Whether some tokens name a source, a person by a capital letter, a time, or 'again'."""
        for at in range(first, stop):
            token = self.tokens[at]
            if token.text in self.words.sources or token.text in self.words.again or _is_address(token):
                return True
            if token.kind == "word" and token.capital and token.text not in self.words.own:
                return True
        response = self.response
        found = (response.all("times"), response.moments, self.stated)
        return any(within(one, first, stop) for one in found)

    def is_offered(self, at: int) -> bool:
        """Whether the assistant offers to do what token `at` names: 'I can check Bergen', 'if you want me to retry'."""
        lead = self.before(at)
        if lead < 0 or self.is_denied(at) or self.is_failure(at) or self.response.is_question(at):
            return False
        text = self.tokens[lead].text
        who = self.before(lead)
        leads = self.words.modals | self.words.before_action  # "I could check", "if you'd like me to check"
        is_own = text in self.words.own or (who >= 0 and self.tokens[who].text in self.words.own and text in leads)
        if not is_own:
            return False
        _, last = self.response.sentence(at)
        rest = self.tokens[at + 1 : min(last + 1, at + 1 + _REACH)]
        small = self.context.reader.small_words | self.words.empty
        return self.tokens[at].text in self.words.again or any(
            (one.kind == "word" and one.text not in small) or one.is_number for one in rest
        )

    def tells(self, at: int) -> bool:
        """Whether a source has what was asked for: 'their website shows the stock', 'the radio will tell'."""
        if self.is_denied(at) or self.is_failure(at):
            return False
        for n in range(at + 1, min(at + 2 + _LINKS, len(self.tokens))):
            token = self.tokens[n]
            if token.text in self.words.tells:
                return not self.is_denied(n)
            is_between = token.text in self.words.modals or token.text in self.words.sources
            is_placed = self.tokens[n - 1].text in self.context.reader.prepositions  # "our shop in town can tell you"
            if not (is_between or is_placed) and token.text not in self.context.reader.small_words:
                return False
        return False

    def is_failure(self, at: int) -> bool:
        """Whether the clause of a token is that which reports a failure."""
        first, stop = self.clause(at)
        n = bisect_left(self.failed, first)
        return n < len(self.failed) and self.failed[n] < stop

    def is_restored(self, at: int) -> bool:
        """Whether something is said to work again at a time: 'it should be back by noon'."""
        lead = self.before(at)
        if lead < 0 or self.tokens[lead].text not in self.context.reader.copulas or self.is_denied(at):
            return False
        _, stop = self.clause(at)
        response = self.response
        found = (response.all("times"), response.moments, response.all("part_of_day"), response.quantities)
        return any(within(one, at + 1, stop) for one in found)

    def is_substitute(self, at: int) -> bool:
        """Whether something else is to be had: 'the Summit Pack may suit you', 'would Bergen's do?'."""
        if self.is_denied(at) or self.is_failure(at):
            return False
        first, stop = self.clause(at)
        subjects = self.context.subjects
        asked = self.context.question.places | self.context.subjects.names_in(self.context.query)
        others = [one for one in within(self.context.response_places, first, stop) if one.name not in asked]
        if any(not subjects.is_true_name([one.name]) or not subjects.true_names for one in others):
            return True
        if self.context.domain.uses_places:
            return False
        known = {token.folded for token in self.context.query.tokens}
        named = (token for token in self.tokens[first + 1 : stop] if token.capital and token.kind == "word")
        idle = self.context.reader.small_words | self.words.own | self.words.again
        return any(
            not (token.text in idle or token.folded in known or subjects.is_true_word(token.folded)) for token in named
        )


def _is_address(token: Token) -> bool:
    """Whether a word is an address on the web: yr.no."""
    return token.kind == "word" and "." in token.text


def _first(mention: Mention) -> int:
    return mention.first
