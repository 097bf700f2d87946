"""Pointer paths drawn as SVG: the true one as a line, the predicted one dashed, both from the same start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.report.html.elements import Markup, element, join

_WIDTH, _HEIGHT, _MARGIN = 360, 250, 16


def pointer_path(path: Mapping[str, Any]) -> Markup:
    """Both paths of one episode, to the same scale, with a scale bar."""
    points = path["points"]
    xs = [x for _, tx, _, px, _ in points for x in (tx, px)]
    ys = [y for _, _, ty, _, py in points for y in (ty, py)]
    left, top = min(xs), min(ys)
    scale = min(
        (_WIDTH - 2 * _MARGIN) / max(1, max(xs) - left),
        (_HEIGHT - 2 * _MARGIN - 22) / max(1, max(ys) - top),
    )
    across = (_WIDTH - scale * (max(xs) - left)) / 2
    down = (_HEIGHT - 22 - scale * (max(ys) - top)) / 2

    def place(x: float, y: float) -> tuple[float, float]:
        return across + scale * (x - left), down + scale * (y - top)

    parts = []
    for side, at in (("true", 1), ("predicted", 3)):
        corners = [place(point[at], point[at + 1]) for point in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        parts.append(element("polyline", points=line, class_=f"path {side}"))
        parts.append(_square(*corners[-1], side))
    x, y = place(points[0][1], points[0][2])
    parts.append(element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_="start"))
    parts.append(_scale_bar(scale))
    words = f"Paths of the pointer, {path['path_error_px']:.0f} pixels apart on average"
    return element(
        "svg", join(parts), viewbox=f"0 0 {_WIDTH} {_HEIGHT}", class_="timeline", role="img", aria_label=words
    )


def path_legend() -> Markup:
    """What the lines and marks mean."""
    line = element("polyline", points="1,8 31,8", class_="path true")
    dashes = element("polyline", points="1,8 31,8", class_="path predicted")
    start = element("circle", cx=16, cy=8, r=4, class_="start")
    drawn = ((line, "true"), (dashes, "predicted"), (start, "both start here"), (_square(16, 8, "true"), "end"))
    items = (
        element("li", element("svg", mark, viewbox="0 0 32 16", class_="icon wide", aria_hidden="true"), " ", words)
        for mark, words in drawn
    )
    return element("ul", *items, class_="outcomes")


def _square(x: float, y: float, side: str) -> Markup:
    return element("rect", x=f"{x - 4:.1f}", y=f"{y - 4:.1f}", width=8, height=8, class_=f"end {side}")


def _scale_bar(scale: float) -> Markup:
    """A bar of a round number of pixels, at most a third of the width."""
    most = _WIDTH / 3 / scale
    power = 10 ** math.floor(math.log10(most)) if most >= 1 else 1
    pixels = next((step * power for step in (5, 2) if step * power <= most), power)
    y, right = _HEIGHT - 8, _MARGIN + pixels * scale
    line = element("line", x1=_MARGIN, x2=f"{right:.1f}", y1=y, y2=y, class_="axis")
    return line + element("text", f"{pixels:,} px", x=f"{right + 6:.1f}", y=y + 4, class_="tick")
