"""A world for every agent's tests: the real embedded servers on loopback, and the spans of everything that happens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World


@pytest.fixture(scope="session")
def tracing() -> Tracing:
    """The collector of spans, set up before any framework is imported."""
    return Tracing()


@pytest.fixture(scope="session")
def world(tracing: Tracing) -> Iterator[World]:
    """The embedded weather service and model, which never err by themselves."""
    with World(seed=42) as world:
        yield world
