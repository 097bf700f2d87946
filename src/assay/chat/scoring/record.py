"""What was measured of a turn while it was played: how it ended, where its time went, which tools it called.

A turn ends scored, skipped with a reason, or failed with its error. Only what is scored has numbers.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from assay.chat.transcript import ToolCall

Status = Literal["scored", "skipped", "failed"]


class Record(BaseModel):
    """One turn of one agent in one repetition of a scenario. Times are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status = "scored"
    reason: str = ""
    """Why it was skipped, or the error it failed with."""
    kind: str = ""
    """The scenario's kind: 'current', 'forecast', 'failure' and so on."""
    fault: str | None = None
    """What was made to go wrong."""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    """By the spans, in the order of their start."""
    model_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    wall: float | None = None
    """From the message to the end of the answer."""
    first_text: float | None = None
    """From the message to the first piece of text."""
    model: float | None = None
    """Time in which at least one call of the model was under way."""
    tools: float | None = None
    """Time in which at least one tool was at work and no call of the model."""
    own_tool_calls: int | None = None
    """How many tool calls the framework itself counted; a check on the spans."""
    own_tokens: int | None = None
    """How many tokens, in and out, the framework itself counted."""
    dropped_spans: int = 0
    """Spans that were too many to keep; anything but 0 makes calls, tokens and times a lower bound."""
    attempts: int = 1
    """How often the conversation was begun; more than once where something failed that was not the agent's fault."""

    @property
    def overhead(self) -> float | None:
        """The rest of the wall time, which is the framework's own; None where the spans do not tell."""
        if self.wall is None or self.model is None or self.tools is None:
            return None
        return max(0.0, self.wall - self.model - self.tools)
