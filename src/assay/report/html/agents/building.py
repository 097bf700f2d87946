"""What a framework is like to build with: measured beside claimed, with the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from assay.report.html.chat import name, short
from assay.report.html.page import escape, table

# A cell of a table is no place for a log.
_MOST = 160

# Which part of a measurement gives what the metrics read, and which all other figures: where the part could not be
# measured, its reason stands for them.
_READ: Mapping[str, Sequence[str]] = {
    "source": ("files", "complexity", "tool_files"),
    "installation": ("setup",),
    "framework": ("memory", "documentation"),
    "fault": ("errors", "logging"),
}
_FIGURES: Mapping[str, Sequence[str]] = {
    "source": ("lines", "functions", "branches", "worst_complexity", "worst_function", "account_lines"),
    "installation": ("packages", "megabytes", "beyond_smallest", "own_packages"),
    "framework": (
        "import_seconds", "import_modules", "framework_names", "memory_class", "memory_through", "documented_names",
        "public_names", "documented_share", "undocumented",
    ),
    "fault": ("expected_fault", "unexpected_fault"),
}  # fmt: skip
# A framework is imported only where it is installed, and asked only for names that the source uses; how long the
# import takes is part of its setup.
_NEEDED = {"framework": ("installation", "source"), "installation": ("framework",)}


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

    @property
    def absent(self) -> Mapping[str, str]:
        """Parts that could not be measured, each with the reason."""


def building(experience: Mapping[str, Experience], agents: Sequence[str]) -> str:
    """The section; nothing where nothing was measured."""
    known = [(agent, experience.get(agent)) for agent in agents]
    if not any(one for _, one in known):
        return ""
    claims = any(one is not None and one.claimed for _, one in known)
    said = (
        " Below stands what the first version of these metrics assumed of two frameworks, as claimed; ≠ marks "
        "what the measurement does not bear out."
    )
    everything = _measured(known)
    return (
        "<p>Measured from each assistant's own source, its installation, and what an injected fault prints and logs."
        f"{said if claims else ''}</p>{_characteristics(known)}"
        + (f"<details><summary>Everything measured, and how</summary>{everything}</details>" if everything else "")
    )


Known = Sequence[tuple[str, Experience | None]]


def _characteristics(known: Known) -> str:
    """What the metrics read, with the claims."""
    found = [one for _, one in known if one is not None]
    keys = dict.fromkeys(key for one in found for key in (*one.characteristics, *(one.claimed or {}), *_unread(one)))
    rows = [
        [_title(key, found=found), *("–" if one is None else _with_claim(key, one) for _, one in known)] for key in keys
    ]
    return _table("characteristic", known, rows, "What the metrics read")


def _measured(known: Known) -> str:
    """Every figure; what consists of several is shown part by part."""
    found = [one for _, one in known if one is not None]
    flat = {one.agent: _parts(one.measured) for one in found}
    rows = [
        [_title(*key, found=found), *("–" if one is None else _figure(key, flat[one.agent], one) for _, one in known)]
        for key in dict.fromkeys(key for parts in flat.values() for key in parts)
    ]
    return _table("figure", known, rows, "Everything measured")


def _table(first: str, known: Known, rows: Sequence[Sequence[str]], label: str) -> str:
    if not rows:
        return ""
    whole = table([first, *(name(agent) for agent, _ in known)], rows, numeric=(), label=label)
    return f'<div class="measured">{whole}</div>'


def _parts(measured: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, value in measured.items():
        if isinstance(value, Mapping) and value:
            found |= {(key, str(inner)): part for inner, part in value.items()}
        else:
            found[key,] = value
    return found


def _title(key: str, *inner: str, found: Sequence[Experience]) -> str:
    methods = dict.fromkeys(one.method[key] for one in found if key in one.method)
    text = escape(": ".join((key, *inner)).replace("_", " "))
    return text + "".join(f"<small>{escape(method)}</small>" for method in methods)


def _cell(value: Any) -> str:
    return f"<bdi>{escape(words(value))}</bdi>"


def _figure(key: tuple[str, ...], parts: Mapping[tuple[str, ...], Any], one: Experience) -> str:
    return _cell(parts.get(key)) + ("" if key in parts else _why(key[0], one))


def _with_claim(key: str, one: Experience) -> str:
    text = _cell(one.characteristics.get(key)) + ("" if key in one.characteristics else _why(key, one))
    if not one.claimed or key not in one.claimed:
        return text
    apart = "" if one.claimed[key] == one.characteristics.get(key) else '<span class="warn">≠</span> '
    return f"{text}<small>{apart}claimed {_cell(one.claimed[key])}</small>"


def _why(key: str, one: Experience) -> str:
    """Why a figure is not there, below the dash that stands for it."""
    reason = missing(key, one)
    return f"<small><bdi>{escape(short(reason, _MOST))}</bdi></small>" if reason else ""


def missing(key: str, one: Experience) -> str:
    """Why a figure could not be measured; nothing where that is not known."""
    part = next((part for part in _READ if key in (*_READ[part], *_FIGURES[part])), "")
    return next((one.absent[name] for name in (part, *_NEEDED.get(part, ())) if name in one.absent), "")


def _unread(one: Experience) -> list[str]:
    """What the metrics would read of the parts that could not be measured."""
    return [key for part in one.absent for key in _READ.get(part, ()) if key not in one.characteristics]


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
        if all(isinstance(part, bool) for part in value.values()):
            return ", ".join(str(key) for key, part in value.items() if part) or "none"
        return short(", ".join(f"{key} {words(part)}" for key, part in value.items()), _MOST)
    if isinstance(value, list | tuple | set | frozenset):
        return short(", ".join(map(words, value)), _MOST) or "none"
    return short(str(value), _MOST)
