"""What charts have in common: specifications, intervals, legends, colours, tooltips. Computes only layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]
Rows = Sequence[Row]
Spec = dict[str, Any]
Panels = dict[str, Spec]

CATEGORY_ORDER: Final = ("keyboard", "mouse_op", "mouse_nop", "screen")
"""The categories of events in the order of their colours and of every axis."""

KINDS: Final = ("keyboard", "mouse", "mouse_op", "mouse_nop", "screen", "invalid", "missing")
"""What a prediction can turn out to be, in the order of the confusion's axes."""

# Shape and dash repeat what colour says, for print and for readers who cannot distinguish the colours.
_SHAPES: Final = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [4, 6], [12, 4])


def specification(description: str, rows: Rows, **parts: Any) -> Spec:
    """Give a specification as wide as its container; `description` is what a screen reader says."""
    return {
        "description": description,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": [dict(row) for row in rows]},
        **parts,
    }


def points_with_intervals(
    rows: Rows,
    *,
    models: list[str],
    y: str,
    order: list[str],
    x: Spec,
    color: Spec,
    tooltip: list[tuple[str, str, str]],
    zero: bool,
) -> Spec:
    """Give height and layers of points with interval rules: a line for each name, in it a lane for each model."""
    lanes: Spec = {
        "y": {
            "field": y,
            "type": "nominal",
            "title": None,
            "scale": {"domain": order, "paddingInner": 0.35, "paddingOuter": 0.2},
            "axis": {"grid": False, "domain": False, "labelPadding": 8},
        },
        "yOffset": {"field": "model", "type": "nominal", "scale": {"domain": models}},
    }
    across: Spec = {"type": "quantitative"} | x
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 75, "opacity": 1},
        "encoding": lanes
        | {
            "x": across | {"field": "value"},
            "color": color,
            "shape": model_shape(models),
            "tooltip": tooltip_of(*tooltip),
        },
    }
    rules: Spec = {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
        "encoding": lanes | {"x": across | {"field": "low"}, "x2": {"field": "high"}, "color": color},
    }
    layers = [rules, points]
    if zero:
        layers.insert(0, reference_line(x={"datum": 0}))
    if any(row["value"] is None for row in rows):
        layers.append(
            {
                "transform": [{"filter": "!isValid(datum.value)"}],
                "mark": {"type": "text", "style": "note", "align": "left", "text": "nothing to measure"},
                "encoding": lanes | {"x": {"value": 8}},
            }
        )
    return {"height": len(order) * (16 * len(models) + 14) + 10, "layer": layers}


def reference_line(**position: Spec) -> Spec:
    """Draw a thin line across the panel, such as the one at zero."""
    # One row of its own data: without it the line would be drawn once for every row of the panel.
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "style": "reference", "aria": False},
        "encoding": position,
    }


def around_zero(rows: Rows) -> Spec:
    """Make a scale that holds every value, every interval and zero, with room at both ends."""
    ends = [0.0, *(row[end] for row in rows for end in ("value", "low", "high") if row[end] is not None)]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    return {"domain": [min(ends) - room, max(ends) + room], "nice": False}


def models_of(rows: Rows) -> list[str]:
    """List the models in the order in which they first occur."""
    return list(dict.fromkeys(row["model"] for row in rows))


def ordered_names(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Put the names into the given order, unknown ones last, in alphabetical order."""
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def model_legend(models: list[str]) -> Spec | None:
    """The legend of the models; None if there is only one."""
    if len(models) == 1:
        return None
    # Long names get a line each, so that none is cut at phone width.
    columns = {"columns": 1} if sum(len(model) + 4 for model in models) > 40 else {}
    return {"title": None, "orient": "top", "labelLimit": 210, "symbolOpacity": 1, **columns}


def model_scale(models: list[str], **scale: Any) -> Spec:
    """An encoding that distinguishes models."""
    return {
        "field": "model",
        "type": "nominal",
        "scale": {"domain": models, **scale},
        "legend": model_legend(models),
    }


def model_color(models: list[str]) -> Spec:
    """Models by colour."""
    return model_scale(models, range="ordinal")


def model_shape(models: list[str]) -> Spec:
    """Models by the shape of their points."""
    return model_scale(models, range=[_SHAPES[index % len(_SHAPES)] for index in range(len(models))])


def model_dash(models: list[str]) -> Spec:
    """Models by the dashes of their lines."""
    scale = model_scale(models, range=[_DASHES[index % len(_DASHES)] for index in range(len(models))])
    if scale["legend"]:
        scale["legend"] |= {"symbolType": "stroke", "symbolSize": 500}
    return scale


def category_color(field: str, others: Sequence[str] = ()) -> Spec:
    """Give each category its colour; `others` get the colours after those of the categories."""
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": [*CATEGORY_ORDER, *others], "range": "category"},
        "legend": None,
    }


def interval_fields(number: str, unit: str = "") -> list[tuple[str, str, str]]:
    """Tooltip lines of a value with its interval."""
    ending = f", {unit}" if unit else ""
    number = number or ".4~r"
    return [("value", f"value{ending}", number), ("low", f"low{ending}", number), ("high", f"high{ending}", number)]


def tooltip_of(*fields: tuple[str, str, str]) -> list[Spec]:
    """Make tooltip lines from (field, title, number format or nothing for text)."""
    return [
        {"field": field, "title": title, "type": "quantitative", "format": number}
        if number
        else {"field": field, "title": title, "type": "nominal"}
        for field, title, number in fields
    ]
