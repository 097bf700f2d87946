"""Charts of `d2e@1`: keys, buttons and movement, bin by bin."""

from __future__ import annotations

from collections.abc import Mapping

from assay.events.evaluation import ProtocolResult
from assay.report.html.elements import Markup, join
from assay.report.html.events.pairs import displacement_rows
from assay.report.html.events.tables import chart_rows
from assay.report.html.figures import Figures
from assay.types import Joint

_SHARES = {
    "key_accuracy": "keys right by bin",
    "button_accuracy": "buttons right by bin",
    "coverage": "span of the truth covered",
}
_MOVEMENT = {
    "correlation": {"pearson_x": "x", "pearson_y": "y"},
    "scale": {"scale_x": "x", "scale_y": "y"},
}


def bin_charts(results: Mapping[str, ProtocolResult], figures: Figures) -> Markup:
    """All charts, from the results by model."""
    movement = [{**row, "figure": figure} for figure, names in _MOVEMENT.items() for row in chart_rows(results, names)]
    # A bin is drawn like a single movement: both axes of one bin are two cells.
    moved = {
        model: {axis: result.tally.total(f"moved_{axis}", Joint) for axis in "xy"} for model, result in results.items()
    }
    cells, limit, step = displacement_rows(moved)
    return join(
        [
            figures.add("shares_right", rows=chart_rows(results, _SHARES)),
            figures.add("movement_agreement", rows=movement),
            figures.add("binned_movement", rows=cells, limit=limit, step=step),
        ]
    )
