"""Requests to the embedded servers in watched conversations: when they came, and whether the client left early.

Both servers write here, each in its own thread, and the runner reads.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.chat.world.hang_up import HOLD_SECONDS
from assay.chat.world.situation import Situation
from assay.chat.world.wanted_calls import WantedCall

Service = Literal["model", "tool"]
# A client is given up as quiet after this time without a request, and waited for no longer than the other.
_QUIET_SECONDS, _LONGEST_SECONDS = 0.4, 20.0


@dataclass(slots=True)
class WatchedCall:
    """One request to a server. Times are seconds since the epoch."""

    service: Service
    turn: int
    arrived: float
    body: bytes = b""
    """What the model was sent."""
    whole_text: str | None = None
    """The answer of which a part was held."""
    closed: float | None = None
    """When the client closed the connection, if that was before the end of the response."""
    is_open: bool = False
    """Whether it is held."""
    misbehaved: bool = False
    """Whether the quirk of the turn took effect in the response."""
    meant: tuple[WantedCall, ...] = ()
    """The calls that the model meant to make, if the quirk of the turn alters their arguments."""
    answer: str | None = None
    """The words of the model's answer, before a quirk changes it; None if it makes calls."""
    is_structured: bool = False
    """Whether these stand inside a structured answer."""
    changed: str | None = None
    """The text that was sent in its place; None if it was sent as it is."""
    beyond: str | None = None
    """What the scripted model says if it cannot help with the subject, before a quirk changes it."""


class CallLog:
    """The requests of watched conversations, by session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, list[WatchedCall]] = {}
        self._with_bodies: set[str] = set()

    def watch(self, session: str, *, with_bodies: bool = True) -> None:
        """Keep the requests of a conversation from now on, with what the model was sent or without."""
        with self._lock:
            self._calls[session] = []
            if with_bodies:
                self._with_bodies.add(session)

    def forget(self, session: str) -> None:
        """Keep them no longer."""
        with self._lock:
            self._calls.pop(session, None)
            self._with_bodies.discard(session)

    def add(self, situation: Situation, service: Service, body: bytes = b"") -> WatchedCall:
        """A request has come; it is kept if its conversation is watched."""
        with self._lock:
            kept = body if situation.session in self._with_bodies else b""
            call = WatchedCall(service, situation.turn, time.time(), kept)
            if situation.session in self._calls:
                self._calls[situation.session].append(call)
        return call

    def of_turn(self, session: str, turn: int) -> list[WatchedCall]:
        """The requests of one turn, in the order in which they came."""
        with self._lock:
            return [call for call in self._calls.get(session, ()) if call.turn == turn]

    async def quiet(self, session: str, turn: int) -> None:
        """Wait until nothing of a turn is held and no request has come for a while."""
        start = last = time.monotonic()
        seen = 0
        while time.monotonic() - start < _LONGEST_SECONDS and time.monotonic() - last < _QUIET_SECONDS:
            await asyncio.sleep(0.02)
            calls = self.of_turn(session, turn)
            if len(calls) > seen or any(call.is_open for call in calls):
                seen, last = len(calls), time.monotonic()


async def held(call: WatchedCall, parts: Sequence[bytes], at: int) -> AsyncIterator[bytes]:
    """Send the first `at` parts, and the others after a pause in which the client may go away."""
    call.is_open = True
    try:
        for part in parts[:at]:
            yield part
        await asyncio.sleep(HOLD_SECONDS)
        for part in parts[at:]:
            yield part
    except BaseException:  # the server ends a response whose client has gone
        call.closed = time.time()
        raise
    finally:
        call.is_open = False
