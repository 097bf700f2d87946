"""Message histories of sessions, for agents that do not store them themselves. Their size is limited."""

from __future__ import annotations

from collections import OrderedDict

Message = dict[str, str]
"""One message in the format of chat interfaces: `{"role": "user", "content": "…"}`."""


class SessionHistories:
    """The messages of each session. Above the limits, the oldest messages and the least recently used sessions go."""

    def __init__(self, *, messages: int = 200, sessions: int = 1000) -> None:
        self._messages = messages
        self._sessions = sessions
        self._by_session: OrderedDict[str, list[Message]] = OrderedDict()

    def read(self, session: str) -> list[Message]:
        """A copy of the session's messages, which the caller may modify."""
        return [dict(message) for message in self._by_session.get(session, ())]

    def forget(self, session: str) -> None:
        """Delete a session's messages."""
        self._by_session.pop(session, None)

    def add(self, session: str, message: str, answer: str) -> None:
        """Add the message and the answer of a finished turn."""
        messages = self._by_session.setdefault(session, [])
        messages += [{"role": "user", "content": message}, {"role": "assistant", "content": answer}]
        del messages[: -self._messages]
        self._by_session.move_to_end(session)
        if len(self._by_session) > self._sessions:
            self._by_session.popitem(last=False)
