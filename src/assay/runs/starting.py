"""Starts and resumes experiments: plays what is not played yet, stores every finished turn, and gives the result.

Used by the command line, the page and Python users alike.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from assay.chat.agents.spec import AgentSpec
from assay.chat.running.experiment import AgentChoice, Experiences, Experiment
from assay.chat.running.models import ModelChoice, cells_of
from assay.chat.running.playing import Playing
from assay.chat.running.trials import Pace
from assay.errors import RunInterruptedError, UsageError
from assay.runs.machine import command_line
from assay.runs.planning import PriceChoice, plan_experiment
from assay.runs.played import play_in_memory, play_stored

if TYPE_CHECKING:
    from assay.chat.running.processes.ahead import Ahead
    from assay.chat.running.sinks import Progress
    from assay.chat.scoring.metric import Metric
    from assay.chat.suites import Suite
    from assay.engines.ray import RayEngine
    from assay.runs.results import ExperimentResult
    from assay.store.process import StoreProcess
    from assay.store.store import Store, StoredRun
    from assay.types import Run

StoreChoice: TypeAlias = "str | Path | Store | StoreProcess | bool | None"
"""Where a run is stored: an address, an open store, or True for the default store; None or False to store nothing.
A new run can also be stored by a process that is not open yet.
"""


def run(
    suite: str | Path | Suite = "weather",
    agents: AgentChoice = ("google-adk", "agent-framework"),
    *,
    repeat: int = 1,
    seed: int = 42,
    model: ModelChoice = None,
    model_url: str | None = None,
    weather: str = "embedded",
    skill: str = "1",
    model_speed: float | None = None,
    metrics: Sequence[str | Metric] | None = None,
    kinds: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    limit: int | None = None,
    experience: bool = False,
    pace: Pace | None = None,
    baselines: bool = True,
    prices: PriceChoice | None = None,
    budget: float | None = None,
    user_model: str | None = None,
    user_model_url: str | None = None,
    store: StoreChoice = None,
    name: str = "",
    tags: Iterable[str] = (),
    resume: str | None = None,
    domain: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ExperimentResult:
    """Run agents through the scenarios of a suite, score every turn, and compare the agents.

    Everything runs on this machine by default: the model is a scripted stand-in and the weather is made up, both on
    loopback, and both are determined by `seed`. In a notebook, or in any running event loop, await the call:
    `result = await assay.chat.run(...)`.

    Args:
        suite: The name of a suite (`"weather"`), the path of a YAML file, or a loaded suite.
        agents: Names of agents, as `assay chat agents` lists them, or a dictionary of names to agents. There an agent
            may be a name, `"module:function"`, an address, or a function, which then answers in this process.
        repeat: How many trials each agent has at each scenario: repetitions of the same conversation.
        seed: Decides the weather, the scripted model's errors, the order of trials, and the intervals.
        model: The name of a real model at `model_url` (by default OPENAI_BASE_URL) with the key in OPENAI_API_KEY;
            None for the scripted model. With several, `"a,b"` or a list, every agent is played with each, as
            'google-adk @ a', and `result.effects()` tells frameworks, models and their interaction apart.
        model_url: Address of an OpenAI-compatible endpoint for `model`.
        weather: `"embedded"`, or `"openweather"` for the real service with the key in OPENWEATHER_API_KEY.
        skill: How often the scripted model is right: `"1"` never errs, `"0.8"` errs in one turn of five,
            `"wrong_figure=0.2"` sets the rate of one kind of error.
        model_speed: Tokens a second of the scripted model's streams, such as 60; 0 to send them at once. None sends
            them at once, and with ten scenarios or more the time to the first text is measured apart, at 100.
        metrics: Names of metrics, or metrics; None for all.
        kinds: Play only scenarios of these kinds.
        scenarios: Play only scenarios with these ids or patterns of ids.
        limit: Play at most this many scenarios, spread over all kinds.
        experience: Whether to measure developer experience first, which takes a few seconds for each agent.
        pace: Concurrency, timeouts and retries: `Pace(jobs=4, turn_timeout=30)`; None for what suits the suite.
        baselines: Whether to play and score the baselines too: a constant text and an echo of the question. They call
            no model, and `result.skill()` tells how far each agent is above them.
        prices: US dollars for a million tokens by the name of a model, `{"a": {"input": 0.25, "output": 2.0}}`, with
            `"cached"` for tokens read from a cache. They override the price list of `genai-prices`.
        budget: US dollars that the run may spend. It stops before it would spend more, is then incomplete, and can be
            resumed with a larger budget. What was not played counts nowhere.
        user_model: The name of a model that plays the simulated users of personas, at `user_model_url` (by default
            OPENAI_BASE_URL) with the key in ASSAY_USER_KEY or OPENAI_API_KEY; None for users by rules, which need none.
        user_model_url: Address of an OpenAI-compatible endpoint for `user_model`.
        store: Where to store the run: an address, an open `Store`, True for the default store, or None for nowhere.
            Every finished turn is stored within half a second.
        name: Name of the stored run.
        tags: Tags of the stored run.
        resume: Continue a stored run, by id or name, or `"@unfinished"` for the newest; every other argument except
            `store`, `budget`, `domain` and `progress` then comes from that run.
        domain: The folder of your own domain, whose name the suite states. This process then has it under that name.
        progress: Called with the state of the run after every conversation.

    Returns:
        The result: `print()` shows the agents side by side, `html(path)` writes the page, `to_json()` and
        `to_pandas()` give the data, `comparisons()` the verdicts. Inside a running event loop, such as a notebook's,
        the call has to be awaited: `result = await assay.chat.run(...)`.

    Raises:
        UsageError: An argument is wrong; the message says which one and what to do.
        RunInterruptedError: Ctrl-C stopped the run. Stored turns are safe, and `resume` continues it.

    Example:
        >>> def polite(message: str) -> str:
        ...     return "I do not know, sorry."
        >>> result = run("weather", {"polite": polite}, limit=2)
        >>> result.agents
        ['polite']

    """
    if resume is not None:
        return _now_or_awaited(resume_run(resume, store=store, budget=budget, domain=domain, progress=progress))
    experiment = plan_experiment(
        suite,
        agents,
        repeat=repeat,
        seed=seed,
        model=model,
        model_url=model_url,
        weather=weather,
        skill=skill,
        model_speed=model_speed,
        metrics=metrics,
        kinds=kinds,
        scenarios=scenarios,
        limit=limit,
        pace=pace,
        baselines=baselines,
        prices=prices,
        budget=budget,
        user_model=user_model,
        user_model_url=user_model_url,
        domain=domain,
    )
    return _now_or_awaited(
        start_run(
            experiment,
            store=store,
            name=name,
            tags=tags,
            measure_experience=experience,
            progress=progress,
        )
    )


async def start_run(
    experiment: Experiment,
    *,
    store: StoreChoice = None,
    name: str = "",
    tags: Iterable[str] = (),
    measure_experience: bool = False,
    progress: Callable[[Progress], None] | None = None,
    notify: Callable[[str], None] | None = None,
    begun: Callable[[str], None] | None = None,
    offline: bool = False,
    cluster: RayEngine | None = None,
    ahead: Ahead | None = None,
    meanwhile: Callable[[ExperimentResult], None] | None = None,
    keeps_refused: bool = False,
) -> ExperimentResult:
    """Play a new run to its end. The store is opened first, so that nothing is played that could not be stored.

    `begun` is called with the run's id once the store has it. On a `cluster`, agents run on its nodes. `ahead` are
    processes that were started ahead. `meanwhile` is called with the result while a store completes the run. A run that
    ends with an error before its first turn is not kept, unless `keeps_refused`: a page may show it by its id.

    Example:
        >>> import asyncio
        >>> experiment = plan_experiment("weather", {"polite": lambda message: "I cannot say."}, limit=1)
        >>> asyncio.run(start_run(experiment)).answers[0].response
        'I cannot say.'

    """
    experiment.check_playable()
    async with Playing(experiment, cluster, ahead) as playing:
        if not measure_experience:
            await playing.prepare()
            playing.begin_baselines()
        with ExitStack() as stack:
            opened = await _opened_meanwhile(store, stack)
            if any(isinstance(spec, AgentSpec) and spec.version is not None for spec in experiment.agents):
                await _made_meanwhile(experiment, offline, notify)
            await asyncio.to_thread(experiment.environment.check_model)
            measured = await _measured_meanwhile(experiment, notify) if measure_experience else {}
            if opened is None:
                return await play_in_memory(playing, experiment, measured, progress)
            from assay.runs.from_results import experiment_run

            command = command_line()
            run = await asyncio.to_thread(experiment_run, experiment, measured, command=command, name=name, tags=tags)
            return await play_stored(
                playing,
                experiment,
                run,
                measured,
                opened,
                progress,
                begun,
                meanwhile,
                is_new=True,
                keeps_refused=keeps_refused,
            )


async def resume_run(
    reference: str,
    *,
    store: StoreChoice = True,
    budget: float | None = None,
    domain: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    begun: Callable[[str], None] | None = None,
    cluster: RayEngine | None = None,
) -> ExperimentResult:
    """Continue a stored run of agents that is not finished; `begun` is called with its id.

    `budget` replaces that of the run, and counts what the run has spent already. `domain` is the folder of a domain
    that is not installed, if the run had one.

    Example:
        >>> import asyncio
        >>> asyncio.run(resume_run("@unfinished", store="missing.db"))
        Traceback (most recent call last):
            ...
        assay.errors.StoreError: missing.db: there is no store here. Check the path, or leave --store out

    """
    from assay.store import open_store

    with ExitStack() as stack:
        if isinstance(store, str | Path):
            store = stack.enter_context(open_store(store, create=False))
        opened: Any = _opened(True if store is None else store, stack)
        if opened is None:
            raise UsageError("a run can be resumed only from a store", hint="Name the store it was kept in")
        entry = _unfinished(opened, reference)
        run = entry.run
        if entry.complete:
            raise UsageError(f"run {run.id} is finished", hint=f"Show it with: assay runs show {run.id}")
        if run.kind != "experiment":
            raise UsageError(
                f"run {run.id} is not a run of agents", hint="Only runs started by `assay chat run` can be resumed"
            )
        metrics = list(run.settings["metrics"])
        experiment = Experiment.from_json(run.settings, seed=run.seed, metrics=metrics, domain=domain)
        if budget is not None:
            experiment = replace(experiment, budget=budget)
        async with Playing(experiment, cluster) as playing:
            return await play_stored(playing, experiment, run, experience_of(run), opened, progress, begun)


def until_interrupted(work: Any) -> ExperimentResult:
    """Run `start_run(…)` or `resume_run(…)` to its end; Ctrl-C and SIGTERM stop it cleanly.

    Raises RunInterruptedError if it was stopped: agents are closed by then, and finished turns are stored.
    """

    async def main() -> ExperimentResult:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            return cast("ExperimentResult", await task)
        except asyncio.CancelledError:  # before anything was played
            raise RunInterruptedError("the run was interrupted, and nothing was stored") from None

    return asyncio.run(main())


def experience_of(run: Run) -> Experiences:
    """The developer experience that a run of agents measured, by agent."""
    from assay.chat.experience import Experience

    return {agent: Experience.from_json(data) for agent, data in run.settings["experience"].items()}


def _now_or_awaited(work: Any) -> ExperimentResult:
    """The result, or, inside a running event loop, the coroutine that gives it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return until_interrupted(work) if _is_main_thread() else asyncio.run(work)
    return cast("ExperimentResult", work)


def _is_main_thread() -> bool:
    """Whether signal handlers can be set here."""
    return threading.current_thread() is threading.main_thread()


async def _opened_meanwhile(store: StoreChoice, stack: ExitStack) -> Store | StoreProcess | None:
    """The store to use, as `_opened` gives it; while a process opens one, the event loop plays baselines."""
    from assay.store.process import StoreProcess

    if isinstance(store, StoreProcess):
        return await asyncio.to_thread(store.opened)
    return _opened(store, stack)


def _opened(store: StoreChoice, stack: ExitStack) -> Store | StoreProcess | None:
    """The store to use, closed with the stack if it was opened here."""
    if store is None or store is False:
        return None
    from assay.store import open_store
    from assay.store.process import StoreProcess

    if isinstance(store, StoreProcess):
        return store.opened()
    if not isinstance(store, str | Path | bool):
        return store
    return stack.enter_context(open_store(None if store is True else store))


def _unfinished(store: Store, reference: str) -> StoredRun:
    """The run to continue: by id, by name, or the newest; a name means its newest run that is not finished."""
    named = [entry for entry in store.list(kind="experiment", name=reference) if not entry.complete]
    return named[0] if named else store.describe(reference)


def make_environments(
    agents: Iterable[object], *, offline: bool = False, notify: Callable[[str], None] | None = None
) -> None:
    """Make the environments of agents whose framework has a version of its own; `offline` only looks for them.

    Example:
        >>> make_environments([])

    """
    pinned = [spec for spec in agents if isinstance(spec, AgentSpec) and spec.version is not None]
    if not pinned:
        return
    from assay.chat.running.version_making import state_of
    from assay.chat.running.versions import interpreter_of

    state_of.cache_clear()
    for spec in pinned:
        interpreter_of(spec, offline=offline, notify=notify)


async def _made_meanwhile(experiment: Experiment, offline: bool, notify: Callable[[str], None] | None) -> None:
    """The environments of agents, made in a thread that is stopped if the run is."""
    told = threading.Event()

    def make() -> None:
        from assay.chat.running.version_making import TOLD_TO_STOP

        TOLD_TO_STOP.set(told)  # in this thread's own context
        make_environments(experiment.agents, offline=offline, notify=notify)

    try:
        await asyncio.to_thread(make)
    finally:
        told.set()


async def _measured_meanwhile(experiment: Experiment, notify: Callable[[str], None] | None) -> Experiences:
    """The developer experience of agents, in a thread that is stopped if the run is."""
    told = threading.Event()
    try:
        return await asyncio.to_thread(_measured, experiment, notify, told)
    finally:
        told.set()


def _measured(
    experiment: Experiment, notify: Callable[[str], None] | None, told_to_stop: threading.Event
) -> Experiences:
    from assay.chat.experience import Experience, measure_experience
    from assay.chat.experience.process import TOLD_TO_STOP
    from assay.chat.world.embedded import World

    TOLD_TO_STOP.set(told_to_stop)  # in this thread's own context
    found: dict[str, Experience] = {}
    cells = cells_of(experiment.agents)
    of_framework: dict[str, Experience] = {}
    with World(seed=experiment.seed) as world:
        for agent in experiment.agents:
            if isinstance(agent, AgentSpec) and agent.version is not None:
                continue  # another version is installed here
            framework = cells[agent.name].framework if agent.name in cells else agent.name
            if framework in of_framework:  # the model changes nothing about it
                found[agent.name] = replace(of_framework[framework], agent=agent.name)
                continue
            if notify is not None:
                notify(f"measuring developer experience: {agent.name} …")
            found[agent.name] = of_framework[framework] = measure_experience(agent.kind(), name=agent.name, world=world)
    return found
