"""What the embedded servers saw of a conversation: what went on after its user hung up and which history the model was
sent next, whether a quirk took effect, and whether the scripted model could speak about an agent's subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.chat.scoring.outcomes.interruptions import after_hang_up, history_flaws, user_texts
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from assay.chat.running.conversation import Job, PlayedTurn
    from assay.chat.world.calls import CallLog


@contextmanager
def watched(calls: Callable[[], CallLog | None], job: Job, *, is_own: bool = False) -> Iterator[Watching]:
    """Watch the requests of a conversation while a `with` block runs, if there is anything to see in it.

    `is_own` says that the agent is an object of the user's own, which may be about any subject.
    """
    log = calls() if job.is_disturbed or job.has_quirks or is_own else None
    if log is not None:
        log.watch(job.session, with_bodies=job.is_disturbed)
    try:
        yield Watching(log, job, is_own=is_own)
    finally:
        if log is not None:
            log.forget(job.session)


class Watching:
    """Completes the records of a conversation's turns."""

    def __init__(self, log: CallLog | None, job: Job, *, is_own: bool = False) -> None:
        self._log = log
        self._is_own = is_own
        self._job = job
        self._halves: list[str] = []
        """Whole answers of which the user got a part."""
        self._interrupted: list[str] = []
        """Messages after which the user hung up."""

    async def completed(self, played: PlayedTurn) -> PlayedTurn:
        """A turn with what the servers saw of it; the same if it is not watched."""
        if self._log is None:
            return played
        found: dict[str, Any] = self._of_model(played)
        hang_up = played.record.hang_up
        if hang_up is not None and hang_up.at is not None:
            await self._log.quiet(self._job.session, played.turn)
        calls = self._log.of_turn(self._job.session, played.turn)
        asked = next((call.body for call in calls if call.service == "model"), None)
        if asked is not None and self._job.is_disturbed:
            found["history_flaws"] = history_flaws(asked, self._halves)
            if self._interrupted:
                found["keeps_interrupted"] = all(text in user_texts(asked) for text in self._interrupted)
        if hang_up is not None and hang_up.at is not None:
            found["hang_up"] = after_hang_up(hang_up, calls)
            self._halves += [call.whole_text for call in calls if call.whole_text is not None]
            self._interrupted.append(self._job.messages[played.turn])
        return replace(played, record=played.record.model_copy(update=found))

    def _of_model(self, played: PlayedTurn) -> dict[str, Any]:
        """Whether the turn's quirk took effect, and whether the model could speak about what was asked."""
        assert self._log is not None
        calls = self._log.of_turn(self._job.session, played.turn)
        found: dict[str, Any] = {}
        quirk = self._job.situations[played.turn].quirk
        beyond = [call.beyond for call in calls if call.beyond is not None]
        if self._is_own and beyond:
            found["beyond_model"] = True
        if self._is_own and quirk is not None:
            answers = [call for call in calls if call.answer is not None]
            if answers:
                last = answers[-1]
                found |= {"undisturbed": last.answer, "changed_answer": last.changed}
                found["structured_answer"] = last.is_structured
        if quirk is not None and not quirk.is_of_tools:
            found["quirk_occurred"] = any(call.misbehaved for call in calls)
            if quirk.alters_arguments and found["quirk_occurred"]:
                meant = [one for call in calls for one in call.meant]
                found["meant_calls"] = [ToolCall(name=one.name, arguments=dict(one.arguments)) for one in meant]
        return found
