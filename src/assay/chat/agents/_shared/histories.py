"""What was said so far, for agents that cannot remember it themselves. Bounded in every direction."""

from __future__ import annotations

from collections import OrderedDict

Message = dict[str, str]
"""One message in the form that every chat interface knows: `{"role": "user", "content": "…"}`."""


class Histories:
    """The messages of each session. Of too many messages the oldest go, of too many sessions the longest unused."""

    def __init__(self, *, messages: int = 200, sessions: int = 1000) -> None:
        self._messages = messages
        self._sessions = sessions
        self._kept: OrderedDict[str, list[Message]] = OrderedDict()

    def read(self, session: str) -> list[Message]:
        """What was said; the caller may change the list."""
        return [dict(message) for message in self._kept.get(session, ())]

    def add(self, session: str, message: str, answer: str) -> None:
        """A turn is over."""
        kept = self._kept.setdefault(session, [])
        kept += [{"role": "user", "content": message}, {"role": "assistant", "content": answer}]
        del kept[: -self._messages]
        self._kept.move_to_end(session)
        if len(self._kept) > self._sessions:
            self._kept.popitem(last=False)
