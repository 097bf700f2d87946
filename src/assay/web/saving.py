"""A view of the server as one file that opens from disk: its styles and charts inside, nothing to send, no way back."""

from __future__ import annotations

import re

from assay.report.html.elements import Markup, element, join
from assay.report.html.page import Content
from assay.web.shell import View, static_file

# What needs the server is left out: fields and buttons, what surrounds them, links to other pages.
_HIDDEN = (
    ".filters, .bulk, .actions, .tabs, .pager, .talk, .labelling, .menu, .adding, .opinion, .tl-bar, .tl-help, "
    ".tl-shift, .tl-stage:not(:has(img)), .walk, .swap, canvas, .demo { display: none; } "
    "a:not([href]) { color: inherit; text-decoration: none; }"
)
# All markup is written by `element`, which escapes < and > in attributes, so that a tag ends at its first >.
_FIELDS = re.compile(r"<(button|select|textarea)\b.*?</\1>|<input\b[^>]*>", re.DOTALL)
_WHOLE_FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)
_FORM = re.compile(r'<form\b(?:[^>]*?( class="[^"]*"))?[^>]*>|</form>')
_ADDRESS = re.compile(r"(<a\b[^>]*?) href=\"/[^\"]*\"")
_SENT = re.compile(r" (?:data-verdict|data-progress)=\"[^\"]*\"")
# Read only by scripts that speak to the server.
_LIVE = frozenset({"assay-live", "assay-timeline"})


def saved_page(view: View) -> str:
    """The whole page as text, to be saved."""
    content = view.content
    # Fields of a report outside of forms, such as its weights, are read by the report's own scripts.
    works = bool(content.scripts)
    css = static_file("site.css")[0].decode("utf-8")
    style = element("style", Markup(css + _HIDDEN))
    return Content(
        title=content.title,
        lead=_inert(content.lead, works=works),
        body=join([style, _inert(content.body, works=works)]),
        charts=content.charts,
        scripts=content.scripts,
        data={name: value for name, value in content.data.items() if name not in _LIVE},
    ).as_document()


def _inert(body: Markup, *, works: bool) -> Markup:
    """A part of the page without what needs the server; with `works`, fields outside of forms stay."""
    text = str(body)
    text = _WHOLE_FORM.sub(lambda found: _FIELDS.sub("", found[0]), text) if works else _FIELDS.sub("", text)
    text = _FORM.sub(lambda found: "</div>" if found[0] == "</form>" else f"<div{found[1] or ''}>", text)
    text = _SENT.sub("", text)
    return Markup(_ADDRESS.sub(r"\1", text))


def saved_name(path: str) -> str:
    """The name of the file: letters, digits and hyphens of the address."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")[:80]
    return f"assay-{words or 'page'}.html"
