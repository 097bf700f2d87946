"""Two runs to verdicts: paired on the cases both have, with an interval, a corrected p-value and a call per metric.

compare(a, b)              one comparison, baseline first
Requirement.parse(text)    "accuracy>=0.9", to be checked against a comparison

`events.py` and `conversations.py` measure each kind of run, and `comparing.py` turns that into verdicts. Nothing here
knows where runs are stored or how a comparison is shown. Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazy_names

if TYPE_CHECKING:
    from assay.compare.comparing import compare
    from assay.compare.comparison import Change, Comparison, ComparisonLine, Margin, Measure, Side, side_of
    from assay.compare.gates import Gates, Outcome, Requirement

_HOMES = {
    "Change": "assay.compare.comparison",
    "Comparison": "assay.compare.comparison",
    "ComparisonLine": "assay.compare.comparison",
    "Gates": "assay.compare.gates",
    "Margin": "assay.compare.comparison",
    "Measure": "assay.compare.comparison",
    "Outcome": "assay.compare.gates",
    "Requirement": "assay.compare.gates",
    "Side": "assay.compare.comparison",
    "compare": "assay.compare.comparing",
    "side_of": "assay.compare.comparison",
}

__all__ = [
    "Change",
    "Comparison",
    "ComparisonLine",
    "Gates",
    "Margin",
    "Measure",
    "Outcome",
    "Requirement",
    "Side",
    "compare",
    "side_of",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
