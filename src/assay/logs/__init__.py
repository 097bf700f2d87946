"""Logs of other evaluation tools: their scores become runs that are compared, gated and shown like any other.

read_logs(paths)    the scored answers of one or several log files, as `Scores`
LOG_FORMATS         the formats by name: one file each in `formats/`, or an entry point in `assay.log_formats`

None of the tools has to be installed. Modules: `contents` reads files within limits, `logged` is the contract of a
format, `reading` turns what a format found into scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazy_names

if TYPE_CHECKING:
    from assay.logs.logged import LOG_FORMATS, LogFormat, LoggedAnswer, LogOptions
    from assay.logs.reading import read_logs

_HOMES = {
    "LOG_FORMATS": "assay.logs.logged",
    "LogFormat": "assay.logs.logged",
    "LogOptions": "assay.logs.logged",
    "LoggedAnswer": "assay.logs.logged",
    "read_logs": "assay.logs.reading",
}

__all__ = ["LOG_FORMATS", "LogFormat", "LogOptions", "LoggedAnswer", "read_logs"]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
