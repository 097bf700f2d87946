"""What a log says about one answer, and the contract of a format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assay.logs.contents import LogContent
from assay.registry import Registry


@dataclass(slots=True, kw_only=True)  # not frozen, which would take twice as long to make
class LoggedAnswer:
    """One scored answer of a log."""

    case: str
    """The tool's own id of the case: logs are paired by it."""
    scores: Mapping[str, float | None]
    """Scores by the name of the scorer; None if it could not score this answer."""
    task: str = ""
    """The task or data set that the case belongs to, if the log names one: ids are unique within it."""
    agent: str = ""
    """What answered, usually a model; empty if the log does not say."""
    repetition: int | None = None
    """Which repetition of the case it is, from 0; None if the log does not say, then they are counted."""
    query: str = ""
    response: str = ""
    passed: bool | None = None
    """The tool's own verdict; None if it gives none."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """What a scorer said about its score, by its name."""
    error: str = ""
    """Why there is no answer or no score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """How tables are understood; formats with fields of their own ignore it."""

    case: str = ""
    """The column with the id of a case; empty to look for a usual name."""
    repetition: str = ""
    agent: str = ""
    scores: tuple[str, ...] = ()
    """The columns with scores; empty for all columns of numbers."""


class LogFormat(Protocol):
    """The format of one tool."""

    title: str
    """The tool's name."""
    lower_is_better: frozenset[str]
    """Scores of which lower values are better."""

    def recognises(self, content: LogContent) -> bool:
        """Whether the file is in this format; looks at its beginning or its keys and never raises."""
        ...

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        """Every scored answer; raises SourceError if the file is damaged."""
        ...


LOG_FORMATS: Registry[LogFormat] = Registry(
    "format of logs", package="assay.logs.formats", attribute="FORMAT", group="assay.log_formats"
)
