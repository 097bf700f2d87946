"""Charts of `sequence@1`: what agrees at the same position, down to single digits."""

from __future__ import annotations

from collections.abc import Mapping

from assay.events.evaluation import ProtocolResult
from assay.report.html.elements import Markup, join
from assay.report.html.events.tables import chart_rows
from assay.report.html.figures import Figures

_SHARES = {
    "count_accuracy": "episodes of the right length",
    "comparable_rate": "comparable",
    "type_accuracy": "types right",
    "keyboard_metrics.vk_accuracy": "key right",
    "keyboard_metrics.action_accuracy": "press or release right",
    "keyboard_metrics.combined_accuracy": "both right",
}
_VALUES = {
    "times": "timestamp_metrics.",
    "dx": "mouse_metrics.dx_",
    "dy": "mouse_metrics.dy_",
    "lengths of movements": "mouse_metrics.euclidean_",
}


def sequence_charts(results: Mapping[str, ProtocolResult], figures: Figures) -> Markup:
    """All charts, from the results by model."""
    digits = [
        {**row, "level": row["name"], "name": name}
        for name, key in _VALUES.items()
        for row in chart_rows(results, {f"{key}precision_accuracy.{level}": level for level in ("p1", "p2", "p3")})
    ]
    return join(
        [figures.add("shares_right", rows=chart_rows(results, _SHARES)), figures.add("digits_right", rows=digits)]
    )
