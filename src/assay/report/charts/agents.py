"""Charts that compare agents: times, waiting times, and how reliably they pass."""

from __future__ import annotations

from typing import Final

from assay.report.charts.parts import (
    Panels,
    Rows,
    Spec,
    interval_fields,
    model_color,
    model_shape,
    models_of,
    ordered_names,
    points_with_intervals,
    specification,
    tooltip_of,
)

_PARTS: Final = ("model", "tools", "framework")


def time_split(*, rows: Rows) -> Panels:
    """Draw a stacked bar for each agent.

    Rows: `model` (the agent), `part` (what the time went to: model, tools, framework), `ms`.
    """
    if not rows:
        return {}
    parts = ordered_names(dict.fromkeys(row["part"] for row in rows), _PARTS)
    numbered = [{**row, "order": parts.index(row["part"])} for row in rows]
    place: Spec = {
        "y": _agents(rows),
        "x": {"field": "ms", "type": "quantitative", "title": "ms", "axis": {"tickCount": 5}, "stack": "zero"},
        "order": {"field": "order", "type": "ordinal"},
    }
    bars: Spec = {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": place
        | {
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": parts, "range": "category"},
                "legend": {"title": None, "orient": "top", "symbolOpacity": 1},
            },
            "tooltip": tooltip_of(("model", "agent", ""), ("part", "part", ""), ("ms", "ms", ".1f")),
        },
    }
    totals = {model: sum(row["ms"] for row in rows if row["model"] == model) for model in models_of(rows)}
    whole: Spec = {
        "data": {"values": [{"model": model, "ms": total} for model, total in totals.items()]},
        "mark": {"type": "text", "style": "note", "align": "left", "dx": 5, "aria": False},
        "encoding": {
            "y": _agents(rows),
            "x": {"field": "ms", "type": "quantitative"},
            "text": {"field": "ms", "type": "quantitative", "format": ",.0f"},
        },
    }
    return {
        "": specification(
            "A typical turn of each agent, split into the time of the model, of tools and of the framework, in ms.",
            numbered,
            height=_height(rows),
            layer=[bars, whole],
        )
    }


def waiting_times(*, rows: Rows) -> Panels:
    """Draw, for each agent, a line from the median of the wall time to its 95th percentile, and the first text.

    Rows: `model` (the agent), `first_text_ms` (median, or nothing), `p50_ms`, `p95_ms`.
    """
    if not rows:
        return {}
    kinds = {"first_text_ms": "first text, median", "p50_ms": "whole turn, median", "p95_ms": "whole turn, p95"}
    marks = [
        {"model": row["model"], "what": what, "ms": row[field]}
        for row in rows
        for field, what in kinds.items()
        if row[field] is not None
    ]
    across: Spec = {"type": "quantitative", "title": "ms", "axis": {"tickCount": 5}, "scale": {"zero": True}}
    names = list(kinds.values())
    legend: Spec = {"title": None, "orient": "top", "columns": 1, "symbolOpacity": 1, "labelLimit": 210}
    by_kind: Spec = {"field": "what", "type": "nominal", "legend": legend}
    lines: Spec = {
        "mark": {"type": "rule", "style": "reference", "aria": False},
        "encoding": {"y": _agents(rows), "x": across | {"field": "p50_ms"}, "x2": {"field": "p95_ms"}},
    }
    points: Spec = {
        "data": {"values": marks},
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {
            "y": _agents(rows),
            "x": across | {"field": "ms"},
            "color": by_kind | {"scale": {"domain": names, "range": "category"}},
            "shape": by_kind | {"scale": {"domain": names, "range": ["triangle-right", "circle", "square"]}},
            "tooltip": tooltip_of(("model", "agent", ""), ("what", "what", ""), ("ms", "ms", ",.1f")),
        },
    }
    return {
        "": specification(
            "Wall time of a turn, median and 95th percentile, and time to the first text, by agent, in ms.",
            rows,
            height=_height(rows),
            layer=[lines, points],
        )
    }


def framework_overhead(*, rows: Rows) -> Panels:
    """Draw the median of the framework's own time with its interval: a line for each agent.

    Rows: `model` (the agent), `value`, `low`, `high` (ms), `turns`.
    """
    if not rows:
        return {}
    models = models_of(rows)
    ends = [row[end] for row in rows for end in ("value", "high") if row[end] is not None]
    drawn = points_with_intervals(
        rows,
        models=models,
        y="model",
        order=models,
        x={
            "title": "ms per turn",
            "scale": {"domain": [0, 1.06 * max(ends, default=1.0) or 1.0], "nice": False},
            "axis": {"tickCount": 5},
        },
        color={**model_color(models), "legend": None},
        tooltip=[("model", "agent", ""), *interval_fields(",.1f", "ms"), ("turns", "turns", ",")],
        zero=False,
    )
    for layer in drawn["layer"]:
        # Each agent has its own line, so a lane inside it for every agent would leave most of it empty.
        layer["encoding"].pop("yOffset", None)
        if "shape" in layer["encoding"]:
            layer["encoding"]["shape"] = {**model_shape(models), "legend": None}
    drawn["height"] = _height(rows)
    return {"": specification("The framework's own time in a turn, with its interval, by agent, in ms.", rows, **drawn)}


def passes_by_k(*, rows: Rows) -> Panels:
    """Draw the chance that all of k repetitions pass, and that one does: a panel for each.

    Rows: `model` (the agent), `name` (pass^k or pass@k), `k`, `value` (0–1), `n` (scenarios with k repetitions).
    """
    models = models_of(rows)
    titles = {"pass^k": "pass^k: all of k repetitions pass", "pass@k": "pass@k: at least one does"}
    low = min((row["value"] for row in rows), default=0.0)
    panels = {}
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        place: Spec = {
            "x": {
                "field": "k",
                "type": "ordinal",
                "title": "k",
                "axis": {"labelAngle": 0, "grid": False},
                "scale": {"domain": sorted({row["k"] for row in rows})},
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": "share of scenarios",
                # Both panels share it, and it starts at a round mark below the lowest line.
                "scale": {"domain": [max(0.0, int(10 * low - 1e-9) / 10), 1], "nice": False},
                "axis": {"format": "~%", "tickCount": 5},
            },
            "color": model_color(models),
        }
        panels[titles.get(name, name)] = specification(
            f"{titles.get(name, name)}, by k and agent.",
            some,
            height=200,
            layer=[
                {"mark": {"type": "line", "strokeWidth": 1.8, "aria": False}, "encoding": place},
                {
                    "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                    "encoding": place
                    | {
                        "shape": model_shape(models),
                        "tooltip": tooltip_of(
                            ("model", "agent", ""), ("k", "k", ""), ("value", name, ".1%"), ("n", "scenarios", ",")
                        ),
                    },
                },
            ],
        )
    return panels


def _agents(rows: Rows) -> Spec:
    return {
        "field": "model",
        "type": "nominal",
        "title": None,
        "scale": {"domain": models_of(rows)},
        "axis": {"grid": False, "domain": False, "labelPadding": 8},
    }


def _height(rows: Rows) -> int:
    return 34 * len(models_of(rows)) + 10
