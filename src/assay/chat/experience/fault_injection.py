"""Injects faults into an agent's tool, in a separate process, and returns what a developer can see of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from assay.chat.agents import AgentKind
from assay.chat.experience.installation import folders, needed_by_assay
from assay.chat.experience.process import ProcessError, run_program

_TURN_TIMEOUT = 20.0
"""The embedded model answers immediately; this allows for a busy machine."""

_PROBE_PROGRAM = """
import json, sys
from assay.chat.experience.fault_probe import run_fault_probe
result = run_fault_probe(json.load(sys.stdin))
"""


class ServerUrls(Protocol):
    """The URLs of the embedded servers."""

    @property
    def weather_url(self) -> str: ...
    @property
    def model_url(self) -> str: ...


def inject_faults(kind: AgentKind, world: ServerUrls | None, *, timeout: float) -> dict[str, Any]:
    """What can be seen of an expected and of an unexpected failure; raises ProcessError if neither can be caused."""
    if not kind.uses_setup:
        raise ProcessError("the agent's tools are its own, so none of them can be made to fail")
    module, name = getattr(kind.open, "__module__", None), getattr(kind.open, "__qualname__", "<")
    if module is None or "<" in name:
        raise ProcessError("the agent was created in this process and cannot be opened in another one")
    with _server_urls(world) as urls:
        given = {
            "module": module,
            "name": name,
            "weather_url": urls.weather_url,
            "model_url": urls.model_url,
            "source": str(kind.source.resolve()) if kind.source else None,
            "seconds": _TURN_TIMEOUT,
            "clients": sorted(map(str, folders(needed_by_assay()))),
        }
        findings = run_program(_PROBE_PROGRAM, json.dumps(given), timeout=timeout)
    for turn in findings.values():
        if "absent" in turn:
            raise ProcessError(turn["absent"])
    return findings


@contextmanager
def _server_urls(world: ServerUrls | None) -> Iterator[ServerUrls]:
    """The given servers, or new ones if there are none."""
    if world is not None:
        yield world
        return
    from assay.chat.world.embedded import World

    with World() as made:
        yield made
