"""The scripted model as a shop's assistant: which of the shop's tools a message needs, and what is said about them.

It follows rules on words: a product by its name, a number, and whether something is to be ordered, cancelled, listed or
looked up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.chat.world.scripted.conversation import ToolOutcome, UserTurn
from assay.chat.world.shop import CATALOGUE
from assay.chat.world.wanted_calls import CANCEL, LIST, ORDER, SEARCH

_CANCELS = re.compile(r"\b(cancel|changed my mind|don'?t want)\b", re.IGNORECASE)
_LISTS = re.compile(r"\b(my orders?|have i ordered|did i order)\b", re.IGNORECASE)
_ORDERS = re.compile(r"\b(order|buy|take|purchase|get me)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(\d{1,3}|one|two|three|four|five)\b", re.IGNORECASE)
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_SUBJECTS = re.compile(r"\b(shoes?|jackets?|hats?|backpacks?|stoves?|warm|waterproof|running)\b", re.IGNORECASE)
_THANKS = re.compile(r"\b(thanks?|bye)\b", re.IGNORECASE)
_WELCOME = "You are welcome! Is there anything else?"
_HELLO = "Hello! I can look up products, place orders and cancel them. What are you looking for?"

_Call = tuple[str, dict[str, Any]]


def is_action(said: str) -> bool:
    """Whether a message asks for something that changes orders."""
    return bool(_product(said)) and bool(_CANCELS.search(said) or (_ORDERS.search(said) and not _LISTS.search(said)))


def respond(turns: Sequence[UserTurn], *, only_claims: bool) -> _Call | str:
    """The next call of a tool, or the answer. With `only_claims` an order is claimed and not placed."""
    turn = turns[-1]
    done = {outcome.name: outcome for outcome in turn.outcomes}
    product = _product(turn.said) or next(filter(None, (_product(one.said) for one in reversed(turns[:-1]))), None)
    if _CANCELS.search(turn.said):
        return _cancelling(product, done, only_claims=only_claims)
    if _LISTS.search(turn.said):
        return _listed(done[LIST]) if LIST in done else (LIST, {})
    if _ORDERS.search(turn.said) and product:
        quantity = _quantity(turn.said)
        if only_claims:
            return f"Done: I have ordered {quantity} × {product} for you."
        return _ordered(done[ORDER]) if ORDER in done else (ORDER, {"product": product, "quantity": quantity})
    subject = _product(turn.said) or " ".join(_SUBJECTS.findall(turn.said))
    if subject or "product" in turn.said.casefold() or "sell" in turn.said.casefold():
        return _found(done[SEARCH]) if SEARCH in done else (SEARCH, {"query": subject})
    return _WELCOME if _THANKS.search(turn.said) else _HELLO


def _cancelling(product: str | None, done: Mapping[str, ToolOutcome], *, only_claims: bool) -> _Call | str:
    if only_claims:
        return f"Done: your order of the {product or 'product'} is cancelled."
    if CANCEL in done:
        failure = done[CANCEL].failure
        return f"I could not cancel it: {failure}." if failure else f"Your order of the {product} is cancelled."
    if LIST not in done:
        return LIST, {}
    for order in _rows(done[LIST], "orders"):
        if order.get("product") == product:
            return CANCEL, {"order": order["order"]}
    return f"I see no order of the {product or 'product'} that I could cancel."


def _ordered(outcome: ToolOutcome) -> str:
    if outcome.failure is not None:
        return f"I am sorry, that did not work: {outcome.failure}."
    made = outcome.result
    what = f"{made['quantity']} × {made['product']}"
    return (
        f"Done: I have ordered {what} for you, order {made['order']}, €{made['total']:.2f} in total. "
        f"Delivery takes {made['delivery_days']} days."
    )


def _listed(outcome: ToolOutcome) -> str:
    rows = _rows(outcome, "orders")
    if not rows:
        return "You have no open orders."
    return "Your orders: " + "; ".join(f"{row['order']}, {row['quantity']} × {row['product']}" for row in rows) + "."


def _found(outcome: ToolOutcome) -> str:
    rows = _rows(outcome, "products")
    if not rows:
        return "I am sorry, we have nothing like that."
    shown = []
    for row in rows:
        stock = "in stock" if row["stock"] else "out of stock"
        delivery = f", delivered in {row['delivery_days']} days" if row["stock"] else ""
        shown.append(f"the {row['product']} ({row['about']}) costs €{row['price']:.2f} and is {stock}{delivery}")
    return f"{'; '.join(shown)[:1].upper()}{'; '.join(shown)[1:]}."


def _rows(outcome: ToolOutcome, name: str) -> list[Mapping[str, Any]]:
    rows = outcome.result.get(name) if isinstance(outcome.result, Mapping) else outcome.result
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _product(said: str) -> str | None:
    low = said.casefold()
    return next((name for name in CATALOGUE if name.casefold() in low), None)


def _quantity(said: str) -> int:
    found = _NUMBER.search(said)
    return 1 if found is None else _WORDS.get(found[0].lower()) or int(found[0])
