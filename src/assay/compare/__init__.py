"""Two runs to verdicts: paired on the cases both have, with an interval, a corrected p-value and a call per metric.

compare(a, b)              one comparison, baseline first
Requirement.parse(text)    "accuracy>=0.9", to be checked against a comparison

How each kind of run is measured is in `events.py` and `scores.py`; what is made of it, in `verdicts.py`; nothing here
knows where runs are kept or how a comparison is shown.
"""

from assay.compare.gates import Gates, Outcome, Requirement
from assay.compare.model import Change, Comparison, ComparisonLine, Margin, Measure, Side, side_of
from assay.compare.verdicts import compare

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
