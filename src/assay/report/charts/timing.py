"""Charts about time: how late, how spread, and how both change along an episode."""

from __future__ import annotations

from collections.abc import Iterable

from assay.report.charts.parts import (
    CATEGORY_ORDER,
    Panels,
    Rows,
    Spec,
    around_zero,
    category_color,
    interval_fields,
    model_color,
    model_dash,
    model_shape,
    models_of,
    ordered_names,
    points_with_intervals,
    reference_line,
    specification,
    tooltip_of,
)

_SIGNED_PANELS = {"ms": "Time, in milliseconds", "%": "Mouse movement, in percent of the truth"}


def time_error_distribution(*, rows: Rows) -> Panels:
    """Draw how signed time errors are distributed: a panel for each category, its models on top of each other.

    Rows: `model`, `category`, `low_ms` and `high_ms` (the bin's ends, in ms; bins of one width; positive is late),
    `share` (of the category's comparable events, 0–1).
    """
    if not rows:
        return {}
    models = models_of(rows)
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
    for category in ordered_names({row["category"] for row in rows}, CATEGORY_ORDER):
        some = [row for row in rows if row["category"] == category]
        corners = [corner for model in models for corner in _outline(some, model)]
        height = y | _from_zero(row["share"] for row in some)
        fill = 0.5 if len(models) == 1 else 0.16
        color = model_color(models) if len(models) > 1 else category_color("category")
        panels[category] = specification(
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
                    "encoding": {"x": x, "y": height, "color": color, "strokeDash": model_dash(models)},
                },
                {
                    # An invisible bar over the whole height of each bin: a pointer need not hit the outline, and one
                    # tooltip has the shares of all models.
                    "data": {"values": _bins(some, models)},
                    "mark": {"type": "rect", "opacity": 0, "aria": False, "clip": True},
                    "encoding": {
                        "x": x | {"field": "low_ms"},
                        "x2": {"field": "high_ms"},
                        "tooltip": tooltip_of(
                            ("low_ms", "from, ms", "~r"),
                            ("high_ms", "to, ms", "~r"),
                            *((f"share_{index}", model, ".2%") for index, model in enumerate(models)),
                        ),
                    },
                },
                reference_line(x={"datum": 0}),
            ],
        )
    return panels


def signed_errors(*, rows: Rows) -> Panels:
    """Draw signed errors as points with their intervals around a line at zero: a panel for each unit.

    Rows: `model`, `name` (of the figure, e.g. "keyboard"), `value`, `low`, `high` (the estimate and its interval; None
    if undefined), `unit` ("ms" or "%").
    """
    panels = {}
    for unit in dict.fromkeys(row["unit"] for row in rows):
        some = [row for row in rows if row["unit"] == unit]
        panels[_SIGNED_PANELS.get(unit, unit)] = specification(
            f"Signed errors in {unit}, with intervals, by name and model.",
            some,
            **points_with_intervals(
                some,
                models=models_of(rows),
                y="name",
                order=list(dict.fromkeys(row["name"] for row in some)),
                x={
                    "title": f"signed error, {unit} (right of 0 is {'late' if unit == 'ms' else 'too far'})",
                    "scale": around_zero(some),
                    "axis": {"tickCount": 6},
                },
                color=model_color(models_of(rows)),
                tooltip=[("name", "of", ""), ("model", "model", ""), *interval_fields("", unit)],
                zero=True,
            ),
        )
    return panels


def error_over_position(*, rows: Rows) -> Panels:
    """Draw time error against the position in the episode: a panel for the median and one for the 95th percentile.

    Rows: `model`, `from_position` and `to_position` (first and last position of the bucket, from 0), `p50_ms`, `p95_ms`
    (absolute time error, in ms; None if undefined), `p50_low`, `p50_high`, `p95_low`, `p95_high` (their intervals;
    None if there are none), `n` (comparable events in the bucket).
    """
    if not rows:
        return {}
    models = models_of(rows)
    x: Spec = {
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
        panels[title] = specification(
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
            layer=_buckets(rows, models, x, field, title),
        )
    return panels


def _buckets(rows: Rows, models: list[str], x: Spec, field: str, title: str) -> list[Spec]:
    """Each bucket of positions as a bar with its interval and a point in its middle, and a line through the points."""
    low, high = f"{field[:3]}_low", f"{field[:3]}_high"
    y: Spec = {
        "field": field,
        "type": "quantitative",
        "title": "absolute time error, ms",
        "axis": {"tickCount": 5},
    } | _from_zero(row[end] for row in rows for end in (field, high))
    shared: Spec = {"y": y, "color": model_color(models)}
    middle = x | {"field": "middle"}
    return [
        {
            "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.45, "aria": False},
            "encoding": shared | {"x": middle},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 3, "aria": False},
            "encoding": shared | {"x": x, "x2": {"field": "end"}},
        },
        {
            "transform": [{"filter": f"isValid(datum.{low})"}],
            "mark": {"type": "rule", "strokeWidth": 1, "aria": False},
            "encoding": shared | {"x": middle, "y": y | {"field": low}, "y2": {"field": high}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": shared
            | {
                "x": middle,
                "shape": model_shape(models),
                "tooltip": tooltip_of(
                    ("model", "model", ""),
                    ("from_position", "from position", ","),
                    ("to_position", "to position", ","),
                    (field, f"{title.lower()}, ms", ".4~r"),
                    (low, "low, ms", ".4~r"),
                    (high, "high, ms", ".4~r"),
                    ("n", "n", ","),
                ),
            },
        },
    ]


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
    # Numbered, because a model's name may contain characters that are special in the name of a field.
    bins: dict[tuple[float, float], Spec] = {}
    for row in rows:
        ends = (row["low_ms"], row["high_ms"])
        empty = {f"share_{index}": 0 for index in range(len(models))}
        bins.setdefault(ends, {"low_ms": ends[0], "high_ms": ends[1], **empty})
        bins[ends][f"share_{models.index(row['model'])}"] = row["share"]
    return list(bins.values())


def _from_zero(values: Iterable[float | None]) -> Spec:
    """Make a scale from zero to a little above the largest value."""
    most = max((value for value in values if value is not None), default=0.0)
    return {"scale": {"domain": [0, most * 1.08 or 1], "nice": False}}
