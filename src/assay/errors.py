"""Every error assay raises on purpose, as one tree.

    AssayError                 anything below; the command line prints it without a traceback
    ├── UsageError             the call itself is wrong: unknown name, impossible setting
    │   └── NotFoundError      an address of the page names something that does not exist
    ├── MissingExtraError      an optional part is not installed; says which command installs it
    ├── SourceError            a file, address or object cannot be read as what it should be
    │   └── ColumnError        a table lacks a column; says which exist and how to map them
    ├── TruthError             the ground truth itself is damaged, so nothing can be scored
    ├── RunInterruptedError    a run was stopped by Ctrl-C; finished turns are stored and it can be resumed
    └── StoreError             the store of runs cannot be opened, read or written; its contents are unchanged
        └── UnknownRunError    no run, or more than one, matches a reference; says which ones are close

An error says what is wrong, where, and what to do. `where` is a separate field, so that programs can read it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_NAMES = 40
"""How many known names an error lists."""


class AssayError(Exception):
    """Base of all errors meant for users."""

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = what
        """What is wrong, as one sentence without a full stop."""
        self.where = where
        """The path, row, byte or episode it was found at."""
        self.hint = hint
        """What the reader can do about it."""
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}. {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling, and errors cross processes.
        return _rebuild, (type(self), self.what, self.where, self.hint)


class AssayWarning(UserWarning):
    """Something happened that the caller should know about; issued once for each call, with a count."""


class UsageError(AssayError):
    """The call is wrong: an unknown name, or settings that contradict each other."""


class NotFoundError(UsageError):
    """An address that names something that does not exist: a recording, an episode, a window."""


class MissingExtraError(AssayError):
    """An optional dependency is needed and not installed."""


class SourceError(AssayError):
    """Input that cannot be read in the stated format."""


class ColumnError(SourceError):
    """A table without the columns that are needed."""


class TruthError(AssayError):
    """A truth that cannot be decoded: an error in the data, which is never scored."""


class RunInterruptedError(AssayError):
    """A run that was stopped before its end."""


class StoreError(AssayError):
    """A store of runs that cannot be opened, read or written."""


class UnknownRunError(StoreError):
    """A reference that matches no run, or more than one."""


def _rebuild(kind: type[AssayError], what: str, where: str | None, hint: str | None) -> AssayError:
    return kind(what, where=where, hint=hint)


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an import of `package` that failed; `purpose` completes 'is needed to …'."""
    return MissingExtraError(
        f"the package '{package}' is needed to {purpose} and is not installed",
        hint=f'Install it with: pip install "assay-agents[{extra}]"',
    )


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for an unknown name, with the closest known name, and the others unless they would fill the screen."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    guess = f"Did you mean '{near[0]}'? " if near else ""
    listed = ", ".join(names[:_MOST_NAMES]) or "none"
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return UsageError(f"there is no {kind} called '{name}'", hint=f"{guess}Known: {listed}{more}")
