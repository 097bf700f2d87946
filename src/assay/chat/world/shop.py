"""A small shop in the agent's process: a catalogue, the orders of each user, and the four tools that work on them.

If the process is to be killed, orders are kept in a file, as a real shop's would be: only the agent forgets.

What a conversation has changed here at its end is what scenarios check: an order that was only claimed is not there.
The tools know from their context whose turn it is, so any agent can use them as they are, also a function of a user's
own: `from assay.chat.world.shop import place_order`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assay.errors import AssayError
from assay.outputs import replacing

SHOP_DOMAIN = "shop"
"""The domain of suites whose agents have the shop's tools."""
ORDERS = "orders"
"""The name under which what is on order is stored about a user."""
_MOST_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Product:
    """What the shop sells."""

    name: str
    about: str
    price: float
    """In euros."""
    stock: int
    delivery_days: int

    def to_json(self) -> dict[str, Any]:
        """As a tool returns it, with the names of fields that a truth of the domain has."""
        return {
            "product": self.name,
            "about": self.about,
            "price": self.price,
            "currency": "EUR",
            "stock": self.stock,
            "delivery_days": self.delivery_days,
        }


CATALOGUE: Mapping[str, Product] = {
    product.name: product
    for product in (
        Product("Trail Runner", "running shoes for rough ground", 89.9, 12, 3),
        Product("City Sneaker", "light shoes for every day", 59.5, 8, 2),
        Product("Rain Jacket", "waterproof jacket with a hood", 129.0, 5, 4),
        Product("Wool Hat", "warm hat of merino wool", 24.9, 30, 2),
        Product("Day Pack", "backpack of 20 litres", 74.0, 3, 5),
        Product("Camp Stove", "gas stove that folds", 45.0, 0, 14),
    )
}


@dataclass(slots=True)
class _Order:
    id: str
    product: str
    quantity: int


@dataclass(slots=True)
class Shop:
    """Orders by user. Each user's orders are counted from 1, so that their numbers do not depend on other users."""

    _orders: dict[str, list[_Order]] = field(default_factory=dict)
    _placed: dict[str, int] = field(default_factory=dict)
    _customers: set[str] = field(default_factory=set)
    _path: Path | None = None

    def keep_in(self, path: Path) -> None:
        """Read the orders from a file, if there is one, and write every change to it before a tool returns."""
        self._path = path
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            self._orders = {user: [_Order(**one) for one in orders] for user, orders in kept["orders"].items()}
            self._placed = dict(kept["placed"])
            self._customers = set(kept["customers"])

    def _changed(self) -> None:
        if self._path is None:
            return
        orders = {user: [asdict(one) for one in placed] for user, placed in self._orders.items()}
        kept = {"orders": orders, "placed": self._placed, "customers": sorted(self._customers)}
        # Renamed into place: a process that is killed meanwhile leaves the file as it was.
        with replacing(self._path) as new:
            new.write_text(json.dumps(kept), encoding="utf-8")

    def knows(self, user: str) -> bool:
        """Whether a tool of the shop was called for a user."""
        return user in self._customers

    def enter(self, user: str) -> None:
        """Note that a tool is called for a user."""
        if user not in self._customers:
            self._customers.add(user)
            self._changed()

    def order(self, user: str, product: str, quantity: int) -> dict[str, Any]:
        """Place an order; raises AssayError if the shop cannot deliver it."""
        found = product_named(product)
        if not 1 <= quantity <= _MOST_AT_ONCE:
            raise AssayError(f"an order is for 1 to {_MOST_AT_ONCE} pieces, not {quantity}")
        if quantity > found.stock:
            left = f"only {found.stock} are left" if found.stock else "it is out of stock"
            raise AssayError(f"{found.name} cannot be ordered: {left}")
        number = self._placed[user] = self._placed.get(user, 0) + 1
        placed = _Order(f"A{100 + number}", found.name, quantity)
        self._orders.setdefault(user, []).append(placed)
        self._changed()
        total = round(found.price * quantity, 2)
        days = found.delivery_days
        return {"status": "ordered", **_shown(placed), "total": total, "currency": "EUR", "delivery_days": days}

    def cancel(self, user: str, order: str) -> dict[str, Any]:
        """Cancel an order by its number; raises AssayError if the user has none of that number."""
        for placed in self._orders.get(user, []):
            if placed.id.casefold() == order.strip().casefold():
                self._orders[user].remove(placed)
                self._changed()
                return {"status": "cancelled", **_shown(placed)}
        raise AssayError(f"there is no order {order:.40}")

    def orders(self, user: str) -> list[dict[str, Any]]:
        """The open orders of a user, in the order in which they were placed."""
        return [_shown(placed) for placed in self._orders.get(user, [])]

    def bought(self, user: str) -> dict[str, int]:
        """How many pieces of each product a user has on order: the end state that scenarios check."""
        found: dict[str, int] = {}
        for placed in self._orders.get(user, []):
            found[placed.product] = found.get(placed.product, 0) + placed.quantity
        return found


SHOP = Shop()
"""The shop of this process. Every conversation has a user of its own, so none sees the orders of another."""
_user: ContextVar[str | None] = ContextVar("assay_shop_user", default=None)


@contextmanager
def shopping_as(user: str) -> Iterator[None]:
    """The tools work for this user while a `with` block runs."""
    before = _user.set(user)
    try:
        yield
    finally:
        _user.reset(before)


def product_named(name: str) -> Product:
    """A product by its name, in upper or lower case; raises AssayError that names the nearest one."""
    for product in CATALOGUE.values():
        if product.name.casefold() == name.strip().casefold():
            return product
    near = difflib.get_close_matches(name.title(), CATALOGUE, n=1)
    raise AssayError(f"there is no product '{name:.60}'" + (f"; did you mean '{near[0]}'?" if near else ""))


def _words(text: str) -> set[str]:
    """The words of a text in lower case, the same in singular and plural."""
    return {word.rstrip("s") for word in text.casefold().split()}


def _shown(order: _Order) -> dict[str, Any]:
    return {"order": order.id, "product": order.product, "quantity": order.quantity}


def _current_user() -> str:
    user = _user.get()
    if user is None:
        raise AssayError("the shop's tools work only in a conversation that assay plays")
    SHOP.enter(user)
    return user


# --- the tools ------------------------------------------------------------------------------------------------------

Query = Annotated[str, Field(description='What to look for, such as "shoes"; empty for everything.')]
ProductName = Annotated[str, Field(description='The name of the product, such as "Trail Runner".')]
Pieces = Annotated[int, Field(description="How many pieces.")]
OrderNumber = Annotated[str, Field(description='The number of the order, such as "A101".')]


async def search_products(query: Query = "") -> dict[str, Any]:
    """Find products of the shop, with price, stock and delivery time."""
    _current_user()
    named = [product for product in CATALOGUE.values() if product.name.casefold() in query.casefold()]
    words = _words(query)
    found = named or [one for one in CATALOGUE.values() if not words or words & _words(f"{one.name} {one.about}")]
    return {"products": [product.to_json() for product in found]}


async def place_order(product: ProductName, quantity: Pieces = 1) -> dict[str, Any]:
    """Order a product for the user."""
    return SHOP.order(_current_user(), product, quantity)


async def cancel_order(order: OrderNumber) -> dict[str, Any]:
    """Cancel an order of the user by its number."""
    return SHOP.cancel(_current_user(), order)


async def list_orders() -> dict[str, Any]:
    """List the open orders of the user."""
    return {"orders": SHOP.orders(_current_user())}


TOOLS = (search_products, place_order, cancel_order, list_orders)
