"""What a request asks for, read with care: text of bounded length, whole numbers in a range, forms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.requests import Request

from assay.errors import UsageError
from assay.store.searching import Search

Handler = Callable[[Request], Awaitable[Any]]

MOST_TEXT = 500
"""Characters of a text in an address. Five of them, all escaped, are shorter than the longest address."""
_MOST_IN_FORM = 2000
_SEARCHED = {"q": "words", "kind": "kind", "name": "name", "tag": "tag"}
STATES = ("", "open", "complete")
"""Runs of any state, unfinished ones, finished ones."""
_MOST_FIELDS = 200


def query_text(request: Request, name: str, default: str = "") -> str:
    """A text of the query."""
    value = _one(request, name) or default
    if len(value) > MOST_TEXT:
        raise UsageError(f"'{name}' may have at most {MOST_TEXT:,} characters, got {len(value):,}")
    return value


def query_choice(request: Request, name: str, known: Sequence[str]) -> str:
    """One of the known texts; the first of them if the query has none."""
    value = query_text(request, name, known[0])
    if value not in known:
        said = ", ".join(f"'{one}'" for one in known)
        raise UsageError(f"'{name}' must be one of {said}, got '{value[:80]}'")
    return value


def query_texts(request: Request, name: str) -> list[str]:
    """Every text of that name in the query, without duplicates and empty ones."""
    return [value for value in dict.fromkeys(request.query_params.getlist(name)) if value and len(value) <= MOST_TEXT]


def _one(request: Request, name: str) -> str | None:
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise UsageError(f"'{name}' is given {len(given)} times", hint="Give it once")
    return given[0] if given else None


def query_number(request: Request, name: str, default: int, *, low: int = 0, high: int = 10**9) -> int:
    """A whole number of the query."""
    given = _one(request, name)
    if given is None or given == "":
        return default
    digits = given.removeprefix("-") if low < 0 else given
    if not (given.isascii() and digits.isdecimal() and len(given) < 17 and low <= int(given) <= high):
        raise UsageError(f"'{name}' must be a whole number between {low:,} and {high:,}")
    return int(given)


def query_page(request: Request) -> int:
    """The page of a list that is asked for, from 1."""
    return query_number(request, "page", 1, low=1, high=10**6)


def search_of(request: Request) -> Search:
    """The runs that a list is asked for."""
    words = {field: query_text(request, name) for name, field in _SEARCHED.items()}
    return Search(**words, state=query_choice(request, "state", STATES))


async def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form by name; files are refused."""
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as given:
        found: dict[str, list[str]] = {}
        for name, value in given.multi_items():
            if isinstance(value, str):
                found.setdefault(name, []).append(value)
        return found


def field_of(form: Mapping[str, list[str]], name: str, *, most: int = _MOST_IN_FORM) -> str:
    """The first value of a field; empty if there is none."""
    value = form.get(name, [""])[0].strip()
    if len(value) > most:
        raise UsageError(f"'{name}' may have at most {most:,} characters, got {len(value):,}")
    return value
