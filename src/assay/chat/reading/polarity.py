"""Questions that are answered by yes or no, and the words that answer them: "yes", "I'm afraid not", "it is".

Knows tokens and the language's words; knows nothing of what is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from assay.chat.reading.tokens import Token

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading

# An answer begins within this many tokens: "Oh well, sadly: no."
_OPENING = 5
# A question that the text answers itself has at most this many tokens: "Any rain?"
_SHORT = 4
# In the cells of a table.
_SIGNS = {"✓": True, "✔": True, "✅": True, "✗": False, "✘": False, "❌": False, "✖": False}


def answer_own_questions(reading: Reading, polar: PolarWords) -> None:
    """Claim what a text asks in a few words and answers by yes or no itself: 'Snow? Oh yes.'"""
    for stop in reading.stops:
        if reading.tokens[stop].text != "?":
            continue
        first, _ = reading.sentence(stop)
        found = polar.answer(reading.tokens[stop + 1 : stop + 1 + 2 * _OPENING]) if stop - first <= _SHORT else None
        if found is None:
            continue
        for state in reading.all("states"):
            if first <= state.first < stop:
                state.asserted, state.refuted = found[2], not found[2]


class PolarWords:
    """Words of a language for questions of yes or no, and their answers."""

    def __init__(self, language: Mapping[str, Any]) -> None:
        self.questions = frozenset(language.get("polar_words", ()))
        self.question_openers = frozenset(language.get("question_openers", ()))
        self.inverted = frozenset(language.get("inverted_pronouns", ()))
        """Pronouns that follow the verb in a question: « La tente est-elle en stock ? »"""
        asking = frozenset(language.get("question_words", ())) - self.questions
        self.interrogatives = frozenset(language.get("interrogatives", ())) or asking
        self._openers = frozenset(language.get("answer_openers", ()))
        # "No rain" does not answer with no; "nope" always does.
        self._bound = frozenset(language["negation"]["words"])
        self._joining = frozenset(language["and_words"]) | frozenset(language["linking_or"])
        # "Sure, let me look that up" promises an answer, and is none.
        courtesies = language.get("courtesies", {})
        self._courtesies = frozenset(tuple(words.split()) for words in courtesies.get("words", ()))
        self._promises = [tuple(words.split()) for words in courtesies.get("before", ())]
        self._answers: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
        self._add(language.get("yes_words", ()), yes=True)
        self._add(language.get("no_words", ()), yes=False)
        for listed in self._answers.values():
            listed.sort(key=lambda answer: -len(answer[0]))

    def _add(self, phrases: Iterable[str], *, yes: bool) -> None:
        for phrase in phrases:
            words = tuple(phrase.split())
            self._answers.setdefault(words[0], []).append((words, yes))

    def is_inverted(self, sentence: Sequence[Token]) -> bool:
        """Whether a pronoun follows the verb of a question that does not ask for a thing, a place or a time."""
        words = [token.text for token in sentence]
        if words[-1:] != ["?"] or not self.interrogatives.isdisjoint(words):
            return False
        return any(word in self.inverted and before == "-" for before, word in pairwise(words))

    def of_cell(self, tokens: Sequence[Token]) -> bool | None:
        """What the cell of a table says if it is only a yes or no, in a word or as a mark; None if it says more."""
        words = tuple(token.text for token in tokens if token.kind != "newline")
        for sign, yes in _SIGNS.items():
            if "".join(words).startswith(sign):
                return yes
        answers = dict(self._answers.get(words[0], ())) if words else {}
        return answers.get(words)

    def answer(self, tokens: Sequence[Token]) -> tuple[int, int, bool] | None:
        """First and last token of the yes or no that a text begins with, and whether it is a yes."""
        for at, token in enumerate(tokens[:_OPENING]):
            for words, yes in self._answers.get(token.text, ()):
                last = at + len(words) - 1
                said = tuple([one.text for one in tokens[at : last + 1]])
                if said == words and self._stands_alone(tokens, at, last, yes):
                    is_none = self._is_courtesy(words, tokens, last + 1) or self._is_undone(tokens, last + 1, yes)
                    return None if is_none else (at, last, yes)
            if token.kind == "word" and token.text not in self._openers:
                return None
        return None

    def _stands_alone(self, tokens: Sequence[Token], first: int, last: int, yes: bool) -> bool:
        """Whether the words answer by themselves: 'No rain' and 'it is raining' do not answer with no and yes."""
        if first == last and (yes or tokens[first].text not in self._bound):
            return True
        return last + 1 >= len(tokens) or tokens[last + 1].kind not in ("word", "number")

    def _is_undone(self, tokens: Sequence[Token], after: int, yes: bool) -> bool:
        """Whether the opposite follows at once: 'yes and no', 'yes or no'."""
        if after + 1 >= len(tokens) or tokens[after].text not in self._joining:
            return False
        word = tokens[after + 1].text
        is_end = after + 2 >= len(tokens) or tokens[after + 2].kind not in ("word", "number")  # not "yes and no wind"
        return is_end and any(words == (word,) and other != yes for words, other in self._answers.get(word, ()))

    def _is_courtesy(self, words: tuple[str, ...], tokens: Sequence[Token], after: int) -> bool:
        """Whether a yes only opens a promise or a question back: 'Sure, let me check', 'Of course! Which size?'."""
        if words not in self._courtesies:
            return False
        while after < len(tokens) and tokens[after].kind not in ("word", "number"):
            after += 1
        following = [token.text for token in tokens[after : after + _OPENING]]
        return any(tuple(following[: len(promise)]) == promise for promise in self._promises)
