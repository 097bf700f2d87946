"""A scripted model that errs at a known rate gets an accuracy whose interval holds the rate that was set."""

from __future__ import annotations

import pytest

from assay import chat, stats
from assay.types import Estimate

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(seconds=8)]

KINDS = ("current", "forecast", "context", "units")


def accurate(skill: str, *, repeat: int) -> Estimate:
    """The share of answers that agree with the truth in every respect, over turns that have one and no fault.

    An answer that claims nothing is not measured, and does not agree.
    """
    suite = chat.load_suite("weather").select(kinds=KINDS)
    scores = chat.run(
        suite,
        ["agent-framework"],
        repeat=repeat,
        skill=skill,
        # Nothing else is looked at: no other metric, no baseline, and no time to the first text.
        metrics=["accuracy"],
        baselines=False,
        model_speed=0,
    )
    entries = [(answer.entries["accuracy"], answer.scenario) for answer in scores.answers]
    due = [(entry, scenario) for entry, scenario in entries if entry.measured or "claims nothing" in entry.details]
    assert len(due) >= 40 * repeat
    return stats.bootstrap(
        [float(entry.measured and entry.score == 1.0) for entry, _ in due],
        statistic="mean",
        interval="episode",
        groups=[scenario for _, scenario in due],
    )


def test_the_rate_that_was_set_is_the_rate_that_is_found() -> None:
    # Every other error, without a framework: tests/chat/world/test_scripted_conversations.py
    found = accurate("needless_question=0.1,forgotten_tool=0.2", repeat=3)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.7 <= found.high
    assert found.high - found.low < 0.25  # an interval that holds everything would hold the rate too
