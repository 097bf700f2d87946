"""Charts about load: throughput and waiting against users, and memory against sessions."""

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
    specification,
    tooltip_of,
)


def load_throughput(*, rows: Rows) -> Panels:
    """Draw turns per second against users: a line for each agent, with a mark at its knee.

    Rows: `model` (the agent), `users`, `value` (turns per second), `knee` (whether this step is the knee).
    """
    return _lines(rows, title="turns per second", what="Turns answered per second", number=",.1f", knees=True)


# Between powers of ten an axis has eight lines, which would hide what is drawn.
_ONLY_POWERS: Spec = {
    "gridOpacity": {
        "condition": {"test": "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6", "value": 1},
        "value": 0,
    }
}


def load_waiting(*, rows: Rows) -> Panels:
    """Draw percentiles of a turn's time against users: a panel for each, both axes by powers of ten.

    Rows: `model` (the agent), `users`, `name` (the panel), `value` (ms).
    """
    panels: Panels = {}
    values = [row["value"] for row in rows]
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        scale: Spec = {"type": "log", "domain": [min(values), max(values)], "nice": True}
        panels |= _lines(some, title="ms", what=f"{name} against users", number=",.0f", panel=name, scale=scale)
    return panels


def memory_by_sessions(*, rows: Rows) -> Panels:
    """Draw resident memory against open sessions: a line for each agent.

    Rows: `model` (the agent), `users` (sessions that are open), `value` (MB).
    """
    return _lines(rows, title="MB", what="Memory against open sessions", number=",.0f", across="open sessions")


def _lines(
    rows: Rows,
    *,
    title: str,
    what: str,
    number: str,
    panel: str = "",
    across: str = "users at once",
    scale: Spec | None = None,
    knees: bool = False,
) -> Panels:
    if not rows:
        return {}
    models = models_of(rows)
    by_powers = across == "users at once"
    place: Spec = {
        "x": {
            "field": "users",
            "type": "quantitative",
            "title": across,
            # Steps grow by factors, so that a logarithmic axis spreads them evenly.
            "scale": {"type": "log", "nice": False} if by_powers else {"zero": True},
            "axis": {"values": sorted({row["users"] for row in rows}), "format": ",d", "grid": False}
            if by_powers
            else {"tickCount": 5, "format": ",d"},
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": title,
            "scale": scale or {"zero": True},
            "axis": {"tickCount": 5, "format": ",~r"} | (_ONLY_POWERS if scale else {}),
        },
        "color": model_color(models),
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 1.8, "aria": False},
            "encoding": place | {"strokeDash": model_dash(models) | {"legend": model_legend(models)}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": place
            | {
                "shape": model_shape(models),
                "tooltip": tooltip_of(("model", "agent", ""), ("users", across, ",d"), ("value", title, number)),
            },
        },
    ]
    if knees and any(row["knee"] for row in rows):
        layers.append(
            {
                "transform": [{"filter": "datum.knee"}],
                "mark": {"type": "point", "size": 240, "strokeWidth": 2, "filled": False, "aria": False},
                "encoding": place,
            }
        )
    return {panel: specification(f"{what}, by agent.", rows, height=220, layer=layers)}
