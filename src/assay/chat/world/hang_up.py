"""The moment at which a user hangs up, as it is recognised in the agent's process.

The conversation attaches a `HangUp` for the length of a turn; the clients of model and tools tell it how far the turn
has come. Both embedded servers hold what they send at that moment, so that nothing depends on timing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from assay.chat.world.situation import HangUpMoment

HOLD_SECONDS = 2.0
"""How long an answer or a tool is held for a client that does not go away; then it goes on as if nothing had been."""

# A part of the time for which an answer is held.
_PAUSE_SECONDS = HOLD_SECONDS / 10


class HangUp:
    """A turn in which the user hangs up: `now` is set when the moment has come."""

    def __init__(self, moment: HangUpMoment) -> None:
        self.moment = moment
        self.now = asyncio.Event()
        self._requests = 0
        self._pause: asyncio.TimerHandle | None = None

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Let the clients of this turn, and of every task that it starts, find it."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def on_text(self) -> None:
        """The user has got some text. They hang up when no more comes, because the model's server holds the rest: what
        a cancellation meets at the same time as a piece of text would be a matter of chance.
        """
        if self.moment == "text":
            if self._pause is not None:
                self._pause.cancel()
            self._pause = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.now.set)

    def on_tool_response(self) -> None:
        """The beginning of a tool's result is there; its server holds the rest."""
        if self.moment == "tool":
            self.now.set()

    async def on_model_request(self) -> None:
        """A request to the model is about to be sent: the second one has a tool's result."""
        self._requests += 1
        if self.moment == "between" and self._requests == 2:
            self.now.set()
            await asyncio.sleep(HOLD_SECONDS)


_CURRENT: ContextVar[HangUp | None] = ContextVar("assay_hang_up", default=None)


def current_hang_up() -> HangUp | None:
    """That of the turn under way; None if its user does not hang up."""
    return _CURRENT.get()
