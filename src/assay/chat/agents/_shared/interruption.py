"""Requests of the current turn: how much of the conversation they contain, and killing the process in mid-turn.

Used only in scenarios in which the process is killed. There is one turn at a time.
"""

from __future__ import annotations

import json
import os
import signal

_DIES_AT = 2
"""The request to the model at which the process ends: a tool has been called, and nothing has been answered yet."""


class _Turn:
    def __init__(self) -> None:
        self.requests = 0
        self.dies = False
        self.user_messages: int | None = None


_turn = _Turn()


def begin_turn(*, dies: bool) -> None:
    """A turn begins; if it `dies`, the process is killed in the middle of it."""
    _turn.requests, _turn.dies, _turn.user_messages = 0, dies, None


def user_messages() -> int | None:
    """How many messages of the user the last request of the turn had; None if there was none."""
    return _turn.user_messages


def on_request(body: bytes) -> None:
    """A request to the model is about to be sent."""
    _turn.requests += 1
    if _turn.dies and _turn.requests == _DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        messages = json.loads(body)["messages"]
        _turn.user_messages = sum(message.get("role") == "user" for message in messages)
    except (ValueError, KeyError, TypeError, AttributeError):
        _turn.user_messages = None
