"""How an evaluation becomes a run: what is needed to repeat it, and nothing that must stay secret.

Everything that enters a run from outside (the command line, addresses, settings) goes through `redaction` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.redaction import harmless_text, redacted, redacted_command, redacted_value
from assay.runs.machine import environment
from assay.store.ids import new_id
from assay.types import Run

if TYPE_CHECKING:
    from assay.chat.running.experiment import Experiences, Experiment
    from assay.chat.scoring.scores import Scores
    from assay.events.evaluation import EventReport
    from assay.runs.load_tests import LoadResult


def recorded_run(
    result: EventReport | Scores | LoadResult, *, command: Sequence[str] = (), name: str = "", tags: Iterable[str] = ()
) -> Run:
    """A result as a run that can be stored.

    Answers are stored separately: `store.save(run, answers=[answer.to_row() for answer in scores.answers])`.
    """
    return _recorded(result.as_run(), command=command, name=name, tags=tags)


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
    if harmless_text(chosen) is None and chosen != redacted_value(chosen):
        raise UsageError(
            "something in the settings of this run looks like a key, so the run cannot be stored and resumed",
            hint="Give keys by environment variables (key_env names one), and leave them out of addresses",
        )
    from assay.chat.scoring.scores import Scores

    unscored = Scores((), experiment.chosen_metrics, experiment.seed).as_run()
    inputs = {"suite": {"source": experiment.selection.suite, "sha256": chosen["suite"]["digest"]}}
    run = _recorded(replace(unscored, kind="experiment", inputs=inputs), command=command, name=name, tags=tags)
    settings = {
        **run.settings,
        # Not redacted: a run is resumed from its settings, and anything that looks like a key was refused above.
        **chosen,
        "experience": redacted_value({agent: one.to_json() for agent, one in experience.items()}),
        "notes": redacted_value(experiment.notes),
    }
    return replace(run, settings=settings)


def _recorded(run: Run, *, command: Sequence[str], name: str, tags: Iterable[str]) -> Run:
    """The run with an id, a time and everything else that a store keeps; secrets are removed."""
    return replace(
        run,
        id=new_id(),
        name=redacted(name),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=redacted_command(command),
        settings=redacted_value(run.settings),
        inputs=redacted_value(run.inputs),
        environment=environment(),
        tags=tuple(redacted(tag) for tag in tags),
    )
