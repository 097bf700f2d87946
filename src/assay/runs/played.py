"""Plays an experiment into memory or into a store, and makes its result of what was played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.chat.running.models import cells_of
from assay.chat.running.sinks import MemorySink, Progress
from assay.chat.running.streamed_times import streamed_note
from assay.errors import AssayError, RunInterruptedError

if TYPE_CHECKING:
    from assay.chat.running.experiment import Experiences, Experiment
    from assay.chat.running.playing import Playing
    from assay.chat.scoring.answers import Answer
    from assay.runs.results import ExperimentResult
    from assay.store.process import StoreProcess
    from assay.store.store import Store
    from assay.types import Run


async def play_in_memory(
    playing: Playing, experiment: Experiment, measured: Experiences, progress: Callable[[Progress], None] | None
) -> ExperimentResult:
    """Play an experiment that is not stored."""
    sink = MemorySink()
    try:
        ended = await playing.play(sink, experience=measured, progress=progress)
    except asyncio.CancelledError:
        raise RunInterruptedError("the run was interrupted, and nothing was stored") from None
    return _result(experiment, sink.answers, None, measured, ended)


async def play_stored(
    playing: Playing,
    experiment: Experiment,
    run: Run,
    measured: Experiences,
    store: Store | StoreProcess,
    progress: Callable[[Progress], None] | None,
    begun: Callable[[str], None] | None = None,
    meanwhile: Callable[[ExperimentResult], None] | None = None,
    *,
    is_new: bool = False,
    keeps_refused: bool = False,
) -> ExperimentResult:
    """Play what a stored run does not have yet. A run that ends before its last trial stays unfinished, unless it is
    new and could not even begin: then it is kept only with `keeps_refused`.

    `begun` is called with its id once the store has it, and `meanwhile` with the result while the store completes it.
    """
    from assay.runs.recorder import Recorder
    from assay.runs.summaries import SUMMARY_VERSION, RunSummary

    with store.locked(run.id):
        recorder = Recorder(store, run, is_new=is_new)
        if begun is not None:
            begun(run.id)
        done = recorder.done(experiment.turns)
        # A run that was killed could not say what it had spent; what its answers cost is the least.
        before = recorder.answers()
        known = sum(answer.record.cost_with_user or 0.0 for answer in before if answer.record is not None)
        spent = max(known, float(run.settings.get("spent") or 0.0))
        try:
            ended = await playing.play(
                recorder, done=done, experience=measured, progress=progress, spent=spent, played=before
            )
        except asyncio.CancelledError:
            recorder.flush()
            _keep_spent(store, run, experiment, playing)
            raise RunInterruptedError(
                "the run was interrupted", hint=f"Continue it with: assay chat run --resume {run.id}"
            ) from None
        except Exception:
            with suppress(AssayError):  # what failed first is reported
                if is_new and not keeps_refused and not recorder.has_played:
                    recorder.discard()
                else:
                    recorder.flush()
                    _keep_spent(store, run, experiment, playing)
            raise
        run = _keep_spent(store, run, experiment, playing)
        if ended.streamed_times:
            told = {agent: times.to_json() for agent, times in ended.streamed_times.items()}
            notes = [*run.settings["notes"], *streamed_note(ended.streamed_times)]
            run = replace(run, settings={**run.settings, "streamed_times": told, "notes": notes})
            store.change_settings(run.id, run.settings)
        result = _result(experiment, recorder.answers(), run, measured, ended)
        if ended.stopped is not None:
            recorder.flush()
            return result
        summary = (SUMMARY_VERSION, RunSummary.of(result).to_json())
        if meanwhile is None:
            recorder.finish(result.tallies, summary)
        else:
            with ThreadPoolExecutor(1) as thread:
                finishing = thread.submit(recorder.finish, result.tallies, summary)
                meanwhile(result)
            finishing.result()
    return result


def _keep_spent(store: Store | StoreProcess, run: Run, experiment: Experiment, playing: Playing) -> Run:
    """The run with what it has spent of its budget, which is stored; without a budget, the run as it was."""
    if playing.spent is None:
        return run
    run = replace(run, settings={**run.settings, "budget": experiment.budget, "spent": playing.spent})
    store.change_settings(run.id, run.settings)
    return run


def _result(
    experiment: Experiment, answers: Iterable[Answer], run: Run | None, measured: Experiences, ended: Progress
) -> ExperimentResult:
    from assay.chat.scoring.scores import Scores
    from assay.chat.scoring.tallies import tallies_of
    from assay.runs.results import ExperimentResult, Incomplete

    incomplete = None
    if ended.stopped is not None:
        stopped = ended.stopped
        spent = ended.spent or 0.0
        incomplete = Incomplete(stopped.words(), ended.done, ended.total, stopped.limit, spent, stopped.needed)
    ordered, of_baselines = experiment.in_order(answers)
    metrics = experiment.chosen_metrics
    return ExperimentResult(
        scores=Scores(tuple(ordered), metrics, experiment.seed),
        baselines=Scores(tuple(of_baselines), metrics, experiment.seed) if of_baselines else None,
        tallies=tallies_of(ordered),
        suite=f"{experiment.suite.name}@{experiment.suite.version}",
        notes=(
            *([incomplete.words()] if incomplete else ()),
            *experiment.notes,
            *streamed_note(ended.streamed_times),
        ),
        streamed_times=ended.streamed_times,
        experience=measured,
        run=run,
        cells=cells_of(experiment.agents),
        incomplete=incomplete,
    )
