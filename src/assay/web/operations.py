"""How an operation of the HTTP API is declared: its address, what it takes, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from assay.web.requests import MOST_TEXT
from assay.web.site import Site

TEXT: Mapping[str, Any] = {"type": "string", "maxLength": MOST_TEXT}
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
ANYTHING: Mapping[str, Any] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    path: str
    summary: str
    handle: Callable[[Site, Request], Any]
    """Returns the data of the response; runs in a thread."""
    query: Mapping[str, Mapping[str, Any]]
    """Schemas of the parameters in the query."""
    answer: Mapping[str, Any]
    """Schema of the answer."""
    required: Sequence[str] = ()
    """The parameters that must be given."""


def object_with(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def list_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": item}
