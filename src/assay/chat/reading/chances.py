"""Small chances: "a 20 % chance of rain" does not state that it will rain, and "chance of rain: 5 %" that it will not.

Knows percentages and the words for a chance; knows nothing of what may happen.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from assay.chat.reading.tokens import STOPS

if TYPE_CHECKING:
    from assay.chat.reading.text import Reading

# "A 10 % slight chance": how many tokens before "chance" its percentage may be, and how many after it.
_BEFORE = 2
_AFTER = 8
# A chance below this, in percent, does not state that something will happen: forecasters call it slight.
_SLIGHT = 30.0
# Up to this, it says that it will not.
_REMOTE = 10.0


def slight_chances(reading: Reading) -> tuple[list[int], list[int]]:
    """Where a text gives a small chance of something, and a remote one: 'a 20 % chance', 'chance of rain: 5 %'."""
    percentages = [q for q in reading.quantities if q.kind == "percentage"]
    slight: list[int] = []
    remote: list[int] = []
    if not percentages:
        return slight, remote
    firsts = [q.first for q in percentages]
    for chance in reading.all("chance"):
        at = bisect_left(firsts, chance.first)
        before = percentages[at - 1] if at and chance.first - percentages[at - 1].last <= _BEFORE else None
        after = percentages[at] if at < len(firsts) and firsts[at] - chance.last <= _AFTER else None
        percentage = before or after
        if percentage is not None and percentage.high < _SLIGHT:
            between = reading.tokens[min(chance.last, percentage.last) : max(chance.first, percentage.first)]
            if not any(token.text in STOPS or token.text == "," for token in between):
                found = remote if percentage.high <= _REMOTE else slight
                found.append(chance.last)
                if chance.first > 1:
                    found.append(chance.first - 2)  # "Rain chance: 5 %"
    return slight, remote
