"""What a text names but does not claim: former prices ("down from €80"), and what it corrects, rejects or takes back.

Knows figures, states and sentences; which words mark them is the data of the language (`correction`, `reported`,
`rejected`) and the domain (`former`, `aside`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from assay.chat.reading.positions import FIRST, within
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.tokens import STOPS

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

# "The usual price is about €80": how many tokens may stand between such words and their figure.
_NEAR = 3
# Of long sentences, so many tokens around a former figure are searched for the present one.
_FAR = 200
# Roles of figures that are not of the subject itself.
_NOT_OF_SUBJECT = frozenset({"other", "change", "recurring"})
# Quotation marks, each with those that can close it.
_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "‘": "’", "'": "'"}
# How many sentences a correction may be after what it corrects, and before what it says instead.
_EARLIER, _LATER = 2, 1


def withdraw(reading: Reading, from_words: frozenset[str]) -> None:
    """Mark figures and states that the text names as former, corrects or disowns as not stated.

    `from_words` stand before a figure that another one has come from.
    """
    if "disowned" in reading.lists and _withdraw_disowned(reading):
        return
    _withdraw_former(reading)
    if "rejected" in reading.lists:
        _withdraw_rejected(reading)
    if "aside" in reading.lists:
        _set_aside(reading, from_words)
    if from_words and len(reading.quantities) > 1:
        _withdraw_origins(reading, from_words)
    if "correction" in reading.lists:
        _withdraw_corrected(reading)


def _withdraw_disowned(reading: Reading) -> bool:
    """Take back what the text disowns, and return whether that is everything: it is, unless a joke comes first."""
    disowned = [one for one in reading.stated("disowned") if not _is_of_others(reading, one)]
    if not disowned:
        return False
    everything: list[Mention | Quantity] = [*reading.quantities, *chain(*reading.lists.values())]
    claims: list[Mention | Quantity] = [*reading.quantities, *reading.all("states")]
    last = max(one.last for one in disowned)
    is_joke = all(one.keys[0] == "disowned.joke" for one in disowned)
    if not (is_joke and any(claim.first > last and claim.asserted for claim in claims)):
        last = len(reading.tokens)
    for said in everything:
        if said.first < last:
            _take_back(said)
    return last == len(reading.tokens)


def _is_of_others(reading: Reading, disowned: Mention) -> bool:
    """Whether 'that isn't true' is said of what others say: 'She says it's 20 °C. That isn't true: it's 8 °C.'"""
    start = _sentences_back(reading, disowned.first, 1)
    others = (*reading.all("reported"), *reading.all("attributed"), *reading.all("hearsay"))
    return any(start <= one.first < disowned.first for one in others)


def _take_back(said: Mention | Quantity) -> None:
    said.asserted = said.refuted = False


def _withdraw_former(reading: Reading) -> None:
    states = reading.all("states")
    for mention in reading.all("former.surely") if states else ():  # "we've gone from sunshine to rain"
        for state in within(states, mention.last + 1, mention.last + 1 + _NEAR):
            if any(other.asserted for other in within(states, state.last + 1, reading.sentence(state.first)[1] + 1)):
                _take_back(state)
    for mention in chain.from_iterable(map(reading.all, ("former.surely", "former.ended", "former.maybe"))):
        is_ended = mention.keys[0] == "former.ended"
        figure = (_figure_ending_at(reading, mention.first) if is_ended else None) or _figure_of(reading, mention)
        if figure is None:
            continue
        # "The price was €80" tells of the past only beside another price: "it was €80 and is now €64". But "it used to
        # cost €80" always does.
        last = reading.sentence(figure.first)[1]
        first = _sentences_back(reading, figure.first, 1)  # "It is €64. It was €80 last week."
        if reading.sentence(min(last + 1, len(reading.tokens) - 1)) in reading.sentences_with("former.now"):
            last = _sentences_on(reading, last, 1)  # "It retails at €80. It's on sale for €64."
        first, last = max(first, figure.first - _FAR), min(last, figure.last + _FAR)
        alike = [one for one in within(reading.quantities, first, last + 1) if one.kind == figure.kind]
        others = any(one.asserted and one.role != "recurring" for one in alike if one is not figure)
        if others or is_ended or mention.keys[0] == "former.surely":
            _take_back(figure)


def _withdraw_origins(reading: Reading, from_words: frozenset[str]) -> None:
    """Take back a figure that the one closely before it has come from: 'up to 19 °C from 12 °C', '€64 (from €80)'."""
    tokens = reading.tokens
    for now, before in pairwise(reading.quantities):
        if now.kind != before.kind or tokens[before.first - 1].text not in from_words:
            continue
        place = tokens[before.last + 2 : before.last + 3]
        if place and place[0].capital and place[0].cities is not None:
            continue  # "24 °C versus 3 °C in Oslo"
        between = tokens[now.last + 1 : before.first]
        if 0 < len(between) <= _NEAR and not any(token.text in STOPS for token in between):
            _take_back(before)


def _withdraw_rejected(reading: Reading) -> None:
    """Take back what others say or what is quoted, if the text rejects it: 'She says 20 °C. She's wrong: it's 8 °C.'

    What others say is taken back only if the text then gives something of the same sort.
    """
    rejections = sorted([mention.first for mention in reading.all("rejected")])
    said = _claims(reading)
    for report in reading.all("reported"):
        at = bisect_right(rejections, report.last)
        if at == len(rejections) or rejections[at] > _sentences_on(reading, report.last, 1):
            continue
        stop = rejections[at]
        end = _sentences_on(reading, stop, _LATER)
        if _names_city(reading, report.last, stop) and _names_city(reading, stop, end):
            continue  # "According to the app it's 8 °C in Oslo, but it's 20 °C in Madrid."
        given = {_sort(one) for one in within(said, stop + 1, end + 1) if one.asserted}
        for one in within(said, report.last + 1, stop):
            if _sort(one) in given:
                _take_back(one)
    for first, last in _quotations(reading):
        at = bisect_right(rejections, last)
        if at < len(rejections) and rejections[at] - last <= _NEAR:
            for one in within(said, first + 1, last):
                _take_back(one)


def _names_city(reading: Reading, first: int, stop: int) -> bool:
    return any(token.capital and token.cities is not None for token in reading.tokens[first:stop])


def _quotations(reading: Reading) -> list[tuple[int, int]]:
    """The tokens of each pair of quotation marks."""
    found: list[tuple[int, int]] = []
    opened: int | None = None
    for at, token in enumerate(reading.tokens):
        if opened is None and token.text in _QUOTES:
            opened = at
        elif opened is not None and token.text in _QUOTES[reading.tokens[opened].text]:
            found.append((opened, at))
            opened = None
    return found


def _set_aside(reading: Reading, from_words: frozenset[str]) -> None:
    """Give figures of something more than the subject the role 'other', beside one of the subject itself.

    These are a total ("€90 in total"), an offer on terms ("with code SAVE10 it's €58"), the time until it is sent
    ("ships within 24 hours, arrives in 4 days"), and in "two are £129, so £64.50 each" all but the last.
    """
    tokens = reading.tokens
    number = Counter(one.kind for one in reading.quantities if _is_of_subject(one))
    for mention in reading.all("aside"):
        first, last = reading.sentence(mention.first)
        own = [one for one in within(reading.quantities, first, last + 1) if _is_of_subject(one)]
        before = [one for one in own if 0 < mention.first - one.last <= 1]
        sort = mention.keys[0]
        if sort == "aside.offer":
            plain = within(reading.all("plain_offer"), mention.last + 1, last + 1)
            aside = [one for one in own if mention.last < one.first < (plain[0].first if plain else last + 1)]
            if len(aside) > 1 and tokens[aside[0].first - 1].text in from_words:
                del aside[0]  # "20 % off takes it from €80 to €64"
        elif sort == "aside.each":
            kinds = {one.kind for one in before}
            aside = [one for one in own if one.kind in kinds and one not in before]
        else:
            after = None if before else _figure_of(reading, mention)
            # The three years of "covered for three years" are no price for three.
            aside = before or [one for one in own if one is after and one.first != mention.last]
        others = number - Counter(one.kind for one in aside)
        if sort == "aside.offer" and len(aside) == 1 and not others[aside[0].kind]:
            _restore_regular(reading, aside[0], (first, last))
        for figure in aside:
            if others[figure.kind]:
                figure.role = "other"
                number[figure.kind] -= 1


def _is_of_subject(figure: Quantity) -> bool:
    return figure.asserted and figure.role not in _NOT_OF_SUBJECT


def _restore_regular(reading: Reading, on_terms: Quantity, sentence: tuple[int, int]) -> None:
    """Claim the price that one on terms replaces, if it is the only other: 'students pay €54 instead of €60'."""
    for one in within(reading.quantities, sentence[0], sentence[1] + 1):
        if one is not on_terms and one.kind == on_terms.kind and one.role not in _NOT_OF_SUBJECT:
            one.asserted, one.refuted, one.denied = True, False, False
            on_terms.role = "other"
            return


def _figure_of(reading: Reading, mention: Mention) -> Quantity | None:
    """The figure inside a mention ("von 80 € auf"), else the next one if it is close and no other number is between."""
    at = bisect_right(reading.quantities, mention.first, key=FIRST)
    for figure in reading.quantities[max(0, at - 1) : at + 1]:
        if mention.first <= figure.last and figure.first <= mention.last:
            return figure
        if figure.first > mention.last:
            between = reading.tokens[mention.first : figure.first]
            if figure.first - mention.last - 1 > _NEAR or any(token.kind == "number" for token in between):
                return None
            return None if any(token.text in STOPS or token.text in ",;" for token in between) else figure
    return None


def _figure_ending_at(reading: Reading, index: int) -> Quantity | None:
    """The figure directly before token `index`: "€89.90 last year"."""
    before = reading.quantities[: bisect_left(reading.quantities, index, key=FIRST)][-1:]
    return before[0] if before and before[0].last == index - 1 else None


def _withdraw_corrected(reading: Reading) -> None:
    said = _claims(reading)
    end = -1
    for correction in sorted(reading.all("correction"), key=lambda one: (one.first, -one.last)):
        if correction.first > end:  # "sorry, I mean" has "I mean" within it, and corrects once
            _correct(reading, correction, said)
            end = correction.last


def _correct(reading: Reading, correction: Mention, said: Sequence[Mention | Quantity]) -> None:
    """Take back what a correction corrects: in the nearest sentence before it that has something of the same sort.

    "No wait" takes back as many as it gives others, the last ones: of two cities, the second. "Scratch that" takes back
    all of the sort, or everything if it gives no others.
    """
    end = _sentences_on(reading, correction.last, _LATER)
    given = Counter(_sort(one) for one in within(said, correction.last + 1, end + 1) if one.asserted)
    start = _sentences_back(reading, correction.first, _EARLIER)
    before = [one for one in within(said, start, correction.first) if one.last < correction.first and one.asserted]
    takes_all = correction.keys[0] == "correction.retracted"
    for sort in given or ({_sort(one) for one in before} if takes_all else ()):
        alike = [one for one in before if _sort(one) == sort]
        if alike:
            sentence = reading.sentence(alike[-1].first)
            nearest = [one for one in alike if reading.sentence(one.first) == sentence]
            for one in nearest if takes_all else nearest[-given[sort] :]:
                _take_back(one)


def _claims(reading: Reading) -> list[Mention | Quantity]:
    """Figures and states, in the order of the text."""
    return sorted([*reading.quantities, *reading.all("states")], key=FIRST)


def _sort(said: Mention | Quantity) -> tuple[str, str]:
    """States are corrected by states, and figures by figures of the same kind and role."""
    return (said.kind, said.role) if isinstance(said, Quantity) else ("states", "")


def _sentences_on(reading: Reading, index: int, count: int) -> int:
    """The last token of the sentence `count` after that of token `index`."""
    last = reading.sentence(index)[1]
    for _ in range(count):
        if last + 1 < len(reading.tokens):
            last = reading.sentence(last + 1)[1]
    return last


def _sentences_back(reading: Reading, index: int, count: int) -> int:
    """The first token of the sentence `count` before that of token `index`."""
    first = reading.sentence(index)[0]
    for _ in range(count):
        if first > 0:
            first = reading.sentence(first - 1)[0]
    return first
