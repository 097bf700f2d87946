"""The figures of a run that lists and histories show: computed once, when they are first needed, and then stored.

Estimates follow from the tallies and the version of assay alone, so a stored summary is used as long as the version
that computed it is the one that is running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from assay import __version__
from assay.errors import AssayError
from assay.plural import counted
from assay.runs.results import ExperimentResult, rebuilt
from assay.types import Case, Direction, Estimate, State

if TYPE_CHECKING:
    from assay.chat.scoring.scores import Scores
    from assay.events.evaluation import EventReport
    from assay.result import Result
    from assay.runs.load_tests import LoadResult
    from assay.store.store import Store

SUMMARY_VERSION = f"{__version__}+4"
"""Changes with assay's version, and with the figures that a summary has."""
PASS_RATE = "pass_rate"
"""The key of the share of trials that pass, which every run of conversations has."""
_LOAD_FIGURES = ("throughput", "p95_ms", "error_share")


@dataclass(frozen=True, slots=True)
class RunFigure:
    """One figure of a run with its interval."""

    group: str
    """The agent, or the protocol with its version."""
    key: str
    title: str
    unit: str
    better: Direction
    value: float | None
    low: float | None
    high: float | None
    n: int
    headline: bool
    """Whether lists show it."""

    @property
    def is_by_agent(self) -> bool:
        """Whether its group is an agent, and not a protocol."""
        return self.key == PASS_RATE or self.key.partition("@")[0] in _LOAD_FIGURES


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What is shown first about a run."""

    figures: tuple[RunFigure, ...]
    findings: tuple[tuple[str, str], ...] = ()
    """Sentences about a run of events, each with its tone: 'good', 'bad' or 'note'."""

    @property
    def headlines(self) -> list[RunFigure]:
        """The figures that lists show: those of the first protocol that has any, or one for each agent."""
        chosen = [figure for figure in self.figures if figure.headline]
        if not chosen or chosen[0].is_by_agent:
            return chosen
        groups = list(dict.fromkeys(figure.group for figure in chosen))
        # Reports open with assay's own protocol too.
        first = next((group for group in groups if group.startswith("assay@")), groups[0])
        return [figure for figure in chosen if figure.group == first]

    @classmethod
    def of(cls, result: Result) -> RunSummary:
        """The summary of a result."""
        if isinstance(result, ExperimentResult):
            return cls(tuple(_of_scores(result.scores, result.tallies)))
        from assay.chat.scoring.scores import Scores

        if isinstance(result, Scores):
            return cls(tuple(_of_scores(result)))
        if result.subject == "load":
            from assay.runs.load_tests import LoadResult

            assert isinstance(result, LoadResult)
            return cls(tuple(_of_load(result)))
        from assay.events.evaluation import EventReport

        assert isinstance(result, EventReport)
        findings = tuple((finding["tone"], finding["text"]) for finding in result.verdict)
        return cls(tuple(_of_events(result)), findings)

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunSummary:
        """The summary that `to_json` wrote."""
        return cls(
            tuple(RunFigure(**figure) for figure in data["figures"]),
            tuple((tone, text) for tone, text in data["findings"]),
        )


def summaries_of(store: Store, ids: Sequence[str], *, keep: bool = True) -> dict[str, RunSummary]:
    """The summaries of complete runs by id; those that are not stored yet are computed and, with `keep`,
    stored.

    A run that cannot be rebuilt here, e.g. because the package of its protocol is missing, has none.
    """
    stored = store.summaries(ids, SUMMARY_VERSION)
    found = {run_id: RunSummary.from_json(content) for run_id, content in stored.items()}
    for run_id in ids:
        if run_id not in found:
            summary = _computed(store, run_id, keep)
            if summary is not None:
                found[run_id] = summary
    return found


def keep_summary_of(store: Store, run_id: str, result: Result) -> None:
    """Store the summary of a run whose result is available, so that it is not computed again."""
    with suppress(AssayError):
        store.keep_summary(run_id, SUMMARY_VERSION, RunSummary.of(result).to_json())


def _computed(store: Store, run_id: str, keep: bool) -> RunSummary | None:
    try:
        summary = RunSummary.of(rebuilt(store.load(run_id), store.answers(run_id)))
    except (AssayError, KeyError):
        return None
    if not keep:
        return summary
    with suppress(AssayError):  # a read-only store still has figures to show
        store.keep_summary(run_id, SUMMARY_VERSION, summary.to_json())
    return summary


def _of_scores(
    scores: Scores, tallies: Mapping[str, Mapping[Case, Mapping[str, State]]] | None = None
) -> list[RunFigure]:
    figures = []
    lines = scores.lines()
    for agent in scores.agents:
        passed = _pass_rate(scores, agent)
        figures.append(_figure(agent, PASS_RATE, "trials that pass", "", "higher", passed, headline=True))
        figures += _afterwards(agent, (tallies or {}).get(agent, {}))
        directions = {metric.name: metric.direction for metric in scores.metrics}
        figures += [
            _figure(agent, line.metric, line.metric.replace("_", " "), "", directions[line.metric], line.estimate)
            for line in lines
            if line.agent == agent and line.estimate.value is not None
        ]
    return figures


def _pass_rate(scores: Scores, agent: str) -> Estimate:
    """The share of trials that pass; the interval is over scenarios, as in comparisons."""
    from assay.stats import SHARE, Resampling, mean_interval

    trials = scores.trials(agent).values()
    sums, counts = [float(sum(one.values())) for one in trials], [len(one) for one in trials]
    return mean_interval(sums, counts, Resampling("episode"), scale=SHARE, unit="scenario")


def _afterwards(agent: str, tallies: Mapping[Case, Mapping[str, State]]) -> list[RunFigure]:
    """What came of quirks and interruptions, if the run had any; intervals are over scenarios."""
    from assay.chat.scoring.tallies import AFTERWARDS
    from assay.runs.shares import shares_of

    return [
        _figure(agent, name, AFTERWARDS[name], "", "higher", estimate) for name, estimate in shares_of(tallies).items()
    ]


def _of_load(result: LoadResult) -> list[RunFigure]:
    """Throughput and waiting of each agent by the number of users; lists show the throughput with most of them.

    A step is played a few times at most: its figures are medians over repetitions, and have no interval here.
    """
    from assay.chat.load.results import FIGURES

    figures = []
    for load in result.loads:
        for users in reversed(load.users):
            for name in _LOAD_FIGURES:
                value = load.typical(users, name)
                if value is None:
                    continue
                title, unit, better = FIGURES[name]
                is_headline = name == _LOAD_FIGURES[0] and users == load.users[-1]
                n = len(load.at(users))
                key, words = f"{name}@{users}", f"{title} with {counted(users, 'user')}"
                figures.append(
                    RunFigure(
                        load.agent, key, words, unit, cast("Direction", better), value, None, None, n, is_headline
                    )
                )
    return figures


def _of_events(report: EventReport) -> list[RunFigure]:
    return [
        _figure(
            result.label,
            metric.key,
            metric.title,
            metric.unit,
            metric.better,
            result.estimates[metric.key],
            headline=metric.headline,
        )
        for result in report.protocols.values()
        for metric in result.metrics
        if metric.better != "none" and result.estimates[metric.key].value is not None
    ]


def _figure(
    group: str, key: str, title: str, unit: str, better: Direction, estimate: Estimate, *, headline: bool = False
) -> RunFigure:
    return RunFigure(group, key, title, unit, better, estimate.value, estimate.low, estimate.high, estimate.n, headline)
