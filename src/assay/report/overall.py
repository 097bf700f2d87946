"""The overall in words, shared by all output formats; `static/overall.js` writes the same for other weights."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

from assay.compare.standing import CriterionMeans, Standing, contributions
from assay.compare.weights import Weights

_MOST_CRITERIA = 3
# A smaller contribution rounds to 0.000.
_LEAST_SHOWN = 0.0005
# A smaller end of an interval is written as 0.000.
_LEAST_END = 1e-6


def lead_words(means: CriterionMeans, weights: Weights, standing: Standing) -> str:
    """Which criteria the lead comes from, at most three of them; empty if there is no lead."""
    if len(standing.winners) != 1 or standing.lead is None:
        return ""
    parts = [
        (name, part) for name, part in contributions(means, weights, *standing.order[:2]) if abs(part) >= _LEAST_SHOWN
    ]
    words = ", ".join(f"{name.replace('_', ' ')} {signed_fixed(part)}" for name, part in parts[:_MOST_CRITERIA])
    more = f" and {len(parts) - _MOST_CRITERIA} more" if len(parts) > _MOST_CRITERIA else ""
    return f"The lead comes from {words}{more}." if words else ""


def ahead_words(lead: float) -> str:
    """How far one is ahead: a lead that rounds to 0.000 is not none."""
    return f"{fixed(lead, 3)} ahead" if lead >= _LEAST_SHOWN else "less than 0.001 ahead"


def fixed(value: float, digits: int) -> str:
    """A number as JavaScript's `toFixed` writes it: halves are rounded up, exactly."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def signed_ends(low: float, high: float) -> str:
    """An interval of a difference. An end that rounds to 0.000 and is not 0 keeps its sign and its first digit."""
    return f"[{_signed_end(low)}, {_signed_end(high)}]"


def _signed_end(value: float) -> str:
    text = signed_fixed(value)
    if float(text.replace("−", "-")) or abs(value) < _LEAST_END:
        return text
    return f"{'−' if value < 0 else '+'}{fixed(abs(value), math.ceil(-math.log10(abs(value))))}"


def signed_fixed(value: float) -> str:
    """A difference with three digits and its sign."""
    text = fixed(abs(value), 3)
    return text if not float(text) else f"{'−' if value < 0 else '+'}{text}"
