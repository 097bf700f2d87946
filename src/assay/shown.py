"""The only way for text to a terminal: whatever the text contains, it cannot control the terminal.

Names, file names, answers and messages of errors may contain escape sequences that move the cursor, change the title or
reverse a line. Here each such character is replaced by a visible mark. Colours of our own tables pass: they are known
to rich as styles, not as text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

MARK = "\ufffd"
"""Stands for a character that is not shown."""

# C0 without tab and newline, DEL and C1; marks that reverse or hide text; line separators; halves of surrogate pairs;
# tags. The joiners U+200C and U+200D stay: Persian and emoji need them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with a mark in place of every character that a terminal would obey or hide."""
    if not isinstance(text, str):  # libraries try whether a stream takes bytes
        raise TypeError(f"text is needed, not {type(text).__name__}")
    return _CONTROL.sub(MARK, text)


def escaped(text: str) -> str:
    """JSON text with escapes in place of the same characters; its meaning stays."""
    return _CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], text)


def shown_console(*, stderr: bool = False) -> Console:
    """A console whose texts are made visible. Everything that is printed with rich goes through one."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def _render_buffer(self, buffer: Any) -> str:
            shown = (one if one.control else Segment(visible(one.text), one.style) for one in buffer)
            return super()._render_buffer(shown)

        def on_broken_pipe(self) -> None:
            raise  # rich would end with exit code 1, which looks like a gate that failed

    return VisibleConsole(stderr=stderr)


class _Shown:
    """A text stream that shows what is written to it."""

    def __init__(self, behind: IO[str]) -> None:
        # Under this name rich finds the stream itself: it has its own escape sequences to write.
        self.rich_proxied_file = behind

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def clear_line() -> None:
    """Clear the current line of standard error, which is a terminal."""
    stream: IO[str] = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
    stream.write("\r\x1b[K")


@contextmanager
def visible_streams() -> Iterator[None]:
    """Standard output and standard error as streams that show what is written to them.

    What the terminal's encoding lacks is replaced: an ASCII terminal must not end a command.
    """
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        sys.stdout, sys.stderr = (_Shown(stream) for stream in before)
        yield
    finally:
        sys.stdout, sys.stderr = before
