"""The simulated user of a conversation, by the scenario's persona."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from assay.chat.running.persona import PersonaUser
from assay.chat.running.shopper import ShopperUser


class SimulatedUser(Protocol):
    """Decides what is said."""

    def next(self, answer: str | None) -> str:
        """What the user says after an answer; None before the first."""
        ...


def simulated_user(persona: Mapping[str, Any]) -> SimulatedUser:
    """The user of a persona, as a job has it: goal, city, what they change their mind about, seed and key."""
    goal, chance = persona["goal"], {"seed": persona["seed"], "key": persona["key"]}
    if "orders" in goal:
        return ShopperUser(goal["orders"], persona["changes_mind"], **chance)
    return PersonaUser(goal, persona["city"], **chance)
