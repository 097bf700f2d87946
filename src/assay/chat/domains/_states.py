"""The names and words of a domain's states, for what is said of a state that it does not have."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from assay.chat.domains import Domain
from assay.chat.reading.language_files import read_toml


def listed_states(domain: Domain, language: str) -> Mapping[str, Sequence[str]]:
    """How each state is written in a language."""
    words = read_toml(domain.folder / f"{language}.toml", "the domain's words")
    listed: Mapping[str, Sequence[str]] = words.get("lists", {}).get("states", {})
    return listed


def nearest_state(words: str, domain: Domain, language: str) -> str:
    """The state whose name or words are spelled most alike, if any is, and all states, as a hint."""
    listed = listed_states(domain, language)
    phrases = [phrase.removeprefix("=") for name in listed for phrase in (name, *listed[name])]
    whole = words.casefold()
    near = difflib.get_close_matches(whole, phrases, n=1, cutoff=0.85)
    for word in reversed(whole.split()):  # 'light rian': its last word is near 'rain'
        near += difflib.get_close_matches(word, phrases, n=1, cutoff=0.75)
    guess = f"Did you mean '{near[0]}'? " if near else ""
    return f"{guess}Known: {', '.join(domain.states)}"
