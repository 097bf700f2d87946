"""Counts messages of users that nobody answered: each is scored as an empty answer, and a note says how many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.chat.transcript import Transcript
from assay.plural import counted


@dataclass(slots=True)
class Unanswered:
    """What is missing in some transcripts."""

    messages: int = 0
    """Messages without an answer."""
    last: int = 0
    """Of these, the last of their conversation."""
    without_turns: int = 0
    """Conversations with nothing to score."""

    def add(self, transcript: Transcript) -> None:
        """Count one transcript."""
        silent = [turn.is_scored and turn.assistant is None for turn in transcript.turns]
        self.messages += sum(silent)
        self.last += silent[-1:] == [True]
        self.without_turns += not any(turn.is_scored for turn in transcript.turns)

    def merge(self, other: Unanswered) -> None:
        """Add the counts of other transcripts."""
        self.messages += other.messages
        self.last += other.last
        self.without_turns += other.without_turns

    def notes(self) -> Iterator[str]:
        """Sentences for the user; none if nothing is missing."""
        if self.messages:
            verb, each = ("has", "it") if self.messages == 1 else ("have", "each")
            yield f"{self._which(verb)}; {each} counts as an empty answer, which does not pass"
        if self.without_turns:
            has, are = ("has", "is") if self.without_turns == 1 else ("have", "are")
            which = counted(self.without_turns, "conversation")
            yield f"{which} {has} neither a message of a user nor an answer and {are} left out"

    def _which(self, verb: str) -> str:
        messages, end = counted(self.messages, "message"), "at the end of a conversation"
        if self.last == self.messages:
            return f"{messages} {end} {verb} no answer"
        return f"{messages} {verb} no answer" + (f", {self.last:,} of them {end}" if self.last else "")
