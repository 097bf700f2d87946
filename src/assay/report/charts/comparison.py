"""Charts about two runs: how large the differences are, how often a case is better, and the profiles of scores."""

from __future__ import annotations

from assay.report.charts.parts import (
    Panels,
    Rows,
    Spec,
    around_zero,
    interval_fields,
    model_color,
    model_dash,
    models_of,
    points_with_intervals,
    reference_line,
    specification,
    tooltip_of,
)


def differences(*, rows: Rows) -> Panels:
    """Draw differences of a comparison with their intervals around a line at zero: a panel for each unit.

    Rows: `model` (the candidate), `name` (of the metric), `unit`, `value`, `low`, `high` (the difference turned so that
    more is better), `call` (the verdict).
    """
    models = models_of(rows)
    panels = {}
    for unit in dict.fromkeys(row["unit"] for row in rows):
        some = [row for row in rows if row["unit"] == unit]
        ending = f", {unit}" if unit else ""
        panels[f"In {unit}" if unit else "Shares and scores"] = specification(
            f"Differences from the baseline{ending}, with intervals, by metric and candidate.",
            some,
            **points_with_intervals(
                some,
                models=models,
                y="name",
                order=list(dict.fromkeys(row["name"] for row in some)),
                x={
                    "title": f"difference{ending} (right is better)",
                    "scale": around_zero(some),
                    "axis": {"tickCount": 5},
                },
                color=model_color(models),
                tooltip=[
                    ("name", "metric", ""),
                    ("model", "candidate", ""),
                    *interval_fields("", unit),
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
    models = models_of(rows)
    drawn = points_with_intervals(
        rows,
        models=models,
        y="name",
        order=list(dict.fromkeys(row["name"] for row in rows)),
        x={
            "title": "probability that a case is better",
            "scale": {"domain": [0, 1], "nice": False},
            "axis": {"format": "~%", "tickCount": 5},
        },
        color=model_color(models),
        tooltip=[("name", "metric", ""), ("model", "candidate", ""), *interval_fields(".2f")],
        zero=False,
    )
    drawn["layer"].insert(0, reference_line(x={"datum": 0.5}))
    return {"": specification("Probability of improvement, with intervals, by metric and candidate.", rows, **drawn)}


def profiles(*, rows: Rows) -> Panels:
    """Draw the share of cases above each threshold with its interval as a band: a panel for each metric.

    Rows: `model`, `name` (of the metric), `threshold` (in the metric's unit), `share`, `low`, `high` (0–1).
    """
    models = models_of(rows)
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
        panels[name] = specification(
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
                        "color": model_color(models),
                    },
                },
                {
                    "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
                    "encoding": {
                        "x": x,
                        "y": y | {"field": "share"},
                        "color": model_color(models),
                        "strokeDash": model_dash(models),
                        "tooltip": tooltip_of(
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
