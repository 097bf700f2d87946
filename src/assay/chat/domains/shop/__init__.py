"""Shop support: reads the record of a product or order.

A record is a flat table: `{"product": "Trail Runner", "price": 89.9, "currency": "EUR", "stock": 4, "delivery_days": 3,
"delivery_date": "2026-11-20", "return_days": 30, "warranty_days": 730, "today": "2026-11-17"}`; every field may be
missing. A price without a currency is compared with figures in any currency. If it is not known which day is today,
"tomorrow" is compared with the days of the delivery only.
"""

from __future__ import annotations

from datetime import date
from importlib.resources import files
from typing import Any

from assay.chat.domains import Domain, Fact, Truth, read_mapping, read_number, read_text
from assay.errors import UsageError

_CURRENCIES = {"EUR": "euro", "USD": "dollar", "GBP": "pound", "€": "euro", "$": "dollar", "£": "pound"}
_FIGURES = {
    "stock": ("count", "actual"),
    "delivery_days": ("duration", "delivery"),
    "return_days": ("duration", "returns"),
    "warranty_days": ("duration", "warranty"),
}


def read_truth(data: Any) -> Truth:
    """Price, stock, delivery and returns of one product or order."""
    field = "truth"
    record = read_mapping(data, field)
    facts = []
    price = read_number(record.get("price"), f"{field}.price")
    currency = (read_text(record.get("currency"), f"{field}.currency") or "").upper()
    if currency and currency not in _CURRENCIES:
        raise UsageError(f"{field}.currency is '{currency}'", hint=f"Use one of: {', '.join(_CURRENCIES)}")
    if price is not None:
        kinds = [_CURRENCIES[currency]] if currency else list(dict.fromkeys(_CURRENCIES.values()))
        facts += [Fact(kind, price) for kind in kinds]
    for name, (kind, role) in _FIGURES.items():
        value = read_number(record.get(name), f"{field}.{name}")
        if value is not None:
            facts.append(Fact(kind, value, role))
    state = read_text(record.get("availability"), f"{field}.availability")
    stock = read_number(record.get("stock"), f"{field}.stock")
    if state is None and stock is not None:
        state = "in stock" if stock > 0 else "out of stock"
    delivery = read_text(record.get("delivery_date"), f"{field}.delivery_date")
    today = read_text(record.get("today"), f"{field}.today")
    subject = read_text(record.get("product") or record.get("order"), f"{field}.product")
    return Truth(
        subject,
        tuple(facts),
        {None: state} if state else {},
        source=data,
        as_of=_date(today, f"{field}.today") if today else None,
        dates={"delivery": _date(delivery, f"{field}.delivery_date")} if delivery else {},
    )


def _date(value: str, field: str) -> date:
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        raise UsageError(f"{field} is '{value:.40}', not a date", hint="Write it as 2026-11-20") from None


DOMAIN = Domain("shop", files(__name__), read_truth)
