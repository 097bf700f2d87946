"""Charts about mouse movement: which way, and how far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.report.charts.parts import (
    Panels,
    Rows,
    Spec,
    model_color,
    models_of,
    ordered_names,
    specification,
    tooltip_of,
)


def direction_errors(*, rows: Rows) -> Panels:
    """Draw the direction of mouse errors as a rose: a panel for each model.

    Rows: `model`, `low_deg` and `high_deg` (the bin's ends, −180…180; 0 is the true direction, positive is clockwise on
    the screen; bins of one width), `share` (of the model's movements, 0–1).
    """
    if not rows:
        return {}
    models = models_of(rows)
    rings = _rings(max(row["share"] for row in rows))
    return {
        model: specification(
            f"Rose of direction errors of {model}: share of movements by signed angle to the true direction.",
            [row for row in rows if row["model"] == model],
            height=270,
            layer=_rose(models, rings),
        )
        for model in models
    }


def _rose(models: list[str], rings: Sequence[float]) -> list[Spec]:
    """Rings and spokes, the wedges of a model, and the labels of the angles and the rings."""
    # Radius grows with the root of the share, so that the area of a wedge, which is what the eye sees, is the share.
    # The domain ends beyond the last ring, where the labels of the angles stand.
    radius: Spec = {
        "type": "quantitative",
        "stack": None,
        "scale": {"type": "sqrt", "domain": [0, rings[-1] * 1.7], "zero": True, "nice": False},
    }
    theta: Spec = {
        "type": "quantitative",
        "stack": None,
        "scale": {"domain": [-180, 180], "range": [-math.pi, math.pi], "nice": False},
    }
    spokes = [
        {"angle": angle, "label": label, "radius": rings[-1] * (1.25 if angle in (0, 180) else 1.45)}
        for angle, label in ((0, "0°"), (90, "+90°"), (180, "180°"), (-90, "−90°"))
    ]
    return [
        {
            "data": {"values": [{"from": -180, "to": 180, "share": ring} for ring in rings]},
            "mark": {"type": "arc", "style": "ring", "aria": False},
            "encoding": {
                "theta": theta | {"field": "from"},
                "theta2": {"field": "to"},
                "radius": radius | {"field": "share"},
            },
        },
        {
            "data": {"values": spokes},
            "mark": {"type": "arc", "style": "ring", "aria": False},
            "encoding": {
                "theta": theta | {"field": "angle"},
                "theta2": {"field": "angle"},
                "radius": radius | {"datum": rings[-1]},
            },
        },
        {
            "mark": {"type": "arc", "style": "wedge"},
            "encoding": {
                "theta": theta | {"field": "low_deg"},
                "theta2": {"field": "high_deg"},
                "radius": radius | {"field": "share"},
                "color": model_color(models) | {"legend": None},
                "tooltip": tooltip_of(
                    ("low_deg", "from, °", "~r"), ("high_deg", "to, °", "~r"), ("share", "share", ".2%")
                ),
            },
        },
        {
            "data": {"values": spokes},
            "mark": {"type": "text", "style": "angle", "aria": False},
            "encoding": {
                "theta": theta | {"field": "angle"},
                "radius": radius | {"field": "radius"},
                "text": {"field": "label"},
            },
        },
        {
            "data": {"values": [{"angle": 135, "share": ring, "inside": 0.78 * ring} for ring in rings]},
            "mark": {"type": "text", "style": "note", "aria": False},
            "encoding": {
                "theta": theta | {"field": "angle"},
                "radius": radius | {"field": "inside"},
                "text": {"field": "share", "format": "~%"},
            },
        },
    ]


def displacement(*, rows: Rows, limit: float, step: float, of: str = "events") -> Panels:
    """Draw predicted against true mouse deltas as a heat map with its diagonal: a panel for each model and axis.

    Rows: `model`, `axis` ("x" or "y"), `truth` and `predicted` (the cell's centre, in counts of the mouse), `count` (of
    events; cells without events are left out). `limit` is where the axes end on both sides (what lies
    beyond is not drawn), `step` the width of a cell, `of` what is counted.
    """
    if not rows:
        return {}
    most = max(2, *(row["count"] for row in rows))
    diagonal: Spec = {
        "data": {"values": [{"end": -limit}, {"end": limit}]},
        "mark": {"type": "line", "style": "reference", "aria": False},
        "encoding": {
            "x": {"field": "end", "type": "quantitative"},
            "y": {"field": "end", "type": "quantitative"},
        },
    }
    panels = {}
    for model in models_of(rows):
        for name in ordered_names({row["axis"] for row in rows if row["model"] == model}, ("x", "y")):
            shown = [row for row in rows if row["model"] == model and row["axis"] == name]
            n = sum(row["count"] for row in shown)
            panels[f"{model} · d{name}, n = {n:,}"] = specification(
                f"Predicted against true d{name} of {model}: number of {of} in each cell, on a logarithmic scale.",
                shown,
                height=220,
                layer=[_cells(name, limit=limit, step=step, most=most, of=of), diagonal],
            )
    return panels


def _cells(name: str, *, limit: float, step: float, most: int, of: str) -> Spec:
    """The cells of one axis, shaded by their counts, of which the largest is `most`."""

    def along(field: str, side: str) -> Spec:
        return {
            "field": field,
            "type": "quantitative",
            "title": f"{side} d{name}",
            "scale": {"domain": [-limit, limit], "nice": False},
            "axis": {"grid": False, "values": [-limit, -limit / 2, 0, limit / 2, limit], "format": "~r"},
        }

    shade: Spec = {
        "field": "count",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1, most], "range": "heatmap", "nice": False},
        "legend": {
            "title": f"{of} in a cell",
            "orient": "top",
            "direction": "horizontal",
            "type": "symbol",
            "symbolType": "square",
            "values": _powers_of_ten(most),
            "format": "~s",
        },
    }
    return {
        "transform": [
            {"calculate": f"datum.truth - {step / 2!r}", "as": "left"},
            {"calculate": f"datum.truth + {step / 2!r}", "as": "right"},
            {"calculate": f"datum.predicted - {step / 2!r}", "as": "bottom"},
            {"calculate": f"datum.predicted + {step / 2!r}", "as": "top"},
        ],
        "mark": {"type": "rect", "strokeWidth": 0.8, "aria": False, "clip": True},
        "encoding": {
            "x": along("left", "true"),
            "x2": {"field": "right"},
            "y": along("bottom", "predicted"),
            "y2": {"field": "top"},
            "color": shade,
            # The edge in the cell's own colour closes the seams that blending leaves between cells.
            "stroke": shade,
            "tooltip": tooltip_of(
                ("truth", f"true d{name}", "~r"),
                ("predicted", f"predicted d{name}", "~r"),
                ("count", of, ","),
            ),
        },
    }


def _rings(most: float) -> list[float]:
    """Choose two round shares for the rings of a rose, the outer one not below `most`."""
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 0.01
    outer = next(
        round(power * step, 12) for step in (1, 2, 4, 6, 8, 10) if power * step >= most * (1 - 1e-9) or step == 10
    )
    return [outer / 4, outer]


def _powers_of_ten(most: float) -> list[int]:
    """List at most four powers of ten up to `most`, evenly spaced; 1 and 2 if there would be only one."""
    powers = [10**exponent for exponent in range(int(math.log10(most)) + 1)]
    return powers[:: math.ceil(len(powers) / 4)] if len(powers) > 1 else [1, 2]
