"""Live conversations: one message to several agents at once, their answers as they come, each scored as it ends.

What happens is reported as events, plain data that a page shows: `waiting` in the queue,
`opening` an agent, `asked`, `piece` of text, `answer`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.hosts.host import CrashedError, RefusedError
from assay.chat.scoring.answering import answer_of
from assay.chat.scoring.answers import Answer, Record
from assay.chat.transcript import Transcript, Turn
from assay.chat.world.cities import find_city
from assay.chat.world.faults import Fault
from assay.chat.world.openweather import MAX_FORECAST_DAYS
from assay.chat.world.quirks import Quirk
from assay.chat.world.situation import Situation
from assay.errors import UsageError
from assay.redaction import redacted
from assay.store.reviews import Review
from assay.web.live.hosting import LiveAgents, checked_choice

MOST_AGENTS = 5
MOST_MESSAGE = 4000
MOST_TURNS = 50
_MOST_AT_ONCE = 2
_MOST_WAITING = 20
_MOST_CONVERSATIONS = 100
_TURN_SECONDS = 60.0
_LONGEST_CITY = 4

LiveEvent = tuple[str, Mapping[str, Any]]
"""A kind and its data."""


@dataclass
class LiveTurn:
    """One message and the answers to it."""

    message: str
    fault: str
    city: str
    truth: Any
    quirk: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    """By agent; an agent whose turn was cut off has none."""
    known: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each agent remembers of the user after it."""
    opinions: dict[str, Review] = field(default_factory=dict)
    """What the reader said about each agent's answer."""
    costs: dict[str, float] = field(default_factory=dict)
    """What each answer cost in US dollars, as far as prices are known."""


@dataclass
class LiveConversation:
    """A conversation with several agents at once."""

    id: str
    agents: list[str]
    started: datetime
    """The time at which it takes place for model and weather, so that it can be played again."""
    turns: list[LiveTurn] = field(default_factory=list)
    run: str = ""
    """The stored run; empty before the first answer."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def transcript(self, agent: str) -> Transcript:
        """What an agent was asked and answered so far."""
        turns = [
            Turn(
                user=turn.message,
                assistant=answer.response,
                truth=turn.truth,
                tool_calls=_calls(answer),
                tool_call_count=None if (calls := _calls(answer)) is None else len(calls),
                response_time=None if answer.record is None else answer.record.wall,
            )
            for turn in self.turns
            if (answer := turn.answers.get(agent)) is not None
        ]
        return Transcript(agent=agent, scenario=self.id, turns=turns)


def _calls(answer: Answer) -> list[Any] | None:
    record = answer.record
    return None if record is None or not record.knows_tool_calls else list(record.tool_calls)


class LiveTalk:
    """All live conversations of a server."""

    def __init__(self, agents: LiveAgents) -> None:
        self.agents = agents
        self._conversations: OrderedDict[str, LiveConversation] = OrderedDict()
        self._free = asyncio.Semaphore(_MOST_AT_ONCE)
        self._waiting: list[object] = []
        self._evaluator = ChatbotEvaluator()

    def start(self, chosen: Sequence[str]) -> LiveConversation:
        """A new conversation with these agents."""
        names = checked_choice(chosen, self.agents.names(), MOST_AGENTS)
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        made = LiveConversation(f"live-{secrets.token_hex(4)}", names, now)
        self._conversations[made.id] = made
        while len(self._conversations) > _MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)
        return made

    def find(self, conversation_id: str) -> LiveConversation:
        """A conversation that is still known; raises UsageError if it is not."""
        found = self._conversations.get(conversation_id)
        if found is None:
            raise UsageError("this conversation is over", hint="Start a new one; its run is in the list")
        return found

    def forget(self, conversation: LiveConversation) -> None:
        """Drop a conversation that is finished."""
        self._conversations.pop(conversation.id, None)

    def unfinished(self) -> list[LiveConversation]:
        """Conversations whose runs are still open."""
        return [one for one in self._conversations.values() if one.run]

    async def say(
        self,
        conversation: LiveConversation,
        message: str,
        fault: str = "",
        known: Mapping[str, Any] | None = None,
        quirk: str = "",
    ) -> AsyncGenerator[LiveEvent]:
        """Send a message to every agent and yield their answers as events. Closing the iterator cancels the turn.

        `known` replaces what the agents remember of the user.
        """
        if not message.strip() or len(message) > MOST_MESSAGE:
            raise UsageError(f"a message has 1 to {MOST_MESSAGE:,} characters, got {len(message):,}")
        if len(conversation.turns) >= MOST_TURNS:
            raise UsageError(f"a conversation has at most {MOST_TURNS} turns", hint="Start a new one")
        if fault:
            Fault.parse(fault)
        if quirk:
            Quirk.parse(quirk)
        if conversation.lock.locked():
            raise UsageError("the agents are still answering", hint="Wait for them, or start another conversation")
        async with conversation.lock:
            async for place in self._queue():
                yield "waiting", {"place": place}
            try:
                async for event in self._turn(conversation, LiveTurn(message, fault, "", None, quirk), known):
                    yield event
            finally:
                self._free.release()

    async def _queue(self) -> AsyncIterator[int]:
        """Wait for a free slot, reporting the position in the queue as it changes."""
        me = object()
        if len(self._waiting) >= _MOST_WAITING:
            raise UsageError("too many conversations are waiting", hint="Try again in a minute")
        self._waiting.append(me)
        try:
            told = None
            while True:
                place = self._waiting.index(me) + 1
                if place == 1 and not self._free.locked():
                    await self._free.acquire()
                    return
                if place != told:
                    told = place
                    yield place
                await asyncio.sleep(0.05)
        finally:
            self._waiting.remove(me)

    async def _turn(
        self, conversation: LiveConversation, turn: LiveTurn, known: Mapping[str, Any] | None
    ) -> AsyncIterator[LiveEvent]:
        events: asyncio.Queue[LiveEvent | None] = asyncio.Queue()
        turn.city = city = city_in(turn.message) or (conversation.turns[-1].city if conversation.turns else "")
        at = len(conversation.turns)
        conversation.turns.append(turn)

        async def ask(agent: str) -> None:
            def hear(piece: str) -> None:
                events.put_nowait(("piece", {"agent": agent, "text": piece}))

            try:
                if not self.agents.is_prepared(agent):
                    events.put_nowait(("opening", {"agent": agent}))
                host = await self.agents.prepared_host(agent)
                events.put_nowait(("asked", {"agent": agent}))
                if turn.truth is None and city:
                    turn.truth = await self.agents.truth(city, MAX_FORECAST_DAYS, conversation.started)
                job = _job(conversation, agent, at, known)
                async with aclosing(host.play(job, hear)) as playing:
                    async for played in playing:
                        answer = await asyncio.to_thread(self._scored, conversation, agent, at, played)
                        turn.answers[agent] = answer
                        turn.known[agent] = played.preferences
                        price = self.agents.price(agent)
                        cost = None if price is None else price.cost_of_turn(played.record)
                        if cost is not None:
                            turn.costs[agent] = cost
                        events.put_nowait(("answer", {"agent": agent}))
            except (RefusedError, CrashedError) as error:
                record = Record(status="failed", reason=redacted(str(error)), fault=turn.fault or None)
                turn.answers[agent] = _unscored(conversation, agent, at, turn.message, record)
                events.put_nowait(("answer", {"agent": agent}))

        async def all_of_them() -> None:
            try:
                await asyncio.gather(*(ask(agent) for agent in conversation.agents))
            finally:
                events.put_nowait(None)

        work = asyncio.create_task(all_of_them())
        try:
            yield "turn", {"turn": at, "city": city}
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await work

    def _scored(self, conversation: LiveConversation, agent: str, at: int, played: PlayedTurn) -> Answer:
        record = played.record
        turn = conversation.turns[at]
        if record.status == "failed":
            return _unscored(conversation, agent, at, turn.message, record, played.text)
        is_known = record.knows_tool_calls
        before = conversation.transcript(agent)
        now = Turn(
            user=turn.message,
            assistant=played.text,
            truth=turn.truth,
            tool_calls=record.tool_calls if is_known else None,
            tool_call_count=len(record.tool_calls) if is_known else None,
            response_time=record.wall,
        )
        whole = before.model_copy(
            update={"turns": [*before.turns, now], "preferences": dict(played.preferences) or None}
        )
        scored = answer_of(whole, len(before.turns), self._evaluator, record=record)
        return replace(scored, turn=at, truth=None)


def _job(conversation: LiveConversation, agent: str, at: int, known: Mapping[str, Any] | None) -> Job:
    session = f"{conversation.id}-{agent}"
    turn = conversation.turns[at]
    situation = Situation(
        conversation.id,
        0,
        at,
        Fault.parse(turn.fault) if turn.fault else None,
        conversation.started,
        session=session,
        quirk=Quirk.parse(turn.quirk) if turn.quirk else None,
    )
    return Job(
        agent=agent,
        session=session,
        user=session,
        messages=(turn.message,),
        situations=(situation,),
        timeout=_TURN_SECONDS,
        preferences=known,
        live=True,
    )


def _unscored(
    conversation: LiveConversation, agent: str, at: int, message: str, record: Record, text: str = ""
) -> Answer:
    return Answer(
        agent=agent,
        scenario=conversation.id,
        repetition=0,
        turn=at,
        query=message,
        response=text,
        entries={},
        passed=False,
        record=record,
    )


def known_from(sentence: str) -> dict[str, Any] | None:
    """What agents should remember of the user from now on: None for an empty text, no preferences for 'nothing'."""
    from assay.chat.world.preferences import parse_preferences

    words = sentence.strip()
    if not words:
        return None
    if words.casefold() in ("nothing", "forget"):
        return {}
    found = parse_preferences(words)
    if not found:
        raise UsageError(
            f"'{words:.80}' says nothing about the user that agents can remember",
            hint="Write e.g. 'hates the cold', 'prefers Fahrenheit', or 'nothing' to make them forget",
        )
    return found


def city_in(message: str) -> str:
    """The first city of the embedded weather that a message names; the longest name counts. Empty if it names none."""
    words = [word.strip(".,;:!?()'\"’") for word in message.replace("'s", " ").replace("’s", " ").split()]
    for start in range(len(words)):
        for length in range(min(_LONGEST_CITY, len(words) - start), 0, -1):
            some = words[start : start + length]
            # A name begins with a capital; without this rule "of" and "nice" would be places.
            if some[0][:1].isupper() and (found := find_city(" ".join(some))) is not None:
                return found.name
    return ""
