"""Figures, numbers with a unit: what is known of one, and how a number in digits is parsed."""

from __future__ import annotations

import msgspec

from assay.chat.reading.lexicon import Unit

# A longer run of digits is not read as a number.
LONGEST_NUMBER = 18


class Quantity(msgspec.Struct, eq=False, gc=False):
    """A figure: a number with a unit, or a range of numbers."""

    start: int
    end: int
    first: int
    last: int
    kind: str
    unit: Unit
    low: float
    """In the unit of its kind; equal to `high` unless it is a range. −∞ and ∞ stand for 'below' and 'above'."""
    high: float
    written: tuple[float, float]
    """The two ends as written, in `unit`."""
    decimals: int
    """How many decimals it was written with."""
    role: str = "actual"
    denied: bool = False
    asserted: bool = True
    refuted: bool = False

    def distance(self, value: float) -> float:
        """Distance of `value` from the range; 0 inside it."""
        return max(self.low - value, value - self.high, 0.0)


# Marks inside numbers in full width and in Arabic script.
_MARKS = str.maketrans("．，٫٬", ".,.,")


def parse_number(digits: str, *, decimal_comma: bool = False) -> tuple[float, int] | None:
    """Value and decimals of a number in digits: 15.3, 15,3, 1,013 and 1.013,5; None if it is not a number.

    With `decimal_comma`, 1.013 is a thousand and thirteen, and 1,013 a little more than one.
    """
    if len(digits) > LONGEST_NUMBER:
        return None
    if not digits.isascii():
        digits = digits.translate(_MARKS)
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma < 0 and dot < 0:
        return float(digits), 0
    if comma >= 0 and dot >= 0:
        decimal = max(comma, dot)
        whole = digits[:decimal].replace(",", "").replace(".", "")
        return float(f"{whole}.{digits[decimal + 1 :]}"), len(digits) - decimal - 1
    mark = "," if comma >= 0 else "."
    groups = digits.split(mark)
    grouping = "." if decimal_comma else ","
    if len(groups) > 2 or (mark == grouping and len(groups[1]) == 3 and groups[0] != "0"):
        if not all(len(group) == 3 for group in groups[1:]) or len(groups[0]) > 3:
            return None
        return float("".join(groups)), 0
    return float(f"{groups[0]}.{groups[1]}"), len(groups[1])
