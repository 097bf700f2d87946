"""Answers that are too many to stand in a page as they are: they stand in it compressed, and a script shows them.

A part is a list of HTML, as JSON, compressed with gzip and written in base64. `static/answers.js` inflates a part when
a reader opens a place that belongs to it, or searches.
"""

from __future__ import annotations

import base64
import gzip
import json

from assay.report.html.elements import Markup, element

DATA = "assay-answers"
"""The id of the element that has the parts."""
# Opening one answer inflates its part: large enough to compress well, small enough to inflate at once.
_CHARACTERS = 400_000


def finder(*choices: tuple[str, str]) -> Markup:
    """A field to search answers, and a choice among them: values of `data-state`, each with its words."""
    options = (element("option", words, value=value) for value, words in (("all", "all"), *choices))
    return element(
        "div",
        element("label", "Find ", element("input", type="search", placeholder="words", autocomplete="off")),
        " ",
        element("label", "Show ", element("select", *options, autocomplete="off")),
        " ",
        element("output", class_="muted", role="status"),
        class_="finder",
        data_finder=True,
        hidden=True,
    )


class Parts:
    """Collects what a page has in compressed parts."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._waiting: list[str] = []
        self._size = 0

    def add(self, content: Markup, words: str) -> Markup:
        """A place that is filled with the content once it is opened; `words` stand there until then."""
        place = element("p", words, class_="note", data_part=len(self._parts), data_item=len(self._waiting))
        self._waiting.append(str(content))
        self._size += len(content)
        if self._size >= _CHARACTERS:
            self._close()
        return place

    def data(self) -> dict[str, object]:
        """What the page's script reads; empty if there are no parts."""
        self._close()
        return {DATA: {"parts": self._parts}} if self._parts else {}

    def _close(self) -> None:
        if self._waiting:
            text = json.dumps(self._waiting, ensure_ascii=False).encode("utf-8", "replace")
            # Without the time of day, so that the same answers give the same page.
            self._parts.append(base64.b64encode(gzip.compress(text, compresslevel=6, mtime=0)).decode("ascii"))
            self._waiting, self._size = [], 0
