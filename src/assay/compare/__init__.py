"""Two runs to verdicts: paired on the cases both have, with an interval, a corrected p-value and a call per metric.

compare(a, b)              one comparison, baseline first
Requirement.parse(text)    "accuracy>=0.9", to be checked against a comparison

`events.py` and `conversations.py` measure each kind of run, and `comparing.py` turns that into verdicts. Nothing here
knows where runs are stored or how a comparison is shown.
"""

from assay.compare.comparing import compare
from assay.compare.comparison import Change, Comparison, ComparisonLine, Margin, Measure, Side, side_of
from assay.compare.gates import Gates, Outcome, Requirement

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
