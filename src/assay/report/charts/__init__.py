"""Charts as data: each function turns rows of plain values into Vega-Lite specifications; it computes only layout.

A chart is one or more *panels*, `{title of the panel: specification}`: panels are side by side on a wide screen and
below each other on a phone, which facets inside one Vega-Lite specification cannot. A function sees the rows of
every model, so that panels that are to be compared share their axes. Without rows there are no panels.

Colour distinguishes models; if there is only one model, it distinguishes the categories of events. The colours are
not here: specifications name ranges and styles (`category`, `ordinal`, `heatmap`, `reference`, …) that the page fills
in for light and dark. This module knows nothing about HTML, events or how a number was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from assay.report.charts.actions import action_outcomes, f1_by_shift, f1_by_tolerance, reliability
from assay.report.charts.agents import framework_overhead, passes_by_k, time_split, waiting_times
from assay.report.charts.agreement import binned_movement, digits_right, movement_agreement, shares_right
from assay.report.charts.comparison import differences, improvement, profiles
from assay.report.charts.history import run_history
from assay.report.charts.kinds import comparability, kinds_confusion
from assay.report.charts.load import load_throughput, load_waiting, memory_by_sessions
from assay.report.charts.movement import direction_errors, displacement
from assay.report.charts.parts import CATEGORY_ORDER, KINDS, Panels, Row, Rows, Spec
from assay.report.charts.timing import error_over_position, signed_errors, time_error_distribution

__all__ = [
    "CATEGORY_ORDER",
    "CHARTS",
    "KINDS",
    "Chart",
    "Panels",
    "Row",
    "Rows",
    "Spec",
    "action_outcomes",
    "binned_movement",
    "comparability",
    "differences",
    "digits_right",
    "direction_errors",
    "displacement",
    "error_over_position",
    "f1_by_shift",
    "f1_by_tolerance",
    "framework_overhead",
    "improvement",
    "kinds_confusion",
    "load_throughput",
    "load_waiting",
    "memory_by_sessions",
    "movement_agreement",
    "passes_by_k",
    "profiles",
    "reliability",
    "run_history",
    "shares_right",
    "signed_errors",
    "time_error_distribution",
    "time_split",
    "waiting_times",
]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with the words that go with it on a page."""

    title: str
    """What it shows."""
    how_to_read: str
    """One sentence for someone who sees it for the first time."""
    nothing: str
    """Why there are no rows, if there are none; completes 'nothing to draw: …'."""
    draw: Callable[..., Panels]
    """The function that draws it."""
    panel: Literal["wide", "medium", "narrow"] = "wide"
    """How wide a panel should be."""


CHARTS: Final[Mapping[str, Chart]] = MappingProxyType(
    {
        chart.draw.__name__: chart
        for chart in (
            Chart(
                "F1 against the tolerance",
                "Each line is a model, its band the interval: a line that is high on the left does the right things at "
                "the right time, one that rises late does the right things at the wrong time. Dotted lines are trivial "
                "baselines; a model among them has no skill. The upright line is the tolerance of all other figures.",
                "neither side has keys or buttons",
                f1_by_tolerance,
            ),
            Chart(
                "F1 against a shift in time",
                "A peak at the line at zero is a model on time; a peak to the right is one that is late by that much, "
                "and the height of the peak is what it would score without the lag. The mark is the lag, with its "
                "interval.",
                "nothing matches at any shift",
                f1_by_shift,
            ),
            Chart(
                "How actions ended",
                "Each bar is all true actions of a kind, up to the line at 100 %: matched, substituted by another of "
                "the kind, or missed. Insertions without a truth extend beyond the line.",
                "the truth has no actions",
                action_outcomes,
                panel="medium",
            ),
            Chart(
                "Calibration",
                "Each point is a tenth of the probabilities that the model gave to its predictions: on the dotted "
                "diagonal it is right as often as it says, below it is too confident, above it is too cautious.",
                "no log-probabilities were given",
                reliability,
                panel="medium",
            ),
            Chart(
                "Comparable predictions",
                "Each point is the share of predictions that decode and have the kind of the truth, with its interval; "
                "further right is better, and predictions that are not comparable enter none of the errors below.",
                "no events",
                comparability,
            ),
            Chart(
                "Kinds, true and predicted",
                "Each row is a true kind and adds up to 100 %; what lies off the diagonal was predicted as something "
                "else, could not be decoded (invalid) or was not there (missing).",
                "no events",
                kinds_confusion,
            ),
            Chart(
                "Signed errors",
                "A point left or right of the line at zero is a bias, and if its interval crosses the line, there "
                "may be none.",
                "no comparable events",
                signed_errors,
            ),
            Chart(
                "Time errors by category",
                "The higher and narrower around the line at zero, the better the timing; mass to the right is late, to "
                "the left early. The outermost bars contain everything further out. Each panel has its own vertical "
                "scale.",
                "no comparable events",
                time_error_distribution,
            ),
            Chart(
                "Time error along the episode",
                "A line that rises to the right is an error that grows while the episode goes on; each thick stroke "
                "spans the positions it was taken over, each thin one is an interval by episode. Each panel has its "
                "own vertical scale.",
                "no comparable events",
                error_over_position,
            ),
            Chart(
                "Direction of mouse movements",
                "Up is the true direction, right is a quarter turn clockwise, down is the opposite; the area of a "
                "wedge is the share of movements that went that way. Predicted standstills have no direction and are "
                "left out.",
                "no mouse movements with a true direction",
                direction_errors,
                panel="medium",
            ),
            Chart(
                "Mouse displacement",
                "A perfect model lies on the dashed diagonal; a flatter cloud moves too little, a steeper one too "
                "much, a level band along zero not at all. Cells at the edge hold all that lies further out.",
                "no comparable mouse events",
                displacement,
                panel="narrow",
            ),
            Chart(
                "Shares that are right",
                "Each point is a share with its interval; further right is better, and the axis begins at zero.",
                "nothing to measure",
                shares_right,
            ),
            Chart(
                "Agreement of movement",
                "Correlation tells whether both sides move at the same time and in the same direction, 1 at best; "
                "scale tells how far the prediction goes against the truth, 1 at best, on an axis on which half and "
                "twice are equally far from it.",
                "one side does not move in the common range",
                movement_agreement,
            ),
            Chart(
                "Movement in a bin",
                "Each cell counts bins with that true and that predicted movement; a perfect model lies on the dashed "
                "diagonal. Cells at the edge hold all that lies further out.",
                "no movement in the common range",
                binned_movement,
                panel="narrow",
            ),
            Chart(
                "Digits that agree",
                "From left to right more digits of a number are compared, p3 is all of them: a line that falls gets "
                "the large digits right and the small ones wrong.",
                "no comparable events",
                digits_right,
                panel="narrow",
            ),
            Chart(
                "Differences from the baseline",
                "A point right of the line is better than the baseline, left of it worse; if its interval "
                "crosses the line, there may be no difference.",
                "no metric has an interval on both sides",
                differences,
            ),
            Chart(
                "Probability of improvement",
                "How likely a case of the candidate scores better than a case of the baseline in the same stratum, "
                "ties counting half; on the line at 50 % neither is ahead.",
                "no metric was measured case by case",
                improvement,
            ),
            Chart(
                "Performance profiles",
                "Each line is the share of cases above the value on the horizontal axis; if a higher value is "
                "better, the higher line is ahead, and bands that overlap may be chance.",
                "no metric was measured case by case",
                profiles,
                panel="medium",
            ),
            Chart(
                "A typical turn",
                "Each bar is a turn that is neither fast nor slow: the mean over the middle half of the turns by wall "
                "time, split into the time waiting for the model, the time in which only tools were running, and the "
                "rest, which is the framework's own.",
                "no times were measured",
                time_split,
            ),
            Chart(
                "Waiting time",
                "Each agent has a line from the median of a turn's wall time to its 95th percentile, and a mark where "
                "the first text appears in the median; further left is sooner.",
                "no times were measured",
                waiting_times,
            ),
            Chart(
                "The framework's own time",
                "The median over turns of the time that neither the model nor a tool took, with its interval; "
                "intervals that lie apart are differences that other scenarios would likely show too.",
                "no times were measured",
                framework_overhead,
            ),
            Chart(
                "Passing repeatedly",
                "The higher the line, the better; a line of pass^k that falls is an agent that passes sometimes, a "
                "line of pass@k that rises is one that would pass if it were asked again.",
                "no scenario was repeated",
                passes_by_k,
                panel="medium",
            ),
            Chart(
                "Throughput against users",
                "Each line is an agent: where it is level, more users only wait longer. A ring marks the knee, beyond "
                "which throughput rises by less than 10 % while the 95th percentile rises by more.",
                "no step was played to its end",
                load_throughput,
            ),
            Chart(
                "Waiting against users",
                "Percentiles of the time of a turn; further down is sooner. Both axes grow by factors, so that a line "
                "of slope one is an agent that serves one user after another.",
                "no step was played to its end",
                load_waiting,
                panel="medium",
            ),
            Chart(
                "Memory against sessions",
                "Memory of the agent's process with the sessions of each step open, after garbage was collected: a "
                "steeper line is an agent that keeps more for each conversation.",
                "no step was played to its end",
                memory_by_sessions,
            ),
            Chart(
                "From run to run",
                "Each point is a run, the oldest on the left, with its interval; points whose intervals overlap widely "
                "may well be the same; `assay compare` gives a verdict.",
                "no run has this figure",
                run_history,
            ),
        )
    }
)
"""Every chart by its id, in the order in which a report shows them."""
