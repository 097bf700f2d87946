"""Transcripts in, a table out: every answer scored, and for each agent and metric the mean with its interval.

The unit of intervals is the scenario: repetitions of one scenario and turns of one conversation are not independent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any, ClassVar

from assay import __version__
from assay.chat.evaluator import ChatbotEvaluator, answer_batches, chosen_metrics
from assay.chat.scoring.answering import UnscoredTurn, answers_of
from assay.chat.scoring.answers import Answer, AnswerKey
from assay.chat.scoring.metric import CHAT_PROTOCOL, LOG_VERSION, MEASURED_ONCE, METRICS, Metric, ScoreScale
from assay.chat.scoring.outcomes.robustness import did_not_occur
from assay.chat.scoring.table import ScoreTable
from assay.chat.transcript import ToolCall, Transcript, Transcripts
from assay.errors import UsageError
from assay.redaction import redacted, redacted_value
from assay.result import Result
from assay.stats import PLAIN, POSITIVE, SHARE, Resampling, Scale, mean_interval, mean_pass_at_k, mean_pass_hat_k
from assay.types import Estimate, Run

KS = (1, 2, 3, 4, 5)
# Lists of names that transcripts of one file may have before evaluators are made anew.
_MOST_EVALUATORS = 256


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    agent: str
    metric: str
    group: str
    estimate: Estimate
    """Mean over measured answers, with its interval; `n` are measured, `n_skipped` are not."""


SCALES: Mapping[ScoreScale, Scale] = {
    "binary": SHARE,
    "share": SHARE,
    "ordinal": PLAIN,
    "positive": POSITIVE,
    "any": PLAIN,
}
"""The scale that the interval of a mean is computed on, by the kind of score."""


@dataclass(frozen=True, slots=True)
class Scores(Result):
    """Scored answers, and for each agent and metric the mean with its interval."""

    subject: ClassVar[str] = "chat"

    answers: tuple[Answer, ...] = field(repr=False)
    """All answers, or the first of them if `table` has the rest."""
    metrics: tuple[Metric, ...]
    seed: int = 42
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """The file that the transcripts came from, with its digest; empty if they came from elsewhere."""
    table: ScoreTable | None = field(default=None, repr=False)
    """The scores of all answers of a file that was too large to keep them; None if `answers` has them."""
    _lines: list[Line] = field(default_factory=list, repr=False)
    _by_agent: dict[str, list[Answer]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The answers of each agent, once they are asked for: every table needs them."""
    _trials: dict[str, dict[str, dict[int, bool]]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def agents(self) -> list[str]:
        return list(self.by_agent) if self.table is None else self.table.agents

    @property
    def by_agent(self) -> Mapping[str, Sequence[Answer]]:
        """The answers that are kept, by agent."""
        if not self._by_agent:
            for answer in self.answers:
                self._by_agent.setdefault(answer.agent, []).append(answer)
        return self._by_agent

    @property
    def answer_count(self) -> int:
        """How many answers were scored, kept or not."""
        return len(self.answers) if self.table is None else len(self.table)

    @property
    def scenarios(self) -> list[str]:
        """The scenarios of all answers, in the order in which they occur."""
        if self.table is not None:
            return self.table.scenarios
        return list(dict.fromkeys(answer.scenario for answer in self.answers))

    @property
    def versions(self) -> dict[str, int]:
        """Versions of the metrics by name."""
        return {metric.name: metric.version_number for metric in self.metrics}

    def as_run(self) -> Run:
        """The scores as a run that no store holds, to be compared or recorded."""
        from assay.chat.scoring.tallies import merged_tallies, tallies_of

        by_name = {metric.name: metric.to_json() for metric in self.metrics}
        settings = {"seed": self.seed, "interval": "scenario", "metrics": by_name}
        return Run.unstored(
            "chat",
            settings=settings,
            seed=self.seed,
            versions=self.versions,
            tallies=tallies_of(self.answers) if self.table is None else merged_tallies(self.table),
            inputs=self.inputs,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row for each agent and metric: the mean over measured answers with its interval."""
        return [
            {
                "agent": line.agent,
                "group": line.group,
                "metric": line.metric,
                "mean": line.estimate.value,
                "low": line.estimate.low,
                "high": line.estimate.high,
                "n": line.estimate.n,
                "not_measured": line.estimate.n_skipped,
            }
            for line in self.lines()
        ]

    def lines(self) -> list[Line]:
        """The table: a line for each agent and metric, in the order of the transcripts and of the metrics."""
        if not self._lines:
            self._lines.extend(self._line(agent, metric) for agent in self.agents for metric in self.metrics)
        return self._lines

    def _line(self, agent: str, metric: Metric) -> Line:
        sums: list[float]
        counts: list[int]
        if self.table is not None:
            sums, counts, skipped = self.table.sums_and_counts(agent, metric.name)
        else:
            sums, counts, skipped = self._sums_and_counts(agent, metric)
        estimate = mean_interval(sums, counts, Resampling("episode"), scale=SCALES[metric.scale], unit="scenario")
        if metric.group == MEASURED_ONCE:
            estimate = replace(estimate, low=None, high=None, unit="none", method="none: measured once for each agent")
        return Line(agent, metric.name, metric.group, replace(estimate, n_skipped=skipped))

    def _sums_and_counts(self, agent: str, metric: Metric) -> tuple[list[float], list[int], int]:
        of_scenario: dict[str, list[float]] = {}
        skipped = 0
        for answer in self.by_agent[agent]:
            entry = answer.entries.get(metric.name)
            if entry is None:
                continue
            if entry["measured"]:
                of_scenario.setdefault(answer.scenario, []).append(entry.score)
            else:
                skipped += 1
        return [sum(scores) for scores in of_scenario.values()], [*map(len, of_scenario.values())], skipped

    def trials_by_scenario(self) -> dict[str, list[list[list[Answer]]]]:
        """The turns of each trial, by scenario and then in the order of `agents`."""
        found: dict[str, dict[str, dict[int, list[Answer]]]] = {}
        for answer in self.answers:
            of_agent = found.setdefault(answer.scenario, {}).setdefault(answer.agent, {})
            of_agent.setdefault(answer.repetition, []).append(answer)
        agents = self.agents
        return {
            scenario: [list(of_scenario.get(agent, {}).values()) for agent in agents]
            for scenario, of_scenario in found.items()
        }

    def trials(self, agent: str) -> dict[str, dict[int, bool]]:
        """Whether each repetition of each scenario passes (see `trials_of`)."""
        if self.table is not None:
            return self.table.trials(agent)
        if agent not in self._trials:
            found = trials_of(self.by_agent.get(agent, ()))
            self._trials[agent] = {scenario: passed for (_, scenario), passed in found.items()}
        return self._trials[agent]

    def passes(self, agent: str) -> dict[str, dict[int, Estimate]]:
        """pass^k and pass@k of an agent for k = 1 … 5, as far as there are repetitions: shares of its `trials`."""
        if self.table is not None:
            counts = self.table.trial_counts(agent)
        else:
            counts = [(sum(trial.values()), len(trial)) for trial in self.trials(agent).values()]
        return {
            "pass^k": {k: mean_pass_hat_k(counts, k) for k in KS},
            "pass@k": {k: mean_pass_at_k(counts, k) for k in KS},
        }

    def to_json(self) -> dict[str, Any]:
        """Everything that is kept, ready for JSON."""
        return self.summary_json() | {"answers": [answer.to_json() for answer in self.answers]}

    def summary_json(self) -> dict[str, Any]:
        """Everything but the answers, ready for JSON."""
        return {
            "assay": __version__,
            "protocol": CHAT_PROTOCOL,
            "settings": {"seed": self.seed, "interval": "scenario"},
            "metrics": {metric.name: metric.to_json() for metric in self.metrics},
            "summary": [{"agent": ln.agent, "metric": ln.metric, **asdict(ln.estimate)} for ln in self.lines()],
            "passes": {
                agent: {
                    name: {str(k): estimate.value for k, estimate in by_k.items()}
                    for name, by_k in self.passes(agent).items()
                }
                for agent in self.agents
            },
        }


def trials_of(answers: Iterable[Answer]) -> dict[tuple[str, str], dict[int, bool]]:
    """Whether each repetition passes, by agent and scenario.

    A trial is one repetition of a scenario; it passes if all its answers do. A turn that failed does not pass;
    a trial that was skipped from its first turn on is none, nor is one whose quirk did not occur (`without_quirks`),
    and a scenario without trials is not there.
    """
    found: dict[tuple[str, str], dict[int, bool]] = {}
    kept = list(answers)
    left_out = without_quirks(kept)
    for answer in kept:
        if answer.turn == 0 and answer.status == "skipped" and not did_not_occur(answer.record):
            left_out.add(answer.key)
        of_scenario = found.setdefault((answer.agent, answer.scenario), {})
        of_scenario[answer.repetition] = of_scenario.get(answer.repetition, True) and answer.passed
    for agent, scenario, repetition in left_out:
        del found[agent, scenario][repetition]
    return {key: of_scenario for key, of_scenario in found.items() if of_scenario}


def without_quirks(answers: Iterable[Answer]) -> set[AnswerKey]:
    """Trials whose quirk did not occur and of which no turn failed: they neither pass nor fail."""
    absent: set[AnswerKey] = set()
    failed: set[AnswerKey] = set()
    for answer in answers:
        if answer.status == "failed":
            failed.add(answer.key)
        elif did_not_occur(answer.record):
            absent.add(answer.key)
    return absent - failed


def score(
    transcripts: Iterable[Transcript],
    *,
    metrics: Sequence[str | Metric] | None = None,
    seed: int = 42,
    progress: Callable[[int], None] | None = None,
    at_once: int = 1,
) -> Scores:
    """Score every answer of the transcripts; earlier turns are the history of later ones.

    `at_once` transcripts are scored at the same time, which helps if a metric waits for a model.

    Example:
        >>> from assay.chat import Turn
        >>> turn = Turn(user="What's the weather in Rome?", assistant="It is sunny in Rome, 21 °C.")
        >>> scores = score([Transcript(agent="bot", scenario="rome", turns=[turn])])
        >>> scores.answers[0].entries["task_completion"].measured
        True

    """
    evaluators = Evaluators(metrics)
    answers: list[Answer] = []
    number = 0
    checked = _checked(transcripts)
    with ThreadPoolExecutor(at_once) if at_once > 1 else nullcontext() as pool:
        score_group = partial(score_transcripts, evaluators=evaluators)
        scored: Iterator[list[list[Answer]]] = (
            map(score_group, answer_batches(checked, _characters))
            if pool is None
            else pool.map(score_group, ([transcript] for transcript in checked))
        )
        for of_group in scored:
            for of_transcript in of_group:
                answers += of_transcript
                number += 1
                if progress is not None:
                    progress(number)
    used = evaluators.metrics if number else ()
    inputs = {}
    if isinstance(transcripts, Transcripts):
        inputs = {"transcripts": {"source": transcripts.source, "sha256": transcripts.sha256}}
    return Scores(tuple(answers), used, seed, inputs)


def _checked(transcripts: object) -> Iterator[Transcript]:
    """The transcripts; anything else is an error, above all the path of a file."""
    hint = "Give an iterable of `Transcript`; `read_transcripts(path)` reads those of a file"
    if isinstance(transcripts, (str, bytes, os.PathLike, Mapping, Transcript)) or not isinstance(transcripts, Iterable):
        raise UsageError(f"transcripts is {type(transcripts).__name__}, not several transcripts", hint=hint)
    for at, transcript in enumerate(transcripts):
        if not isinstance(transcript, Transcript):
            raise UsageError(f"transcripts[{at}] is {type(transcript).__name__}, not a Transcript", hint=hint)
        yield transcript


class Evaluators:
    """The evaluator of each domain, language and list of names that transcripts have."""

    def __init__(self, metrics: Sequence[str | Metric] | None) -> None:
        self._chosen = metrics
        self._made: dict[tuple[str, str, tuple[str, ...]], ChatbotEvaluator] = {}

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that every evaluator has."""
        return chosen_metrics(self._chosen)

    def of(self, transcript: Transcript) -> ChatbotEvaluator:
        key = (transcript.domain, transcript.language, tuple(transcript.names))
        if key not in self._made:
            if len(self._made) >= _MOST_EVALUATORS:
                self._made.clear()
            self._made[key] = ChatbotEvaluator(
                domain=transcript.domain, language=transcript.language, names=transcript.names, metrics=self._chosen
            )
        return self._made[key]


def score_transcripts(transcripts: Sequence[Transcript], evaluators: Evaluators) -> list[list[Answer]]:
    """Every answer of each transcript, scored together."""
    found: list[list[Answer]] = [[] for _ in transcripts]
    turns = [
        (number, evaluators.of(transcript), UnscoredTurn(transcript, at))
        for number, transcript in enumerate(map(_without_keys, transcripts))
        for at, turn in enumerate(transcript.turns)
        if turn.is_scored
    ]
    for evaluator, group in groupby(turns, key=lambda one: one[1]):
        numbers, _, unscored = zip(*group, strict=True)
        for number, answer in zip(numbers, answers_of(unscored, evaluator), strict=True):
            found[number].append(answer)
    return found


def _characters(transcript: Transcript) -> int:
    return sum(len(turn.assistant or "") for turn in transcript.turns)


def _without_keys(transcript: Transcript) -> Transcript:
    """The transcript without secrets, removed before scoring: evidence quotes the text that is kept."""
    turns = [
        turn.model_copy(
            update={
                "user": None if turn.user is None else redacted(turn.user),
                "assistant": None if turn.assistant is None else redacted(turn.assistant),
                "tool_calls": None if turn.tool_calls is None else [_without_keys_in(call) for call in turn.tool_calls],
            }
        )
        for turn in transcript.turns
    ]
    return transcript.model_copy(update={"turns": turns})


def _without_keys_in(call: ToolCall) -> ToolCall:
    return ToolCall.model_validate(redacted_value(call.model_dump()))


def rebuilt_scores(run: Run, answers: Iterable[Answer]) -> Scores:
    """The scores of a stored run, with means and intervals recomputed."""
    known = METRICS.names()
    metrics = []
    for name, stated in run.settings["metrics"].items():
        # A metric that is not installed here, such as a model's judgement, still has its scores and its place.
        blank = Metric(name, stated["group"], 0.0, (), "")
        changes = {key: value for key, value in stated.items() if key != "group"}
        is_ours = name in known and not stated["version"].startswith(LOG_VERSION)
        metrics.append(replace(METRICS.get(name) if is_ours else blank, **changes))
    return Scores(tuple(answers), tuple(metrics), run.seed, run.inputs)
