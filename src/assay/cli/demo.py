"""`assay demo`: everything embedded, from made-up recordings and real agent frameworks to tables and reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import UsageError
from assay.extras import check_extras, has_extras
from assay.outputs import PRIVATE_FOLDER
from assay.shown import shown_console

if TYPE_CHECKING:
    from rich.console import Console

    from assay.chat.scoring.scores import Scores
    from assay.events.evaluation import EventReport
    from assay.runs.results import ExperimentResult

_AGENTS = ("google-adk", "agent-framework")
# A part of the suite with scenarios of every kind, small enough to watch.
_SCENARIOS = 24
_REPETITIONS = 2
# A model that never errs would show no difference between a good answer and a bad one.
_SKILL = "0.9"
# Ways in which a model may misbehave that are quick to play; in half of them the two frameworks end differently.
_QUIRKS = (
    "arguments-object",
    "arguments-list",
    "unknown-tool",
    "empty-call-id",
    "empty-answer",
    "refusal",
    "content-filter-empty",
    "ignores-stream",
    "status-500",
    "tool-exception",
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's files.")] = Path("assay-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the synthetic recordings.")] = 7,
) -> None:
    """Score three synthetic models of desktop events, run two agent frameworks side by side, and report on each.

    The frameworks are then given a model that misbehaves. Parts whose packages are not installed are left out.
    """
    check_extras("chat", of="chat", purpose="score conversations")
    if out.exists() and not out.is_dir():
        raise UsageError(f"'{out}' is a file", hint="Name a folder with --out")
    out.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    console = shown_console()
    if has_extras("events"):
        _events(out, seed, console)
    has_agents = has_extras("agents", "store") and all(_is_installed(agent) for agent in _AGENTS)
    if has_agents:
        _agents(out, console)
        _robustness(out, console)
    else:
        _conversations(out, console)
    if not (has_agents and has_extras("events")):
        parts = [
            *(() if has_extras("events") else ("desktop events",)),
            *(() if has_agents else ("two agent frameworks side by side",)),
            *(() if has_extras("store") else ("the store of runs",)),
        ]
        console.print(
            f'\nNot installed and left out: {", ".join(parts)}. To see them: pip install "assay-agents[all]"',
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _events(out: Path, seed: int, console: Console) -> None:
    from assay.events import synthetic
    from assay.events.evaluation import evaluate
    from assay.events.protocols import every_protocol
    from assay.report.html import events as page
    from assay.report.numbers import number
    from assay.report.terminal import events as terminal

    truth = synthetic.recording(seed=seed, long_holds=True)
    models = {
        "good": synthetic.prediction(truth, synthetic.SOUND, seed=seed),
        "late": synthetic.prediction(truth, synthetic.LATE, seed=seed),
        "echo": synthetic.echo(truth, seed=seed),
    }
    files = {name: out / f"{name}.jsonl" for name in ("truth", *models)}
    synthetic.write_events(truth, files["truth"])
    for name, predicted in models.items():
        synthetic.write_events(predicted, files[name])
    console.print(
        f"[bold]Desktop events.[/bold] {len(truth):,} synthetic events in {len(truth.episodes)} episodes, and three "
        "synthetic models: [bold]good[/bold] is nearly right, [bold]late[/bold] is right but 80 ms late, and "
        "[bold]echo[/bold] only repeats what came last.\n"
    )
    reports = {
        name: evaluate(str(files[name]), str(files["truth"]), protocols=every_protocol(), seed=42) for name in models
    }
    console.print(terminal.events(reports))
    by_position, skill = reports["echo"].flat("owa"), reports["echo"].flat("assay")["skill"]
    if skill is not None:
        console.print(
            f"\nPaired by position, [bold]echo[/bold] looks fine: {by_position['comparable']:.0%} of its events are "
            f"comparable and {by_position['keyboard_accuracy']:.0%} of its keys right, nearly all auto-repeat. "
            f"Its skill is {number(skill)}.",
            highlight=False,
        )
    report = page.write(reports, out / "report.html")
    store = _keep_events(out / "assay.db", reports) if has_extras("store") else None
    kept = "" if store is None else f", and the three runs in the demo's own store, [bold]{store}[/bold]"
    console.print(f"\nWritten to [bold]{out}/[/bold]: the recordings as JSONL, [bold]{report}[/bold]{kept}.")
    console.print("Look next at:")
    console.print(f"  {report}  in a browser; it needs no network", highlight=False)
    console.print(f"  assay events eval {files['good']} {files['truth']} --full", highlight=False, soft_wrap=True)
    console.print(f"  assay events decode {files['echo']}", highlight=False)
    if store is not None:
        console.print(f"  assay runs list --store {store}", highlight=False, soft_wrap=True)
        console.print(f"  assay runs show echo --store {store}", highlight=False, soft_wrap=True)


def _keep_events(path: Path, reports: Mapping[str, EventReport]) -> Path:
    """Store each model's evaluation as a separate run, named after it."""
    from assay.runs import record
    from assay.runs.machine import command_line

    for name, report in reports.items():
        record(report, store=path, command=command_line(), name=name, tags=["demo"])
    return path


def _is_installed(agent: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    from assay.chat.agents import AGENTS

    try:
        return bool([version(package) for package in AGENTS.get(agent).distributions])
    except PackageNotFoundError:
        return False


def _agents(out: Path, console: Console) -> None:
    """Google ADK and Microsoft Agent Framework through a part of the weather suite."""
    from assay.chat.agents import AGENTS
    from assay.cli.chat_run import show_result, start_with_progress
    from assay.runs import plan_experiment

    experiment = plan_experiment("weather", _AGENTS, limit=_SCENARIOS, skill=_SKILL, repeat=_REPETITIONS)
    titles = " and ".join(f"[bold]{AGENTS.get(agent).title}[/bold]" for agent in _AGENTS)
    console.print(
        f"\n[bold]Agents.[/bold] The same weather assistant in {titles}, the real packages, run through "
        f"{len(experiment.suite.scenarios)} scenarios {_REPETITIONS} times, some with faults. Model and weather are "
        "embedded; nothing leaves this machine.\n"
    )
    store, report = out / "assay.db", out / "agents.html"
    result = start_with_progress(
        experiment, store=store, address=store, name="agents", tags=["demo"], measure_experience=True
    )
    show_result(result, html_out=report, store=store)
    console.print(f"\n{_skill_words(result)}", highlight=False)
    console.print(f"\nWritten: [bold]{report}[/bold], and the run [bold]agents[/bold] in {store}.")
    console.print("Look next at:")
    console.print(f"  {report}  for the two side by side, with every answer", highlight=False, soft_wrap=True)
    console.print(f"  assay compare agents --store {store}", highlight=False, soft_wrap=True)
    console.print("  assay chat run --repeat 3 --html all-five.html", highlight=False, soft_wrap=True)


def _robustness(out: Path, console: Console) -> None:
    """The same two frameworks with a model that misbehaves."""
    from assay import report
    from assay.cli.chat_run import start_with_progress
    from assay.report.terminal.robustness import quirk_tables
    from assay.runs import plan_experiment

    experiment = plan_experiment("robustness", _AGENTS, scenarios=_QUIRKS)
    console.print(
        f"\n[bold]A model that misbehaves.[/bold] The same two, in {len(_QUIRKS)} conversations in which the "
        "model, its endpoint or a tool does what it should not; a plain turn follows each.\n"
    )
    store, page = out / "assay.db", out / "robustness.html"
    result = start_with_progress(
        experiment, store=store, address=store, name="robustness", tags=["demo"], measure_experience=False
    )
    for table in quirk_tables(result.scores, console.width):
        console.print(table)
        console.print()
    report.write_page(result, page)
    console.print(f"Written: [bold]{page}[/bold], and the run [bold]robustness[/bold] in {store}.")
    console.print("Look next at:")
    console.print(f"  {page}  for what each framework did, with spans and logs", highlight=False, soft_wrap=True)
    console.print("  assay chat run --suite robustness --html all-five.html", highlight=False, soft_wrap=True)


def _skill_words(result: ExperimentResult) -> str:
    """The scores of the run's baselines, in a sentence."""
    found = result.skill()
    if found is None:
        return ""
    names = found.baselines
    shares = ", ".join(f"[bold]{name}[/bold] passes {100 * (found.passed[name] or 0):.0f} %" for name in names)
    return (
        "Two baselines had the same scenarios: a constant text written to satisfy the rules, and an echo of the "
        f"question. Of their trials, {shares}; what the agents pass beyond that is skill."
    )


def _conversations(out: Path, console: Console) -> None:
    from assay.chat import read_transcripts, samples, score
    from assay.chat.transcript import write_jsonl
    from assay.report.html import chat as page
    from assay.report.terminal.chat import conversations

    transcripts = samples.transcripts()
    file = out / "conversations.jsonl"
    write_jsonl(transcripts, file)
    scores = score(read_transcripts(file))
    console.print(
        f"\n[bold]Conversations.[/bold] {len(scores.answers)} answers of two made-up assistants, [bold]careful[/bold] "
        f"and [bold]hasty[/bold], in {len({transcript.scenario for transcript in transcripts})} scenarios.\n"
    )
    console.print(conversations(scores))
    report = page.write(scores, out / "conversations.html")
    store = _keep_conversations(out / "assay.db", scores) if has_extras("store") else None
    kept = "" if store is None else f", and the run [bold]conversations[/bold] in {store}"
    console.print(f"\nWritten: [bold]{report}[/bold]{kept}.")
    console.print("Look next at:")
    console.print(f"  {report}  for the words that changed each score", highlight=False, soft_wrap=True)
    console.print(f"  assay chat score {file} --json -", highlight=False, soft_wrap=True)
    if store is not None:
        console.print(f"  assay runs show conversations --store {store}", highlight=False, soft_wrap=True)


def _keep_conversations(path: Path, scores: Scores) -> Path:
    from assay.runs import record
    from assay.runs.machine import command_line

    record(scores, store=path, command=command_line(), name="conversations", tags=["demo"])
    return path
