"""Runs: start, resume, load and compare them. Shared by the command line, the page and Python users.

run(suite, agents, …)              run agents, store the run if asked, and give its result (also `assay.chat.run`)
plan_experiment(suite, agents, …)  the same as a plan, for `start_run`
start_run(experiment, …)           a coroutine that runs a plan; `resume_run(reference)` continues a stored run
load(reference)                    the result of a stored run, with every estimate recomputed
load_answers(reference)            the scored answers of a stored run, finished or not
compare(a, b)                      stored runs against each other, by reference
record(result, …)                  store a result that was computed without a store
open_store(address)                the store itself: list, describe, tag, delete

Modules: `planning` makes an experiment of options, `starting` starts and resumes, `recorder` stores turns as they
finish, `from_results` turns a result into a run, `machine` describes the machine, `results` rebuilds results,
`loading` finds stored runs by reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazy_names

if TYPE_CHECKING:
    from assay.runs.loading import compare, load, load_answers, record
    from assay.runs.planning import plan_experiment
    from assay.runs.results import ExperimentResult
    from assay.runs.starting import resume_run, run, start_run
    from assay.store import open_store

_HOMES = {
    "ExperimentResult": "assay.runs.results",
    "compare": "assay.runs.loading",
    "load": "assay.runs.loading",
    "load_answers": "assay.runs.loading",
    "open_store": "assay.store",
    "plan_experiment": "assay.runs.planning",
    "record": "assay.runs.loading",
    "resume_run": "assay.runs.starting",
    "run": "assay.runs.starting",
    "start_run": "assay.runs.starting",
}

__all__ = [
    "ExperimentResult",
    "compare",
    "load",
    "load_answers",
    "open_store",
    "plan_experiment",
    "record",
    "resume_run",
    "run",
    "start_run",
]


__getattr__, __dir__ = lazy_names(
    __name__, _HOMES, extras=dict.fromkeys(("plan_experiment", "resume_run", "run", "start_run"), "agents")
)
