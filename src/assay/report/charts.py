"""Charts as data: each function turns rows of plain values into Vega-Lite specifications; it computes only layout.

A chart is one or more *panels*, `{title of the panel: specification}`: panels stand side by side on a wide screen and
below each other on a phone, which facets inside one Vega-Lite specification cannot. A function sees the rows of
every model, so that panels that are to be compared share their axes. No rows give no panels.

Colour tells models apart; where there is only one model, it tells the categories of events apart. The colours are
not here: specifications name ranges and styles (`category`, `ordinal`, `heatmap`, `reference`, …) that the page fills
in for light and dark. This module knows nothing of HTML, of events or of how a number was made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

Row = Mapping[str, Any]
Rows = Sequence[Row]
Spec = dict[str, Any]
Panels = dict[str, Spec]

CATEGORIES: Final = ("keyboard", "mouse_op", "mouse_nop", "screen")
"""The categories of events in the order of their colours and of every axis."""

KINDS: Final = ("keyboard", "mouse", "mouse_op", "mouse_nop", "screen", "invalid", "missing")
"""What a prediction can turn out to be, in the order of the confusion's axes."""

# Shape and dash repeat what colour says, for print and for eyes that do not tell the colours apart.
_SHAPES: Final = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [4, 6], [12, 4])


def time_error_distribution(*, rows: Rows) -> Panels:
    """Draw how signed time errors are distributed: a panel for each category, its models on top of each other.

    Rows: `model`, `category`, `low_ms` and `high_ms` (the bin's ends, in ms; bins of one width; positive is late),
    `share` (of the category's comparable events, 0–1).
    """
    if not rows:
        return {}
    models = _models(rows)
    x = {
        "field": "ms",
        "type": "quantitative",
        "title": "time error, ms (right of 0 is late)",
        "scale": {"domain": [min(row["low_ms"] for row in rows), max(row["high_ms"] for row in rows)], "nice": False},
        "axis": {"grid": False, "tickCount": 6},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of events",
        "stack": None,
        "axis": {"format": "~%", "tickCount": 4},
    }
    panels = {}
    for category in _ordered({row["category"] for row in rows}, CATEGORIES):
        some = [row for row in rows if row["category"] == category]
        corners = [corner for model in models for corner in _outline(some, model)]
        height = y | _from_zero(row["share"] for row in some)
        fill = 0.5 if len(models) == 1 else 0.16
        color = _model_color(models) if len(models) > 1 else _category_color("category")
        panels[category] = _spec(
            f"Distribution of signed time errors of {category} events, in milliseconds, by model.",
            some,
            height=170,
            layer=[
                {
                    "data": {"values": corners},
                    "mark": {"type": "area", "interpolate": "step-after", "opacity": fill, "aria": False, "clip": True},
                    "encoding": {"x": x, "y": height, "color": color},
                },
                {
                    "data": {"values": corners},
                    "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6, "aria": False},
                    "encoding": {"x": x, "y": height, "color": color, "strokeDash": _model_dash(models)},
                },
                {
                    # An invisible bar over the whole height of each bin: a pointer need not hit the outline, and one
                    # tooltip has the shares of all models.
                    "data": {"values": _bins(some, models)},
                    "mark": {"type": "rect", "opacity": 0, "aria": False, "clip": True},
                    "encoding": {
                        "x": x | {"field": "low_ms"},
                        "x2": {"field": "high_ms"},
                        "tooltip": _tooltip(
                            ("low_ms", "from, ms", "~r"),
                            ("high_ms", "to, ms", "~r"),
                            *((f"share_{index}", model, ".2%") for index, model in enumerate(models)),
                        ),
                    },
                },
                _reference(x={"datum": 0}),
            ],
        )
    return panels


def signed_errors(*, rows: Rows) -> Panels:
    """Draw signed errors as points with their intervals around a line at zero: a panel for each unit.

    Rows: `model`, `name` (of the figure, e.g. "keyboard"), `value`, `low`, `high` (the estimate and its interval; None
    where undefined), `unit` ("ms" or "%").
    """
    panels = {}
    for unit in dict.fromkeys(row["unit"] for row in rows):
        some = [row for row in rows if row["unit"] == unit]
        panels[{"ms": "Time, in milliseconds", "%": "Mouse movement, in percent of the truth"}.get(unit, unit)] = _spec(
            f"Signed errors in {unit}, with intervals, by name and model.",
            some,
            **_intervals(
                some,
                models=_models(rows),
                y="name",
                order=list(dict.fromkeys(row["name"] for row in some)),
                x={
                    "title": f"signed error, {unit} (right of 0 is {'late' if unit == 'ms' else 'too far'})",
                    "scale": _around_zero(some),
                    "axis": {"tickCount": 6},
                },
                color=_model_color(_models(rows)),
                tooltip=[("name", "of", ""), ("model", "model", ""), *_interval_fields("", unit)],
                zero=True,
            ),
        )
    return panels


def direction_errors(*, rows: Rows) -> Panels:
    """Draw the direction of mouse errors as a rose: a panel for each model.

    Rows: `model`, `low_deg` and `high_deg` (the bin's ends, −180…180; 0 is the true direction, positive is clockwise on
    the screen; bins of one width), `share` (of the model's movements, 0–1).
    """
    if not rows:
        return {}
    models = _models(rows)
    rings = _rings(max(row["share"] for row in rows))
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
    panels = {}
    for model in models:
        panels[model] = _spec(
            f"Rose of direction errors of {model}: share of movements by signed angle to the true direction.",
            [row for row in rows if row["model"] == model],
            height=270,
            layer=[
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
                        "color": _model_color(models) | {"legend": None},
                        "tooltip": _tooltip(
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
            ],
        )
    return panels


def displacement(*, rows: Rows, limit: float, step: float) -> Panels:
    """Draw predicted against true mouse deltas as a heat map with its diagonal: a panel for each model and axis.

    Rows: `model`, `axis` ("x" or "y"), `truth` and `predicted` (the cell's centre, in counts of the mouse), `count` (of
    events; cells without events are left out). `limit` is where the axes end on both sides (what lies
    beyond is not drawn), `step` the width of a cell.
    """
    if not rows:
        return {}
    most = max(2, *(row["count"] for row in rows))
    ends = {"domain": [-limit, limit], "nice": False}
    shade: Spec = {
        "field": "count",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1, most], "range": "heatmap", "nice": False},
    }
    legend = {
        "title": "events in a cell",
        "orient": "top",
        "direction": "horizontal",
        "type": "symbol",
        "symbolType": "square",
        "values": _powers_of_ten(most),
        "format": "~s",
    }
    axis = {"grid": False, "values": [-limit, -limit / 2, 0, limit / 2, limit], "format": "~r"}
    panels = {}
    for model in _models(rows):
        for name in _ordered({row["axis"] for row in rows if row["model"] == model}, ("x", "y")):
            panels[f"{model} · d{name}"] = _spec(
                f"Predicted against true d{name} of {model}: number of events in each cell, on a logarithmic scale.",
                [row for row in rows if row["model"] == model and row["axis"] == name],
                height=220,
                layer=[
                    {
                        "transform": [
                            {"calculate": f"datum.truth - {step / 2!r}", "as": "left"},
                            {"calculate": f"datum.truth + {step / 2!r}", "as": "right"},
                            {"calculate": f"datum.predicted - {step / 2!r}", "as": "bottom"},
                            {"calculate": f"datum.predicted + {step / 2!r}", "as": "top"},
                        ],
                        "mark": {"type": "rect", "strokeWidth": 0.8, "aria": False, "clip": True},
                        "encoding": {
                            "x": {
                                "field": "left",
                                "type": "quantitative",
                                "title": f"true d{name}",
                                "scale": ends,
                                "axis": axis,
                            },
                            "x2": {"field": "right"},
                            "y": {
                                "field": "bottom",
                                "type": "quantitative",
                                "title": f"predicted d{name}",
                                "scale": ends,
                                "axis": axis,
                            },
                            "y2": {"field": "top"},
                            "color": shade | {"legend": legend},
                            # The edge in the cell's own colour closes the seams that blending leaves between cells.
                            "stroke": shade | {"legend": legend},
                            "tooltip": _tooltip(
                                ("truth", f"true d{name}", "~r"),
                                ("predicted", f"predicted d{name}", "~r"),
                                ("count", "events", ","),
                            ),
                        },
                    },
                    {
                        "data": {"values": [{"end": -limit}, {"end": limit}]},
                        "mark": {"type": "line", "style": "reference", "aria": False},
                        "encoding": {
                            "x": {"field": "end", "type": "quantitative"},
                            "y": {"field": "end", "type": "quantitative"},
                        },
                    },
                ],
            )
    return panels


def kinds_confusion(*, rows: Rows) -> Panels:
    """Draw what was predicted for each true kind as a heat map with shares: a panel for each model.

    Rows: `model`, `truth`, `predicted` (kinds or categories; `predicted` may be "invalid" or "missing" too),
    `count` (of events), `share` (of the truths of that kind, 0–1).
    """
    if not rows:
        return {}
    truths = _ordered({row["truth"] for row in rows}, KINDS)
    predictions = _ordered({row["predicted"] for row in rows}, KINDS)
    place: Spec = {
        "x": {
            "field": "predicted",
            "type": "nominal",
            "title": "predicted",
            "scale": {"domain": predictions, "paddingInner": 0.03},
            "axis": {"orient": "top", "labelAngle": 0 if len(predictions) < 6 else -40, "domain": False},
        },
        "y": {
            "field": "truth",
            "type": "nominal",
            "title": "truth",
            "scale": {"domain": truths, "paddingInner": 0.05},
            "axis": {"domain": False},
        },
    }
    text = {"field": "label", "type": "nominal"}
    # One text layer for pale and one for deep cells: a style has one colour, and must be legible in light and dark.
    styles = {"on-pale": "datum.share < 0.5", "on-deep": "datum.share >= 0.5"}
    return {
        model: _spec(
            f"Confusion of kinds of {model}: for each true kind, the share predicted as each kind.",
            [row for row in rows if row["model"] == model],
            height=44 * len(truths),
            layer=[
                {
                    "mark": {"type": "rect", "cornerRadius": 2},
                    "encoding": place
                    | {
                        "color": {
                            "field": "share",
                            "type": "quantitative",
                            "scale": {"domain": [0, 1], "range": "heatmap"},
                            "legend": None,
                        },
                        "tooltip": _tooltip(
                            ("truth", "truth", ""),
                            ("predicted", "predicted", ""),
                            ("count", "events", ","),
                            ("share", "share of the truth", ".2%"),
                        ),
                    },
                },
                *(
                    {
                        # A share that rounds to 0 or 100 % without being it keeps its sign, so that no cell lies.
                        "transform": [
                            {"filter": test},
                            {
                                "calculate": "datum.share > 0 && datum.share < 0.001 ? '<0.1%'"
                                " : datum.share < 1 && datum.share > 0.999 ? '>99.9%'"
                                " : format(datum.share, datum.share < 0.1 && datum.share > 0 ? '.1%' : '.3~p')",
                                "as": "label",
                            },
                        ],
                        "mark": {"type": "text", "style": style, "aria": False},
                        "encoding": place | {"text": text},
                    }
                    for style, test in styles.items()
                ),
            ],
        )
        for model in _models(rows)
    }


def comparability(*, rows: Rows) -> Panels:
    """Draw the share of comparable predictions with its interval, by category: one panel with all models.

    Rows: `model`, `category` (of the truth; others, such as "all", come first), `value`, `low`, `high` (shares 0–1;
    None where undefined), `n` (truths of that category).
    """
    if not rows:
        return {}
    models = _models(rows)
    ends = [end for row in rows for end in (row["low"], row["value"]) if end is not None]
    named = {row["category"] for row in rows}
    others = [name for name in dict.fromkeys(row["category"] for row in rows) if name not in CATEGORIES]
    return {
        "": _spec(
            "Share of comparable predictions, with intervals, by category of the truth and model.",
            rows,
            **_intervals(
                rows,
                models=models,
                y="category",
                order=others + [name for name in CATEGORIES if name in named],
                x={
                    "title": "comparable predictions",
                    # Points may leave zero out; the axis starts at the ten percent below the lowest.
                    "scale": {"domain": [math.floor(min(ends, default=0.0) * 10) / 10 if ends else 0, 1]},
                    "axis": {"format": "~%", "tickCount": 6},
                },
                color=_model_color(models) if len(models) > 1 else _category_color("category", others),
                tooltip=[
                    ("category", "category", ""),
                    ("model", "model", ""),
                    *_interval_fields(".2%"),
                    ("n", "n", ","),
                ],
                zero=False,
            ),
        )
    }


def error_over_position(*, rows: Rows) -> Panels:
    """Draw time error against the position in the episode: a panel for the median and one for the 95th percentile.

    Rows: `model`, `from_position` and `to_position` (first and last position of the bucket, from 0), `p50_ms`, `p95_ms`
    (absolute time error, in ms; None where undefined), `n` (comparable events in the bucket).
    """
    if not rows:
        return {}
    models = _models(rows)
    x = {
        "field": "first",
        "type": "quantitative",
        "title": "position in the episode, from 1 (log scale)",
        "scale": {
            "type": "log",
            "domain": [1, max(row["to_position"] for row in rows) + 2],
            "nice": False,
        },
        "axis": {"grid": False, "values": [1, 10, 100, 1000, 10_000, 100_000, 1_000_000], "format": "~s"},
    }
    panels = {}
    for field, title in (("p50_ms", "Median"), ("p95_ms", "95th percentile")):
        y = {
            "field": field,
            "type": "quantitative",
            "title": "absolute time error, ms",
            "axis": {"tickCount": 5},
        } | _from_zero(row[field] for row in rows)
        shared: Spec = {"y": y, "color": _model_color(models)}
        panels[title] = _spec(
            f"{title} of the absolute time error in milliseconds against the position in the episode, by model.",
            rows,
            height=210,
            # Counted from 1 here, because a logarithmic axis has no 0; a bucket ends where the next one starts.
            transform=[
                {"filter": f"isValid(datum.{field})"},
                {"calculate": "datum.from_position + 1", "as": "first"},
                {"calculate": "datum.to_position + 2", "as": "end"},
                {"calculate": "sqrt(datum.first * datum.end)", "as": "middle"},
            ],
            layer=[
                {
                    "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.45, "aria": False},
                    "encoding": shared | {"x": x | {"field": "middle"}},
                },
                {
                    "mark": {"type": "rule", "strokeWidth": 3, "aria": False},
                    "encoding": shared | {"x": x, "x2": {"field": "end"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                    "encoding": shared
                    | {
                        "x": x | {"field": "middle"},
                        "shape": _model_shape(models),
                        "tooltip": _tooltip(
                            ("model", "model", ""),
                            ("from_position", "from position", ","),
                            ("to_position", "to position", ","),
                            ("p50_ms", "median, ms", ".4~r"),
                            ("p95_ms", "95th percentile, ms", ".4~r"),
                            ("n", "n", ","),
                        ),
                    },
                },
            ],
        )
    return panels


def differences(*, rows: Rows) -> Panels:
    """Draw differences of a comparison with their intervals around a line at zero: a panel for each unit.

    Rows: `model` (the candidate), `name` (of the metric), `unit`, `value`, `low`, `high` (the difference turned so that
    more is better), `call` (the verdict).
    """
    models = _models(rows)
    panels = {}
    for unit in dict.fromkeys(row["unit"] for row in rows):
        some = [row for row in rows if row["unit"] == unit]
        ending = f", {unit}" if unit else ""
        panels[f"In {unit}" if unit else "Shares and scores"] = _spec(
            f"Differences to the baseline{ending}, with intervals, by metric and candidate.",
            some,
            **_intervals(
                some,
                models=models,
                y="name",
                order=list(dict.fromkeys(row["name"] for row in some)),
                x={
                    "title": f"difference{ending} (right is better)",
                    "scale": _around_zero(some),
                    "axis": {"tickCount": 5},
                },
                color=_model_color(models),
                tooltip=[
                    ("name", "metric", ""),
                    ("model", "candidate", ""),
                    *_interval_fields("", unit),
                    ("call", "verdict", ""),
                ],
                zero=True,
            ),
        )
    return panels


def improvement(*, rows: Rows) -> Panels:
    """Draw the probability that a case of the candidate is better, with its interval: one panel with all candidates.

    Rows: `model` (the candidate), `name` (of the metric), `value`, `low`, `high` (probabilities 0–1).
    """
    if not rows:
        return {}
    models = _models(rows)
    drawn = _intervals(
        rows,
        models=models,
        y="name",
        order=list(dict.fromkeys(row["name"] for row in rows)),
        x={
            "title": "probability that a case is better",
            "scale": {"domain": [0, 1], "nice": False},
            "axis": {"format": "~%", "tickCount": 5},
        },
        color=_model_color(models),
        tooltip=[("name", "metric", ""), ("model", "candidate", ""), *_interval_fields(".2f")],
        zero=False,
    )
    drawn["layer"].insert(0, _reference(x={"datum": 0.5}))
    return {"": _spec("Probability of improvement, with intervals, by metric and candidate.", rows, **drawn)}


def profiles(*, rows: Rows) -> Panels:
    """Draw the share of cases above each threshold with its interval as a band: a panel for each metric.

    Rows: `model`, `name` (of the metric), `threshold` (in the metric's unit), `share`, `low`, `high` (0–1).
    """
    models = _models(rows)
    panels = {}
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        x: Spec = {
            "field": "threshold",
            "type": "quantitative",
            "title": name,
            "scale": {"zero": False, "nice": False},
            "axis": {"grid": False, "tickCount": 5},
        }
        y: Spec = {
            "type": "quantitative",
            "title": "share of cases above",
            "scale": {"domain": [0, 1]},
            "axis": {"format": "~%", "tickCount": 4},
        }
        panels[name] = _spec(
            f"Share of cases above each value of {name}, with intervals, by run.",
            some,
            height=170,
            layer=[
                {
                    "mark": {"type": "area", "opacity": 0.16, "interpolate": "step-after", "aria": False},
                    "encoding": {
                        "x": x,
                        "y": y | {"field": "low"},
                        "y2": {"field": "high"},
                        "color": _model_color(models),
                    },
                },
                {
                    "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
                    "encoding": {
                        "x": x,
                        "y": y | {"field": "share"},
                        "color": _model_color(models),
                        "strokeDash": _model_dash(models),
                        "tooltip": _tooltip(
                            ("model", "run", ""),
                            ("threshold", "above", ".4~r"),
                            ("share", "share", ".1%"),
                            ("low", "low", ".1%"),
                            ("high", "high", ".1%"),
                        ),
                    },
                },
            ],
        )
    return panels


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with the words that go with it on a page."""

    title: str
    """What it shows."""
    how_to_read: str
    """One sentence for someone who sees it for the first time."""
    nothing: str
    """What was missing where there are no rows; completes 'nothing to draw: …'."""
    draw: Callable[..., Panels]
    """The function that draws it."""
    panel: Literal["wide", "medium", "narrow"] = "wide"
    """How much width a panel wants."""


CHARTS: Final[Mapping[str, Chart]] = MappingProxyType(
    {
        chart.draw.__name__: chart
        for chart in (
            Chart(
                "Comparable predictions",
                "Each point is the share of predictions that decode and have the kind of the truth, with its interval; "
                "further right is better, and what is not comparable enters none of the errors below.",
                "no events",
                comparability,
            ),
            Chart(
                "Kinds, true and predicted",
                "Each row is a true kind and adds up to 100 %; what lies off the diagonal was taken for something "
                "else, could not be decoded (invalid) or was not there (missing).",
                "no events",
                kinds_confusion,
            ),
            Chart(
                "Signed errors",
                "A point left or right of the line at zero is a bias, and an interval that crosses the line does not "
                "rule out that there is none.",
                "no comparable events",
                signed_errors,
            ),
            Chart(
                "Time errors by category",
                "The higher and narrower around the line at zero, the better the timing; mass to the right is late, to "
                "the left early. The outermost bars hold all that lies further out. Each panel has its own vertical "
                "scale.",
                "no comparable events",
                time_error_distribution,
            ),
            Chart(
                "Time error along the episode",
                "A line that rises to the right is an error that grows while the episode goes on; each thick stroke "
                "spans the positions it was taken over. Each panel has its own vertical scale.",
                "no comparable events",
                error_over_position,
            ),
            Chart(
                "Direction of mouse movements",
                "Up is the true direction, right is a quarter turn clockwise, down is the opposite; the area of a "
                "wedge is the share of movements that went that way. Predicted standstills have no direction and are "
                "left out.",
                "no mouse movements with a true direction",
                direction_errors,
                panel="medium",
            ),
            Chart(
                "Mouse displacement",
                "A perfect model lies on the dashed diagonal; a flatter cloud moves too little, a steeper one too "
                "much, a level band along zero not at all. Cells at the edge hold all that lies further out.",
                "no comparable mouse events",
                displacement,
                panel="narrow",
            ),
            Chart(
                "Differences to the baseline",
                "A point right of the line is better than the baseline, left of it worse; an interval that crosses "
                "the line does not rule out that there is no difference.",
                "no metric has an interval on both sides",
                differences,
            ),
            Chart(
                "Probability of improvement",
                "How likely a case of the candidate scores better than a case of the baseline in the same stratum, "
                "ties counting half; on the line at 50 % neither is ahead.",
                "no metric was measured case by case",
                improvement,
            ),
            Chart(
                "Performance profiles",
                "Each line is the share of cases above the value on the horizontal axis; where a higher value is "
                "better, the higher line is ahead, and bands that overlap may be chance.",
                "no metric was measured case by case",
                profiles,
                panel="medium",
            ),
        )
    }
)
"""Every chart by its id, in the order in which a report shows them."""


def _spec(description: str, rows: Rows, **parts: Any) -> Spec:
    """Give a specification as wide as its container; `description` is what a screen reader says."""
    return {
        "description": description,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": [dict(row) for row in rows]},
        **parts,
    }


def _intervals(
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
            "shape": _model_shape(models),
            "tooltip": _tooltip(*tooltip),
        },
    }
    rules: Spec = {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
        "encoding": lanes | {"x": across | {"field": "low"}, "x2": {"field": "high"}, "color": color},
    }
    layers = [rules, points]
    if zero:
        layers.insert(0, _reference(x={"datum": 0}))
    if any(row["value"] is None for row in rows):
        layers.append(
            {
                "transform": [{"filter": "!isValid(datum.value)"}],
                "mark": {"type": "text", "style": "note", "align": "left", "text": "nothing to measure"},
                "encoding": lanes | {"x": {"value": 8}},
            }
        )
    return {"height": len(order) * (16 * len(models) + 14) + 10, "layer": layers}


def _reference(**position: Spec) -> Spec:
    """Draw a thin line across the panel, such as the one at zero."""
    # One row of its own data: without it the line would be drawn once for every row of the panel.
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "style": "reference", "aria": False},
        "encoding": position,
    }


def _outline(rows: Rows, model: str) -> list[Spec]:
    """List the corners of a model's histogram, which falls to 0 between bins that do not touch and after the last."""
    bins = sorted((row for row in rows if row["model"] == model), key=lambda row: row["low_ms"])
    corners: list[Spec] = []
    for row, following in zip(bins, [*bins[1:], None], strict=True):
        same = {"model": model, "category": row["category"]}
        corners.append({**same, "ms": row["low_ms"], "share": row["share"]})
        if following is None or following["low_ms"] > row["high_ms"]:
            corners.append({**same, "ms": row["high_ms"], "share": 0})
    return corners


def _bins(rows: Rows, models: list[str]) -> list[Spec]:
    """List the bins with the share of every model in them: `share_0` of the first, and so on."""
    # Numbered, because a model's name may hold characters that mean something in the name of a field.
    bins: dict[tuple[float, float], Spec] = {}
    for row in rows:
        ends = (row["low_ms"], row["high_ms"])
        empty = {f"share_{index}": 0 for index in range(len(models))}
        bins.setdefault(ends, {"low_ms": ends[0], "high_ms": ends[1], **empty})
        bins[ends][f"share_{models.index(row['model'])}"] = row["share"]
    return list(bins.values())


def _rings(most: float) -> list[float]:
    """Choose two round shares for the rings of a rose, the outer one not below `most`."""
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 0.01
    outer = next(
        round(power * step, 12) for step in (1, 2, 4, 6, 8, 10) if power * step >= most * (1 - 1e-9) or step == 10
    )
    return [outer / 4, outer]


def _powers_of_ten(most: float) -> list[int]:
    """List at most four powers of ten up to `most`, evenly spaced; 1 and 2 where there would be only one."""
    powers = [10**exponent for exponent in range(int(math.log10(most)) + 1)]
    return powers[:: math.ceil(len(powers) / 4)] if len(powers) > 1 else [1, 2]


def _around_zero(rows: Rows) -> Spec:
    """Make a scale that holds every value, every interval and zero, with room at both ends."""
    ends = [0.0, *(row[end] for row in rows for end in ("value", "low", "high") if row[end] is not None)]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    return {"domain": [min(ends) - room, max(ends) + room], "nice": False}


def _from_zero(values: Iterable[float | None]) -> Spec:
    """Make a scale from zero to a little above the largest value."""
    most = max((value for value in values if value is not None), default=0.0)
    return {"scale": {"domain": [0, most * 1.08 or 1], "nice": False}}


def _models(rows: Rows) -> list[str]:
    """List the models in the order in which they first occur."""
    return list(dict.fromkeys(row["model"] for row in rows))


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Put the names into the given order, unknown ones last, by the alphabet."""
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def _model_legend(models: list[str]) -> Spec | None:
    if len(models) == 1:
        return None
    # Long names get a line each, so that none is cut at phone width.
    columns = {"columns": 1} if sum(len(model) + 4 for model in models) > 40 else {}
    return {"title": None, "orient": "top", "labelLimit": 210, "symbolOpacity": 1, **columns}


def _model_scale(models: list[str], **scale: Any) -> Spec:
    return {
        "field": "model",
        "type": "nominal",
        "scale": {"domain": models, **scale},
        "legend": _model_legend(models),
    }


def _model_color(models: list[str]) -> Spec:
    return _model_scale(models, range="ordinal")


def _model_shape(models: list[str]) -> Spec:
    return _model_scale(models, range=[_SHAPES[index % len(_SHAPES)] for index in range(len(models))])


def _model_dash(models: list[str]) -> Spec:
    scale = _model_scale(models, range=[_DASHES[index % len(_DASHES)] for index in range(len(models))])
    if scale["legend"]:
        scale["legend"] |= {"symbolType": "stroke", "symbolSize": 500}
    return scale


def _category_color(field: str, others: Sequence[str] = ()) -> Spec:
    """Give each category its colour; `others` get the colours after those of the categories."""
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": [*CATEGORIES, *others], "range": "category"},
        "legend": None,
    }


def _interval_fields(number: str, unit: str = "") -> list[tuple[str, str, str]]:
    ending = f", {unit}" if unit else ""
    number = number or ".4~r"
    return [("value", f"value{ending}", number), ("low", f"low{ending}", number), ("high", f"high{ending}", number)]


def _tooltip(*fields: tuple[str, str, str]) -> list[Spec]:
    """Make tooltip lines from (field, title, number format or nothing for text)."""
    return [
        {"field": field, "title": title, "type": "quantitative", "format": number}
        if number
        else {"field": field, "title": title, "type": "nominal"}
        for field, title, number in fields
    ]
