"""The matrix of quirks and agents: the outcome of each, the worst first, and totals for each agent.

Counted from scored answers; every medium of a report uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from assay.chat.scoring.answers import Answer
from assay.chat.scoring.outcomes.robustness import (
    OUTCOMES,
    QuirkOutcome,
    did_not_occur,
    is_acceptable,
    severity,
    works_afterwards,
)
from assay.chat.scoring.scores import Scores
from assay.chat.world.quirks import Quirk
from assay.errors import AssayError

OUTCOME_WORDS: Final[Mapping[QuirkOutcome, str]] = {
    "recovered": "recovered",
    "degraded": "degraded",
    "failed_clearly": "failed",
    "failed_silently": "silent",
    "hung": "hung",
    "crashed": "crashed",
}
"""Each outcome in one word, for tables."""
DID_NOT_OCCUR: Final = "did not occur"
UNTESTED: Final = "whose quirk occurred for no agent"
"""What a table says of a quirk that had nothing to act on."""


@dataclass(frozen=True, slots=True)
class QuirkCell:
    """One agent in one scenario with a quirk; repetitions together."""

    agent: str
    outcomes: tuple[QuirkOutcome, ...]
    """One for each repetition in which the quirk occurred; empty if it did in none."""
    missing: int
    """Repetitions that were played and in which the quirk had nothing to act on."""
    works: tuple[int, int]
    """Repetitions in which the turns after it work, and repetitions in which such turns were played."""
    did: tuple[str, ...]
    """What the framework did, each once."""
    reasons: tuple[str, ...]
    """Errors and reasons for being skipped, each once."""

    @property
    def worst(self) -> QuirkOutcome | None:
        return max(self.outcomes, key=severity, default=None)

    @property
    def is_broken(self) -> bool:
        """Whether a turn after it does not work."""
        return self.works[0] < self.works[1]


@dataclass(frozen=True, slots=True)
class QuirkRow:
    """One scenario with a quirk."""

    number: int
    """Its place in the run, from 0, as in the matrix of scenarios."""
    scenario: str
    kind: str
    words: str
    """What misbehaves, in words."""
    cells: tuple[QuirkCell, ...]
    """In the order of the agents."""

    @property
    def badness(self) -> tuple[int, int, int]:
        """For the order of rows: unacceptable outcomes, severities added up, and broken next turns."""
        worst = [cell.worst for cell in self.cells if cell.worst is not None]
        return (
            sum(not is_acceptable(one) for one in worst),
            sum(map(severity, worst)),
            sum(cell.is_broken for cell in self.cells),
        )

    @property
    def differs(self) -> bool:
        """Whether agents end differently in it."""
        return len({(cell.worst, cell.is_broken) for cell in self.cells if cell.outcomes}) > 1

    @property
    def is_untested(self) -> bool:
        """Whether it occurred for no agent."""
        return not any(cell.outcomes for cell in self.cells)

    @property
    def is_harmless(self) -> bool:
        """Whether it occurred, every agent recovered, and every next turn works."""
        return not self.is_untested and all(
            cell.worst in (None, "recovered") and not cell.is_broken for cell in self.cells
        )


@dataclass(frozen=True, slots=True)
class QuirkSummary:
    """What came of all quirks for one agent, in trials."""

    agent: str
    counts: Mapping[QuirkOutcome, int]
    works: tuple[int, int]
    """Trials whose turns after the quirk work, and trials in which such turns were played."""
    missing: int
    """Trials in which the quirk had nothing to act on; they count nowhere else."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def handled(self) -> int:
        """Trials that neither failed silently nor hung nor crashed."""
        return sum(number for outcome, number in self.counts.items() if is_acceptable(outcome))


def quirk_matrix(scores: Scores) -> list[QuirkRow]:
    """Every scenario with a quirk, with a cell for each agent; the worst come first. Empty if no turn has a quirk."""
    agents = scores.agents
    rows = []
    for number, (scenario, of_agents) in enumerate(scores.trials_by_scenario().items()):
        turns = [answer for some in of_agents for trial in some for answer in trial]
        quirks = dict.fromkeys(one.record.quirk for one in turns if one.record is not None and one.record.quirk)
        if quirks:
            kind = next((one.record.kind for one in turns if one.record is not None), "")
            cells = tuple(_cell(agent, some) for agent, some in zip(agents, of_agents, strict=True))
            rows.append(QuirkRow(number, scenario, kind, "; ".join(map(_words, quirks)), cells))
    return sorted(rows, key=lambda row: (*(-part for part in row.badness), row.number))


def _words(quirk: str) -> str:
    try:
        return Quirk.parse(quirk).words
    except AssayError:  # of another version of assay
        return quirk


def _cell(agent: str, trials: Sequence[Sequence[Answer]]) -> QuirkCell:
    records = [answer.record for trial in trials for answer in trial if answer.record is not None]
    after = [works for trial in trials if (works := works_afterwards(trial)) is not None]
    return QuirkCell(
        agent,
        tuple(record.outcome for record in records if record.outcome is not None),
        sum(any(did_not_occur(answer.record) for answer in trial) for trial in trials),
        (sum(after), len(after)),
        tuple(dict.fromkeys(did for record in records for did in record.did)),
        tuple(dict.fromkeys(record.reason for record in records if record.reason)),
    )


def quirk_summaries(rows: Sequence[QuirkRow], agents: Sequence[str]) -> list[QuirkSummary]:
    """The sums over all quirks, in the order of the agents."""
    found = []
    for at, agent in enumerate(agents):
        cells = [row.cells[at] for row in rows]
        counts = Counter(outcome for cell in cells for outcome in cell.outcomes)
        works = (sum(cell.works[0] for cell in cells), sum(cell.works[1] for cell in cells))
        missing = sum(cell.missing for cell in cells)
        found.append(QuirkSummary(agent, {outcome: counts[outcome] for outcome in OUTCOMES}, works, missing))
    return found


def quirks_json(scores: Scores) -> dict[str, Any] | None:
    """The matrix and its sums, ready for JSON; None if no turn has a quirk."""
    rows = quirk_matrix(scores)
    if not rows:
        return None
    return {
        "agents": {
            one.agent: {
                "outcomes": dict(one.counts),
                "handled": one.handled,
                "trials": one.total,
                "did_not_occur": one.missing,
                "next_turns_passed": one.works[0],
                "next_turns": one.works[1],
            }
            for one in quirk_summaries(rows, scores.agents)
        },
        "matrix": [
            {
                "scenario": row.scenario,
                "kind": row.kind,
                "quirk": row.words,
                "agents": {
                    cell.agent: {
                        "outcome": cell.worst,
                        "outcomes": list(cell.outcomes),
                        "did_not_occur": cell.missing,
                        "next_turn_passes": None if not cell.works[1] else not cell.is_broken,
                        "did": list(cell.did),
                        "reasons": list(cell.reasons),
                    }
                    for cell in row.cells
                },
            }
            for row in rows
        ],
    }
