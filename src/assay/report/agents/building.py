"""What a framework is like to build with: measured beside claimed, with the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from assay.report.chat import name, short
from assay.report.page import escape, table


class Experience(Protocol):
    """What was measured of one agent, as `assay.chat.experience` has it."""

    @property
    def agent(self) -> str: ...
    @property
    def measured(self) -> Mapping[str, Any]:
        """Name to value."""

    @property
    def characteristics(self) -> Mapping[str, Any]:
        """What the metrics of developer experience read."""

    @property
    def claimed(self) -> Mapping[str, Any] | None:
        """What was claimed beforehand; None where nothing was."""

    @property
    def method(self) -> Mapping[str, str]:
        """Name to one sentence on how it was measured."""


def building(experience: Mapping[str, Experience], agents: Sequence[str]) -> str:
    """The section; nothing where nothing was measured."""
    known = [(agent, experience.get(agent)) for agent in agents]
    if not any(one for _, one in known):
        return ""
    claims = any(one is not None and one.claimed for _, one in known)
    said = " What was claimed beforehand stands below; ≠ marks a claim that the measurement does not bear out."
    return (
        "<p>Measured from each assistant's own source, its installation, and what an injected fault prints and logs."
        f"{said if claims else ''}</p>"
        + _table(known, "characteristics", "What the metrics read")
        + _table(known, "measured", "Everything measured")
    )


def _table(known: Sequence[tuple[str, Experience | None]], field: str, caption: str) -> str:
    found = [one for _, one in known if one is not None]
    names = dict.fromkeys(key for one in found for key in getattr(one, field))
    if field == "characteristics":
        names |= dict.fromkeys(key for one in found for key in one.claimed or {})
    if not names:
        return ""
    rows = [
        [_title(key, found), *("–" if one is None else _cell(key, one, getattr(one, field)) for _, one in known)]
        for key in names
    ]
    return table([escape(caption), *(name(agent) for agent, _ in known)], rows, caption=caption)


def _title(key: str, found: Sequence[Experience]) -> str:
    methods = dict.fromkeys(one.method[key] for one in found if key in one.method)
    return escape(key.replace("_", " ")) + "".join(f"<small>{escape(method)}</small>" for method in methods)


def _cell(key: str, one: Experience, values: Mapping[str, Any]) -> str:
    text = words(values.get(key))
    if values is one.measured or not one.claimed or key not in one.claimed:
        return f"<bdi>{escape(text)}</bdi>"
    apart = "" if one.claimed[key] == values.get(key) else '<span class="warn">≠</span> '
    return f"<bdi>{escape(text)}</bdi><small>{apart}claimed <bdi>{escape(words(one.claimed[key]))}</bdi></small>"


def words(value: Any) -> str:
    """A measured value in words."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return short(", ".join(f"{key} {words(inner)}" for key, inner in value.items()), 160)
    if isinstance(value, list | tuple | set | frozenset):
        return short(", ".join(map(words, value)), 160)
    return short(str(value), 160)
