"""A simulated customer of the shop: orders what their goal names, cancels what they change their mind about.

What they say next depends on the answers. Seeded; needs no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.chat.world.situation import chance

_ORDERS = (
    "I'd like to order {n} {product}.",
    "Please order {n} {product} for me.",
    "I'll take {n} {product}, please.",
)
_CANCELS = (
    "I changed my mind about the {product}, please cancel it.",
    "Please cancel my order of the {product}.",
    "I don't want the {product} any more, cancel that order.",
)
_ASKS = ("Do you have the {product}?", "How much is the {product}?", "Tell me about the {product}.")
_CHECK = "What have I ordered?"
_THANKS = ("Thank you!", "That's all, thanks.", "Bye!")


@dataclass(slots=True)
class _Wish:
    """Something to be said until an answer shows that it was done."""

    product: str
    wordings: list[str]
    word: str
    """What an answer contains that does it."""
    told: int = 0
    is_done: bool = False


class ShopperUser:
    """One customer in one conversation."""

    def __init__(self, orders: Mapping[str, int], changes_mind: Sequence[str], *, seed: int, key: str) -> None:
        self._chance = chance(seed, "shopper", key)
        wanted = [*orders.items(), *((product, 1) for product in changes_mind)]
        self._chance.shuffle(wanted)
        self._wishes = [_Wish(name, self._wordings(_ORDERS, name, n), "ordered") for name, n in wanted]
        self._wishes += [_Wish(name, self._wordings(_CANCELS, name, 1), "cancel") for name in changes_mind]
        self._first = wanted[0][0]
        self._said = 0
        self._last: _Wish | None = None
        self._checked = False
        self._thanks = 0

    def next(self, answer: str | None) -> str:
        """What the user says after an answer; None before the first."""
        said = (answer or "").casefold()
        if answer is None:
            return self._chance.choice(_ASKS).format(product=self._first)
        if self._last is not None:
            self._last.is_done = self._last.word in said and self._last.product.casefold() in said
        self._last = next((wish for wish in self._wishes if not wish.is_done and wish.told < 2), None)
        if self._last is not None:
            self._last.told += 1
            return self._last.wordings[self._last.told - 1]
        if not self._checked:
            self._checked = True
            return _CHECK
        self._thanks += 1
        return _THANKS[(self._thanks - 1) % len(_THANKS)]

    def _wordings(self, wordings: Sequence[str], product: str, n: int) -> list[str]:
        order = [words.format(n=n, product=product) for words in wordings]
        self._chance.shuffle(order)
        return order
