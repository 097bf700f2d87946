"""Sections of a text by day or part of the day: lines under a heading that names it, or that start with it.

Knows lines, mentions and figures; knows no dates.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from assay.chat.reading.text import Mention, Reading

# A line with a day, no number and at most this many words can be a heading.
_LONGEST_HEADING = 5
Sections = tuple[list[int], list[tuple[int, Mention]]]
"""The start of each line, and its end with the time."""


def sections_by(response: Reading, mentions: Sequence[Mention]) -> Sections:
    """Lines under a heading that names a day ("### Tuesday") or that start with a day ("Tuesday: …")."""
    text = response.text
    if "\n" not in text and not _starts_line(text, 0, mentions[0], len(text)):
        return [], []
    mention_starts = [mention.start for mention in mentions]
    figure_starts = [figure.start for figure in response.quantities]
    starts: list[int] = []
    ends: list[tuple[int, Mention]] = []
    heading: Mention | None = None
    used = False
    start = 0
    for line in response.text.splitlines(keepends=True):
        stop = start + len(line)
        at = bisect_left(mention_starts, start)
        mention = mentions[at] if at < len(mentions) and mentions[at].start < stop else None
        figure = bisect_left(figure_starts, start)
        has_figure = figure < len(figure_starts) and figure_starts[figure] < stop
        if not line.strip():
            heading = None if used else heading
        elif mention is not None and not has_figure and _is_heading(line):
            heading, used = mention, False
        elif mention is not None and _starts_line(response.text, start, mention, stop):
            starts.append(start)
            ends.append((stop, mention))
        elif heading is not None:
            starts.append(start)
            ends.append((stop, heading))
            used = True
        start = stop
    return starts, ends


def _is_heading(line: str) -> bool:
    """Whether a line that names a day is a heading rather than a sentence: '**Tuesday, Nov 17**'."""
    return len(line.split()) <= _LONGEST_HEADING and line.rstrip(" *_\r\n")[-1:] not in tuple(".!?")


def _starts_line(text: str, start: int, mention: Mention, stop: int) -> bool:
    """Whether a line starts with a day, followed by what is said about it: '- **Tuesday:** …'."""
    after = text[mention.end : stop].lstrip("*_ ).")
    return not any(char.isalnum() for char in text[start : mention.start]) and after[:1] in (":", "–", "—", "-", "|")
