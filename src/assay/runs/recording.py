"""How an evaluation becomes a run: what is needed to repeat it, and nothing that must stay secret.

Everything that enters a run from outside (the command line, addresses, settings) goes through `redaction` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.redaction import redacted, redacted_command, redacted_value
from assay.runs.digests import digest
from assay.runs.machine import environment
from assay.store.references import new_id
from assay.types import Case, Run, State

if TYPE_CHECKING:
    from assay.chat.running.experiment import Experiences, Experiment
    from assay.chat.scoring.metric import Metric
    from assay.chat.scoring.scores import Scores
    from assay.events.evaluation import EventReport
    from assay.events.sources import AnySource
    from assay.events.tally import Tally


def events_run(
    report: EventReport,
    predicted: AnySource,
    truth: AnySource,
    *,
    command: Sequence[str] = (),
    name: str = "",
    tags: Iterable[str] = (),
) -> Run:
    """A report on events as a run. `predicted` and `truth` are what it was made from; files are read for digests."""
    tallies = {protocol: _by_case(result.tally) for protocol, result in report.protocols.items()}
    scored = {case.name for by_case in tallies.values() for case in by_case}
    inputs = {}
    for side, seen, source in (("predicted", report.predicted, predicted), ("truth", report.truth, truth)):
        # Episodes are named by the cases; only those that one side lacks have to be kept beside them.
        beside = {"spoiled_kinds": dict(seen.spoiled_kinds), "absent": sorted(scored - seen.episodes)}
        inputs[side] = seen.to_json() | beside | digest(source)
    return _run(
        "events",
        settings=report.settings,
        seed=int(report.settings["seed"]),
        versions={name: result.version for name, result in report.protocols.items()},
        inputs=inputs,
        tallies=tallies,
        command=command,
        name=name,
        tags=tags,
    )


def _by_case(tally: Tally) -> dict[Case, dict[str, State]]:
    """States by the episode's name and stratum; other facts about an episode, such as its first frame, are not kept."""
    from assay.events.stream import Episode
    from assay.events.tally import Tally

    whole, states = Tally(), tally.states()
    for episode in tally.arrived:
        whole.add(Episode(episode.name, episode.stratum), states[episode])
    merged = whole.states()
    return {Case(episode.name, episode.stratum): merged[episode] for episode in whole.arrived}


def chat_run(
    scores: Scores,
    source: AnySource | None = None,
    *,
    command: Sequence[str] = (),
    name: str = "",
    tags: Iterable[str] = (),
) -> Run:
    """Scored transcripts as a run: for each agent and scenario, the distribution of every metric's measured scores.

    The answers are stored beside it: `store.save(run, answers=[answer.to_row() for answer in scores.answers])`.
    """
    from assay.chat.scoring.tallies import tallies_of

    return _run(
        "chat",
        settings=_scored_by(scores.metrics, scores.seed),
        seed=scores.seed,
        versions=scores.versions,
        inputs={} if source is None else {"transcripts": {"source": str(source)} | digest(source)},
        tallies=tallies_of(scores.answers),
        command=command,
        name=name,
        tags=tags,
    )


def experiment_run(
    experiment: Experiment,
    experience: Experiences,
    *,
    command: Sequence[str] = (),
    name: str = "",
    tags: Iterable[str] = (),
) -> Run:
    """The run of an experiment that is about to start: the settings it can be resumed from, and nothing scored yet."""
    chosen = experiment.to_json()
    if chosen != redacted_value(chosen):
        raise UsageError(
            "something in the settings of this run looks like a key, so the run cannot be stored and resumed",
            hint="Give keys by environment variables (key_env names one), and leave them out of addresses",
        )
    metrics = experiment.evaluator().metrics
    run = _run(
        "experiment",
        settings={},
        seed=experiment.seed,
        versions={metric.name: metric.version_number for metric in metrics},
        inputs={"suite": {"source": experiment.selection.suite, "sha256": experiment.suite.digest}},
        tallies={},
        command=command,
        name=name,
        tags=tags,
    )
    settings = {
        **_scored_by(metrics, experiment.seed),
        **chosen,
        "experience": redacted_value({agent: one.to_json() for agent, one in experience.items()}),
        "notes": redacted_value(experiment.notes),
    }
    # Not redacted: a run is resumed from its settings, and anything that looks like a key was refused above.
    return replace(run, settings=settings)


def _scored_by(metrics: Iterable[Metric], seed: int) -> dict[str, Any]:
    by_name = {metric.name: {"group": metric.group, "version": metric.version} for metric in metrics}
    return {"seed": seed, "interval": "scenario", "metrics": by_name}


def _run(
    kind: str,
    *,
    settings: Mapping[str, Any],
    seed: int,
    versions: Mapping[str, int],
    inputs: Mapping[str, Any],
    tallies: Mapping[str, Mapping[Case, Mapping[str, State]]],
    command: Sequence[str],
    name: str,
    tags: Iterable[str],
) -> Run:
    return Run(
        id=new_id(),
        kind=kind,
        name=redacted(name),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=redacted_command(command),
        settings=redacted_value(settings),
        seed=seed,
        versions=versions,
        inputs=redacted_value(inputs),
        environment=environment(),
        tallies=tallies,
        tags=tuple(redacted(tag) for tag in tags),
    )
