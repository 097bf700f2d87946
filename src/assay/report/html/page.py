"""One self-contained HTML page: text, tables and charts that open offline, on a phone, in light and in dark.

A page fetches nothing, and its content security policy enforces that. This module does not know what a page is about:
it takes text, HTML as `Markup`, and chart specifications as data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from assay.errors import UsageError
from assay.outputs import write_bytes
from assay.report.html.elements import EMPTY, Markup, element, join, with_options

CHART_SCRIPTS: Final = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js", "page.js")
"""The files of `static` that a page with charts runs, in this order."""
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a page shows, before it is written as one file or served: see `document` for the fields."""

    title: str
    lead: Markup
    body: Markup
    charts: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    _embedded: dict[str, Markup] = field(default_factory=dict, init=False, repr=False, compare=False)

    def embedded(self) -> Mapping[str, Markup]:
        """Data and charts as JSON by the ids of their elements; written once, since a server keeps contents."""
        if not self._embedded:
            known = {**self.data, **({"assay-charts": self.charts} if self.charts else {})}
            self._embedded.update({key: embed_json(value) for key, value in known.items()})
        return self._embedded

    def as_document(self) -> str:
        """The whole page as one file."""
        return document(
            title=self.title,
            lead=self.lead,
            body=self.body,
            charts=self.charts,
            scripts=self.scripts,
            data=self.data,
        )


def document(
    *,
    title: str,
    lead: Markup,
    body: Markup,
    charts: Mapping[str, dict[str, Any]] = _NONE,
    scripts: Sequence[str] = (),
    data: Mapping[str, object] = _NONE,
) -> str:
    """Give the whole page.

    `charts` has the panels of each figure in the body by its id: `{chart_id: {title of the panel: Vega-Lite
    specification}}`. `scripts` are further files of `static` to run before the charts are drawn, and `data` is what
    they read, as JSON in an element of that id. A page with neither has no scripts at all.
    """
    for chart_id in charts:
        if str(Markup(' data-chart="{}"').format(chart_id)) not in str(body):
            raise ValueError(f"chart {chart_id!r} has no figure in the body")
    sources = [_static(name) for name in (*scripts, *(CHART_SCRIPTS if charts else ()))]
    known = {**data, **({"assay-charts": charts} if charts else {})}
    head = join(
        (
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_policy(sources)),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", title),
            element("link", rel="icon", href="data:,"),
            element("style", _static("page.css")),
        ),
        "\n",
    )
    masthead = element("header", element("h1", title), element("div", lead, class_="lead"), class_="masthead")
    blocks = (element("script", embed_json(value), type="application/json", id=key) for key, value in known.items())
    shown = join(
        (
            element("main", masthead, "\n", body, "\n", class_="page"),
            *blocks,
            *(element("script", source) for source in sources),
        ),
        "\n",
    )
    return str(
        Markup("<!doctype html>\n") + element("html", element("head", head), "\n", element("body", shown), lang="en")
    )


def save(page: str, path: str | Path) -> Path:
    """Write a page to a file and give its path. Half a surrogate pair, which cannot be encoded, becomes '?'."""
    target = Path(path)
    try:
        write_bytes(target, page.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"cannot write the report: {error.strerror}", where=str(target)) from error
    return target


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Collection[int] | None = None,
    label: str = "",
) -> Markup:
    """Lay out a table that scrolls by itself if it is wider than the screen.

    `numeric` are the columns set flush right with digits of one width; by default all but the first, which names the
    row. `label` is what a screen reader says.
    """
    right = range(1, len(header)) if numeric is None else numeric

    def cell(index: int, content: str, scope: str | None) -> Markup:
        tag = "th" if scope else "td"
        return element(tag, content, scope=scope, class_="num" if index in right else None)

    def line(cells: Sequence[str]) -> Markup:
        return element("tr", *(cell(index, content, None if index else "row") for index, content in enumerate(cells)))

    head = element("tr", *(cell(index, content, "col") for index, content in enumerate(header)))
    whole = element(
        "table",
        element("thead", head),
        "\n",
        element("tbody", *(line(row) + "\n" for row in rows)),
    )
    return scrolling(whole, label=label or "table")


def scrolling(content: Markup, *, label: str) -> Markup:
    """A region that scrolls by itself if its content is wider than the screen."""
    # It must be reachable by keyboard, and what can be focused must have a name. A group, not a region: a page with
    # dozens of landmarks has none.
    return element("div", content, class_="scroll", role="group", tabindex="0", aria_label=label) + "\n"


def notes_list(notes: Sequence[str]) -> Markup:
    """What a reader has to know about figures; empty if there is nothing."""
    if not notes:
        return EMPTY
    items = element("ul", *(element("li", with_options(note)) for note in notes))
    return element("div", element("h3", "How these figures came about"), items, class_="note notes")


def long_text(text: str, *, label: str) -> Markup:
    """Text as it is, such as JSON, in a region that scrolls by itself."""
    return scrolling(element("pre", element("code", text)), label=label)


def figure(
    chart_id: str,
    caption_title: str,
    how_to_read: str,
    *,
    panel: Literal["wide", "medium", "narrow"] = "wide",
    nothing: str | None = None,
) -> Markup:
    """Make room for a chart, with its title and a sentence on how to read it.

    `panel` is how wide each of its panels should be. `nothing` says why there is nothing to draw; the figure then
    holds that sentence, and the chart must not be given to `document`.
    """
    anchor = f"chart-{chart_id}"
    heading = element("h3", caption_title, id=f"{anchor}-title")
    if nothing is None:
        content = element("div", class_="panels") + element(
            "noscript", element("p", "Charts need JavaScript.", class_="nothing")
        )
    else:
        content = element("p", f"nothing to draw: {nothing}", class_="nothing")
    return element(
        "figure",
        element("figcaption", heading, element("p", how_to_read)),
        content,
        id=anchor,
        class_=f"chart {panel}" if nothing is None else "chart",
        data_chart=chart_id if nothing is None else None,
        aria_labelledby=f"{anchor}-title",
    )


def embed_json(value: object) -> Markup:
    """Write JSON that neither ends a script element nor breaks a line in JavaScript, whatever text it holds.

    NaN and infinities raise ValueError: they are not JSON, and a chart would silently leave them out.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _policy(scripts: Sequence[Markup]) -> str:
    """Write a content security policy under which only these scripts run and nothing is fetched."""
    # Styles cannot be listed by hash: the charts set style attributes on what they draw.
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    allowed = hashes or "'none'"
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        f"script-src {allowed}"
    )


@cache
def _static(name: str) -> Markup:
    """Read a file of this package, ready to stand inside a script or style element."""
    text = resources.files("assay.report").joinpath("static", name).read_text(encoding="utf-8").replace("\r\n", "\n")
    # In script text "<\/" means "</"; the other two would keep the parser from seeing the end of the element.
    for pattern, safe in ((r"</(?=script|style)", r"<\\/"), (r"<!--", r"<\\!--"), (r"<(?=script)", r"\\x3c")):
        text = re.sub(pattern, safe, text, flags=re.IGNORECASE)
    return Markup(text)
