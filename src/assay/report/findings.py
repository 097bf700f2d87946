"""The verdict in words for every output format: marks for its tones, and which protocol is read first."""

from __future__ import annotations

from typing import Final

from assay.events.evaluation import EventReport

MARKS: Final = {"good": "✓", "bad": "✗", "note": "•"}
"""A mark for each tone, so that they are not distinguished by colour alone."""
MEANINGS: Final = {"good": "good", "bad": "bad", "note": "note"}
"""What a screen reader says for the mark."""


def in_reading_order(report: EventReport) -> list[str]:
    """The names of a report's protocols: those with a verdict first, otherwise in the order asked for."""
    return sorted(report.protocols, key=lambda name: report.protocols[name].describe is None)
