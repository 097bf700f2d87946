"""The charts of one page: keeps each chart's panels together with the figure that shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assay.report.charts import CHARTS, Panels, Rows
from assay.report.html.elements import Markup
from assay.report.html.page import figure


@dataclass(slots=True)
class Figures:
    """The figures of one document, e.g.

    figures = Figures()
    body = figures.add("comparability", rows=rows)
    document(title=..., lead=..., body=body, charts=figures.charts)
    """

    charts: dict[str, Panels] = field(default_factory=dict)
    """Panels by the id of their figure, as `document` takes them."""

    def add(self, chart: str, *, rows: Rows, nothing: str | None = None, **settings: Any) -> Markup:
        """Draw a chart of the registry and give the HTML of its figure.

        If there are no rows, the figure says why there is nothing to draw: `nothing`, or the chart's own reason.
        `settings` go to the chart's function. The same chart may be added again with other rows.
        """
        entry = CHARTS[chart]
        panels = entry.draw(rows=rows, **settings)
        repeats = sum(name.partition("--")[0] == chart for name in self.charts)
        chart_id = f"{chart}--{repeats + 1}" if repeats else chart
        if panels:
            self.charts[chart_id] = panels
        return figure(
            chart_id,
            entry.title,
            entry.how_to_read,
            panel=entry.panel,
            nothing=None if panels else nothing or entry.nothing,
        )
