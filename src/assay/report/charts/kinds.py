"""Charts about kinds of events: which kind was predicted for which, and how many events can be compared."""

from __future__ import annotations

from assay.report.charts.parts import (
    CATEGORY_ORDER,
    KINDS,
    Panels,
    Rows,
    Spec,
    category_color,
    interval_fields,
    model_color,
    models_of,
    ordered_names,
    points_with_intervals,
    specification,
    tooltip_of,
)


def comparability(*, rows: Rows) -> Panels:
    """Draw the share of comparable predictions with its interval, by category: one panel with all models.

    Rows: `model`, `category` (of the truth; others, such as "all", come first), `value`, `low`, `high` (shares 0–1;
    None if undefined), `n` (truths of that category).
    """
    if not rows:
        return {}
    models = models_of(rows)
    named = {row["category"] for row in rows}
    others = [name for name in dict.fromkeys(row["category"] for row in rows) if name not in CATEGORY_ORDER]
    return {
        "": specification(
            "Share of comparable predictions, with intervals, by category of the truth and model.",
            rows,
            **points_with_intervals(
                rows,
                models=models,
                y="category",
                order=others + [name for name in CATEGORY_ORDER if name in named],
                x={
                    "title": "comparable predictions",
                    "scale": {"domain": [0, 1]},
                    "axis": {"format": "~%", "tickCount": 6},
                },
                color=model_color(models) if len(models) > 1 else category_color("category", others),
                tooltip=[
                    ("category", "category", ""),
                    ("model", "model", ""),
                    *interval_fields(".2%"),
                    ("n", "n", ","),
                ],
                zero=False,
            ),
        )
    }


def kinds_confusion(*, rows: Rows) -> Panels:
    """Draw what was predicted for each true kind as a heat map with shares: a panel for each model.

    Rows: `model`, `truth`, `predicted` (kinds or categories; `predicted` may be "invalid" or "missing" too),
    `count` (of events), `share` (of the truths of that kind, 0–1).
    """
    if not rows:
        return {}
    truths = ordered_names({row["truth"] for row in rows}, KINDS)
    predictions = ordered_names({row["predicted"] for row in rows}, KINDS)
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
        model: specification(
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
                        "tooltip": tooltip_of(
                            ("truth", "truth", ""),
                            ("predicted", "predicted", ""),
                            ("count", "events", ","),
                            ("share", "share of the truth", ".2%"),
                        ),
                    },
                },
                *(
                    {
                        # A share that rounds to 0 or 100 % without being it keeps its sign, so that no cell is
                        # misleading.
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
        for model in models_of(rows)
    }
