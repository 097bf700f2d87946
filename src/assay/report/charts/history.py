"""The chart of one figure over the runs of a name."""

from __future__ import annotations

import json

from assay.report.charts.parts import (
    Panels,
    Rows,
    Spec,
    interval_fields,
    model_color,
    model_dash,
    model_shape,
    models_of,
    specification,
    tooltip_of,
)

_APART = 0.07


def run_history(*, rows: Rows, title: str = "", unit: str = "") -> Panels:
    """Draw a figure from run to run with its intervals: one panel with a line for each agent or protocol.

    Rows: `model` (the agent, or the protocol), `run` (its name), `label` (what the axis says below it), `at` (its
    place, from 1), `value`, `low`, `high`.
    """
    if not rows:
        return {}
    models = models_of(rows)
    # Beside each other: agents that are equally good would hide each other.
    apart = {model: _APART * (number - (len(models) - 1) / 2) for number, model in enumerate(models)}
    rows = [{**row, "place": round(row["at"] + apart[row["model"]], 4)} for row in rows]
    last = max(row["at"] for row in rows)
    ending = f", {unit}" if unit else ""
    labels = {row["at"]: row.get("label", str(row["at"])) for row in rows}
    across: Spec = {
        "field": "place",
        "type": "quantitative",
        "title": "run (UTC), oldest first",
        "scale": {"nice": False, "domain": [0.5, last + 0.5]},
        "axis": {
            "values": sorted(labels),
            "labelExpr": f"{json.dumps({str(at): label for at, label in labels.items()})}[datum.value]",
            "labelOverlap": "greedy",
            "labelSeparation": 8,
            "grid": False,
        },
    }
    scale: Spec = {"zero": False, "nice": True}
    if not unit and all(0 <= row[end] <= 1 for row in rows for end in ("value", "low", "high") if row[end] is not None):
        scale = {"domain": [0, 1]}
    up: Spec = {"type": "quantitative", "title": f"{title or 'value'}{ending}", "scale": scale}
    tooltip = tooltip_of(("run", "run", ""), ("model", "of", ""), *interval_fields("", unit))
    intervals: list[Spec] = [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55, "aria": False},
            "encoding": {
                "x": across,
                "y": up | {"field": "low"},
                "y2": {"field": "high"},
                "color": model_color(models),
            },
        },
    ]
    layers: list[Spec] = [
        # A layer without rows would have no extent, which Vega warns about.
        *(intervals if any(row["low"] is not None and row["high"] is not None for row in rows) else ()),
        {
            "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.7},
            "encoding": {
                "x": across,
                "y": up | {"field": "value"},
                "color": model_color(models),
                "strokeDash": model_dash(models) | {"legend": model_color(models)["legend"]},
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {
                "x": across,
                "y": up | {"field": "value"},
                "color": model_color(models),
                "shape": model_shape(models),
                "tooltip": tooltip,
            },
        },
    ]
    described = f"{title or 'A figure'} of the runs of one name, oldest first, with intervals."
    return {"": specification(described, rows, height=260, layer=layers)}
