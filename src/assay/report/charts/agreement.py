"""Charts about agreement by bin and by position: shares, correlation and scale, movement in bins, digits."""

from __future__ import annotations

from assay.report.charts.movement import displacement
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
    reference_line,
    specification,
    tooltip_of,
)

_LEVELS = ("p1", "p2", "p3")
_DOUBLINGS = {"values": [2.0**power for power in range(-6, 7)]}


def shares_right(*, rows: Rows) -> Panels:
    """Draw shares with their intervals on an axis from 0 to 1: one panel with all models.

    Rows: `model`, `name` (of the share), `value`, `low`, `high` (0–1; None if undefined), `n` (of how many).
    """
    return _points(rows, "Shares, with intervals, by name and model.", "", [0, 1], "share", "~%", ".2%")


def movement_agreement(*, rows: Rows) -> Panels:
    """Draw correlation and scale of movement with their intervals: a panel for each.

    Rows: `model`, `name` (of the axis), `figure` ("correlation" or "scale"), `value`, `low`, `high` (None if
    undefined), `n` (bins).
    """
    correlations = [row for row in rows if row["figure"] == "correlation"]
    scales = [row for row in rows if row["figure"] == "scale"]
    panels = _points(
        correlations, "Correlation of movement, by axis and model.", "Correlation", [-1, 1], "Pearson's r", ".1f", ".3f"
    )
    ends = [row[end] for row in scales for end in ("value", "low", "high") if row[end]]
    # As far above 1 as below: half and twice are equally wrong.
    reach = 1.1 * max([2.0, *ends, *(1 / end for end in ends)])
    panels |= _points(
        scales, "Predicted against true movement, by axis and model.", "Scale", [1 / reach, reach],
        "predicted ÷ true movement (log scale; right of 1 is too much)", "~r", ".3f", log=True,
    )  # fmt: skip
    return panels


def binned_movement(*, rows: Rows, limit: float, step: float) -> Panels:
    """Draw predicted against true movement in a bin as a heat map: a panel for each model and axis.

    Rows: `model`, `axis` ("x" or "y"), `truth` and `predicted` (the cell's centre, in counts of the mouse), `count` (of
    bins). `limit` and `step` are as for displacements.
    """
    return displacement(rows=rows, limit=limit, step=step, of="bins")


def digits_right(*, rows: Rows) -> Panels:
    """Draw the share of numbers whose first digits are right, by how many are compared: a panel for each value.

    Rows: `model`, `name` (of the value, e.g. "dx"), `level` (p1, p2 or p3: up to the third, second and last digit from
    the end), `value`, `low`, `high` (0–1; None if undefined), `n` (numbers compared).
    """
    models = models_of(rows)
    panels = {}
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name and row["value"] is not None]
        if not some:
            continue
        x: Spec = {
            "field": "level",
            "type": "ordinal",
            "title": "digits compared",
            "scale": {"domain": ordered_names({row["level"] for row in rows}, _LEVELS), "padding": 0.4},
            "axis": {"labelAngle": 0, "grid": False},
        }
        y: Spec = {
            "field": "value",
            "type": "quantitative",
            "title": "share that agrees",
            "scale": {"domain": [0, 1], "nice": False},
            "axis": {"format": "~%", "tickCount": 5},
        }
        place: Spec = {"x": x, "y": y, "color": model_color(models)}
        panels[f"{name}, n = {max(row['n'] for row in some):,}"] = specification(
            f"Share of {name} whose digits agree, with intervals, by number of digits and model.",
            some,
            height=180,
            layer=[
                {"mark": {"type": "line", "strokeWidth": 1.8, "aria": False}, "encoding": place},
                {
                    "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
                    "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
                    "encoding": place | {"y": y | {"field": "low"}, "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": place
                    | {
                        "shape": model_shape(models),
                        "tooltip": tooltip_of(
                            ("model", "model", ""), ("level", "digits", ""), *interval_fields(".2%"), ("n", "n", ",")
                        ),
                    },
                },
            ],
        )
    return panels


def _points(
    rows: Rows, description: str, title: str, domain: list[float], axis: str, ticks: str, digits: str,
    *, log: bool = False,
) -> Panels:  # fmt: skip
    """One panel of points with intervals on a fixed axis; none if nothing is known."""
    if not any(row["value"] is not None for row in rows):
        return {}
    models = models_of(rows)
    scale: Spec = {"domain": domain, "nice": False} | ({"type": "log"} if log else {})
    drawn = points_with_intervals(
        rows,
        models=models,
        y="name",
        order=list(dict.fromkeys(row["name"] for row in rows)),
        x={"title": axis, "scale": scale, "axis": {"format": ticks, "tickCount": 5} | (_DOUBLINGS if log else {})},
        color=model_color(models),
        tooltip=[("name", "of", ""), ("model", "model", ""), *interval_fields(digits), ("n", "n", ",")],
        zero=not log and domain[0] < 0,
    )
    if log:
        drawn["layer"].insert(0, reference_line(x={"datum": 1, "type": "quantitative"}))
    return {title: specification(description, rows, **drawn)}
