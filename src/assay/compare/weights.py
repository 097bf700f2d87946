"""How much each criterion of the overall counts: weights, the default ones, and presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from assay.errors import UsageError

MAX_WEIGHT: Final = 5.0
"""The largest weight; the smallest is 0."""

TRIALS_PASSED: Final = "trials_passed"
"""A criterion that is not a metric. A failed turn has no scores, so no metric counts it; this criterion does."""
TURNS_ANSWERED: Final = "turns_answered"
"""Another one, which counts if a turn of some agent failed. Without it, an agent that answers wrongly and one that does
not answer are alike where no trial passes, and the scores of a few answers stand for all."""
OUTCOME: Final = {
    TRIALS_PASSED: "Which share of the trials passes its checks?",
    TURNS_ANSWERED: "Which share of the turns ends with an answer, and not with an error?",
}
"""Criteria of the outcome by name, each with its question."""
OUTCOME_GROUP: Final = "outcome"
EXPERIENCE_GROUP: Final = "developer experience"

ROBUSTNESS, RESTART, LOAD, COST = "robustness", "restart", "load", "cost"
CANCELLATION, CONSENT = "cancellation", "consent"
OPERATIONS: Final = {
    ROBUSTNESS: "How do turns with a quirk end? Recovered 1, degraded 0.67, failed clearly 0.33, otherwise 0.",
    RESTART: "Which share of the conversations outlives the end of its process?",
    CANCELLATION: "Which share of the conversations stops when its user hangs up, and goes on whole?",
    CONSENT: "Which share of the conversations keeps to what its user approves or refuses, and goes on?",
    LOAD: "How close is its 95th percentile under load to that of the fastest agent? 0 if secrets of users leaked.",
    COST: "How close is what its tokens cost to what those of the cheapest agent cost?",
}
"""Criteria of operations by name, each with its question; they count if what they need was measured."""
OPERATIONS_GROUP: Final = "operations"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One part of the overall."""

    name: str
    group: str
    asks: str
    """What it asks, as one question."""
    once: bool = False
    """Whether it is one measurement of each agent, which scenarios do not vary."""


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

DEFAULT_WEIGHTS: Final = Weights({TRIALS_PASSED: 5, TURNS_ANSWERED: 5})
"""The default: each criterion of the outcome counts as much as a group of metrics.

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
            TURNS_ANSWERED: 5,
            "accuracy": 3,
            "task_completion": 3,
            "response_time": 2,
            "groundedness": 2,
            "error_recovery": 2,
            "action_planning": 0,
            "tool_call_count": 0,
            ROBUSTNESS: 2,
            RESTART: 2,
            CANCELLATION: 2,
            CONSENT: 3,
            COST: 0,
        },
        {"developer experience": 0},
    ),
    # Developers build, connect and repair the assistant, and pay for its calls.
    "what developers feel": Weights(
        {
            TRIALS_PASSED: 5,
            TURNS_ANSWERED: 5,
            "tool_call_count": 2,
            "action_planning": 2,
            "error_recovery": 2,
            ROBUSTNESS: 2,
            LOAD: 0,
        },
        {"developer experience": 5},
    ),
    # Operators keep it running and pay for it: what happens when something misbehaves, under load and after a restart.
    "what operations feel": Weights(
        {
            TRIALS_PASSED: 5,
            TURNS_ANSWERED: 5,
            ROBUSTNESS: 5,
            LOAD: 5,
            RESTART: 4,
            CANCELLATION: 4,
            CONSENT: 4,
            COST: 4,
            "response_time": 5,
            "error_recovery": 5,
            "repeatability": 5,
            "tool_call_count": 3,
        },
        {"functional": 0.25, "behavioural": 0.5, "developer experience": 0},
    ),
    # Errors that would wake someone at night; everything else counts a quarter.
    "nothing may go wrong": Weights(
        {
            TRIALS_PASSED: 5,
            TURNS_ANSWERED: 5,
            "accuracy": 5,
            "groundedness": 5,
            "error_recovery": 5,
            "repeatability": 3,
        },
        {"functional": 0.25, "behavioural": 0.25, "developer experience": 0},
    ),
}
"""Weights to start from, by name."""

PRIORITIES: Final = ("what users feel", "what developers feel", "what operations feel")
"""The presets for which a report says at once who leads."""
