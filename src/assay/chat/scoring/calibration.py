"""How far a judge and the metrics agree with people: labels of answers in, agreement, bias and corrected scores out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.chat.judge import Preference
from assay.chat.scoring.answers import Answer, AnswerPlace
from assay.chat.scoring.passing import PASS_MARK
from assay.chat.scoring.scores import Scores
from assay.chat.transcript import json_lines
from assay.errors import SourceError, UsageError, unknown_name
from assay.stats import bootstrap
from assay.stats.agreement import corrected_mean, kappa, slope
from assay.types import Estimate

_Kind = TypeVar("_Kind", bound=BaseModel)
PASSED = "passed"
"""Stands for whether the answer passes its checks, beside the metrics."""
# A corrected score of one agent rests on the agent's own labels.
_FEWEST_LABELS = 10
# Requests to a judge that compares pairs.
_PAIRS_AT_ONCE = 8


class Label(BaseModel):
    """What a person says of one answer."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    agent: str
    scenario: str
    repetition: int = 0
    turn: int = 0
    label: Annotated[float, Field(ge=0, le=1)]
    """1 or true: the answer is good; 0 or false: it is not; between them if the person cannot decide."""
    by: str = ""
    """Who says so; several people may label one answer, and their mean counts."""

    @property
    def key(self) -> AnswerPlace:
        return self.agent, self.scenario, self.repetition, self.turn


class LabelledPair(BaseModel):
    """What a person says of two agents' answers to the same turn: one is better than the other."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    scenario: str
    repetition: int = 0
    turn: int = 0
    better: str
    """The agent with the better answer."""
    worse: str


@dataclass(frozen=True, slots=True)
class Position:
    """A judge that compared pairs of answers in both orders, against people."""

    pairs: int
    """Pairs that people labelled and the judge answered in both orders."""
    agreed: int
    """Pairs in which it decided as people did, in both orders."""
    opposed: int
    """Pairs in which it decided against people, in both orders."""
    flipped: int
    """Pairs in which it preferred a position, not an answer."""
    first: Estimate
    """How often it preferred the answer shown first, of the orders without a tie; 0.5 means no bias."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """One metric, or the judge, against people on the labelled answers. An answer is good from 0.7 on."""

    metric: str
    kappa: Estimate
    both: int
    """Answers that both call good."""
    too_kind: int
    """Answers that it calls good and people do not."""
    too_strict: int
    """Answers that people call good and it does not."""
    neither: int
    length_bias: Estimate
    """How much its error (score − label) rises if an answer is twice as long; above 0 it favours long answers."""
    mean: float | None
    """Its mean over all answers."""
    corrected: Estimate
    """What people would say of all answers on average: its mean, corrected for its errors on the labelled ones."""
    by_agent: Mapping[str, Estimate]
    """The same for each agent that has at least ten labels."""

    @property
    def n(self) -> int:
        return self.both + self.too_kind + self.too_strict + self.neither


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far judge and metrics agree with people."""

    labels: int
    """Labels that were given."""
    answers: int
    """Answers that have a label."""
    agreements: tuple[Agreement, ...]
    """The judge first, then whether the answer passes, then the metrics that were measured on labelled answers."""
    position: Position | None = None
    """Bias by position; None if the judge compared no pairs."""

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "labels": self.labels,
            "answers": self.answers,
            "mark": PASS_MARK,
            "position": None if self.position is None else asdict(self.position),
            "agreements": {one.metric: asdict(one) | {"n": one.n} for one in self.agreements},
        }


def read_labels(path: Path, scores: Scores) -> tuple[list[Label], list[LabelledPair]]:
    """Labels of answers and of pairs in a JSONL file; what the run does not have is an error with the nearest name."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {getattr(error, 'strerror', None) or error}", where=str(path)) from error
    labels: list[Label] = []
    pairs: list[LabelledPair] = []
    for where, data in json_lines(text, path):
        if isinstance(data, dict) and "better" in data:
            pair = _validated(LabelledPair, data, where)
            for agent in (pair.better, pair.worse):
                _check_known(scores, (agent, pair.scenario, pair.repetition, pair.turn), where)
            pairs.append(pair)
        else:
            label = _validated(Label, data, where)
            _check_known(scores, label.key, where)
            labels.append(label)
    if not labels and not pairs:
        raise SourceError("has no labels", where=str(path), hint="Write one JSON object per line")
    return labels, pairs


def _validated(kind: type[_Kind], data: object, where: str) -> _Kind:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        hint = 'Write {"agent": …, "scenario": …, "turn": 0, "label": true}'
        raise SourceError(f"{field}: {first['msg']}", where=where, hint=hint) from None


def _check_known(scores: Scores, key: AnswerPlace, where: str) -> None:
    agent, scenario, repetition, turn = key
    scenarios = {answer.scenario for answer in scores.answers}
    for kind, name, known in (("agent", agent, set(scores.agents)), ("scenario", scenario, scenarios)):
        if name not in known:
            error = unknown_name(kind, name, known)
            raise SourceError(error.what, where=where, hint=error.hint)
    if not any(answer.place == key for answer in scores.answers):
        raise SourceError(
            f"the run has no answer of {agent} in {scenario} at repetition {repetition}, turn {turn}",
            where=where,
            hint="Repetitions and turns are counted from 0",
        )


def compare_pairs(
    scores: Scores,
    pairs: Sequence[LabelledPair],
    compare: Callable[[str, Any, str, str], Preference],
) -> Position:
    """Let a judge compare the pairs that people labelled; `compare` gets question, truth and both answers."""
    answers = {answer.place: answer for answer in scores.answers}

    def judged(pair: LabelledPair) -> Preference:
        better, worse = (
            answers[agent, pair.scenario, pair.repetition, pair.turn] for agent in (pair.better, pair.worse)
        )
        return compare(better.query, better.truth, better.response, worse.response)

    with ThreadPoolExecutor(_PAIRS_AT_ONCE) as pool:
        found = list(zip(pairs, pool.map(judged, pairs), strict=True))
    whole = [(pair, one) for pair, one in found if one.in_order is not None and one.reversed is not None]
    shown = [(side, pair) for pair, one in whole for side in (one.in_order, one.reversed) if side != "tie"]
    first = bootstrap(
        [float(side == "A") for side, _ in shown],
        statistic="mean",
        interval="episode",
        groups=[pair.scenario for _, pair in shown],
        seed=scores.seed,
    )
    return Position(
        len(whole),
        sum(one.better == 0 for _, one in whole),
        sum(one.better == 1 for _, one in whole),
        sum(one.is_flipped for _, one in whole),
        replace(first, unit="scenario"),
    )


def calibrate(scores: Scores, labels: Iterable[Label], *, position: Position | None = None) -> Calibration:
    """Agreement, bias and corrected scores of every metric that was measured on labelled answers.

    Example:
        >>> from assay.chat import Transcript, Turn, score
        >>> turn = Turn(user="Weather in Rome?", assistant="It is sunny in Rome, 21 °C.")
        >>> scores = score([Transcript(agent="bot", scenario="rome", turns=[turn])])
        >>> calibrate(scores, [Label(agent="bot", scenario="rome", label=True)]).agreements[0].both
        1

    """
    given = list(labels)
    by_answer: dict[AnswerPlace, list[float]] = {}
    for label in given:
        by_answer.setdefault(label.key, []).append(label.label)
    if not by_answer and position is None:
        raise UsageError("there are no labels", hint="Label some answers of the run first")
    people = {key: sum(values) / len(values) for key, values in by_answer.items()}
    own = [metric.name for metric in scores.metrics if metric.group == "own"]
    others = [metric.name for metric in scores.metrics if metric.group not in ("own", "developer experience")]
    found = (_agreement(scores, people, name) for name in (*own, PASSED, *others))
    return Calibration(len(given), len(people), tuple(one for one in found if one is not None), position)


@dataclass(frozen=True, slots=True)
class _Judged:
    answer: Answer
    score: float
    label: float | None


def _agreement(scores: Scores, people: Mapping[AnswerPlace, float], metric: str) -> Agreement | None:
    judged = []
    for answer in scores.answers:
        score = _score(answer, metric)
        if score is not None:
            judged.append(_Judged(answer, score, people.get(answer.place)))
    labelled = [(one, one.label) for one in judged if one.label is not None]
    if not labelled:
        return None
    says = [one.score >= PASS_MARK for one, _ in labelled]
    good = [label >= 0.5 for _, label in labelled]
    groups = [one.answer.scenario for one, _ in labelled]
    cells = Counter(zip(says, good, strict=True))
    lengths = [math.log2(max(1, len(one.answer.response))) for one, _ in labelled]
    errors = [one.score - label for one, label in labelled]
    agents = dict.fromkeys(one.answer.agent for one, _ in labelled)
    by_agent = {agent: [one for one in judged if one.answer.agent == agent] for agent in agents}
    return Agreement(
        metric,
        kappa(says, good, groups=groups),
        cells[True, True],
        cells[True, False],
        cells[False, True],
        cells[False, False],
        slope(lengths, errors, groups=groups),
        sum(one.score for one in judged) / len(judged),
        _corrected(judged),
        {
            agent: _corrected(some)
            for agent, some in by_agent.items()
            if sum(one.label is not None for one in some) >= _FEWEST_LABELS
        },
    )


def _score(answer: Answer, metric: str) -> float | None:
    if answer.status != "scored":
        return None
    if metric == PASSED:
        return float(answer.passed)
    entry = answer.entries.get(metric)
    return entry.score if entry is not None and entry.measured else None


def _corrected(judged: Sequence[_Judged]) -> Estimate:
    free = [one for one in judged if one.label is None]
    known = [(one, one.label) for one in judged if one.label is not None]
    return corrected_mean(
        [one.score for one in free],
        [one.score for one, _ in known],
        [label for _, label in known],
        groups=([one.answer.scenario for one in free], [one.answer.scenario for one, _ in known]),
    )
