"""Addresses of pages: every view has its own, so that it can be shared."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode


def address(path: str, **given: str | int | Sequence[str] | None) -> str:
    """An address on this server; None and empty values are left out, and a list repeats its name.

    Half a surrogate pair, which a name from the command line or from Python may have, becomes '?'.
    """
    pairs: list[tuple[str, str]] = []
    for key, value in given.items():
        if isinstance(value, str | int):
            if value != "":
                pairs.append((key, str(value)))
        elif value is not None:
            pairs += [(key, item) for item in value]
    return f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path


def run_address(run_id: str, part: str = "", **given: str | int | Sequence[str] | None) -> str:
    """The address of a run, or of a part of it."""
    path = f"/runs/{quote(run_id, safe='', errors='replace')}"
    return address(f"{path}/{part}" if part else path, **given)


TURNS_ON_A_PAGE = 10
"""Turns of a conversation that are shown at once: each comes with its evidence, trace and record."""


def conversation_address(
    run_id: str, scenario: str, agent: str, repetition: int | None = None, *, turn: int | None = None
) -> str:
    """The address of an agent's conversation, or of a turn in it, which is on a later page if there are many."""
    page = (turn or 0) // TURNS_ON_A_PAGE + 1
    given = {"scenario": scenario, "agent": agent, "repetition": repetition or None, "page": page if page > 1 else None}
    whole = run_address(run_id, "conversation", **given)
    return whole if turn is None else f"{whole}#turn-{turn + 1}"
