"""What an agent sends in one turn, and what its user does meanwhile: listen, decide on a tool, or hang up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from assay.chat.agents import Agent, Reply
from assay.chat.running.heard import Heard
from assay.chat.scoring.outcomes.interruptions import ConsentRecord, HangUpRecord
from assay.chat.world.hang_up import HOLD_SECONDS, HangUp
from assay.json_safe import whole_text
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.world.preferences import Preferences
    from assay.chat.world.situation import HangUpMoment, Situation, UserDecision

LONGEST_ANSWER = 2_000_000
"""Characters of an answer that are kept and scored; the rest is cut, and the text says so."""
LONGEST_REASON = 2000
# Time that an agent has to end its answer after its user has hung up; what is held goes on in it.
_SECONDS_TO_END = HOLD_SECONDS + 5.0


class Reception:
    """What the agent has sent so far."""

    def __init__(self, hear: Callable[[str], None] | None = None) -> None:
        self._heard = None if hear is None else Heard(hear)
        self._hang_up: HangUp | None = None
        self.started = time.perf_counter()
        self.pieces: list[str] = []
        self._kept = 0
        self.reply: Reply | None = None
        self.first_text: float | None = None
        self.seen: dict[str, HangUpRecord | ConsentRecord | int] = {}
        """Fields of the turn's record about what the user did."""

    @property
    def text(self) -> str:
        whole = self.reply.text if self.reply is not None else "".join(self.pieces)
        if len(whole) <= LONGEST_ANSWER:
            return whole
        return f"{whole[:LONGEST_ANSWER]}… (cut: an answer may have {LONGEST_ANSWER:,} characters)"

    async def turn(
        self,
        agent: Agent,
        session: str,
        user: str,
        message: str,
        situation: Situation,
        preferences: Preferences | None = None,
    ) -> None:
        """Play a turn to its end."""
        answer = agent.answer(session=session, user=user, message=message)
        if situation.hang_up is not None:
            # It is the user who has broken the stream off.
            self.seen = {"hang_up": await self._hanging_up(answer, situation.hang_up), "broken_streams": 0}
            return
        if situation.consent is None or preferences is None:
            await self.listen(answer)
            return
        before = bool(preferences.read(user))
        consent = ConsentRecord(decision=situation.consent)
        try:
            await self.listen(answer)
            asked = () if self.reply is None else self.reply.approvals
            unapproved = before and not preferences.read(user)
            consent = consent.model_copy(update={"asked": [call.name for call in asked], "ran_unapproved": unapproved})
            if asked and situation.consent != "ignore":
                await self._deciding(agent, session, user, situation.consent)
        finally:
            self.seen["consent"] = consent.model_copy(update={"ran": before and not preferences.read(user)})

    async def listen(self, parts: AsyncIterator[str | Reply]) -> None:
        """Receive an answer to its end."""
        async for part in parts:
            if isinstance(part, Reply):
                if not isinstance(part.text, str):
                    raise TypeError(f"the text of a Reply is a str, not {type(part.text).__name__}")
                self.reply = part
            elif isinstance(part, str):
                if part and self.first_text is None:
                    self.first_text = time.perf_counter() - self.started
                if self._kept <= LONGEST_ANSWER:
                    self.pieces.append(part)
                    self._kept += len(part)
                if part and self._heard is not None:
                    self._heard.hear(part)
                if part and self._hang_up is not None:
                    self._hang_up.on_text()
            else:
                raise TypeError(f"an agent yields str and Reply, not {type(part).__name__}")
        if self._heard is not None:
            self._heard.end()
        if self.reply is None:
            raise TypeError("an agent must end with a Reply, and this one did not")
        if self.first_text is None and self.reply.text:
            self.first_text = time.perf_counter() - self.started

    async def _deciding(self, agent: Any, session: str, user: str, decision: UserDecision) -> None:
        """Tell the agent what the user has decided, and receive the rest of the answer."""
        first, self.reply = self.reply, None
        assert first is not None
        await self.listen(agent.decide(session=session, user=user, approved=decision == "approve"))
        assert self.reply is not None
        self.reply = _joined(first, self.reply)

    async def _hanging_up(self, answer: AsyncIterator[str | Reply], moment: HangUpMoment) -> HangUpRecord:
        """Receive an answer until the user hangs up: its task is cancelled, as by a server whose client has gone."""
        hang_up = self._hang_up = HangUp(moment)
        with hang_up.attached():
            listening = asyncio.create_task(self.listen(answer))
        waiting = asyncio.create_task(hang_up.now.wait())
        try:
            await asyncio.wait({listening, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()
                return HangUpRecord(moment=moment)
            at = time.time()
            listening.cancel()
            done, _ = await asyncio.wait({listening}, timeout=_SECONDS_TO_END)
            error = None if not done or listening.cancelled() else listening.exception()
            return HangUpRecord(
                moment=moment,
                at=at,
                ended_ms=round(1000 * (time.time() - at), 3) if done else None,
                raised=None if error is None else describe_error(error),
                answered=self.reply is not None,
            )
        finally:
            for task in (listening, waiting):
                task.cancel()
            await asyncio.gather(waiting, return_exceptions=True)


def _joined(first: Reply, second: Reply) -> Reply:
    """Two parts of a turn as one reply."""
    texts = [part.text for part in (first, second) if part.text]

    def added(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    calls = None if first.tool_calls is None or second.tool_calls is None else (*first.tool_calls, *second.tool_calls)
    return Reply(
        "\n".join(texts),
        calls,
        added(first.input_tokens, second.input_tokens),
        added(first.output_tokens, second.output_tokens),
        broke_off=second.broke_off,
        approvals=second.approvals,
    )


def describe_error(error: BaseException) -> str:
    """An error as one line: its class and its words."""
    try:
        said = str(error)
    except Exception:  # an exception of a third-party class
        said = ""
    words = " ".join(redacted(whole_text(said)).split())
    return f"{type(error).__name__}: {words}"[:LONGEST_REASON] if words else type(error).__name__


def quirk_took_effect(situation: Situation) -> bool | None:
    """Whether the tools misbehaved as the turn's quirk says; None if it is none of theirs, which the model's server
    knows.
    """
    if situation.quirk is None or not situation.quirk.is_of_tools:
        return None
    from assay.chat.world.tool_quirks import took_effect

    return took_effect(situation)
