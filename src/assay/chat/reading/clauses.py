"""What a text states: words and numbers that are not denied, not asked, not hypothetical, and part of a sentence.

Knows negation, conditions, questions and small chances inside a clause; which words mark them is the language's data.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.chat.reading.chances import slight_chances
from assay.chat.reading.denied_pairs import PairReader
from assay.chat.reading.intentions import INTENTION, IntentionReader
from assay.chat.reading.labels import Labels
from assay.chat.reading.likings import LIKINGS, LikingReader
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.reported import ReportReader
from assay.chat.reading.stuffing import may_be_stuffed, stuffed_tokens
from assay.chat.reading.tokens import CLAUSE_MARKS, STOPS, Token
from assay.chat.reading.traits import ENDS_CLAUSE, having

if TYPE_CHECKING:
    from assay.chat.reading.text import Mention, Reading

# How many tokens a negation or an "if" reaches ahead inside its clause.
_REACH = 8
# Lists whose words describe the domain's subject; a user's liking for what they name does not claim it.
_TELLING = frozenset({"states", "tells", "cold"})
# What is only wished or promised is not claimed of these either: "hopefully it stays dry".
_CLAIMING = _TELLING | {"denies", "if_absent"}
# Kinds of figure of which zero says that there is none: "0 % rain", "0 mm of rain".
_OF_NOTHING = frozenset({"percentage", "precipitation"})
# Lists of words that deny, suppose or question what is beside them; most texts have only words of liking.
_DOUBTING = LIKINGS | {INTENTION, "negation", "hypothesis", "attributed", "ended", "chance", "earlier", "hearsay"}


class Clauses:
    """Decides for one language what a text states.

    Words and numbers may be denied by what comes before them ("no rain", "anything but sunny") or after them ("rain
    isn't expected", "the sun won't be out", "the rain has cleared"), and be part of a wish, a condition, a question or
    something that somebody else said. The words that do so are the language's data.
    """

    def __init__(self, language: Mapping[str, Any]) -> None:
        negation = language["negation"]
        self._function_words = frozenset(language["function_words"])
        self._clause_words = frozenset(language["clause_words"])
        self._clause_ends = CLAUSE_MARKS | self._clause_words
        self._negation_stops = frozenset(language["negation_stops"])
        parting = frozenset(negation.get("parting", ()))
        self._denial_stops = self._negation_stops | parting
        self._or = frozenset(language["linking_or"])
        self._and = frozenset(language["and_words"]) | (parting & frozenset(negation.get("with", ())))
        self._not = frozenset(negation.get("contrast", ()))
        self._after_negation = frozenset(negation["after"])
        self._final = frozenset(negation.get("final", ()))
        self._free = frozenset(negation.get("compounds", ()))
        self._prepositional = frozenset(negation.get("prepositional", ()))
        self._labels = Labels(negation)
        self._free_endings = [f"-{word}" for word in self._free]
        self._closing = frozenset(negation.get("closing", ()))
        self._be = frozenset(negation.get("be", ()))
        self._auxiliaries = frozenset(negation.get("auxiliaries", ()))
        self._adverbs = frozenset(language.get("adverbs", ()))
        self._copulas_and_adverbs = frozenset(language["copulas"]) | self._adverbs
        self._question_words = frozenset(language.get("question_words", ()))
        self._keyword_lists = tuple(language["keyword_lists"])  # a word in several counts for the first
        self._barely = frozenset(negation.get("barely", ()))
        self._with = frozenset(negation.get("with", ()))
        self._none = frozenset(negation.get("none", ()))
        self._of = frozenset(negation.get("of", ()))
        self._before_absent = frozenset(negation.get("before_absent", ())) | self._function_words
        self._unless = frozenset(language["hypothesis"].get("unless", ()))
        self._over = frozenset(negation.get("over", ()))
        small = self._function_words | self._adverbs | self._clause_words | frozenset(language["place_prepositions"])
        # "The sun isn't going to come out", « le soleil ne se montre pas »: what may stand before the verb.
        self._verbs_of_being = frozenset(negation.get("verbs_of_being", ()))
        before_verb = self._copulas_and_adverbs | frozenset(negation.get("before_verb", ()))
        self._before_verb = before_verb - self._verbs_of_being
        self._after_over = small - frozenset(language.get("articles", ()))
        # "No sign of the rain easing": what a negation denies is that it ends.
        definite = language.get("things", {}).get("definite", ())
        self._definite = frozenset((*definite, *negation.get("genitives", ())))
        self._to = frozenset(negation.get("easing_links", ()))
        self._end_nouns = frozenset(negation.get("end_nouns", ()))
        self._likings = LikingReader(language, self._clause_ends)
        self._reported = ReportReader(language, self._clause_ends)
        self._intentions = IntentionReader(language, self._clause_ends)
        self._pairs = PairReader(language, self._clause_ends)
        self._stops_after = {word: frozenset(stops) for word, stops in negation.get("stops", {}).items()}
        self._seconds_after = {word: frozenset(seconds) for word, seconds in negation.get("seconds", {}).items()}

    def clause_ends(self, reading: Reading) -> list[int]:
        """Indices of the tokens that separate clauses, ascending: commas, colons, 'but'."""
        known = reading.memory.get("clause ends")
        if not isinstance(known, list):
            known = reading.memory["clause ends"] = having(reading.traits, ENDS_CLAUSE)
        return known

    def mark(self, reading: Reading, mentions: Iterable[Mention]) -> None:
        """Set `denied`, `asserted` and `refuted` of each mention and quantity."""
        self._mark(reading, mentions)
        if "easing" in reading.lists:
            self._withhold_verbs(reading)

    def _mark(self, reading: Reading, mentions: Iterable[Mention]) -> None:
        present = _DOUBTING & reading.lists.keys()
        liked = self._likings.tokens(reading) if present & LIKINGS else set()
        past = self._reported.past(reading)
        if not liked and not past and present <= LIKINGS and not self._doubts_without_lists(reading):
            return  # everything is stated
        zeros = _zeros(reading)
        corrections = {at for one in reading.all("correction") for at in range(one.first, one.last + 1)}
        # The "no" of "no wait, 19 °C" denies what comes before it.
        denials = [mention.last for mention in reading.all("negation") if mention.last not in corrections]
        slight, remote = slight_chances(reading)
        negations = sorted(denials + zeros + remote)
        conditions = [mention.last for mention in reading.all("hypothesis")]
        others = [at for at in conditions if reading.tokens[at].text not in self._unless]
        attributed = [mention.last for mention in reading.all("attributed")]
        ended = {mention.first for mention in reading.all("ended") if self._is_ended(reading, mention)}
        has_questions = _has_questions(reading)
        stuffed = stuffed_tokens(reading, self._keyword_lists)
        heard = self._reported.hearsay(reading)
        intended = self._intentions.tokens(reading) if INTENTION in present else set()
        marks = (stuffed, liked, past, heard, intended)
        doubts = (negations, conditions, attributed, ended, slight, has_questions, *marks, self._closing)
        if not any(doubts) and not self._has_free_ending(reading) and not self._labels.may_deny(reading.text):
            return  # everything is stated: a chance is slight only with a figure
        everything: list[Mention | Quantity] = [*mentions, *reading.quantities, *reading.counts]
        doubtful = self._near_doubts(reading, [*negations, *conditions, *attributed, *ended, *slight])
        for marked in marks:
            for at in marked:
                doubtful[at] = 1
        known: dict[tuple[int, int], tuple[bool, bool]] = {}
        for said in everything:
            if not (doubtful[said.first] or doubtful[said.last]):
                continue  # it is stated
            where = (said.first, said.last)
            result = known.get(where)
            if result is None:
                denied = self._is_denied(reading, said.first, said.last, negations, zeros, ended)
                if denied and isinstance(said, Quantity) and self._spares_figure(reading, said.first, negations):
                    denied = False
                # "Unless it is 25 °C" names a second figure: that is a hedge, and not a condition.
                own = others if isinstance(said, Quantity) else conditions
                claimed = not (
                    (bool(own) and self._in_reach(reading, said.first, own, frozenset()))
                    or (bool(slight) and self._in_reach(reading, said.first, slight, self._negation_stops))
                    or (has_questions and self._is_asked(reading, said.first))
                    or said.first in stuffed
                    or self._labels.leaves_open(reading.tokens, said.first, said.last + 1)
                )
                result = known[where] = (denied, claimed)
            said.denied, claimed = result
            if attributed and claimed and (isinstance(said, Quantity) or said.keys[-1] == "states"):
                claimed = not self._in_reach(reading, said.first, attributed, self._negation_stops)
            if said.first in liked and (isinstance(said, Quantity) or said.keys[-1] in _TELLING):
                claimed = False
            if said.first in intended and (isinstance(said, Quantity) or said.keys[-1] in _CLAIMING):
                claimed = False
            if said.first in heard and (isinstance(said, Quantity) or said.keys[-1] == "states"):
                claimed = False
            if said.first in past and not isinstance(said, Quantity) and said.keys[-1] == "states":
                claimed = False
            said.asserted = claimed and not said.denied
            said.refuted = claimed and said.denied
        if denials:
            self._pairs.deny(reading, everything, denials)
        self._add_opposites(reading, negations)

    def _doubts_without_lists(self, reading: Reading) -> bool:
        """Whether something other than a listed word may deny or question a part of the text."""
        if self._closing or _has_questions(reading) or may_be_stuffed(reading):
            return True
        return bool(_zeros(reading)) or self._has_free_ending(reading) or self._labels.may_deny(reading.text)

    def _has_free_ending(self, reading: Reading) -> bool:
        text = reading.text
        return "-" in text and any(ending in text for ending in self._free_endings)

    def _near_doubts(self, reading: Reading, found: Iterable[int]) -> bytearray:
        """For each token, whether something that could deny or question it is in reach, or its sentence is a question.

        Of what `_is_denied` looks for, `found` has all but single words; no reach is longer than `_REACH`.
        """
        tokens = reading.tokens
        doubtful = bytearray(len(tokens))
        single = self._free | self._closing | self._labels.values
        words = [at for at, token in enumerate(tokens) if token.text in single] if single else []
        for at in (*found, *words, *self._first_tokens(reading, "nowhere")):
            first, stop = max(0, at - _REACH), min(len(tokens), at + _REACH + 1)
            doubtful[first:stop] = b"\1" * (stop - first)
        for mark in reading.stops:
            if tokens[mark].text == "?":
                first, _ = reading.sentence(mark)
                doubtful[first : mark + 1] = b"\1" * (mark + 1 - first)
        return doubtful

    def _add_opposites(self, reading: Reading, negations: Sequence[int]) -> None:
        """Add the state that the absence of something stands for: 'there isn't a cloud in the sky' says clear.

        Only a negation directly before it speaks of absence: 'rain instead of clouds' does not.
        """
        absences = reading.all("if_absent")
        negating = set(negations) if absences else set()
        for absent in absences:
            at = absent.first - 1
            while at >= 0 and at not in negating and reading.tokens[at].text in self._before_absent:
                at -= 1
            if absent.refuted and at in negating and self._means_none(reading.tokens[at]):
                keys = tuple(key.removeprefix("if_absent.") for key in absent.keys[:-1])
                opposite = absent.of_lists(keys)
                for key in keys:
                    insort(reading.lists[key], opposite, key=lambda mention: mention.first)

    def _spares_figure(self, reading: Reading, figure: int, negations: Sequence[int]) -> bool:
        """Whether a negation does not deny the figure after it: 'no rain in Nice at 21 °C', 'barely 2 °C'."""
        tokens = reading.tokens
        at = bisect_left(negations, figure) - 1
        if at >= 0 and negations[at] == figure - 1 and tokens[figure - 1].text in self._barely:
            return True
        if at < 0 or self._with.isdisjoint([token.text for token in tokens[max(0, figure - 2) : figure]]):
            return False
        opener = negations[at]
        if not self._means_none(tokens[opener]):
            return False
        return any(phrase.keys[-1] == "states" for token in tokens[opener + 1 : figure - 1] for phrase in token.phrases)

    def _means_none(self, negation: Token) -> bool:
        return negation.denies or negation.text in self._none

    def _is_ended(self, reading: Reading, mention: Mention) -> bool:
        """Whether a phrase such as 'is over' ends something: in 'clear over Bath' it does not."""
        tokens, after = reading.tokens, mention.last + 1
        if tokens[mention.last].text not in self._over or after == len(tokens) or tokens[after].kind != "word":
            return True
        return tokens[after].text in self._after_over

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
        offers = self._first_tokens(reading, "offer")
        at = bisect_right(offers, index)
        if at < len(offers) and offers[at] <= reading.sentence(index)[1]:
            return False  # "I couldn't reach the service so shall I try again?"
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
            known = [at for at, token in enumerate(reading.tokens) if token.text in CLAUSE_MARKS]
            reading.memory["clause marks"] = known
        return known

    def _is_denied(
        self,
        reading: Reading,
        first: int,
        last: int,
        negations: Sequence[int],
        zeros: Sequence[int],
        ended: Container[int],
    ) -> bool:
        """Whether something denies the tokens `first` to `last`.

        `zeros` are figures that say there is none, `ended` the first tokens of phrases such as 'has cleared'.
        """
        tokens = reading.tokens
        if first and tokens[first - 1].text in self._definite and self._goes_on(reading, first, last, negations):
            return False
        if self._in_reach(reading, first, negations, self._denial_stops):
            return True
        at = last + 1
        if at + 1 < len(tokens) and tokens[at].text == "-" and tokens[at + 1].text in self._free:
            return True  # rain-free
        if self._labels.denies(tokens, first, at):
            return True  # "Rain: none"
        while at < len(tokens) and at <= last + 3 and tokens[at].text in self._adverbs:
            at += 1
        if at in ended:
            return True  # the rain has cleared
        while at < len(tokens) and at <= last + 4 and tokens[at].text in self._copulas_and_adverbs:
            at += 1
            if at in ended:
                return True
        is_subject = tokens[last].text not in self._function_words
        if is_subject and self._is_not_there(tokens, last, negations):
            return True
        negated = at in negations[bisect_left(negations, at) : bisect_right(negations, at)]
        if negated and self._denies_what_precedes(tokens, at, is_subject=is_subject):
            return True
        if self._closing and self._is_closed_by_negation(tokens, last):
            return True
        if self._of and self._is_nowhere(reading, first, last):
            return True
        next_zero = bisect_left(zeros, last + 1)
        if tokens[first].is_number or next_zero == len(zeros) or zeros[next_zero] > last + 4:
            return False
        between = tokens[last + 1 : zeros[next_zero]]
        if any(token.text in STOPS or token.text in (",", ";") for token in between):
            return False
        return not any(token.text == "|" for token in between) or not any(token.kind == "word" for token in between)

    def _is_not_there(self, tokens: Sequence[Token], last: int, negations: Sequence[int]) -> bool:
        """Whether what ends at token `last` is followed by a denied verb that says that something is there.

        'The sun isn't going to come out', « le soleil ne brille pas », but not 'the rain isn't going to stop'.
        """
        is_denied = False
        for at in range(last + 1, min(last + _REACH, len(tokens))):
            text = tokens[at].text
            if text in self._verbs_of_being:
                return is_denied
            if at in negations[bisect_left(negations, at) : bisect_right(negations, at)]:
                is_denied = True
            elif text not in self._before_verb:
                return False
        return False

    def _goes_on(self, reading: Reading, first: int, last: int, negations: Sequence[int]) -> bool:
        """Whether it is denied that something ends: 'no sign of the rain easing', 'ein Ende des Regens ist nicht …'."""
        tokens, at = reading.tokens, last + 1
        noun = first - 2 - (first > 1 and tokens[first - 2].text in self._of)
        if noun >= 0 and tokens[noun].text in self._end_nouns:
            after = bisect_right(negations, last)
            is_after = after < len(negations) and negations[after] <= last + 3
            return is_after or self._in_reach(reading, noun, negations, self._denial_stops)
        if "easing" not in reading.lists:
            return False
        while at < len(tokens) and (tokens[at].text in self._to or tokens[at].text in self._copulas_and_adverbs):
            at += 1
        easing = reading.all("easing")
        return any(one.first == at for one in easing) and self._in_reach(reading, first, negations, self._denial_stops)

    def _withhold_verbs(self, reading: Reading) -> None:
        """Take back a state that is the verb of another: 'the rain should clear' does not say that it is clear."""
        tokens, easing = reading.tokens, {one.first for one in reading.all("easing")}
        ends = {state.last for state in reading.all("states") if state.asserted}
        for state in reading.all("states"):
            at = state.first - 1
            while at > 0 and tokens[at].text in self._adverbs:
                at -= 1
            if state.first in easing and at > 0 and tokens[at].text in self._auxiliaries and at - 1 in ends:
                state.asserted = False

    def _is_nowhere(self, reading: Reading, first: int, last: int) -> bool:
        """Whether a sentence finds nothing of what its start names: 'Von Sonne keine Spur', 'of the sun, no trace'."""
        before = [token.text for token in reading.tokens[max(0, first - 2) : first]]
        if self._of.isdisjoint(before):
            return False
        nowhere = self._first_tokens(reading, "nowhere")
        at = bisect_right(nowhere, last)
        return at < len(nowhere) and nowhere[at] - last <= _REACH and nowhere[at] <= reading.sentence(last)[1]

    def _is_closed_by_negation(self, tokens: Sequence[Token], last: int) -> bool:
        """Whether a negation ends the clause of what ends at token `last`: 'es regnet in Berlin nicht'."""
        for at in range(last + 1, min(last + _REACH, len(tokens))):
            text = tokens[at].text
            if text in STOPS or text in CLAUSE_MARKS or text in self._clause_words:
                return False
            if text in self._negation_stops and (at > last + 1 or text in self._and):
                return False  # not the verb in "sonnig ist es nicht"
            if text in self._closing:
                following = tokens[at + 1].text if at + 1 < len(tokens) else "."
                ends = following in STOPS or following in CLAUSE_MARKS or following in self._and
                return ends or following in self._after_negation
        return False

    def _denies_what_precedes(self, tokens: Sequence[Token], at: int, *, is_subject: bool) -> bool:
        """Whether the negation at token `at` denies its subject: 'rain isn't expected', 'the sun won't be out'.

        In 'since you don't like it', the subject is 'you'. 'The rain isn't heavy' does not deny the rain: what follows
        a form of 'be' has to say that something happens or is there.
        """
        token = tokens[at]
        if token.text in self._prepositional:
            return False  # "18 °C without a cloud"
        if token.text in self._final:
            return True
        following = at + 1
        while following < len(tokens) and tokens[following].text in self._copulas_and_adverbs:
            following += 1
        text = tokens[following].text if following < len(tokens) else ""
        if text in self._after_negation:
            return True
        auxiliary = token.denies or (at > 0 and tokens[at - 1].text in self._auxiliaries)
        if auxiliary and is_subject:
            return text != "" and tokens[following].kind == "word" and token.text not in self._be
        return False

    def _in_reach(self, reading: Reading, first: int, openers: Sequence[int], ends: frozenset[str]) -> bool:
        """Whether one of `openers` comes before token `first` in the same clause, at most `_REACH` tokens away."""
        at = bisect_left(openers, first) - 1
        if at < 0 or first - openers[at] > _REACH:
            return False
        tokens = reading.tokens
        opener = tokens[openers[at]].text
        own_stops = self._stops_after.get(opener, ())
        if tokens[first].text in self._seconds_after.get(opener, ()):
            return False
        for index in range(openers[at] + 1, first):
            token = tokens[index]
            if token.text in own_stops and index > openers[at] + 1:
                return False  # "instead of €199 you pay €149"
            if token.text in STOPS or token.text in self._clause_words:
                return False
            if token.text in ends and not (token.text in self._and and self._is_fragment(tokens, openers[at])):
                return False
            if token.text in CLAUSE_MARKS and not (token.text == "," and self._continues_list(tokens, index)):
                return False
        return True

    def _is_fragment(self, tokens: Sequence[Token], opener: int) -> bool:
        """Whether a negation opens a part of a sentence without a verb and denies it all: ', not 25 °C and sunny'."""
        return tokens[opener].text in self._not and (
            opener == 0 or tokens[opener - 1].text in CLAUSE_MARKS or tokens[opener - 1].text in STOPS
        )

    def _continues_list(self, tokens: Sequence[Token], comma: int) -> bool:
        """Whether a comma only separates items of a list: 'no rain, snow or wind'."""
        after = comma + 2
        return after < len(tokens) and (tokens[after].text == "," or tokens[after].text in self._or)


def _has_questions(reading: Reading) -> bool:
    return "?" in reading.text and any(reading.tokens[stop].text == "?" for stop in reading.stops)


def _zeros(reading: Reading) -> list[int]:
    return [q.first for q in reading.quantities if q.kind in _OF_NOTHING and q.high == 0]
