"""A stand-in for a language model: it follows rules and makes errors at a rate that the caller sets.

It exercises agent frameworks, metrics and reports without a real model. What it says about the weather comes from the
tools' results; it says nothing about the quality of any real model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.chat.world.scripted.skill import ERRORS, Skill

if TYPE_CHECKING:
    from assay.chat.world.scripted.model import ModelOutput, ScriptedModel, ToolUse

__all__ = ["ERRORS", "ModelOutput", "ScriptedModel", "Skill", "ToolUse"]


def __getattr__(name: str) -> Any:
    """The model itself is imported when it is first used: a run's settings need only its error rates."""
    if name not in ("ModelOutput", "ScriptedModel", "ToolUse"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from assay.chat.world.scripted import model

    return getattr(model, name)
