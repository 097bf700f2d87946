"""Charts about matched actions: F1 by tolerance and by shift, and how actions ended."""

from __future__ import annotations

from assay.report.charts.parts import (
    Panels,
    Rows,
    Spec,
    model_color,
    model_dash,
    model_legend,
    model_shape,
    models_of,
    reference_line,
    specification,
    tooltip_of,
)

# The least distance between the labels of two curves, as a part of the axis from 0 to 1.
_LABEL_HEIGHT = 0.055
_OUTCOMES = ("matched", "substituted", "missed", "inserted")


def f1_by_tolerance(*, rows: Rows, baselines: Rows, marked_ms: float) -> Panels:
    """Draw F1 against the tolerance with its interval, and trivial baselines below: one panel with all models.

    Rows: `model`, `tolerance_ms`, `f1`, `low`, `high` (0–1; None if undefined), `n` (actions of both sides). Those
    of `baselines` have `name` in place of the model. `marked_ms` is the tolerance of the other figures.
    """
    if not rows:
        return {}
    models, tolerances = models_of(rows), sorted({row["tolerance_ms"] for row in rows})
    x: Spec = {
        "field": "tolerance_ms",
        "type": "quantitative",
        "title": "tolerance, ms (log scale)",
        "scale": {"type": "log", "domain": [tolerances[0], tolerances[-1]], "nice": False},
        "axis": {"grid": False, "values": tolerances},
    }
    y = _f1()
    trivial: Spec = {"x": x, "y": y, "detail": {"field": "name", "type": "nominal"}}
    last = [row for row in baselines if row["tolerance_ms"] == tolerances[-1]]
    return {
        _counted(rows): specification(
            "F1 of keys and buttons against the tolerance, with intervals, by model, and F1 of trivial baselines.",
            rows,
            height=300,
            layer=[
                reference_line(x={"datum": marked_ms, "type": "quantitative"}),
                {
                    "data": {"values": [dict(row) for row in baselines]},
                    "mark": {"type": "area", "style": "trivial-band", "aria": False},
                    "encoding": trivial | {"y": y | {"field": "low"}, "y2": {"field": "high"}},
                },
                {
                    "data": {"values": [dict(row) for row in baselines]},
                    "mark": {"type": "line", "style": "trivial", "aria": False},
                    "encoding": trivial,
                },
                {
                    "data": {"values": _apart(last)},
                    "mark": {"type": "text", "style": "note", "align": "right", "dy": -4, "aria": False},
                    "encoding": {"x": x, "y": y | {"field": "label_at"}, "text": {"field": "name", "type": "nominal"}},
                },
                *_bands(x, y, models),
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "color": model_color(models),
                        "shape": model_shape(models),
                        "tooltip": tooltip_of(
                            ("model", "model", ""),
                            ("tolerance_ms", "tolerance, ms", "~r"),
                            ("f1", "F1", ".3f"),
                            ("low", "low", ".3f"),
                            ("high", "high", ".3f"),
                            ("n", "n", ","),
                        ),
                    },
                },
            ],
        )
    }


def f1_by_shift(*, rows: Rows, lags: Rows) -> Panels:
    """Draw F1 against the shift of the predictions, with the lag of each model: one panel with all models.

    Rows: `model`, `shift_ms` (how much earlier the predictions are taken), `f1`, `low`, `high` (0–1; None if
    undefined), `n` (actions of both sides). `lags` have `model`, `lag_ms`, `low_ms`, `high_ms` and `f1`, the value
    there.
    """
    if not rows:
        return {}
    models = models_of(rows)
    shifts = [row["shift_ms"] for row in rows]
    x: Spec = {
        "field": "shift_ms",
        "type": "quantitative",
        "title": "predictions taken earlier (+) or later (−), ms",
        "scale": {"domain": [min(shifts), max(shifts)], "nice": False},
        "axis": {"grid": False, "tickCount": 9},
    }
    y = _f1()
    return {
        _counted(rows): specification(
            "F1 of keys and buttons against the shift of the predictions in milliseconds, with intervals, by model.",
            rows,
            height=260,
            layer=[
                reference_line(x={"datum": 0, "type": "quantitative"}),
                *_bands(x, y, models),
                {
                    "data": {"values": [dict(row) for row in lags]},
                    "transform": [{"filter": "isValid(datum.low_ms) && isValid(datum.high_ms)"}],
                    "mark": {"type": "rule", "strokeWidth": 3, "aria": False},
                    "encoding": {
                        "x": x | {"field": "low_ms"},
                        "x2": {"field": "high_ms"},
                        "y": y,
                        "color": model_color(models),
                    },
                },
                {
                    "data": {"values": [dict(row) for row in lags]},
                    "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                    "encoding": {
                        "x": x | {"field": "lag_ms"},
                        "y": y,
                        "color": model_color(models),
                        "shape": model_shape(models),
                        "tooltip": tooltip_of(
                            ("model", "model", ""),
                            ("lag_ms", "lag, ms", "~r"),
                            ("low_ms", "low, ms", "~r"),
                            ("high_ms", "high, ms", "~r"),
                            ("f1", "F1 without it", ".3f"),
                        ),
                    },
                },
            ],
        )
    }


def reliability(*, rows: Rows) -> Panels:
    """Draw how often predictions are right against how probable the model thought them: one panel with all models.

    Rows: `model`, `confidence` (mean probability of the predictions in a tenth), `right` (share of them that is right),
    `n` (predictions).
    """
    if not rows:
        return {}
    models = models_of(rows)
    share: Spec = {"type": "quantitative", "scale": {"domain": [0, 1], "nice": False}}
    axis: Spec = {"format": "~%", "tickCount": 5}
    x = share | {"field": "confidence", "title": "probability that the model gave to its prediction", "axis": axis}
    y = share | {"field": "right", "title": "share that is right", "axis": axis}
    place: Spec = {"x": x, "y": y, "color": model_color(models)}
    ends = [{"confidence": 0.0, "right": 0.0}, {"confidence": 1.0, "right": 1.0}]
    dash = model_dash(models) | {"legend": model_legend(models)}
    counts = {model: sum(row["n"] for row in rows if row["model"] == model) for model in models}
    return {
        "n, predictions: " + ", ".join(f"{model} {n:,.0f}".strip() for model, n in counts.items()): specification(
            "Share of right predictions against their probability, by tenths of the probability and model.",
            rows,
            height=260,
            layer=[
                {
                    "data": {"values": ends},
                    "mark": {"type": "line", "style": "trivial", "aria": False},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "mark": {"type": "line", "strokeWidth": 2, "aria": False},
                    "encoding": place | {"strokeDash": dash},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": place
                    | {
                        "shape": model_shape(models),
                        "tooltip": tooltip_of(
                            ("model", "model", ""),
                            ("confidence", "mean probability", ".1%"),
                            ("right", "right", ".1%"),
                            ("n", "n", ","),
                        ),
                    },
                },
            ],
        )
    }


def action_outcomes(*, rows: Rows) -> Panels:
    """Draw how true actions ended and what was inserted, as shares of the true actions: a panel for each model.

    Rows: `model`, `kind` (of actions), `outcome` (matched, substituted, missed or inserted), `count`, `share` (of the
    true actions of that kind; what was inserted comes on top of 1), `n` (true actions).
    """
    if not rows:
        return {}
    panels = {}
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    furthest = max(sum(row["share"] for row in rows if (row["model"], row["kind"]) == key) for key in _bars(rows))
    for model in models_of(rows):
        panels[model] = specification(
            f"How the actions of {model} ended, by kind: matched, substituted, missed, and inserted ones on top.",
            [row for row in rows if row["model"] == model],
            height=44 * len(kinds) + 10,
            # Named in the order in which they stack, not alphabetically.
            transform=[{"calculate": f"indexof({list(_OUTCOMES)!r}, datum.outcome)", "as": "place"}],
            layer=[
                {
                    "mark": {"type": "bar", "height": {"band": 0.72}},
                    "encoding": {
                        "y": {
                            "field": "kind",
                            "type": "nominal",
                            "title": None,
                            "scale": {"domain": kinds},
                            "axis": {"grid": False, "domain": False, "labelPadding": 8},
                        },
                        "x": {
                            "field": "share",
                            "type": "quantitative",
                            "title": "share of the true actions",
                            "stack": "zero",
                            "scale": {"domain": [0, max(1.0, furthest)], "nice": False},
                            "axis": {"format": "~%", "tickCount": 6},
                        },
                        "color": {
                            "field": "outcome",
                            "type": "nominal",
                            "scale": {"domain": list(_OUTCOMES), "range": "diverging"},
                            # Two per row, so that none is cut off in a narrow panel.
                            "legend": {"title": None, "orient": "top", "columns": 2, "symbolType": "square"},
                        },
                        "order": {"field": "place", "type": "quantitative"},
                        "tooltip": tooltip_of(
                            ("kind", "kind", ""),
                            ("outcome", "outcome", ""),
                            ("count", "actions", ","),
                            ("share", "share of the true ones", ".1%"),
                            ("n", "true actions", ","),
                        ),
                    },
                },
                reference_line(x={"datum": 1, "type": "quantitative"}),
            ],
        )
    return panels


def _bars(rows: Rows) -> set[tuple[str, str]]:
    return {(row["model"], row["kind"]) for row in rows}


def _f1() -> Spec:
    """F1 on the whole range that it can take."""
    return {
        "field": "f1",
        "type": "quantitative",
        "title": "F1 of keys and buttons",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"tickCount": 5, "format": ".1f"},
    }


def _bands(x: Spec, y: Spec, models: list[str]) -> list[Spec]:
    """A line for each model with its interval around it."""
    color, dash = model_color(models), model_dash(models) | {"legend": model_legend(models)}
    return [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "area", "opacity": 0.18, "aria": False},
            "encoding": {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}, "color": color},
        },
        {
            "transform": [{"filter": "isValid(datum.f1)"}],
            "mark": {"type": "line", "strokeWidth": 2, "aria": False},
            "encoding": {"x": x, "y": y, "color": color, "strokeDash": dash},
        },
    ]


def _counted(rows: Rows) -> str:
    """The title of a panel: how many actions each curve rests on."""
    counts = {row["model"]: row["n"] for row in rows}
    if len(set(counts.values())) == 1:
        return f"n = {next(iter(counts.values())):,} actions of both sides"
    return "n, actions of both sides: " + ", ".join(f"{model} {n:,}" for model, n in counts.items())


def _apart(rows: Rows) -> list[Spec]:
    """Labels at the heights of their lines, pushed up if two would overlap."""
    placed: list[Spec] = []
    for row in sorted((row for row in rows if row["f1"] is not None), key=lambda row: row["f1"]):
        at = max(row["f1"], placed[-1]["label_at"] + _LABEL_HEIGHT) if placed else row["f1"]
        placed.append({**row, "label_at": at})
    return placed
