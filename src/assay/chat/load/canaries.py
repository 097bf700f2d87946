"""Canaries: words that one session states and no other may ever see, and the messages that contain them.

Each session has a secret (a name that nobody else has) and a preference. Both are random words with a fixed beginning,
drawn by seed and session, so that one search finds every canary in any text, and the owner of each is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.chat.world.situation import chance

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LENGTH = 8
# No word of English, of a place or of the scripted model begins like this.
_BEGINNING = "zq"
_CANARY = re.compile(rf"{_BEGINNING}[{_LETTERS}]{{{_LENGTH}}}", re.IGNORECASE)
_CANARY_BYTES = re.compile(_CANARY.pattern.encode(), re.IGNORECASE)
_CITIES = ("Helsinki", "Paris", "Oslo", "Madrid", "Tokyo", "Cairo", "Lima", "Sydney", "Nairobi", "Toronto")
RECALL = "What do you know about me?"
"""The question that must bring back the session's own canaries, and no others."""


@dataclass(frozen=True, slots=True)
class Canaries:
    """What one session states."""

    secret: str
    preference: str
    city: str

    @classmethod
    def of(cls, seed: int, session: str) -> Canaries:
        """The canaries of a session: the same for the same seed."""
        drawn = chance(seed, "canaries", session)
        secret, preference = (_BEGINNING + "".join(drawn.choices(_LETTERS, k=_LENGTH)) for _ in range(2))
        return cls(secret, preference, drawn.choice(_CITIES))

    @property
    def words(self) -> frozenset[str]:
        """Both canaries, in lower case."""
        return frozenset({self.secret, self.preference})

    def messages(self, turns: int) -> list[str]:
        """What the user says: states both canaries, asks for the weather, and asks what the assistant knows."""
        asked = (
            f"What's the weather in {self.city}?",
            RECALL,
            "What should I wear there tomorrow?",
        )
        told = f"Hello! My name is {self.secret.capitalize()}, and I love {self.preference} tea."
        return [told, *(asked[at % len(asked)] for at in range(turns - 1))]

    def foreign_in(self, text: str | bytes) -> set[str]:
        """Canaries of other sessions in a text."""
        return canaries_in(text) - self.words


def canaries_in(text: str | bytes) -> set[str]:
    """Every canary in a text, in lower case."""
    if isinstance(text, bytes):
        return {found.decode().lower() for found in _CANARY_BYTES.findall(text)}
    return {found.lower() for found in _CANARY.findall(text)}
