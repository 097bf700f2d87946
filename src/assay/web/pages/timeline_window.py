"""A window of a timeline in words and tables: figures, also by key, the pointer's path, and a list of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, details, element, join
from assay.report.html.events.paths import path_legend, pointer_path
from assay.report.html.page import table
from assay.report.numbers import number
from assay.web.addresses import address

if TYPE_CHECKING:
    from assay.events.timeline.episode import ShiftedTimeline

_ONE_AROUND_US = 1_000_000


def window_part(matched: ShiftedTimeline, begin_us: int, end_us: int, named: dict[str, str]) -> Markup:
    """Figures of a window, by key too, the pointer's path, and a list of errors."""
    from assay.events.timeline.windows import window

    found = window(matched, begin_us, end_us)
    names = {**named, "episode": matched.episode.name, "shift": str(matched.shift_ns // 1000 or "")}
    heading = element("h2", f"Figures from {_seconds(begin_us)} to {_seconds(end_us)}")
    parts = [element("div", _by_key(found["lanes"]), class_="tl-keys")]
    if found["pointer"] is not None:
        parts.append(_path(found["pointer"]))
    return join(
        [
            heading,
            _tiles(found),
            element("div", *parts, class_="tl-beside"),
            _errors(found, names),
        ]
    )


def _seconds(us: int) -> str:
    return f"{us / 1e6:,.3f} s".replace("-", "−")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _tiles(found: dict[str, Any]) -> Markup:
    figures, timing, pointer = found["figures"], found["timing"], found["pointer"]
    late = timing["median_ms"]
    shown = [
        ("F1", _share(figures["f1"]), "keys and buttons"),
        ("precision", _share(figures["precision"]), counted(figures["predicted"], "predicted action")),
        ("recall", _share(figures["recall"]), counted(figures["true"], "true action")),
        ("matched", f"{figures['matched']:,}", ""),
        ("missed", f"{figures['missed']:,}", ""),
        ("inserted", f"{figures['inserted']:,}", ""),
        ("substituted", f"{figures['substituted']:,}", ""),
        ("time error", "–" if late is None else f"{number(late, 'ms')} ms", "median, later is positive"),
    ]
    if pointer is not None:
        shown.append(("pointer R²", _share(pointer["r2"]), f"{pointer['true_px']:,.0f} px true"))
    items = (
        element("div", element("dt", name), element("dd", value, element("small", note) if note else EMPTY))
        for name, value, note in shown
    )
    return element("dl", *items, class_="tl-figures")


def _by_key(lanes: Sequence[dict[str, Any]]) -> Markup:
    if not lanes:
        return element("p", "No key, button or wheel is used in this window.", class_="nothing")
    columns = ("true", "predicted", "matched", "missed", "inserted", "substituted")
    rows = [
        [one["name"], *(f"{one[column]:,}" for column in columns), _share(one["f1"])]
        for one in sorted(lanes, key=lambda one: -(one["missed"] + one["inserted"] + one["substituted"]))
    ]
    return table(["key", *columns, "F1"], rows, label="Actions in the window by key")


def _path(pointer: dict[str, Any]) -> Markup:
    words = (
        f"The pointer goes {pointer['true_px']:,.0f} px, the predicted one {pointer['predicted_px']:,.0f} px; "
        f"they are {pointer['path_error_px'] or 0:,.0f} px apart on average."
    )
    return element("div", element("h3", "Pointer"), pointer_path(pointer), path_legend(), element("p", words))


def _errors(found: dict[str, Any], names: dict[str, str]) -> Markup:
    if not found["n_errors"]:
        return element("p", "There is no error in this window.")
    rows = []
    for one in found["errors"]:
        us = one["us"]
        to = address("/timeline", **{**names, "from": us - _ONE_AROUND_US, "to": us + _ONE_AROUND_US})
        link = element("a", _seconds(us), href=to, data_us=us)
        taken = f", {one['taken_for']} predicted" if one["taken_for"] else ""
        rows.append([link, one["action"], f"{one['outcome']}{taken}"])
    shown = table(["time", "action", "outcome"], rows, numeric=(), label="Errors in the window")
    more = f"{counted(found['n_errors'], 'error')} of keys, buttons and wheels in this window"
    if found["n_errors"] > len(rows):
        more += f", the first {len(rows)} listed"
    return details(more, shown)
