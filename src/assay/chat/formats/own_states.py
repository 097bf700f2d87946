"""Finds states in truths that their domain cannot read: with them, only an answer in the very same words agrees."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator

from assay.chat.domains import DOMAINS
from assay.chat.domains._states import nearest_state
from assay.chat.reading.language_files import shipped_languages
from assay.chat.reading.text import Reader
from assay.chat.transcript import Transcript
from assay.errors import AssayError
from assay.plural import counted

# So many states are named; a truth of machine-made words would fill the terminal.
_NAMED = 5


def notes_on_states(transcripts: Iterable[Transcript]) -> Iterator[str]:
    """A sentence for each such state, with the nearest one that the domain has."""
    found: Counter[tuple[str, str, str]] = Counter()
    for transcript in transcripts:
        for turn in transcript.turns:
            if turn.truth is not None:
                found.update(
                    (transcript.domain, transcript.language, words) for words in _states_of(turn.truth, transcript)
                )
    unread = [(key, number) for key, number in found.items() if not _is_read(*key)]
    for (name, language, words), number in unread[:_NAMED]:
        hint = nearest_state(words, DOMAINS.get(name), language)
        truths = f"{counted(number, 'truth')} {'has' if number == 1 else 'have'}"
        yield (
            f"{truths} the state '{words:.60}', which the domain '{name}' does not have: only an answer with these "
            f"words agrees with it. {hint}"
        )
    if len(unread) > _NAMED:
        yield f"{len(unread) - _NAMED:,} further states of truths are not known either"


def _states_of(truth: object, transcript: Transcript) -> set[str]:
    domain = DOMAINS.get(transcript.domain)
    try:
        return set(domain.read_truth(truth).states.values()) if domain.states else set()
    except (AssayError, RecursionError):  # is reported where the truth is scored
        return set()


@functools.lru_cache(maxsize=4_096)
def _is_read(name: str, language: str, words: str) -> bool:
    """Whether words name a state in any language that has a word list."""
    domain = DOMAINS.get(name)
    if domain.states_named(words):
        return True
    others = (one for one in shipped_languages() if one != language and (domain.folder / f"{one}.toml").is_file())
    return any(_reader(name, one).read(words).all("states") for one in (language, *others))


@functools.lru_cache(maxsize=8)
def _reader(name: str, language: str) -> Reader:
    from assay.chat.evaluator import ChatbotEvaluator

    return ChatbotEvaluator(domain=name, language=language, metrics=[]).reader
