"""Turns in which the user hangs up or has to approve a tool: what agents and servers did then.

Pure functions of what agents, servers and stored preferences show. Knows neither servers nor agents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from assay.chat.world.situation import HangUpMoment, UserDecision
from assay.plural import counted


class HangUpRecord(BaseModel):
    """What happened after the user hung up. Times are milliseconds after it."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    moment: HangUpMoment
    at: float | None = None
    """When, in seconds since the epoch; None if the turn was over before."""
    ended_ms: float | None = None
    """When the agent's answer ended; None if it did not."""
    raised: str | None = None
    """The error with which it ended, if it was not simply cancelled."""
    answered: bool = False
    """Whether it came to its end all the same."""
    stopped_ms: float | None = None
    """When the connection that was held was closed, as its server saw it; None if it never was, or none was held."""
    went_on: bool = False
    """Whether what was held was received to its end."""
    model_calls: int = 0
    """Requests to the model that came afterwards."""
    tool_calls: int = 0
    """Requests of tools that came afterwards."""

    @property
    def has_stopped(self) -> bool:
        """Whether everything stopped: nothing was received to its end, and nothing was asked any more."""
        return self.at is not None and not (self.went_on or self.model_calls or self.tool_calls or self.answered)


class ConsentRecord(BaseModel):
    """A turn in which a tool needs the user's approval."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    decision: UserDecision
    asked: list[str] = Field(default_factory=list)
    """The tools for which the user was asked."""
    ran_unapproved: bool = False
    """Whether the tool had run before the user decided."""
    ran: bool = False
    """Whether it had run at the end of the turn."""

    @property
    def is_kept(self) -> bool:
        """Whether the user was asked, and the tool ran if and only if they approved."""
        return bool(self.asked) and not self.ran_unapproved and self.ran == (self.decision == "approve")


class SeenCall(Protocol):
    """A request as a server saw it."""

    service: Any
    arrived: float
    whole_text: str | None
    closed: float | None


def after_hang_up(record: HangUpRecord, calls: Sequence[SeenCall]) -> HangUpRecord:
    """The record with what the servers saw."""
    if record.at is None:
        return record
    at = record.at
    before = [call for call in calls if call.arrived <= at]
    later = [call for call in calls if call.arrived > at]
    service = {"text": "model", "tool": "tool", "between": None}[record.moment]
    held = [call for call in before if call.service == service and (service == "tool" or call.whole_text is not None)]
    closed = [call.closed for call in held if call.closed is not None]
    return record.model_copy(
        update={
            "stopped_ms": round(1000 * max(0.0, max(closed) - at), 3) if closed else None,
            "went_on": len(closed) < len(held),
            "model_calls": sum(call.service == "model" for call in later),
            "tool_calls": sum(call.service == "tool" for call in later),
        }
    )


def history_flaws(body: bytes, half_of: Sequence[str] = ()) -> list[str] | None:
    """What is wrong with the history in a request to the model; None if it cannot be read.

    `half_of` are whole answers of which the user got a part.
    """
    messages = _messages(body)
    if messages is None:
        return None
    flaws = []
    open_calls: set[str] = set()
    for message in [*messages, {"role": "end"}]:
        role = message.get("role")
        if role == "tool":
            open_calls.discard(str(message.get("tool_call_id")))
            continue
        if open_calls:
            flaws.append(f"{counted(len(open_calls), 'call')} without a result")
        open_calls = {str(call.get("id")) for call in message.get("tool_calls") or ()}
        text = message.get("content")
        if role == "assistant" and isinstance(text, str) and _is_half(text, half_of):
            flaws.append("half of an answer")
    return flaws


def user_texts(body: bytes) -> list[str]:
    """The messages of the user in a request to the model."""
    return [str(one.get("content")) for one in _messages(body) or () if one.get("role") == "user"]


def _is_half(text: str, whole: Sequence[str]) -> bool:
    said = text.strip()
    return bool(said) and any(one.startswith(said) and len(said) < len(one.strip()) for one in whole)


def _messages(body: bytes) -> list[Mapping[str, Any]] | None:
    try:
        messages = json.loads(body)["messages"]
        return [message for message in messages if isinstance(message, Mapping)]
    except (ValueError, KeyError, TypeError):
        return None
