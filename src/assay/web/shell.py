"""The frame of every page: head, navigation, scripts; and the files that pages load, all of them from this package."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from assay.report.html.elements import EMPTY, Markup, element, join
from assay.report.html.page import CHART_SCRIPTS, Content
from assay.web.addresses import address

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FOLDERS = (("assay.web", "static"), ("assay.report", "static"))
_PLACES = (
    ("runs", "Runs", "/runs"),
    ("live", "Compare live", "/live"),
    ("review", "Review", "/review"),
    ("timeline", "Timeline", "/timeline"),
    ("reference", "Metrics", "/metrics"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page inside the frame: a report's content, and what surrounds it on the server."""

    content: Content
    place: str = ""
    """The entry of the navigation that it belongs to."""
    above: Markup = EMPTY
    """Shown above the title: where a reader is."""
    actions: Markup = EMPTY
    """Shown beside the title: what a reader can do."""
    wide: bool = False
    """Whether it uses the whole width of a window."""
    modules: Sequence[str] = field(default=())
    """Its own scripts, from `static` of this package."""
    is_kept: bool = True
    """Whether it is worth saving as one file."""


def framed(view: View, here: str = "") -> str:
    """The whole page as text; `here` is its address, under which it can be saved."""
    content = view.content
    scripts = [*content.scripts, *(CHART_SCRIPTS if content.charts else ()), *view.modules, "site.js"]
    head = join(
        (
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"{content.title} · assay" if content.title else "assay"),
            element("link", rel="icon", href=static_address("icon.svg")),
            element("link", rel="stylesheet", href=static_address("page.css")),
            element("link", rel="stylesheet", href=static_address("site.css")),
        ),
        "\n",
    )
    masthead = element(
        "header",
        view.above,
        element("div", element("h1", content.title), view.actions, class_="title"),
        element("div", content.lead, class_="lead") if content.lead else EMPTY,
        class_="masthead",
    )
    blocks = (element("script", text, type="application/json", id=key) for key, text in content.embedded().items())
    save = _save(here) if here and view.is_kept else EMPTY
    main = element(
        "main", masthead, "\n", content.body, save, class_="page wide-page" if view.wide else "page", id="main"
    )
    loaded = (element("script", src=static_address(name), defer=True) for name in scripts)
    body = join((_navigation(view.place), main, *blocks, *loaded), "\n")
    return str(
        Markup("<!doctype html>\n") + element("html", element("head", head), "\n", element("body", body), lang="en")
    )


def _save(here: str) -> Markup:
    path, mark, query = here.partition("?")
    to = f"{path}?{query}&save=1" if mark and query else f"{path}?save=1"
    link = element("a", "Save as one file", href=to, download=True, data_save=True)
    return element(
        "p", link, element("span", ": this page, to be opened from disk or sent", class_="muted"), class_="save"
    )


def _navigation(place: str) -> Markup:
    links = (
        element("li", element("a", title, href=to, aria_current="page" if name == place else None))
        for name, title, to in _PLACES
    )
    brand = element("a", "assay", class_="brand", href="/runs")
    skip = element("a", "Skip to content", class_="skip", href="#main")
    return element(
        "header", skip, element("nav", brand, element("ul", *links), aria_label="Pages", class_="top"), class_="bar-top"
    )


def crumbs(*links: tuple[str, str]) -> Markup:
    """Where a reader is: the pages above this one, each with its address."""
    items = (element("li", element("a", title, href=to)) for title, to in links)
    return element("nav", element("ol", *items), class_="crumbs", aria_label="Above this page")


def form(to: str, *fields: str, method: str = "post", class_: str | None = None, **attributes: str) -> Markup:
    """A form that sends its fields to an address of ours."""
    return element("form", *fields, action=to, method=method, class_=class_, **attributes)


def hidden(name: str, value: str) -> Markup:
    """A field of a form that is not shown."""
    return element("input", type="hidden", name=name, value=value)


def pager(
    path: str,
    given: Mapping[str, str | int | Sequence[str] | None],
    *,
    at: int,
    pages: int,
    words: tuple[str, str] = ("← Newer", "Older →"),
) -> Markup:
    """Links to the page before and after, with the number of pages; empty if there is only one."""
    if pages < 2:
        return EMPTY
    ends = (("previous", words[0], at - 1), ("next", words[1], at + 1))
    links = [
        element("a", words, href=address(path, **{**given, "page": to if to > 1 else None}), rel=rel)
        if 1 <= to <= pages
        else element("span", words, class_="muted", aria_hidden="true")
        for rel, words, to in ends
    ]
    return element(
        "nav", links[0], element("span", f"page {at:,} of {pages:,}"), links[1], class_="pager", aria_label="Pages"
    )


# --- files ------------------------------------------------------------------------------------------------------------


def static_address(name: str) -> str:
    """The address of a file; it changes with the content, so browsers may keep what they have."""
    return f"/static/{name}?v={static_file(name)[2]}"


@cache
def static_file(name: str) -> tuple[bytes, str, str]:
    """Content, media type and digest of a file that pages load; KeyError if there is none of that name."""
    suffix = name[name.rfind(".") :]
    if suffix not in _TYPES or "/" in name or "\\" in name or name.startswith("."):
        raise KeyError(name)
    for package, folder in _FOLDERS:
        file = resources.files(package).joinpath(folder, name)
        if file.is_file():
            content = file.read_bytes()
            return content, _TYPES[suffix], hashlib.sha256(content).hexdigest()[:12]
    raise KeyError(name)
