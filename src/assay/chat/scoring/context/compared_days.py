"""Days that something is only compared with: 'warmer than today' says nothing of today.

Knows readings; knows no ground truth and no metric.
"""

from __future__ import annotations

from assay.chat.reading.text import Mention, Reader, Reading

# Days to come are not told as known: "it looks like Friday, with 21 °C and sun" is about Friday.
_KNOWN = frozenset({"times.now", "times.today", "times.yesterday"})


def is_compared_with(day: Mention, response: Reading, reader: Reader) -> bool:
    """Whether a day is only what another is compared with: 'warmer than today', not 'than yesterday's 19 °C'.

    'Just like today, with 21 °C' is one too, and 'it looks like today will be dry' is not.
    """
    tokens = response.tokens
    before = tokens[day.first - 1].text if day.first else ""
    after = tokens[day.last + 1] if day.last + 1 < len(tokens) else None
    if before in reader.than_days:
        if after is not None and after.text == "," and day.last + 2 < len(tokens):
            return tokens[day.last + 2].text not in reader.when_words  # "warmer than Sunday, when it rains"
        return after is None or not after.is_number
    if before not in reader.like_days or day.keys[0] not in _KNOWN:
        return False
    return after is None or after.text in reader.after_compared or not (after.kind == "word" or after.is_number)
