"""`assay chat run`: the same scenarios on several agents, side by side."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli._ahead import import_tables, store_ahead
from assay.cli._engines import ClusterAddress, RunEngine, opened_cluster
from assay.cli._gate import GATE, Require, announce_failures, parsed_gate
from assay.cli._output import (
    OUTPUT,
    JsonOut,
    TrialsJUnit,
    TrialsMarkdown,
    announce,
    announce_run,
    check_outputs,
    conversation_progress,
    store_option,
    write_file,
    write_json,
    write_text,
)
from assay.cli._process import seldom_collected
from assay.cli.chat_lists import domain_option
from assay.cli.runs import NoStore, RunName, StoreAddress, Tags
from assay.errors import RunInterruptedError, UsageError
from assay.extras import check_extras

if TYPE_CHECKING:
    from assay.chat.running.experiment import Experiment
    from assay.chat.running.processes.ahead import Ahead
    from assay.chat.scoring.scores import Scores
    from assay.engines.ray import RayEngine
    from assay.result import Result
    from assay.runs.results import ExperimentResult
    from assay.runs.starting import StoreChoice

_WHAT, _WHERE, _PACE = "What to run", "Model and weather", "Pace"
_INTERRUPTED = 130
# Turns that were skipped because an earlier turn failed; only that failure is reported.
_FOLLOWS = re.compile(r"turn \d+ (failed|could not be (scored|stored))")
_MOST_REASONS = 8
_BESIDE_RESUME = frozenset(
    "resume store budget domain json_out html_out junit markdown fail_on require engine address".split()  # noqa: SIM905
)


def run(
    context: typer.Context,
    suite: Annotated[
        str, typer.Option(help="A suite by name, or the path of a YAML file.", rich_help_panel=_WHAT)
    ] = "weather",
    agents: Annotated[
        str | None,
        typer.Option(
            help="Names, separated by commas; AGENT==VERSION; NAME=module:function; NAME=http://…; or a YAML file.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    domain: Annotated[str | None, domain_option(_WHAT)] = None,
    repeat: Annotated[
        int, typer.Option(min=1, help="Number of repetitions of each scenario.", rich_help_panel=_WHAT)
    ] = 1,
    kinds: Annotated[
        str | None, typer.Option(help="Only scenarios of these kinds, separated by commas.", rich_help_panel=_WHAT)
    ] = None,
    scenarios: Annotated[
        str | None, typer.Option(help="Only these ids or patterns, separated by commas.", rich_help_panel=_WHAT)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="At most this many scenarios, spread over all kinds.", rich_help_panel=_WHAT),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of the weather, the model, the order and the intervals.", rich_help_panel=_WHAT),
    ] = 42,
    model: Annotated[
        str | None,
        typer.Option(
            help="A real model, at OPENAI_BASE_URL with OPENAI_API_KEY, or several, A,B: every agent is played with "
            "each. By default the scripted stand-in.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    model_url: Annotated[
        str | None, typer.Option(help="Address of the model; overrides OPENAI_BASE_URL.", rich_help_panel=_WHERE)
    ] = None,
    skill: Annotated[
        str,
        typer.Option(help="Scripted model only: share of turns without error, or KIND=RATE,…", rich_help_panel=_WHERE),
    ] = "1",
    model_speed: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Scripted model only: tokens per second of its streams, such as 60. By default they are sent at once, "
            "and with ten scenarios or more the time to the first text is measured separately, at 100; 0 skips that.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    user_model: Annotated[
        str | None,
        typer.Option(
            help="A model that plays the simulated users of personas, at OPENAI_BASE_URL with ASSAY_USER_KEY or "
            "OPENAI_API_KEY. By default they follow rules.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    user_model_url: Annotated[
        str | None,
        typer.Option(help="Address of the users' model; overrides OPENAI_BASE_URL.", rich_help_panel=_WHERE),
    ] = None,
    weather: Annotated[
        str, typer.Option(help="embedded, or openweather with OPENWEATHER_API_KEY.", rich_help_panel=_WHERE)
    ] = "embedded",
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Conversations at the same time, over all agents; more than one makes times longer. By default 1, "
            "and with quirks one for each agent.",
            rich_help_panel=_PACE,
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Conversations at the same time for each agent.", rich_help_panel=_PACE)
    ] = 1,
    turn_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Timeout of a turn in seconds; by default the suite's, or 60.", rich_help_panel=_PACE
        ),
    ] = None,
    experience: Annotated[
        bool | None,
        typer.Option(
            "--experience/--no-experience",
            help="Measure developer experience first; by default unless the suite has quirks.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines/--no-baselines",
            help="Play a constant text and an echo of the question too; they call no model.",
            rich_help_panel=_WHAT,
        ),
    ] = True,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Install nothing for agents with a pinned version.", rich_help_panel=_WHAT),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="USD",
            help="Stop before more than this is spent on tokens; --resume with a larger budget continues.",
            rich_help_panel=_PACE,
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            help="Resume an unfinished run; @unfinished is the newest.",
            rich_help_panel=_PACE,
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit 1 if a trial fails its checks (checks), a turn ends with an error (errors) or is skipped.",
            rich_help_panel=GATE,
        ),
    ] = None,
    require: Require = None,
    json_out: JsonOut = None,
    html_out: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write a page with the agents side by side.", rich_help_panel=OUTPUT
        ),
    ] = None,
    junit: TrialsJUnit = None,
    markdown: TrialsMarkdown = None,
    name: RunName = "",
    tag: Tags = None,
    store: StoreAddress = None,
    no_store: NoStore = False,
    engine: RunEngine = "local",
    address: ClusterAddress = None,
) -> None:
    """Run agents through the scenarios of a suite and score every turn.

    Every finished turn is stored within half a second. Ctrl-C stops cleanly, and --resume continues from there.
    """
    from assay.chat.running.processes.ahead import started_ahead

    check_extras("chat", "store", "agents", of="agents", purpose="run agents")
    gate = parsed_gate(fail_on, require)
    check_outputs(html_out, json_out, junit, markdown)
    drawn: list[Callable[[], None]] = []
    with (
        seldom_collected(),
        store_ahead(store, is_used=resume is None and not no_store) as process,
        started_ahead(suite, agents or "", domain) as ahead,
        opened_cluster(engine, address) as cluster,
    ):
        from assay.chat.running.experiment import PaceOptions
        from assay.runs.planning import plan_experiment

        if resume is not None:
            _refuse_beside_resume(context)
            result = _resume_with_progress(resume, store, budget, domain, cluster)
        else:
            cores = None if cluster is None else cluster.slots()
            experiment = plan_experiment(
                suite,
                _agents(agents),
                repeat=repeat,
                seed=seed,
                model=model,
                model_url=model_url,
                weather=weather,
                skill=skill,
                model_speed=model_speed,
                kinds=_names(kinds),
                scenarios=_names(scenarios),
                limit=limit,
                pace=PaceOptions(jobs=jobs, concurrency=concurrency, turn_timeout=turn_timeout, cores=cores),
                baselines=baselines,
                budget=budget,
                user_model=user_model,
                user_model_url=user_model_url,
                domain=domain,
            )
            if gate is not None:
                gate.check(experiment.suite)
            experience = experiment.suite.is_about_quality if experience is None else experience
            result = start_with_progress(
                experiment,
                store=None if no_store else process or store or True,
                address=store,
                name=name,
                tags=tag or [],
                measure_experience=experience,
                offline=offline,
                cluster=cluster,
                ahead=ahead,
                meanwhile=None if json_out == "-" else lambda result: drawn.append(result.drawn()),
            )
        if process is not None:
            process.release()
        write_for_ci(result, junit=junit, markdown=markdown)
        failures = [] if gate is None else gate.failures(result.scores)
        if result.incomplete is not None and gate is not None:
            failures.append(f"the run is incomplete: {result.incomplete.reason}")
        try:
            draw = drawn.pop() if drawn else None
            show_result(result, html_out=html_out, json_out=json_out, draw=draw, store=store)
        finally:
            announce_failures(failures)
        if failures:
            raise typer.Exit(1)


def write_for_ci(result: Result, *, junit: Path | None, markdown: Path | None, suite: str = "") -> None:
    """Write trials and failed checks for CI: as JUnit XML, and as a Markdown summary."""
    from assay.report.runs import for_ci

    for form, path in (("junit", junit), ("markdown", markdown)):
        if path is not None:
            write_text(for_ci(result, form, suite=suite), path)


def _refuse_beside_resume(context: typer.Context) -> None:
    """A run is resumed with its own settings: an option that would change them is refused, not ignored."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _BESIDE_RESUME:
            raise UsageError(
                f"--{name.replace('_', '-')} cannot be combined with --resume",
                hint="A run is resumed with its own settings; start another run to change them",
            )


# --- running --------------------------------------------------------------------------------------------------------


def start_with_progress(
    experiment: Experiment,
    *,
    store: StoreChoice,
    address: str | Path | None = None,
    name: str = "",
    tags: Sequence[str] = (),
    measure_experience: bool,
    offline: bool = False,
    cluster: RayEngine | None = None,
    ahead: Ahead | None = None,
    meanwhile: Callable[[ExperimentResult], None] | None = None,
) -> ExperimentResult:
    """Run an experiment to its end, with progress on standard error; the rest is as in `start_run`.

    `address` is the store that was named, for the command that resumes the run.
    """
    from assay.runs.starting import start_run

    with conversation_progress() as progress:
        return _until_interrupted(
            start_run(
                experiment,
                store=store,
                name=name,
                tags=tags,
                measure_experience=measure_experience,
                progress=progress,
                notify=announce,
                begun=None if meanwhile is None else import_tables,
                offline=offline,
                cluster=cluster,
                ahead=ahead,
                meanwhile=meanwhile,
            ),
            address,
        )


def _resume_with_progress(
    reference: str, store: str | None, budget: float | None, domain: str | None, cluster: RayEngine | None
) -> ExperimentResult:
    """Continue a stored run to its end, with progress on standard error."""
    from assay.runs.starting import resume_run

    with conversation_progress() as progress:
        return _until_interrupted(
            resume_run(
                reference, store=store or True, budget=budget, domain=domain, progress=progress, cluster=cluster
            ),
            store,
        )


def _until_interrupted(work: Any, store: str | Path | None) -> ExperimentResult:
    from assay.runs.starting import until_interrupted

    try:
        return until_interrupted(work)
    except RunInterruptedError as interrupted:
        announce(
            f"Stopped. {interrupted.hint}{store_option(store)}" if interrupted.hint else "Stopped. Nothing was stored."
        )
        raise typer.Exit(_INTERRUPTED) from None


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _agents(text: str | None) -> str:
    from assay.chat.agents import AGENTS

    return ",".join(AGENTS.names()) if text is None else text


# --- showing --------------------------------------------------------------------------------------------------------


def show_result(
    result: ExperimentResult,
    *,
    html_out: Path | None = None,
    json_out: str | None = None,
    draw: Callable[[], None] | None = None,
    store: str | Path | None = None,
) -> None:
    """Show a result on the terminal and write it to files; exits 1 if no turn was scored. `draw` prints its tables if
    they are drawn already; `store` is the one that was named, for the commands to be run next.
    """
    from assay import report
    from assay.report.failures import is_unplayed

    if json_out is not None:
        write_json(result.to_json(), json_out)
    if json_out != "-":
        (draw or result.print)()
    if json_out == "-" or not is_unplayed(result.scores):
        _report_unscored(result.scores)
    if html_out is not None:
        write_file(html_out, lambda: report.write_page(result, html_out))
    if result.incomplete is not None:
        _announce_incomplete(result, store)
    elif result.run is not None:
        shown = shlex.quote(result.run.name or result.run.id)
        # With one agent there is nothing to compare.
        compare = [f"assay compare {shown}"] if len(result.agents) > 1 else []
        announce_run(result.run.id, see_also=(*compare, f"assay runs export {shown} OUT.html"), store=store)
    if not any(answer.entries for answer in result.answers):
        announce("No turn was scored, so the command exits with 1.")
        raise typer.Exit(1)


def _announce_incomplete(result: ExperimentResult, store: str | Path | None) -> None:
    assert result.incomplete is not None
    announce(result.incomplete.words())
    if result.run is not None:
        larger = result.incomplete.suggested_budget
        announce(f"Go on with: assay chat run --resume {result.run.id} --budget {larger}{store_option(store)}")


def _report_unscored(scores: Scores) -> None:
    """Print why turns failed or were skipped, on standard error: each reason once, with its count."""
    from assay.report.text import shorten

    reasons = Counter(
        (answer.agent, answer.record.status, answer.record.reason)
        for answer in scores.answers
        if answer.record is not None
        and answer.record.status != "scored"
        and not _FOLLOWS.fullmatch(answer.record.reason)
    )
    for (agent, status, reason), times in reasons.most_common(_MOST_REASONS):
        announce(f"{agent}: {times} {'turn' if times == 1 else 'turns'} {status}: {shorten(reason, 160)}")
    if len(reasons) > _MOST_REASONS:
        announce(f"and {len(reasons) - _MOST_REASONS} more reasons; the page and the JSON have them all")
