"""HTML as a separate type: text is escaped, and only `Markup` passes through unchanged.

Every function of a page takes text as `str` and HTML as `Markup`, so that a missing escape is a type error. Only
`element` and `join` make markup from text, and both escape it; no other module builds HTML out of strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from markupsafe import Markup, escape

__all__ = ["EMPTY", "Markup", "details", "element", "isolated", "join", "section"]

EMPTY: Final = Markup("")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VOID: Final = frozenset({"input", "link", "meta"})


def element(tag: str, /, *content: str, **attributes: str | int | bool | None) -> Markup:
    """One element with its content and attributes, all of them escaped unless they are `Markup`.

    An attribute is written with underscores for hyphens (`aria_label`), and one after a Python keyword (`class_`).
    True gives an attribute without a value; None and False leave it out.
    """
    opening = f"<{_checked(tag)}"
    for key, value in attributes.items():
        if value is True:
            opening += f" {_checked(key)}"
        elif value is not None and value is not False:
            opening += f' {_checked(key)}="{_escaped(str(value))}"'
    if tag in _VOID:
        return _markup(Markup, f"{opening}>")
    return _markup(Markup, f"{opening}>{''.join(map(_escaped, content))}</{tag}>")


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """Parts one after another; text among them is escaped, and so is the separator."""
    return _markup(Markup, _escaped(separator).join(map(_escaped, parts)))


# A page has thousands of elements. Most of their texts have nothing to escape, and markup is made from a string
# without asking whether it is an object that can describe itself.
_markup = str.__new__
_SPECIAL = re.compile("[&<>'\"]")


def _escaped(part: str) -> str:
    if isinstance(part, Markup) or (type(part) is str and not _SPECIAL.search(part)):
        return part
    return escape(part)


def isolated(text: str) -> Markup:
    """Text that others chose, whose writing direction does not spread to its neighbours."""
    return element("bdi", text)


def with_options(text: str) -> Markup:
    """Text in which no line ends within an option of the command line: '--suite'."""
    parts = re.split(r"(--[a-z][a-z-]*)", text)
    return join(element("span", part, class_="option") if at % 2 else part for at, part in enumerate(parts))


def section(title: str, body: Markup, *, anchor: str | None = None) -> Markup:
    """A section of a page under its heading."""
    return element("section", element("h2", title), body, id=anchor)


def details(summary: str, body: Markup, *, class_: str | None = None) -> Markup:
    """Content that is folded away until a reader opens it."""
    return element("details", element("summary", summary), body, class_=class_)


@cache
def _checked(name: str) -> str:
    """The name of a tag or an attribute in HTML's spelling; ValueError if it is not one."""
    spelled = name.rstrip("_").replace("_", "-")
    if not _NAME.fullmatch(spelled):
        raise ValueError(f"{name!r} is not the name of a tag or an attribute")
    return spelled
