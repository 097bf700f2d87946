"""How much each criterion of the overall counts: weights, the default ones, and presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from assay.errors import UsageError

MAX_WEIGHT: Final = 5.0
"""The largest weight; the smallest is 0."""

TRIALS_PASSED: Final = "trials_passed"
"""The one criterion that is not a metric. A failed turn has no scores, so no metric counts it; this criterion does."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One part of the overall."""

    name: str
    group: str
    asks: str
    """What it asks, as one question."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each criterion counts: its own weight times the weight of its group. Both are 1 if not given."""

    criteria: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, weight in (*self.criteria.items(), *self.groups.items()):
            if not 0 <= weight <= MAX_WEIGHT:
                raise UsageError(
                    f"the weight of '{name}' must be from 0 to {MAX_WEIGHT:g}, got {weight}",
                    hint="Choose a weight in that range",
                )

    def of(self, criterion: Criterion) -> float:
        """The weight of a criterion, with that of its group."""
        return self.groups.get(criterion.group, 1.0) * self.criteria.get(criterion.name, 1.0)


EQUAL_WEIGHTS: Final = Weights()

DEFAULT_WEIGHTS: Final = Weights({TRIALS_PASSED: 5})
"""The default: the outcome counts as much as a group of metrics.

There are fifteen metrics in three groups of five. With the weight of one metric, a failure, which no metric counts,
would hardly count in the outcome. Equal weights for the groups would do the same for the outcome, but make one metric
of developer experience count as much as nearly three metrics of the answers.
"""

PRESETS: Final[Mapping[str, Weights]] = {
    "outcome as a group": DEFAULT_WEIGHTS,
    "all metrics alike": EQUAL_WEIGHTS,
    # Users see a wrong number, a wait and a failure; they do not see plans or source files.
    "what users feel": Weights(
        {
            TRIALS_PASSED: 5,
            "accuracy": 3,
            "task_completion": 3,
            "response_time": 2,
            "groundedness": 2,
            "error_recovery": 2,
            "action_planning": 0,
            "tool_call_count": 0,
        },
        {"developer experience": 0},
    ),
    # Developers build, connect and repair the assistant, and pay for its calls.
    "what developers feel": Weights(
        {TRIALS_PASSED: 5, "tool_call_count": 2, "action_planning": 2, "error_recovery": 2}, {"developer experience": 5}
    ),
    # Errors that would wake someone at night; everything else counts a quarter.
    "nothing may go wrong": Weights(
        {TRIALS_PASSED: 5, "accuracy": 5, "groundedness": 5, "error_recovery": 5, "repeatability": 3},
        {"functional": 0.25, "behavioural": 0.25, "developer experience": 0},
    ),
}
"""Weights to start from, by name."""
