"""The scripted model as a simulated user: says what it was told to want, one thing after another, and then thanks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.chat.world.scripted.conversation import message_text

_OPENING = "You play a user who writes to an assistant."


def user_message(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The next message of the user whom the model is asked to play; None if it is asked for anything else."""
    told = [message_text(message.get("content")) for message in messages if message.get("role") == "system"]
    if not told or not told[0].startswith(_OPENING):
        return None
    wishes = [line.removeprefix("- ") for line in told[0].splitlines() if line.startswith("- ")]
    said = {message_text(message.get("content")) for message in messages if message.get("role") == "assistant"}
    return next((wish for wish in wishes if wish not in said), "Thank you!")
