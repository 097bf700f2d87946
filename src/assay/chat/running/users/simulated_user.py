"""The simulated user of a conversation, by the scenario's persona."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from assay.chat.running.users.persona import PersonaUser, wordings_of
from assay.chat.running.users.shopper import ShopperUser
from assay.chat.world.shop import ORDERS

if TYPE_CHECKING:
    from assay.chat.running.users.model_user import ModelUser, UserTokens


class ScriptedUser(Protocol):
    """Decides what is said, by rules."""

    def next(self, answer: str | None) -> str:
        """What the user says after an answer; None before the first."""
        ...


def scripted_user(persona: Mapping[str, Any]) -> ScriptedUser:
    """The user of a persona, as a job has it: goal, city, what they change their mind about, seed and key."""
    goal, chance = persona["goal"], {"seed": persona["seed"], "key": persona["key"]}
    if ORDERS in goal:
        return ShopperUser(goal[ORDERS], persona["changes_mind"], **chance)
    return PersonaUser(goal, persona["city"], **chance)


class SimulatedUser:
    """The user of a persona, by rules or by a model."""

    def __init__(self, persona: Mapping[str, Any]) -> None:
        self._by_model: ModelUser | None = None
        self._by_rules: ScriptedUser | None = None
        if persona.get("model") is None:
            self._by_rules = scripted_user(persona)
            return
        from assay.chat.running.users.model_user import ModelUser

        seed, key = persona["seed"], persona["key"]
        name, url = persona["model"]["name"], persona["model"]["url"]
        self._by_model = ModelUser(name, url, *_wishes(persona), seed=seed, key=key)

    async def next(self, answer: str | None) -> tuple[str, UserTokens | None]:
        """What the user says after an answer, and the tokens it took; raises UserModelError."""
        if self._by_model is not None:
            return await self._by_model.next(answer)
        assert self._by_rules is not None
        return self._by_rules.next(answer), None


def _wishes(persona: Mapping[str, Any]) -> tuple[list[str], str]:
    """What a persona wants, as sentences, and what it does when it has all of it."""
    goal = persona["goal"]
    if ORDERS in goal:
        pieces = [*goal[ORDERS].items(), *((product, 1) for product in persona["changes_mind"])]
        ordered = [f"I'd like to order {n} {product}." for product, n in pieces]
        cancelled = [f"Please cancel my order of the {product}." for product in persona["changes_mind"]]
        return [*ordered, *cancelled], "say thank you."
    told = [wordings_of(name, value)[0] for name, value in goal.items()]
    return told, f"ask for advice about the weather in {persona['city']}."
