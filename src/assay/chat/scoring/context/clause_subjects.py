"""What a clause with a figure or a state is about: the truth's product, or something else such as lids or a fee.

Knows clauses and the words of a language; knows no values of the ground truth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.chat.reading.positions import within
from assay.chat.reading.tokens import Token

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

# What a clause is about is among this many tokens before what it says.
_REACH = 8
# "The Aero blender has been marked down from $99.99 to $79.99".
_LONG_REACH = 16
# Of a compound, the noun has at least this many letters: the "daten" of Bestandsdaten.
_SHORTEST_NOUN = 4
# After a figure, what it is of: "€6 for the bulb".
_AFTER = 4


class About(Enum):
    """What a clause is about."""

    PRODUCT = "the truth's product, by its name or a word that stands for it"
    OPEN = "it does not say"
    DEFINITE = "a thing with a definite article, which may be the product: the shoe"
    OTHER = "something else: paddles, a case, our collection service"


def is_of_something_else(context: ScoringContext, index: int) -> bool:
    """Whether the clause of token `index` begins with another subject: 'and spare lids are €6', 'blue is sold out'.

    That is a word that no list has, after an article or before a verb or a noun; and nothing in the clause before token
    `index` stands for the product.
    """
    reader = context.reader
    clause = _clause_before(context, index, _REACH)
    while clause and clause[0].text in reader.small_words and clause[0].text not in reader.articles:
        clause = clause[1:]
    if len(clause) < 2 or reader.has_anaphor(clause) or _names_product(context, clause):
        return False
    if clause[0].text in reader.articles:
        return _is_thing(context, clause[1])
    second = clause[1].text in reader.copulas or clause[1].text in reader.nots or _is_thing(context, clause[1])
    return _is_thing(context, clause[0]) and second


def may_be_of_product(context: ScoringContext, index: int) -> bool:
    """Whether the clause of token `index` names the product before it, or nothing: not 'Worn items can't be …'."""
    clause = _clause_before(context, index, _LONG_REACH)
    if _names_product(context, clause) or context.reader.has_anaphor(clause, context.reader.pronouns):
        return True
    return not any(_is_thing(context, token) for token in clause)


def is_of_no_product(context: ScoringContext, index: int) -> bool:
    """Whether a state at token `index` is that of no product: 'the stock service is unavailable'.

    The noun of the clause's subject is its last word before a preposition, 'stock data for the lamp'; in French it may
    be any, 'le service client'. It may follow the verb: 'derzeit ist der Dienst nicht verfügbar'.
    """
    reader, tokens = context.reader, context.response.tokens
    failed = index in _tokens_of(context, "error", only_first=True)
    if index and tokens[index - 1].text == ":" and not failed:
        return False  # "Stock information: in stock", not "Stock service: unavailable"
    words = range(index - len(_clause_before(context, index, _LONG_REACH)), index)
    verb = next((n for n, at in enumerate(words) if tokens[at].denies or tokens[at].text in reader.copulas), len(words))
    before, after = words[:verb], words[verb + 1 :]
    if any(tokens[at].text in reader.pronouns for at in after):
        return False  # "laut unserem System ist sie nicht verfügbar"
    head = _head(context, after, may_open=False) or _head(context, before, may_open=True)
    nouns = [tokens[at] for at in (head if reader.noun_first else head[-1:])]
    is_named = any(context.subjects.is_true_word(noun.folded) for noun in nouns)
    return not is_named and any(_is_not_stocked(context, noun) for noun in nouns)


def _is_not_stocked(context: ScoringContext, noun: Token) -> bool:
    """Whether a noun is for what no shop stocks, and is not what the user asks for: 'Is the sound system in stock?'"""
    listed, stem = context.reader.lexicon.not_stocked, context.reader.lexicon.stemmer.stem(noun.text)
    if stem not in listed and not (
        context.reader.joins_nouns and noun.text.endswith(tuple(word for word in listed if len(word) >= _SHORTEST_NOUN))
    ):
        return False
    return bool(noun.phrases) or all(token.text != noun.text for token in context.query.tokens)


def _tokens_of(context: ScoringContext, key: str, *, only_first: bool = False) -> set[int]:
    """The tokens of the mentions of a list, or the first ones; kept, as each state asks for them."""
    name = f"{'first tokens' if only_first else 'tokens'} of {key}"
    known = context.derived.get(name)
    if not isinstance(known, set):
        mentions = context.response.all(key)
        known = {at for one in mentions for at in range(one.first, one.first + 1 if only_first else one.last + 1)}
        context.derived[name] = known
    return known


def _head(context: ScoringContext, words: Sequence[int], *, may_open: bool) -> list[int]:
    """The words of a subject up to the first preposition, which may open it if `may_open` is set; no small words."""
    reader, tokens = context.reader, context.response.tokens
    denying = _tokens_of(context, "negation")
    idle = reader.small_words | reader.lexicon.before_state
    head: list[int] = []
    for at in words:
        text = tokens[at].text
        if text in reader.pronouns:
            head = []  # "the system says it is unavailable"
        elif text in reader.prepositions or text in reader.placing or text in reader.purposes:
            if head or not may_open:
                break
        elif tokens[at].kind == "word" and text not in idle and at not in denying:
            head.append(at)
    return head


def about(context: ScoringContext, first: int, last: int) -> About:
    """What the price of the tokens `first` to `last` is of."""
    reader, tokens = context.reader, context.response.tokens
    if first and tokens[first - 1].text in reader.additions:
        return About.OTHER  # "plus £6"
    if _is_for_span(context, first):
        return About.OTHER
    before = _clause_before(context, first, _LONG_REACH)
    is_labelled = first > 0 and tokens[first - 1].text in "(:"
    if is_labelled and before and _is_thing(context, before[-1]):
        return About.OTHER  # "(bulb: £6)"
    start = first - len(before) - is_labelled
    subject = _subject(context, before)
    pronouns = [token.text for token in before if token.text in reader.pronouns]
    if _is_with_thing(context, before) and not _names_product(context, before):
        return About.OTHER
    if subject is About.PRODUCT and pronouns and not _names_product(context, before):
        return _of_pronoun(context, pronouns, start)
    if subject is About.OPEN and start > 1 and tokens[start - 1].text in reader.and_words:
        earlier = _subject(context, _clause_before(context, start - 1, _LONG_REACH))
        if earlier is About.OTHER:
            return earlier  # "Its cushion is optional and costs $35"
    if subject is not About.OPEN:
        return subject
    if reader.has_anaphor(before):
        return About.PRODUCT  # "the price is", "now"
    named = _thing_in(context, before)
    return named if named is not About.OPEN else _after(context, last)


def _is_for_span(context: ScoringContext, first: int) -> bool:
    """Whether a price is that of the figure before it: 'extendable to 5 years for $59'."""
    if first < 2 or context.response.tokens[first - 1].text not in context.reader.purposes:
        return False
    near = within(context.response.quantities, first - _REACH, first)
    return any(one.last == first - 2 and context.kind(one.kind).family is None for one in near)


def _subject(context: ScoringContext, clause: Sequence[Token]) -> About:
    """What a clause begins with; a word for a price does not say of what it is."""
    reader = context.reader
    names_product = _names_product(context, clause)
    has_pronoun = reader.has_anaphor(clause, reader.pronouns)
    while clause and clause[0].text in reader.small_words and clause[0].text not in reader.articles:
        if clause[0].text in reader.possessives and not names_product and not reader.has_anaphor(clause[1:]):
            return About.OTHER if any(_is_thing(context, one) for one in clause[1:2]) else About.PRODUCT
        clause = clause[1:]
    if names_product:
        return About.OTHER if _is_part(context, clause) else About.PRODUCT
    has_article = len(clause) > 1 and clause[0].text in reader.articles and _is_thing(context, clause[1])
    if has_article and clause[0].text not in reader.definite:
        return About.OTHER
    if has_pronoun:
        return About.PRODUCT
    if has_article:
        return About.DEFINITE
    if not clause or not _is_thing(context, clause[0]):
        return About.OPEN
    verb = next((at for at, one in enumerate(clause) if not _is_thing(context, one)), 0)
    is_subject = (verb and _is_verb(context, clause[verb])) or _is_verb(context, clause[-1])  # "Children under 12 pay"
    return About.OTHER if is_subject else About.OPEN


def _is_verb(context: ScoringContext, token: Token) -> bool:
    """Whether a word says what something is, is not, or costs."""
    reader = context.reader
    return token.denies or token.text in reader.copulas or token.text in reader.nots or token.text in reader.pricing


def _names_product(context: ScoringContext, clause: Sequence[Token]) -> bool:
    return any(context.subjects.is_true_word(one.folded) for one in clause)


def is_of_accessory(context: ScoringContext, index: int) -> bool:
    """Whether a price or a state is of a thing that is only for the product: 'the cover for the tent costs €20'."""
    return _is_for_product(context, _clause_before(context, index, _LONG_REACH))


def _is_for_product(context: ScoringContext, clause: Sequence[Token]) -> bool:
    reader = context.reader
    at = next((at for at, one in enumerate(clause) if context.subjects.is_true_word(one.folded)), 0) - 1
    if at > 0 and clause[at].text in reader.articles | reader.possessives:
        at -= 1
    if at < 1 or clause[at].text not in reader.purposes or reader.has_anaphor(clause[:at]):
        return False
    thing = clause[at - 1]
    return _is_thing(context, thing) and not thing.capital and thing.text not in reader.price_nouns


def _is_part(context: ScoringContext, clause: Sequence[Token]) -> bool:
    """Whether the name of the product only says what a thing is for: 'kayak paddles are $55'."""
    if _is_for_product(context, clause):
        return True
    named = [at for at, one in enumerate(clause) if context.subjects.is_true_word(one.folded)]
    following = clause[named[-1] + 1 : named[-1] + 3] if named else ()
    if len(following) < 2 or context.reader.has_anaphor(clause[: named[-1]]):
        return False
    thing, verb = following
    return _is_thing(context, thing) and not thing.capital and verb.text in context.reader.copulas


def _is_with_thing(context: ScoringContext, clause: Sequence[Token]) -> bool:
    """Whether a clause says with what else, or on what terms: 'with the cushion', 'with your welcome code'."""
    reader = context.reader
    return any(
        word.text in reader.together and determiner.text in reader.articles | reader.whose
        for word, determiner in pairwise(clause)
    )


def _thing_in(context: ScoringContext, clause: Sequence[Token]) -> About:
    """Whether a clause without a subject names a thing: 'add a strap for $29', 'bear in mind that our service charges'.

    What a preposition places is none: 'in the sale'.
    """
    reader = context.reader
    for at in range(len(clause) - 2, -1, -1):
        if clause[at].text not in reader.articles or not _is_thing(context, clause[at + 1]):
            continue
        if not at or clause[at - 1].text not in reader.placing:
            return About.DEFINITE if clause[at].text in reader.definite else About.OTHER
    return About.OPEN


def _after(context: ScoringContext, last: int) -> About:
    """What a price is of by what follows it: '€6 for the bulb', '$79 for a spray deck'."""
    reader, tokens = context.reader, context.response.tokens
    if last + 2 >= len(tokens) or tokens[last + 1].text not in reader.purposes:
        return About.OPEN
    following = []
    for token in tokens[last + 2 : last + 2 + _AFTER]:
        if token.kind != "word" or token.text in reader.copulas:
            break
        following.append(token)
    if _names_product(context, following):
        return About.PRODUCT
    if not any(_is_thing(context, one) for one in following):
        return About.OPEN
    return About.DEFINITE if following[0].text in reader.definite else About.OTHER


def _of_pronoun(context: ScoringContext, pronouns: Sequence[str], start: int) -> About:
    """What pronouns of the clause that begins at token `start` stand for: the clause before may be of something else.

    'Paddles aren't included; those are $55 each.' A word for one thing stands for one with an indefinite article.
    """
    reader, tokens = context.reader, context.response.tokens
    is_plural = reader.plural_pronouns.issuperset(pronouns)
    if (is_plural and _is_of_several(context)) or start < 2:
        return About.PRODUCT
    first = context.response.sentence(start)[0]
    if any(one.role == "other" for one in within(context.response.quantities, max(first, start - _LONG_REACH), start)):
        return About.OTHER  # "Orders over $50 ship free, otherwise it's $6."
    before = _clause_before(context, start - 1, _LONG_REACH)
    subject = _subject(context, before)
    if subject is About.OPEN:
        subject = _thing_in(context, before)
    if subject is not About.OTHER:
        return About.DEFINITE if is_plural else About.PRODUCT
    is_new = is_plural or any(token.text in reader.indefinite for token in before)
    return About.OTHER if is_new and tokens[start - 1].text not in reader.and_words else About.PRODUCT


def _is_of_several(context: ScoringContext) -> bool:
    """Whether the product, by its name or as the question names it, is several things: boots, Oak Stools."""
    subjects = context.subjects
    asked = (token.folded for token in context.query.tokens if token.folded.endswith("s"))
    return subjects.is_plural or any(subjects.is_true_word(word[:-1]) for word in asked)


def _clause_before(context: ScoringContext, index: int, reach: int) -> Sequence[Token]:
    """The tokens of a clause up to token `index`, at most `reach`; an 'and' begins another."""
    response, reader = context.response, context.reader
    if index > 1 and response.tokens[index - 1].text in "(:":
        index -= 1  # "bulbs not included (€8.50)", "bulb: £6"
    ends = reader.clause_ends(response)
    at = bisect_left(ends, index) - 1
    if at > 0 and response.tokens[ends[at]].text == "," and response.tokens[ends[at] + 1].text in reader.copulas:
        at -= 2  # "CarePlus, our optional cover, is €19"
    start = max(response.sentence(index)[0], index - reach, ends[at] + 1 if at >= 0 else 0)
    joins = [n for n in range(start, index) if response.tokens[n].text in reader.and_words]
    return response.tokens[joins[-1] + 1 if joins else start : index]


def _is_thing(context: ScoringContext, token: Token) -> bool:
    return (
        token.kind == "word"
        and not token.phrases
        and not token.units
        and not token.denies
        and token.text not in context.reader.pronouns
        and token.text not in context.reader.small_words
        and not context.subjects.is_true_word(token.folded)
    )
