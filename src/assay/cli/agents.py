"""`assay chat run`: the same scenarios on several agents, side by side; and what there is to run."""

from __future__ import annotations

import asyncio
import re
import signal
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli._output import announce, announce_run, check_folders, conversation_progress, write_file, write_json
from assay.cli.runs import NoStore, RunName, StoreAddress, Tags
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.chat.running.experiment import Experiences, Trial
    from assay.chat.running.runner import Key, Sink
    from assay.chat.scoring.scores import Scores
    from assay.store.runs import Store, StoredRun
    from assay.types import Run

_WHAT, _WHERE, _PACE, _OUTPUT = "What is played", "Where it is played", "Pace", "Output"
_INTERRUPTED = 130
# What follows from another turn's failure, which is told by itself.
_FOLLOWS = re.compile(r"turn \d+ (failed|could not be (scored|stored))")
_MOST_REASONS = 8
_BESIDE_RESUME = frozenset({"resume", "store", "json_out", "html_out"})


def run(
    context: typer.Context,
    suite: Annotated[
        str, typer.Option(help="A suite by name, or the path of a YAML file.", rich_help_panel=_WHAT)
    ] = "weather",
    agents: Annotated[
        str | None,
        typer.Option(
            help="Names, separated by commas; NAME=module:function; NAME=http://…/v1; or a YAML file. All by default.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="How often each scenario is played.", rich_help_panel=_WHAT)] = 1,
    kinds: Annotated[
        str | None, typer.Option(help="Only scenarios of these kinds, separated by commas.", rich_help_panel=_WHAT)
    ] = None,
    scenarios: Annotated[
        str | None, typer.Option(help="Only these ids or patterns, separated by commas.", rich_help_panel=_WHAT)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this many scenarios, of all kinds.", rich_help_panel=_WHAT)
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the weather, the model, the order, the intervals.", rich_help_panel=_WHAT)
    ] = 42,
    model: Annotated[
        str | None,
        typer.Option(
            help="A real model, at OPENAI_BASE_URL with OPENAI_API_KEY; by default the scripted stand-in.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    model_url: Annotated[
        str | None, typer.Option(help="Address of the model, before OPENAI_BASE_URL.", rich_help_panel=_WHERE)
    ] = None,
    skill: Annotated[
        str,
        typer.Option(
            help="Of the scripted model: the share of turns without error, or KIND=RATE,…", rich_help_panel=_WHERE
        ),
    ] = "1",
    weather: Annotated[
        str, typer.Option(help="embedded, or openweather with OPENWEATHER_API_KEY.", rich_help_panel=_WHERE)
    ] = "embedded",
    jobs: Annotated[
        int, typer.Option(min=1, help="Conversations at a time in all; more disturb the times.", rich_help_panel=_PACE)
    ] = 1,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Conversations at a time for each agent.", rich_help_panel=_PACE)
    ] = 1,
    turn_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a turn may take.", rich_help_panel=_PACE)
    ] = 60.0,
    experience: Annotated[
        bool,
        typer.Option("--experience/--no-experience", help="Measure developer experience first.", rich_help_panel=_WHAT),
    ] = True,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Go on with an unfinished run; @unfinished for the newest.", rich_help_panel=_PACE
        ),
    ] = None,
    json_out: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="OUT", help="Everything as JSON; - for standard output.", rich_help_panel=_OUTPUT
        ),
    ] = None,
    html_out: Annotated[
        Path | None,
        typer.Option("--html", metavar="OUT", help="A page with the agents side by side.", rich_help_panel=_OUTPUT),
    ] = None,
    name: RunName = "",
    tag: Tags = None,
    store: StoreAddress = None,
    no_store: NoStore = False,
) -> None:
    """Lead agents through the scenarios of a suite and score every turn.

    Every finished turn is stored at once. Ctrl-C stops cleanly, and --resume goes on where it stopped.
    """
    from assay.chat.running.environment import Venue
    from assay.chat.running.experiment import Selection, Trial
    from assay.chat.running.runner import Pace

    check_folders(html_out, json_out)
    if resume is not None:
        _refuse_beside_resume(context)
        finished = _resumed(resume, store)
    else:
        selection = Selection(suite, _names(kinds), _names(scenarios), limit)
        trial = Trial(
            selection.load(),
            _specs(agents),
            Venue.chosen(seed=seed, skill=skill, model=model, model_url=model_url, weather=weather),
            repeat,
            seed,
            selection,
            Pace(jobs=jobs, concurrency=concurrency, turn_timeout=turn_timeout),
        )
        finished = begun(trial, store=store, stored=not no_store, name=name, tags=tag or [], with_experience=experience)
    show(*finished, html_out=html_out, json_out=json_out, stored=not no_store)


def _refuse_beside_resume(context: typer.Context) -> None:
    """A run goes on as it was begun: an option that would change it is refused rather than passed over."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _BESIDE_RESUME:
            raise UsageError(
                f"--{name.replace('_', '-')} has no place beside --resume",
                hint="A run goes on as it was begun; begin another one to change it",
            )


def list_agents() -> None:
    """List the agents that can be run, and whether what they need is installed."""
    from importlib.metadata import PackageNotFoundError, version

    from rich.console import Console

    from assay.chat.agents import AGENTS
    from assay.report.terminal import plain_table

    table = plain_table("")
    for column in ("agent", "framework", "built on"):
        table.add_column(column)
    for agent in AGENTS.names():
        kind = AGENTS.get(agent)
        built_on = []
        for package in kind.distributions:
            try:
                built_on.append(f"{package} {version(package)}")
            except PackageNotFoundError:
                built_on.append(f'{package} is not installed: pip install "assay-agents[{kind.extra}]"')
        table.add_row(agent, kind.title, "\n".join(built_on))
    Console().print(table)


def list_suites(
    suite: Annotated[str | None, typer.Argument(help="A suite by name or path: lists its scenarios.")] = None,
) -> None:
    """List the suites that come with assay, or the scenarios of one; a file is checked on the way."""
    from rich.console import Console
    from rich.text import Text

    from assay.chat.suites import SUITES, load_suite
    from assay.report.terminal import plain_table

    table = plain_table("")
    if suite is None:
        for column in ("suite", "scenarios", "turns", "kinds"):
            table.add_column(column, justify="left" if column in ("suite", "kinds") else "right")
        for name in SUITES:
            one = load_suite(name)
            turns = sum(len(scenario.turns) for scenario in one.scenarios)
            table.add_row(f"{name}@{one.version}", str(len(one.scenarios)), str(turns), ", ".join(one.kinds))
    else:
        for column in ("scenario", "kind", "turns", "begins with"):
            table.add_column(column, justify="right" if column == "turns" else "left", no_wrap=column != "begins with")
        for scenario in load_suite(suite).scenarios:
            first = Text(scenario.turns[0].user, overflow="ellipsis", no_wrap=True)
            table.add_row(scenario.id, scenario.kind, str(len(scenario.turns)), first)
    Console().print(table)


# --- running --------------------------------------------------------------------------------------------------------


def begun(
    trial: Trial,
    *,
    store: str | None = None,
    stored: bool = True,
    name: str = "",
    tags: list[str] | None = None,
    with_experience: bool = True,
) -> tuple[Scores, Run, Experiences]:
    """A new run, played to its end. The store is opened first: nothing is played that could not be kept."""
    from assay.chat.evaluator import ChatbotEvaluator
    from assay.store.recording import command_line, trial_run

    with _opened(store) if stored else nullcontext() as kept:
        measured = _experience(trial) if with_experience else {}
        metrics = ChatbotEvaluator(domain=trial.suite.domain, language=trial.suite.language).metrics
        run = trial_run(trial, metrics, measured, command=command_line(), name=name, tags=tags or [])
        return _play(trial, run, measured, kept)


def _resumed(reference: str, store: str | None) -> tuple[Scores, Run, Experiences]:
    from assay.chat.experience import Experience
    from assay.chat.running.experiment import Trial

    with _opened(store) as kept:
        entry = _unfinished(kept, reference)
        run = entry.run
        if entry.complete:
            raise UsageError(f"run {run.id} is finished", hint=f"See it with: assay runs show {run.id}")
        if "venue" not in run.settings:
            raise UsageError(f"run {run.id} is no run of agents", hint="Only assay chat run makes one that can go on")
        trial = Trial.from_settings(run.settings, run.seed)
        measured = {agent: Experience.from_json(data) for agent, data in run.settings["experience"].items()}
        return _play(trial, run, measured, kept)


def _unfinished(kept: Store, reference: str) -> StoredRun:
    """The run to go on with: by id, by name, or the newest; a name means its newest run that is not finished."""
    found = [entry for entry in kept.list(kind="chat") if not entry.complete]
    if reference == "@unfinished":
        if not found:
            raise UsageError("there is no unfinished run of agents", hint="See what there is with: assay runs list")
        return found[0]
    named = [entry for entry in found if entry.run.name == reference]
    return named[0] if named else kept.describe(reference)


def _play(trial: Trial, run: Run, measured: Experiences, kept: Store | None) -> tuple[Scores, Run, Experiences]:
    from assay.chat.running.runner import InMemory
    from assay.chat.scoring.scores import rebuilt
    from assay.store.conversations import Recorder

    if kept is None:
        memory = InMemory()
        if not _played(trial, memory, set(), measured):
            raise typer.Exit(_INTERRUPTED)
        return rebuilt(run, memory.answers), run, measured
    with kept.held(run.id):
        recorder = Recorder(kept, run)
        if not _played(trial, recorder, recorder.done(trial.turns), measured):
            announce(f"Stopped. Go on with: assay chat run --resume {run.id}")
            raise typer.Exit(_INTERRUPTED)
        recorder.finish()
    return rebuilt(run, kept.answers(run.id)), run, measured


def _played(trial: Trial, sink: Sink, done: set[Key], measured: Experiences) -> bool:
    """Play what is not done; whether it came to its end."""
    with conversation_progress(trial.cells) as progress:
        return _until_interrupted(trial.carry_out(sink, done=done, experience=measured, progress=progress))


def _until_interrupted(work: Any) -> bool:
    """Run a coroutine; whether it came to its end. Ctrl-C and a polite kill cancel it, and it closes its workers."""

    async def main() -> bool:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return False
        return True

    return asyncio.run(main())


def _experience(trial: Trial) -> Experiences:
    from assay.chat.experience import measure
    from assay.chat.world.embedded import World

    found = {}
    with World(seed=trial.seed) as world:
        for spec in trial.agents:
            announce(f"measuring developer experience: {spec.name} …")
            found[spec.name] = measure(spec.kind(), name=spec.name, world=world)
    return found


def _opened(address: str | None) -> Store:
    from assay.store import open_store

    return open_store(address)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _specs(text: str | None) -> Any:
    from assay.chat.agents import AGENTS
    from assay.chat.agents.spec import parse_agents

    return tuple(parse_agents(text or ",".join(AGENTS.names())))


# --- showing --------------------------------------------------------------------------------------------------------


def show(
    scores: Scores,
    run: Run,
    measured: Experiences,
    *,
    html_out: Path | None = None,
    json_out: str | None = None,
    stored: bool = True,
) -> None:
    """What came of it, on the terminal and in files."""
    from assay.report.runs import against_the_first, around

    beside = around(run)
    if json_out is not None:
        from assay.compare.overall import overall

        experience = {agent: one.to_json() for agent, one in measured.items()}
        told = {"run": run.id, "notes": run.settings["notes"], "suite": run.settings["suite"], "experience": experience}
        write_json(scores.as_dict() | told | {"overall": overall(scores).to_json()}, json_out)
    if json_out != "-":
        from rich.console import Console

        from assay.report.terminal.agents import side_by_side

        Console().print(side_by_side(scores, **beside))
    _tell_unscored(scores)
    if html_out is not None:
        from assay.report.html import agents as page

        compared = against_the_first(run, scores)
        write_file(html_out, lambda: page.write(scores, html_out, **beside, comparisons=compared))
    if stored:
        shown = run.name or run.id
        announce_run(run.id, see_also=(f"assay compare {shown}", f"assay runs export {shown} OUT.html"))
    if not any(answer.entries for answer in scores.answers):
        raise typer.Exit(1)


def _tell_unscored(scores: Scores) -> None:
    """Why turns failed or were skipped, on standard error: each reason once, with how often."""
    from assay.report.html.chat import short

    reasons = Counter(
        (answer.agent, answer.record.status, answer.record.reason)
        for answer in scores.answers
        if answer.record is not None
        and answer.record.status != "scored"
        and not _FOLLOWS.fullmatch(answer.record.reason)
    )
    for (agent, status, reason), times in reasons.most_common(_MOST_REASONS):
        announce(f"{agent}: {times} {'turn' if times == 1 else 'turns'} {status}: {short(reason, 160)}")
    if len(reasons) > _MOST_REASONS:
        announce(f"and {len(reasons) - _MOST_REASONS} more reasons; the page and the JSON have them all")
