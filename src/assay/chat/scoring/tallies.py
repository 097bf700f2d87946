"""From answers to tallies: mergeable counts for each agent and scenario, from which every estimate is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.chat.scoring.answers import Answer, AnswerKey, Record
from assay.chat.scoring.outcomes.interruption_matrix import decision_is_known, goes_on_whole, is_disturbed
from assay.chat.scoring.outcomes.robustness import is_acceptable, works_afterwards
from assay.chat.scoring.scores import trials_of
from assay.chat.scoring.table import ScoreTable
from assay.types import Case, Distribution, State

Tallies = dict[str, dict[Case, dict[str, State]]]
"""States by agent, scenario and metric."""

AFTERWARDS = {
    "quirks_recovered": "quirks with the right answer",
    "quirks_handled": "quirks not silent, hung or crashed",
    "hang_ups_stopped": "hang-ups that stop everything",
    "decisions_kept": "decisions that are kept",
    "next_turns_passed": "next turns that pass",
}
"""Shares of turns that went wrong by plan, with their titles: what came of the quirk or the interruption."""


def tallies_of(answers: Iterable[Answer]) -> Tallies:
    """For each agent and scenario, the distribution of every metric's measured scores, and of times and tokens.

    A failed turn has no scores. Failures count in `trials_passed`, which has 0 or 1 for each trial.
    """
    found: dict[str, dict[Case, dict[str, list[float]]]] = {}
    kept = list(answers)
    passed = trials_of(kept)
    kept_by_trial: dict[AnswerKey, list[Answer]] = {}
    for answer in kept:
        if answer.record is not None:
            kept_by_trial.setdefault(answer.key, []).append(answer)
    for answer in kept:
        by_case = found.setdefault(answer.agent, {})
        case = Case(answer.scenario)
        of_case = by_case.get(case)
        if of_case is None:
            trials = passed.get((answer.agent, answer.scenario), {})
            of_case = by_case[case] = {"trials_passed": [float(one) for one in trials.values()]}
        _add(of_case, answer, kept_by_trial)
    # Of a large log most cases have one answer, and its scores repeat: equal ones share their distribution.
    single: dict[float, Distribution] = {}
    nothing = Distribution()

    def distribution_of(values: list[float]) -> Distribution:
        if not values:
            return nothing
        if len(values) != 1:
            return Distribution.of(values)
        known = single.get(values[0])
        if known is None:
            known = single[values[0]] = Distribution.of(values)
        return known

    return {
        agent: {
            case: {name: distribution_of(values) for name, values in by_name.items()}
            for case, by_name in by_case.items()
        }
        for agent, by_case in found.items()
    }


def _add(of_case: dict[str, list[float]], answer: Answer, by_trial: Mapping[AnswerKey, Sequence[Answer]]) -> None:
    """Add what was measured of an answer. A metric that measured nothing has its place all the same."""
    record = answer.record
    if record is not None:
        for figures in (_outcomes(record), _after_quirks(answer, by_trial), _after_interruptions(answer, by_trial)):
            for name, value in figures.items():
                of_case.setdefault(name, []).append(value)
    for metric, entry in answer.entries.items():
        values = of_case.setdefault(metric, [])
        if entry["measured"]:
            values.append(float(entry["score"]))
    if record is not None:
        for name, value in _figures(record).items():
            of_case.setdefault(name, []).append(value)


def merged_tallies(table: ScoreTable) -> Tallies:
    """All tallies of a table at once."""
    merged: Tallies = {}
    for some in table.tallies():
        for agent, by_case in some.items():
            merged.setdefault(agent, {}).update(by_case)
    return merged


def _outcomes(record: Record) -> dict[str, float]:
    """Whether a played turn failed or was skipped, 1 or 0, under the names that `compare` knows."""
    return {f"turns_{status}": float(record.status == status) for status in ("failed", "skipped")}


def _after_quirks(answer: Answer, by_trial: Mapping[AnswerKey, Sequence[Answer]]) -> dict[str, float]:
    """What came of a turn with a quirk, 1 or 0: the right answer, no silent failure, and a whole next turn."""
    record = answer.record
    if record is None or record.outcome is None:
        return {}
    found = {
        "quirks_recovered": float(record.outcome == "recovered"),
        "quirks_handled": float(is_acceptable(record.outcome)),
    }
    afterwards = works_afterwards(by_trial[answer.key])
    return found if afterwards is None else {**found, "next_turns_passed": float(afterwards)}


def _after_interruptions(answer: Answer, by_trial: Mapping[AnswerKey, Sequence[Answer]]) -> dict[str, float]:
    """Whether everything stopped when the user hung up or their decision was kept, and the conversation went on."""
    record = answer.record
    if record is None or not is_disturbed(record):
        return {}
    found = {"next_turns_passed": float(goes_on_whole(by_trial[answer.key]))}
    if record.consent is not None and decision_is_known(record):
        found["decisions_kept"] = float(record.consent.is_kept)
    if record.hang_up is not None:
        found["hang_ups_stopped"] = float(record.hang_up.has_stopped)
        if record.hang_up.stopped_ms is not None:
            found["hang_up_ms"] = record.hang_up.stopped_ms
    return found


def _figures(record: Record) -> dict[str, float]:
    """Times, tokens and cost of a scored turn that nothing disturbed, under the names that `compare` knows."""
    if record.status != "scored" or record.quirk is not None or is_disturbed(record):
        return {}
    seconds = {
        "wall_ms": record.wall,
        "first_text_ms": record.first_text,
        "overhead_ms": record.overhead,
    }
    counts = {"input_tokens": record.input_tokens, "output_tokens": record.output_tokens}
    found = {name: round(1000 * value, 3) for name, value in seconds.items() if value is not None} | {
        name: float(value) for name, value in counts.items() if value is not None
    }
    # In thousandths: a turn costs a small part of a cent.
    return found if record.cost is None else {**found, "cost_musd": 1000 * record.cost}
