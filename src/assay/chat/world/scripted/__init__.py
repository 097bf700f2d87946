"""A stand-in for a language model: it follows rules and makes errors at a rate that the caller sets.

It exercises agent frameworks, metrics and reports without a real model. What it says about the weather comes from the
tools' results; it says nothing about the quality of any real model.
"""

from assay.chat.world.scripted.model import ModelOutput, ScriptedModel, ToolUse
from assay.chat.world.scripted.skill import ERRORS, Skill

__all__ = ["ERRORS", "ModelOutput", "ScriptedModel", "Skill", "ToolUse"]
