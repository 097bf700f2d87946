"""Conversations as data: `Transcript`, its turns and tool calls, and their JSONL form, one transcript per line.

Types are checked on reading; an error names the file, the line and the field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from assay.chat.checks import Check
from assay.errors import SourceError
from assay.json_safe import json_safe, whole_text
from assay.outputs import replacing

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Model(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", allow_inf_nan=True)


def _finite(seconds: Any) -> Any:
    """A time that is not a number counts as unknown."""
    return None if isinstance(seconds, float) and not math.isfinite(seconds) else seconds


PlainName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
"""A name that something is looked up by: letters, digits, - and _, so that it cannot be taken for a path."""


class ToolCall(_Model):
    """A tool call. Arguments and results are made JSON-safe: a NaN becomes the text "NaN"."""

    name: Annotated[str, BeforeValidator(json_safe)]
    arguments: Annotated[dict[str, Any], BeforeValidator(json_safe)] = Field(default_factory=dict)
    result: Annotated[Any, BeforeValidator(json_safe)] = None
    """What it returned, in any JSON shape."""
    error: Annotated[str | None, BeforeValidator(json_safe)] = None
    """The error, if it failed."""
    duration: Annotated[float | None, BeforeValidator(_finite)] = None
    """Seconds."""


class Turn(_Model):
    """What the user said, what the assistant answered, and what is known about it. Either side may be missing."""

    user: str | None = None
    assistant: str | None = None
    """The answer; None if nobody answered, which is scored as an empty answer."""
    truth: Any = None
    """The ground truth in the domain's own shape."""
    tool_calls: list[ToolCall] | None = None
    """None if it is unknown which tools were called; an empty list if none was."""
    tool_call_count: int | None = Field(default=None, ge=0)
    expected_calls: list[ToolCall] | None = None
    response_time: float | None = Field(default=None, ge=0)
    """Seconds."""
    checks: list[Check] = Field(default_factory=list)
    says: list[str] = Field(default_factory=list)
    """Texts that the answer must contain to pass; case is ignored."""
    never_says: list[str] = Field(default_factory=list)
    """Texts that it must not contain."""
    state: dict[str, Any] | None = None
    """What must be stored about the user after the turn."""
    lost_messages: int | None = None
    """Messages of the user that the model was not sent, after a restart; below 0 if some were sent twice."""
    history_flaws: list[str] = Field(default_factory=list)
    """What is wrong with the history that the model was sent: a call without a result, half of an answer."""
    stored: dict[str, Any] | None = None
    """What is stored about the user after the turn; None if that is unknown."""
    never_ordered: list[str] = Field(default_factory=list)
    """Products that the user ordered and then cancelled, and that were never on order."""

    @property
    def is_scored(self) -> bool:
        """Whether there is an answer, or a message that needed one."""
        return self.user is not None or self.assistant is not None


class Transcript(_Model):
    """One conversation of one agent."""

    agent: str
    scenario: str
    """Name of the scenario. Its repetitions share it, and intervals are over scenarios."""
    repetition: int = Field(default=0, ge=0, le=2**31 - 1)
    """Number of the trial; the store keeps it in 32 bits. In a file, those without one are numbered in its order."""
    domain: PlainName = "weather"
    language: PlainName = "en"
    names: list[str] = Field(default_factory=list)
    """Cities or products that the gazetteer does not have."""
    preferences: dict[str, Any] | None = None
    characteristics: dict[str, Any] | None = None
    turns: list[Turn]


class Transcripts(list[Transcript]):
    """Transcripts of one file, with its path and the SHA-256 of its bytes."""

    def __init__(self, transcripts: Iterable[Transcript], *, source: str, sha256: str) -> None:
        super().__init__(transcripts)
        self.source = source
        self.sha256 = sha256


def parse(data: object, where: str) -> Transcript:
    """A transcript from the data of one line; `where` is named in errors."""
    try:
        found = Transcript.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the line"
        from assay.chat.yamlfile import sentence_of

        what, hint = sentence_of(first["loc"], first, Transcript)
        raise SourceError(f"{field}: {what}", where=where, hint=hint or "See the guide on conversations") from None
    for number, turn in enumerate(found.turns):
        for place, check in enumerate(turn.checks):
            problem = check.problem()
            if problem is not None:
                at = f"turns.{number}.checks.{place}"
                raise SourceError(f"{at}: {problem.what}", where=where, hint=problem.hint)
    return found


def json_lines(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Each line's location and data; blank lines are skipped."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"{path}:{number}", load_json(line)
            # ValueError: a number of more digits than Python converts.
            except (ValueError, RecursionError) as error:
                raise SourceError(
                    f"is not valid JSON: {error}", where=f"{path}:{number}", hint="Write one JSON object per line"
                ) from error


def load_json(text: str) -> Any:
    """Parsed JSON; unpaired surrogates, which JSON can escape but text cannot hold, become U+FFFD."""
    data = json.loads(text)
    return _whole(data) if _SURROGATE.search(text) else data


def _whole(data: Any) -> Any:
    if isinstance(data, str):
        return whole_text(data)
    if isinstance(data, list):
        return [_whole(item) for item in data]
    if isinstance(data, dict):
        return {_whole(key): _whole(value) for key, value in data.items()}
    return data


def write_jsonl(transcripts: Iterable[Transcript], path: Path) -> None:
    """Write transcripts in assay's own format."""
    with replacing(path) as new, new.open("w", encoding="utf-8") as file:
        for transcript in transcripts:
            file.write(transcript.model_dump_json(exclude_defaults=True, by_alias=True) + "\n")
