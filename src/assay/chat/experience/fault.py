"""What a developer gets to see when a tool fails: the agent is opened in a process of its own, and its tool breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from assay.chat.agents import AgentKind
from assay.chat.experience.installation import folders, needed_by_assay
from assay.chat.experience.process import ProcessError, run

_SECONDS_A_TURN = 20.0
"""The embedded model answers at once; this is for machines that have much else to do."""

_SUFFER = """
import json, sys
from assay.chat.experience.ordeal import suffer
result = suffer(json.load(sys.stdin))
"""


class Addresses(Protocol):
    """Where the embedded servers are."""

    @property
    def weather_url(self) -> str: ...
    @property
    def model_url(self) -> str: ...


def inject_faults(kind: AgentKind, world: Addresses | None, *, timeout: float) -> dict[str, Any]:
    """What was seen of an expected and of an unexpected failure; raises where the agent cannot be brought to either."""
    module, name = getattr(kind.open, "__module__", None), getattr(kind.open, "__qualname__", "<")
    if module is None or "<" in name:
        raise ProcessError("it is made in this process and cannot be opened in another")
    with _addresses(world) as where:
        given = {
            "module": module,
            "name": name,
            "weather_url": where.weather_url,
            "model_url": where.model_url,
            "source": str(kind.source.resolve()) if kind.source else None,
            "seconds": _SECONDS_A_TURN,
            "clients": sorted(map(str, folders(needed_by_assay()))),
        }
        seen = run(_SUFFER, json.dumps(given), timeout=timeout)
    for turn in seen.values():
        if "absent" in turn:
            raise ProcessError(turn["absent"])
    return seen


@contextmanager
def _addresses(world: Addresses | None) -> Iterator[Addresses]:
    """The servers that are there, or else new ones for this purpose."""
    if world is not None:
        yield world
        return
    from assay.chat.world.embedded import World

    with World() as made:
        yield made
