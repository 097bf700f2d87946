"""Fixtures of all agents' tests: the embedded servers on loopback, and the collector of spans."""

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
    """The embedded weather service and model, without errors of their own."""
    with World(seed=42) as world:
        yield world
