"""The matrix of agents and scenarios in which the user hangs up or has to approve a tool, with the outcome of each.

Counted from scored answers; every medium of a report uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.outcomes.interruptions import ConsentRecord, HangUpRecord
from assay.chat.scoring.scores import Scores


@dataclass(frozen=True, slots=True)
class InterruptionCell:
    """One agent in one such scenario; repetitions together."""

    agent: str
    hang_ups: tuple[HangUpRecord, ...]
    consents: tuple[ConsentRecord, ...]
    works: tuple[int, int]
    """Repetitions in which the rest of the conversation is whole, and repetitions that were played."""
    keeps_message: bool | None
    """Whether the model is sent the message after which the user hung up later on; None if they never did."""
    flaws: tuple[str, ...]
    """What was wrong with histories, each once."""
    reasons: tuple[str, ...]
    """Errors and reasons for being skipped, each once."""

    @property
    def is_kept(self) -> bool:
        """Whether everything stopped when the user hung up, and every decision was kept."""
        return all(one.has_stopped for one in self.hang_ups) and all(one.is_kept for one in self.consents)

    @property
    def is_broken(self) -> bool:
        """Whether the conversation does not go on as it should."""
        return self.works[0] < self.works[1]

    @property
    def stopped_ms(self) -> float | None:
        """Median time after which the connection that was held was closed; None if none was."""
        times = [one.stopped_ms for one in self.hang_ups if one.stopped_ms is not None]
        return median(times) if times else None

    @property
    def word(self) -> str:
        """What came of it, in a word or two."""
        if not self.hang_ups and not self.consents:
            return "error" if self.works[1] else "skipped" if self.reasons else "–"
        if any(not one.has_stopped for one in self.hang_ups):
            return "GOES ON"
        if self.hang_ups:
            return "stopped" if self.stopped_ms is None else f"{self.stopped_ms:,.0f} ms"
        if any(not one.asked for one in self.consents):
            return "UNASKED"
        if any(one.ran_unapproved or (one.ran and one.decision != "approve") for one in self.consents):
            return "RAN"
        return "kept" if self.is_kept else "NOT RUN"

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "stopped": all(one.has_stopped for one in self.hang_ups) if self.hang_ups else None,
            "stopped_ms": self.stopped_ms,
            "model_calls_after": sum(one.model_calls for one in self.hang_ups),
            "tool_calls_after": sum(one.tool_calls for one in self.hang_ups),
            "message_kept": self.keeps_message,
            "asked": all(one.asked for one in self.consents) if self.consents else None,
            "decision_kept": all(one.is_kept for one in self.consents) if self.consents else None,
            "goes_on_whole": None if not self.works[1] else not self.is_broken,
            "history_flaws": list(self.flaws),
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class InterruptionRow:
    """One scenario in which the user hangs up or has to approve a tool."""

    number: int
    """Its place in the run, from 0, as in the matrix of scenarios."""
    scenario: str
    kind: str
    cells: tuple[InterruptionCell, ...]
    """In the order of the agents."""


def interruption_matrix(scores: Scores) -> list[InterruptionRow]:
    """Every such scenario, with a cell for each agent; empty if there is none."""
    agents = scores.agents
    rows = []
    for number, (scenario, of_agents) in enumerate(scores.trials_by_scenario().items()):
        records = [one.record for some in of_agents for trial in some for one in trial if one.record is not None]
        if any(map(is_disturbed, records)):
            cells = tuple(_cell(agent, some) for agent, some in zip(agents, of_agents, strict=True))
            rows.append(InterruptionRow(number, scenario, records[0].kind, cells))
    return rows


def is_disturbed(record: Record | None) -> bool:
    """Whether the user hung up in a turn or had to approve a tool."""
    return record is not None and (record.hang_up is not None or record.consent is not None)


def decision_is_known(record: Record) -> bool:
    """Whether a turn shows what became of the user's decision: one that failed before anyone was asked does not."""
    consent = record.consent
    return consent is not None and (record.status == "scored" or bool(consent.asked) or consent.ran)


def goes_on_whole(trial: Sequence[Answer]) -> bool:
    """Whether the turns of a trial ended without an error, and those that the user did not disturb pass."""
    return all(answer.status == "scored" and (answer.passed or is_disturbed(answer.record)) for answer in trial)


def _cell(agent: str, trials: Sequence[Sequence[Answer]]) -> InterruptionCell:
    records = [answer.record for trial in trials for answer in trial if answer.record is not None]
    played = [trial for trial in trials if any(is_disturbed(answer.record) for answer in trial)]
    kept = [one.keeps_interrupted for one in records if one.keeps_interrupted is not None]
    return InterruptionCell(
        agent,
        tuple(one.hang_up for one in records if one.hang_up is not None),
        tuple(one.consent for one in records if one.consent is not None and decision_is_known(one)),
        (sum(map(goes_on_whole, played)), len(played)),
        all(kept) if kept else None,
        tuple(dict.fromkeys(flaw for one in records for flaw in one.history_flaws or ())),
        tuple(dict.fromkeys(one.reason for one in records if one.reason)),
    )


def interruptions_json(scores: Scores) -> list[dict[str, Any]]:
    """The matrix, ready for JSON; empty if there is none."""
    return [
        {"scenario": row.scenario, "kind": row.kind, "agents": {cell.agent: cell.to_json() for cell in row.cells}}
        for row in interruption_matrix(scores)
    ]
