"""A stand-in for a language model: it follows rules, not understanding, and errs at the rate it is told to.

It serves to try out agent frameworks, metrics and reports where no real model is at hand. What it says about the
weather is read off the tools' results; nothing here measures how good any real model is.
"""

from assay.chat.world.scripted.model import ModelOutput, ScriptedModel, ToolUse
from assay.chat.world.scripted.skill import ERRORS, Skill

__all__ = ["ERRORS", "ModelOutput", "ScriptedModel", "Skill", "ToolUse"]
