"""Results of runs: the result of an experiment, and results rebuilt from stored runs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from assay.plural import counted
from assay.result import Result
from assay.types import Case, Run, State

if TYPE_CHECKING:
    from assay.chat.experience import Experience
    from assay.chat.load.results import AgentLoad
    from assay.chat.running.models import Cell
    from assay.chat.running.streamed_times import StreamedTimes
    from assay.chat.scoring.answers import Answer
    from assay.chat.scoring.scores import Scores
    from assay.compare import Comparison
    from assay.compare.costs import AgentCosts
    from assay.compare.decision import Decision
    from assay.compare.skill import SkillOverBaselines


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A run that was stopped before all trials were played. What was not played counts nowhere."""

    reason: str
    """As a sentence without a full stop."""
    done: int
    """Trials that were played."""
    planned: int
    budget: float
    """US dollars that the run was allowed to spend."""
    spent: float
    """What it spent, with what was played before anything was measured."""
    needed: float = 0.0
    """What the next conversations might cost."""

    @property
    def suggested_budget(self) -> str:
        """A budget with which the run goes on, in US dollars; the margin is more than rounding takes away."""
        return f"{max(2 * self.budget, 1.1 * (self.spent + self.needed)):.2g}"

    def words(self) -> str:
        """As a note before the numbers."""
        return (
            f"Incomplete: {self.reason}. {self.done:,} of {counted(self.planned, 'trial')} were played; the others "
            "count nowhere."
        )

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class ExperimentResult(Result):
    """Agents that were run through a suite: their answers, scores, times, and how they compare."""

    subject: ClassVar[str] = "agents"

    scores: Scores
    """Every answer with its scores."""
    tallies: Mapping[str, Mapping[Case, Mapping[str, State]]] = field(repr=False)
    """Scores, times and tokens by agent and scenario."""
    suite: str
    """Name and version of the suite."""
    notes: Sequence[str] = ()
    """What readers need to know before the numbers."""
    experience: Mapping[str, Experience] = field(default_factory=dict, repr=False)
    """Developer experience by agent, if it was measured."""
    baselines: Scores | None = field(default=None, repr=False)
    """Answers of the baselines with their scores; None if they were not played."""
    run: Run | None = field(default=None, repr=False)
    """The stored run; None if the run was not stored."""
    cells: Mapping[str, Cell] = field(default_factory=dict, repr=False)
    """Framework and model of each agent, if agents were played with several models."""
    incomplete: Incomplete | None = None
    """Why not all trials were played; None if they were."""
    streamed_times: Mapping[str, StreamedTimes] = field(default_factory=dict, repr=False)
    """The time to the first text with a model that streams like a real one, by agent, if it was measured."""
    loads: Sequence[AgentLoad] = ()
    """Load tests of the agents, if results were combined."""

    @property
    def answers(self) -> Sequence[Answer]:
        return self.scores.answers

    @property
    def agents(self) -> list[str]:
        return self.scores.agents

    @cached_property
    def _comparisons(self) -> list[Comparison]:
        from assay.compare import compare, side_of

        run = self.as_run()
        sides = [side_of(run, agent) for agent in self.agents if agent in self.tallies]
        return [compare(sides[0], side) for side in sides[1:]]

    def as_run(self) -> Run:
        """The run with its tallies, to be compared."""
        if self.run is not None:
            return replace(self.run, tallies=self.tallies)
        return replace(self.scores.as_run(), kind="experiment", name=self.suite)

    def comparisons(self) -> list[Comparison]:
        """Every other agent compared with the one that was named first."""
        return self._comparisons

    @cached_property
    def _decision(self) -> Decision | None:
        from assay.compare.decision import decide

        return decide(self.scores, loads=self.loads)

    def decision(self) -> Decision | None:
        """For three priorities which agent leads, by what and how surely; None with fewer than two agents."""
        return self._decision

    def costs(self) -> list[AgentCosts]:
        """What each agent cost, and what each passed trial cost."""
        from assay.compare.costs import costs_of

        return costs_of(self.scores)

    @cached_property
    def _effects(self) -> list[Comparison]:
        if not self.cells:
            return []
        from assay.compare.factors import effects

        return effects(self.as_run(), self.cells)

    def effects(self) -> list[Comparison]:
        """Frameworks, models and their interaction, if every framework was played with each of several models."""
        return self._effects

    @cached_property
    def _skill(self) -> SkillOverBaselines | None:
        from assay.compare.skill import skill_over

        return None if self.baselines is None else skill_over(self.scores, self.baselines)

    def skill(self) -> SkillOverBaselines | None:
        """How far each agent is above the baselines; None if they were not played."""
        return self._skill

    def rows(self) -> list[dict[str, Any]]:
        return self.scores.rows()

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        from assay.chat.scoring.outcomes.growth import growth_of
        from assay.chat.scoring.outcomes.interruption_matrix import interruptions_json
        from assay.chat.scoring.outcomes.quirk_matrix import quirks_json
        from assay.compare.overall import overall

        found = self.skill()
        of_baselines = [answer.to_json() for answer in self.baselines.answers] if self.baselines is not None else []
        return self.scores.to_json() | {
            "run": None if self.run is None else self.run.id,
            "notes": list(self.notes),
            "incomplete": None if self.incomplete is None else self.incomplete.to_json(),
            "suite": self.suite if self.run is None else self.run.settings["suite"],
            "experience": {agent: one.to_json() for agent, one in self.experience.items()},
            "streamed_times": {agent: one.to_json() for agent, one in self.streamed_times.items()},
            "decision": None if (decided := self.decision()) is None else decided.to_json(),
            "overall": overall(self.scores, loads=self.loads).to_json(),
            "costs": {one.agent: one.to_json() for one in self.costs()},
            "effects": [effect.to_json() for effect in self.effects()],
            "robustness": quirks_json(self.scores),
            "interruptions": interruptions_json(self.scores),
            "growth": {
                agent: one.to_json() for agent in self.agents if (one := growth_of(self.answers, agent)) is not None
            },
            "baselines": None if found is None else found.to_json() | {"answers": of_baselines},
        }

    def __await__(self) -> Generator[Any, None, Self]:
        """A finished result can be awaited too, so that `await assay.chat.run(...)` works everywhere."""
        return self
        yield


def rebuilt(run: Run, answers: Sequence[Mapping[str, Any]]) -> Result:
    """The result of a stored run: scores as stored, every estimate recomputed from the tallies.

    `answers` are the rows that the store has for the run; runs of events have none.
    """
    if run.kind == "events":
        from assay.events.evaluation import rebuilt_report

        return rebuilt_report(run)
    if run.kind == "load":
        from assay.runs.load_tests import rebuilt_load

        return rebuilt_load(run)
    from assay.chat.scoring.answers import Answer, ordered_answers
    from assay.chat.scoring.scores import rebuilt_scores

    known = [Answer.from_json(row) for row in answers]
    if run.kind == "chat":
        return rebuilt_scores(run, known)
    if run.kind != "experiment":
        from assay.errors import UsageError

        raise UsageError(f"unknown kind of run '{run.kind}'", hint="Export it as JSON or Parquet")
    from assay.chat.running.streamed_times import StreamedTimes
    from assay.runs.starting import experience_of
    from assay.runs.stored_agents import stored_agents, stored_cells

    suite = run.settings["suite"]
    ordered, of_baselines = ordered_answers(
        known,
        scenarios=suite["scenarios"],
        agents=[agent["name"] for agent in stored_agents(run)],
        baselines=run.settings.get("baselines", ()),
    )
    return ExperimentResult(
        scores=rebuilt_scores(run, ordered),
        baselines=rebuilt_scores(run, of_baselines) if of_baselines else None,
        tallies=run.tallies,
        suite=f"{suite['name']}@{suite['version']}",
        notes=run.settings["notes"],
        experience=experience_of(run),
        run=run,
        streamed_times={
            agent: StreamedTimes(**times) for agent, times in run.settings.get("streamed_times", {}).items()
        },
        cells=stored_cells(run),
    )


def scores_of(result: Result) -> Scores:
    """The scored answers of a result; raises UsageError if it is about events."""
    from assay.chat.scoring.scores import Scores
    from assay.errors import UsageError

    if isinstance(result, ExperimentResult):
        return result.scores
    if isinstance(result, Scores):
        return result
    raise UsageError("a run of events or of a load test has no answers", hint="Name a run of conversations")
