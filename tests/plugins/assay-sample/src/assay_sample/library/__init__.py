"""A library's desk: how long a book may be kept. The whole of a third-party domain, with its two data files."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from assay.chat import Domain, Fact, Truth
from assay.chat.domains import read_mapping, read_number, read_text


def read_truth(data: Any) -> Truth:
    """The loan of a book: `{"book": "Emma", "days": 28}`."""
    record = read_mapping(data, "truth")
    days = read_number(record.get("days"), "truth.days")
    facts = () if days is None else (Fact("duration", days),)
    return Truth(read_text(record.get("book"), "truth.book"), facts, source=data)


DOMAIN = Domain("library", files(__name__), read_truth)
