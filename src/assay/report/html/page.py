"""One self-contained HTML page: text, tables and charts that open offline, on a phone, in light and in dark.

A page fetches nothing, and its content security policy makes sure of it. This module knows nothing of what a page is
about: it takes HTML that its callers made with `escape`, and chart specifications as data.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final, Literal

_LIBRARIES: Final = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def document(
    *,
    title: str,
    lead: str,
    body: str,
    charts: Mapping[str, dict[str, Any]] = _NONE,
    scripts: Sequence[str] = (),
    data: Mapping[str, object] = _NONE,
) -> str:
    """Give the whole page.

    `title` is text; `lead` and `body` are trusted HTML. `charts` has the panels of each figure in the body by its id:
    `{chart_id: {title of the panel: Vega-Lite specification}}`. `scripts` are further files of `static` to run, before
    the charts are drawn, and `data` what they read, as JSON in an element of that id. A page with neither has no
    scripts at all.
    """
    for chart_id in charts:
        if f'data-chart="{escape(chart_id)}"' not in body:
            raise ValueError(f"chart {chart_id!r} has no figure in the body")
    run = [_static(name) for name in (*scripts, *((*_LIBRARIES, "page.js") if charts else ()))]
    known = {**data, **({"assay-charts": charts} if charts else {})}
    blocks = "".join(
        f'<script type="application/json" id="{escape(key)}">{embed_json(value)}</script>\n'
        for key, value in known.items()
    )
    return (
        "<!doctype html>\n"
        '<html lang="en">\n'
        "<head>\n"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(run)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"<style>\n{_static('page.css')}</style>\n"
        "</head>\n"
        "<body>\n"
        '<main class="page">\n'
        f'<header class="masthead">\n<h1>{escape(title)}</h1>\n<div class="lead">{lead}</div>\n</header>\n'
        f"{body}\n"
        "</main>\n" + blocks + "".join(f"<script>{script}</script>\n" for script in run) + "</body>\n"
        "</html>\n"
    )


def escape(text: object) -> str:
    """Turn anything into text that is safe between tags and inside quoted attributes."""
    return html.escape(str(text), quote=True)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Collection[int] | None = None,
    caption: str = "",
    label: str = "",
) -> str:
    """Lay out a table that scrolls by itself where it is wider than the screen.

    Header and cells are trusted HTML. `numeric` are the columns set flush right with figures of one width; without it,
    all but the first, which names the row. `caption` is text; `label` is what a screen reader says in place of it.
    """
    right = range(1, len(header)) if numeric is None else numeric

    def cell(index: int, content: str, scope: str) -> str:
        tag = "th" if scope else "td"
        attributes = (f' scope="{scope}"' if scope else "") + (' class="num"' if index in right else "")
        return f"<{tag}{attributes}>{content}</{tag}>"

    def line(cells: Sequence[str]) -> str:
        return "".join(cell(index, content, "" if index else "row") for index, content in enumerate(cells))

    head = "".join(cell(index, content, "col") for index, content in enumerate(header))
    lines = "".join(f"<tr>{line(row)}</tr>\n" for row in rows)
    # A region that scrolls must be reachable by keyboard, and what can be focused must have a name.
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption or label or "table")}">\n<table>\n'
        + (f"<caption>{escape(caption)}</caption>\n" if caption else "")
        + f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )


def figure(
    chart_id: str,
    caption_title: str,
    how_to_read: str,
    *,
    panel: Literal["wide", "medium", "narrow"] = "wide",
    nothing: str | None = None,
) -> str:
    """Make room for a chart, with its title and a sentence on how to read it; all three are text.

    `panel` is how much width each of its panels wants. `nothing` says why there is nothing to draw; the figure then
    holds that sentence, and the chart must not be given to `document`.
    """
    name = escape(chart_id)
    if nothing is None:
        attributes = f' class="chart {panel}" data-chart="{name}"'
        content = '<div class="panels"></div>\n<noscript><p class="nothing">Charts need JavaScript.</p></noscript>\n'
    else:
        attributes = ' class="chart"'
        content = f'<p class="nothing">nothing to draw: {escape(nothing)}</p>\n'
    return (
        f'<figure id="chart-{name}"{attributes} aria-labelledby="chart-{name}-title">\n'
        f'<figcaption><h3 id="chart-{name}-title">{escape(caption_title)}</h3>'
        f"<p>{escape(how_to_read)}</p></figcaption>\n"
        f"{content}</figure>\n"
    )


def embed_json(value: object) -> str:
    """Write JSON that neither ends a script element nor breaks a line in JavaScript, whatever text it holds.

    NaN and infinities are refused: they are not JSON, and a chart would silently leave them out.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: Sequence[str]) -> str:
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
def _static(name: str) -> str:
    """Read a file of this package, ready to stand inside a script or style element."""
    text = resources.files("assay.report").joinpath("static", name).read_text(encoding="utf-8").replace("\r\n", "\n")
    # In script text "<\/" means "</"; the other two would keep the parser from seeing the end of the element.
    for pattern, safe in ((r"</(?=script|style)", r"<\\/"), (r"<!--", r"<\\!--"), (r"<(?=script)", r"\\x3c")):
        text = re.sub(pattern, safe, text, flags=re.IGNORECASE)
    return text
