"""What the frameworks do about a failing tool: one table for the probes and for the demo, which has two of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.chat.experience import levels

FRAMEWORKS = {
    # Who catches the expected failure and the unexpected exception, then the levels of errors and logging.
    "agent-framework": ("framework", "framework", "framework", "framework"),
    "google-adk": ("framework", "framework", "framework", "none"),
    "langgraph": ("framework", "framework", "framework", "none"),
    "openai-agents": ("framework", "framework", "framework", "basic"),
    "pydantic-ai": ("framework", "framework", "framework", "none"),
}
IN_THE_DEMO = ("agent-framework", "google-adk")


def assert_as_listed(name: str, expected: Mapping[str, Any], unexpected: Mapping[str, Any]) -> None:
    """What was seen of a framework's two failures is what the table says."""
    found = (
        expected["caught_by"],
        unexpected["caught_by"],
        levels.errors(expected, unexpected),
        levels.logging(unexpected),
    )
    assert found == FRAMEWORKS[name]
    assert expected["answered"]
    assert expected["told_model"]
