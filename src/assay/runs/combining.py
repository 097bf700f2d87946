"""Several runs of the same agents as one result: suites, robustness, restarts and load, for one decision."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.runs.loading import AnyStore, opened_store
from assay.runs.results import ExperimentResult, rebuilt

if TYPE_CHECKING:
    from assay.result import Result


def combine_runs(*references: str, store: AnyStore = None) -> ExperimentResult:
    """Stored runs of the same agents, taken together; a load test among them counts as a criterion of its own.

    Example:
        >>> combine_runs(store="missing.db")
        Traceback (most recent call last):
            ...
        assay.errors.UsageError: a decision needs at least one run. Name a run of agents

    """
    if not references:
        raise UsageError("a decision needs at least one run", hint="Name a run of agents")
    with ExitStack() as stack:
        opened = opened_store(store, stack)
        results = []
        for reference in references:
            run = opened.load(reference)
            results.append(rebuilt(run, opened.answers(run.id)))
    return combined(results)


def combined(results: Sequence[Result]) -> ExperimentResult:
    """Results of the same agents as one; agents that a run of conversations lacks are left out.

    Raises UsageError if two runs have the same scenario, or if no agent is in all of them.
    """
    from assay.chat.scoring.scores import Scores
    from assay.chat.scoring.tallies import tallies_of
    from assay.runs.load_tests import LoadResult

    played = [one for one in results if isinstance(one, ExperimentResult)]
    loads = [load for one in results if isinstance(one, LoadResult) for load in one.loads]
    if len(played) + sum(isinstance(one, LoadResult) for one in results) < len(results):
        raise UsageError("a decision can use only runs of agents and load tests", hint="Leave other runs out")
    if not played:
        raise UsageError("a load test alone decides nothing", hint="Name a run of conversations too")
    agents = [agent for agent in played[0].agents if all(agent in one.agents for one in played)]
    if not agents:
        had = "; ".join(", ".join(one.agents) for one in played)
        raise UsageError(f"these runs have no agent in common: {had}", hint="Name runs of the same agents")
    _check_scenarios(played)
    answers = [answer for one in played for answer in one.answers if answer.agent in agents]
    left_out = dict.fromkeys(agent for one in played for agent in one.agents if agent not in agents)
    notes = [note for one in played for note in one.notes]
    notes += [f"Load: {note}" for one in results if isinstance(one, LoadResult) for note in one.cautions]
    if left_out:
        notes.append(f"Not in all of these runs and left out: {', '.join(left_out)}.")
    metrics = {metric.name: metric for one in played for metric in one.scores.metrics}
    return ExperimentResult(
        scores=Scores(tuple(answers), tuple(metrics.values()), played[0].scores.seed),
        tallies=tallies_of(answers),
        suite=", ".join(dict.fromkeys([*(one.suite for one in played), *(["load"] if loads else [])])),
        notes=tuple(dict.fromkeys(notes)),
        experience={agent: found for one in played for agent, found in one.experience.items() if agent in agents},
        cells={agent: cell for agent, cell in played[0].cells.items() if agent in agents},
        streamed_times={
            agent: found for one in played for agent, found in one.streamed_times.items() if agent in agents
        },
        loads=tuple(load for load in loads if load.agent in agents),
    )


def _check_scenarios(played: Sequence[ExperimentResult]) -> None:
    seen: set[str] = set()
    for one in played:
        scenarios = set(one.scores.scenarios)
        if seen & scenarios:
            raise UsageError(
                f"two of these runs have the scenario '{min(seen & scenarios)}'", hint="Name one run of each suite"
            )
        seen |= scenarios
