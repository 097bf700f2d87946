"""What a report about agents shows, counted from their scores: how trials ended, the matrix, times, faults, accounts.

Every medium uses it; it knows nothing about HTML or terminals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from assay.chat.scoring.answers import Answer, AnswerKey, Record
from assay.chat.scoring.scores import Scores
from assay.stats import AT_LEAST_0, bootstrap, percentile
from assay.types import Estimate

CellState = Literal["all", "some", "none", "failed", "skipped", "absent"]

PARTS: Final = ("model", "tools", "framework")
"""What a turn's time is spent on, in the order of the bars; the framework's part is the rest of the wall time."""


# --- how trials ended ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """How many trials ended in which way."""

    scored: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.scored + self.skipped + self.failed


def trial_counts(answers: Iterable[Answer]) -> TrialCounts:
    """How the trials of these answers ended: failed if a turn failed, else skipped if a turn was skipped."""
    trials: set[AnswerKey] = set()
    skipped: set[AnswerKey] = set()
    failed: set[AnswerKey] = set()
    for answer in answers:
        trials.add(answer.key)
        if answer.status != "scored":
            (failed if answer.status == "failed" else skipped).add(answer.key)
    skipped -= failed
    return TrialCounts(len(trials) - len(skipped) - len(failed), len(skipped), len(failed))


def failed_trials(scores: Scores) -> dict[str, int]:
    """How many trials of each agent failed: they have no scores, which could make an agent look better than it is."""
    return {
        agent: trial_counts(answer for answer in scores.answers if answer.agent == agent).failed
        for agent in scores.agents
    }


# --- scenario by scenario --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One agent in one scenario."""

    agent: str
    passed: int
    """Trials that pass."""
    trials: int
    """All trials but those that were skipped from the first turn on."""
    failed: int
    """Trials with a failed turn; they are among those that do not pass."""
    skipped: int
    """Trials that were skipped from the first turn on."""
    reasons: tuple[str, ...]
    """Why turns failed or were skipped, without duplicates: 'failed: …', 'skipped: …'."""

    @property
    def state(self) -> CellState:
        if not self.trials:
            return "skipped" if self.skipped else "absent"
        if self.passed == self.trials:
            return "all"
        if self.failed == self.trials:
            return "failed"
        return "some" if self.passed else "none"

    @property
    def share(self) -> float:
        """Share of the trials that pass; −1 if there are none."""
        return self.passed / self.trials if self.trials else -1.0


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One scenario."""

    number: int
    """Its place in the run, from 0."""
    scenario: str
    kind: str
    faults: tuple[str, ...]
    cells: tuple[MatrixCell, ...]
    """In the order of the agents."""

    @property
    def differs(self) -> bool:
        """Whether it ended differently for different agents."""
        return len({(cell.share, cell.failed, cell.skipped > 0) for cell in self.cells}) > 1

    @property
    def spread(self) -> float:
        """How far the agents are apart in it, 0–1; skipped trials do not count."""
        shares = [cell.share for cell in self.cells if cell.trials]
        return max(shares) - min(shares) if shares else 0.0


def scenario_matrix(scores: Scores) -> list[MatrixRow]:
    """Every scenario with a cell for each agent, grouped by kind; in each kind, those that differ most come first."""
    agents = scores.agents
    passed = {agent: scores.trials(agent) for agent in agents}
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in scores.answers:
        answers.setdefault((answer.scenario, answer.agent), []).append(answer)
    rows = []
    for number, scenario in enumerate(dict.fromkeys(answer.scenario for answer in scores.answers)):
        of_scenario = [answers.get((scenario, agent), []) for agent in agents]
        records = [answer.record for some in of_scenario for answer in some if answer.record is not None]
        rows.append(
            MatrixRow(
                number,
                scenario,
                next((record.kind for record in records if record.kind), ""),
                tuple(dict.fromkeys(record.fault for record in records if record.fault)),
                tuple(
                    _cell(agent, passed[agent].get(scenario, {}), some)
                    for agent, some in zip(agents, of_scenario, strict=True)
                ),
            )
        )
    kinds = {kind: at for at, kind in enumerate(dict.fromkeys(row.kind for row in rows))}
    return sorted(rows, key=lambda row: (kinds[row.kind], -row.spread, row.number))


def _cell(agent: str, passed: dict[int, bool], answers: Sequence[Answer]) -> MatrixCell:
    reasons = (f"{one.status}: {one.record.reason}" for one in answers if one.record and one.status != "scored")
    return MatrixCell(
        agent,
        sum(passed.values()),
        len(passed),
        len({answer.repetition for answer in answers if answer.status == "failed"}),
        len({answer.repetition for answer in answers} - set(passed)),
        tuple(dict.fromkeys(reasons)),
    )


# --- where the time goes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimeFacts:
    """What one agent spends its time and tokens on, over its scored turns. Times are in seconds."""

    agent: str
    turns: int
    """Scored turns whose wall time is known."""
    typical: dict[str, float]
    """By part: its mean over the middle half of the turns by wall time. Unlike medians, these add up."""
    wall: tuple[float, float] | None
    """Median and 95th percentile."""
    first_text: tuple[float, float] | None
    parts: dict[str, float]
    """By part: its median over all turns."""
    overhead: Estimate
    """Median of the framework's part, with its interval."""
    input_tokens: float | None
    """Mean of a turn."""
    output_tokens: float | None
    model_calls: float | None
    tool_calls: float | None
    broken_streams: int
    """Turns in which a stream of the model ended without an end mark."""


def time_facts(scores: Scores, agent: str) -> TimeFacts:
    """What an agent spends its time and tokens on, in turns without a quirk."""
    turns = [
        (answer.record, answer.scenario)
        for answer in scores.answers
        if answer.agent == agent
        and answer.record is not None
        and answer.record.status == "scored"
        and answer.record.quirk is None
    ]
    timed = [(record, scenario) for record, scenario in turns if record.wall is not None]
    whole = [(record, scenario) for record, scenario in timed if record.overhead is not None]
    overhead = bootstrap(
        [record.overhead or 0.0 for record, _ in whole],
        statistic="median",
        interval="episode",
        groups=[scenario for _, scenario in whole],
        seed=scores.seed,
        within=AT_LEAST_0,
    )
    records = [record for record, _ in turns]
    split = [_split(record) for record, _ in whole]
    return TimeFacts(
        agent,
        len(timed),
        _typical([record for record, _ in whole]),
        _two([record.wall for record, _ in timed]),
        _two([record.first_text for record in records]),
        {
            part: middle
            for at, part in enumerate(PARTS)
            if (middle := percentile([s[at] for s in split], 50)) is not None
        },
        replace(overhead, unit="scenario"),
        _mean([record.input_tokens for record in records]),
        _mean([record.output_tokens for record in records]),
        _mean([record.known_model_calls for record in records]),
        _mean([len(record.tool_calls) if record.knows_tool_calls else None for record in records]),
        sum(record.broken_streams > 0 for record in records),
    )


def _split(record: Record) -> tuple[float, float, float]:
    return record.model or 0.0, record.tools or 0.0, record.overhead or 0.0


def _typical(records: Sequence[Record]) -> dict[str, float]:
    """The parts of a turn that is neither fast nor slow."""
    walls = [record.wall or 0.0 for record in records]
    low, high = percentile(walls, 25), percentile(walls, 75)
    if low is None or high is None:
        return {}
    middle = [_split(record) for record, wall in zip(records, walls, strict=True) if low <= wall <= high]
    # With two turns, none lies between the quartiles; then both are typical.
    middle = middle or [_split(record) for record in records]
    return {part: sum(split[at] for split in middle) / len(middle) for at, part in enumerate(PARTS)}


def _two(values: Iterable[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    middle, late = percentile(known, 50), percentile(known, 95)
    return None if middle is None or late is None else (middle, late)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


# --- the framework's own account -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accounts:
    """The framework's own account of an agent's turns against that of the spans."""

    agent: str
    tool_calls: tuple[int, int]
    """Turns in which the number of tool calls disagrees, and turns in which the framework gave one."""
    tokens: tuple[int, int]
    wire: tuple[int, int]
    """Turns in which spans and the model's responses give different tokens, and turns in which both give them."""
    differing: tuple[tuple[Answer, str], ...]
    """Those turns, each with what disagrees."""


def accounts(scores: Scores, agent: str) -> Accounts:
    """The turns in which an agent's framework and the spans count differently."""
    calls, tokens, wire = [0, 0], [0, 0], [0, 0]
    differing = []
    for answer in scores.answers:
        record = answer.record
        if answer.agent != agent or record is None or record.status != "scored" or record.quirk is not None:
            continue
        if record.own_tool_calls is not None:
            calls[1] += 1
            if record.own_tool_calls != len(record.tool_calls):
                calls[0] += 1
                differing.append((answer, f"{record.own_tool_calls} tool calls, by spans {len(record.tool_calls)}"))
        if record.input_tokens is None or record.output_tokens is None:
            continue
        spans = record.input_tokens + record.output_tokens
        if record.own_tokens is not None:
            tokens[1] += 1
            if record.own_tokens != spans:
                tokens[0] += 1
                differing.append((answer, f"{record.own_tokens:,} tokens, by spans {spans:,}"))
        if record.wire_tokens is not None:
            wire[1] += 1
            if record.wire_tokens != spans:
                wire[0] += 1
                differing.append((answer, f"{spans:,} tokens by spans, by the responses {record.wire_tokens:,}"))
    return Accounts(agent, (calls[0], calls[1]), (tokens[0], tokens[1]), (wire[0], wire[1]), tuple(differing))


# --- faults ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Survival:
    """One agent under one fault."""

    agent: str
    survived: int
    """Turns that ended scored and passed."""
    turns: int
    """Turns that were played with the fault."""
    failed: int
    errors: dict[str, int]
    """Error of the failed turns, with how often it occurred."""


def survival_by_fault(scores: Scores) -> dict[str, list[Survival]]:
    """Every injected fault, with how many turns of each agent survived it."""
    turns: dict[str, dict[str, list[Answer]]] = {}
    for answer in scores.answers:
        if answer.record is not None and answer.record.fault and answer.record.status != "skipped":
            turns.setdefault(answer.record.fault, {}).setdefault(answer.agent, []).append(answer)
    return {
        fault: [_survival(agent, by_agent.get(agent, [])) for agent in scores.agents]
        for fault, by_agent in sorted(turns.items())
    }


def _survival(agent: str, answers: Sequence[Answer]) -> Survival:
    failed = [answer.record.reason for answer in answers if answer.record and answer.record.status == "failed"]
    survived = sum(answer.status == "scored" and answer.passed for answer in answers)
    return Survival(agent, survived, len(answers), len(failed), dict(Counter(failed).most_common()))
