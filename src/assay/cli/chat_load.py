"""`assay chat load`: many conversations at once, in one process for each agent."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli._output import OUTPUT, JsonOut, announce, announce_run, check_outputs, write_file, write_json
from assay.cli.runs import NoStore, RunName, StoreAddress, Tags, keep
from assay.errors import UsageError, unknown_name
from assay.extras import check_extras
from assay.plural import counted
from assay.shown import clear_line

if TYPE_CHECKING:
    from assay.chat.load.driver import LoadProgress
    from assay.runs.load_tests import LoadResult


def load(
    agents: Annotated[
        str | None,
        typer.Option(help="Names, separated by commas; NAME=module:function; or a YAML file. All by default."),
    ] = None,
    users: Annotated[
        str, typer.Option(help="Users at the same time, one number for each step, separated by commas.")
    ] = "1,10,50,200",
    turns: Annotated[int, typer.Option(min=3, help="Turns of each conversation.")] = 4,
    repeat: Annotated[int, typer.Option(min=1, help="How often each step is played; intervals need two.")] = 1,
    least_turns: Annotated[
        int, typer.Option(min=1, help="A step with few users has more conversations, up to this many turns.")
    ] = 200,
    leak_sessions: Annotated[
        int, typer.Option(min=0, help="Sessions opened and closed first, to see what stays in memory; 0 for none.")
    ] = 160,
    turn_timeout: Annotated[float, typer.Option(min=0.1, help="Timeout of a turn in seconds.")] = 120.0,
    step_timeout: Annotated[float, typer.Option(min=1, help="Timeout of a step in seconds.")] = 600.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the weather, the model and the canaries.")] = 42,
    offline: Annotated[
        bool, typer.Option("--offline", help="Install nothing for agents with a pinned version.")
    ] = False,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="CONDITION",
            help='Exit with 1 unless it holds, for every agent: "p95_ms@50<800", "breaches==0". Can be repeated.',
        ),
    ] = None,
    json_out: JsonOut = None,
    html_out: Annotated[
        Path | None,
        typer.Option("--html", metavar="OUT", help="Write a page with charts and tables.", rich_help_panel=OUTPUT),
    ] = None,
    name: RunName = "",
    tag: Tags = None,
    store: StoreAddress = None,
    no_store: NoStore = False,
) -> None:
    """Measure agents under load: more and more users at once, against the embedded model and weather.

    Each session states a secret and a preference, which must never appear in another session. The table names the knee:
    the number of users beyond which throughput rises by less than 10 % while the 95th percentile rises by more.
    """
    check_extras("chat", "store", "agents", of="agents", purpose="run agents")
    from assay.chat.agents import AGENTS
    from assay.chat.load.plan import LoadPlan
    from assay.chat.running.experiment import agents_of
    from assay.runs.load_tests import load_test
    from assay.runs.starting import make_environments

    check_outputs(html_out, json_out)
    plan = LoadPlan(
        users=_numbers(users),
        turns=turns,
        repeat=repeat,
        least_turns=least_turns,
        leak_sessions=leak_sessions,
        turn_timeout=turn_timeout,
        step_timeout=step_timeout,
        seed=seed,
    )
    requirements = _requirements(require or [], plan.users)
    chosen = ",".join(AGENTS.names()) if agents is None else agents
    make_environments(agents_of(chosen), offline=offline, notify=announce)
    try:
        with _progress() as report:
            result = load_test(chosen, plan=plan, report=report)
    except KeyboardInterrupt:
        announce("Stopped. A load test is stored only if it is completed.")
        raise typer.Exit(130) from None
    run_id = None if no_store else keep(result, store, name=name, tags=tag or [])
    if json_out is not None:
        write_json(result.to_json() | {"run": run_id}, json_out)
    if json_out != "-":
        result.print()
    if html_out is not None:
        write_file(html_out, lambda: result.html(html_out))
    shown = shlex.quote(name or run_id or "")
    announce_run(run_id, see_also=(f"assay compare {shown}", f"assay runs export {shown} OUT.html"), store=store)
    failed = [words for check in requirements for words in check(result)]
    for words in failed:
        announce(words)
    if failed or any(one.failure or not one.answered for one in result.loads):
        raise typer.Exit(1)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' is not a list of numbers", hint="Write --users 1,10,50,200") from None


def _requirements(texts: list[str], known: tuple[int, ...]) -> list[Callable[[LoadResult], list[str]]]:
    """The conditions as functions that say what fails; they are parsed before anything is played."""
    from assay.chat.load.results import FIGURES
    from assay.compare.gates import Requirement

    def checked(text: str) -> Callable[[LoadResult], list[str]]:
        must = Requirement.parse(text)
        metric, mark, at = must.metric.partition("@")
        if metric not in FIGURES:
            raise unknown_name("figure", metric, FIGURES)
        if mark and at not in map(str, known):
            raise UsageError(f"'{text}' names a step that is not played", hint=f"Steps: {', '.join(map(str, known))}")

        def failures(result: LoadResult) -> list[str]:
            return [
                f"{one.agent}, {counted(users, 'user')}: {must} is not met, "
                f"{'because it was not measured' if value is None else f'got {value:.4g}'}"
                for one in result.loads
                for users in ([int(at)] if mark else one.users)
                if (value := one.typical(users, metric)) is None or not must.holds(value)
            ]

        return failures

    return [checked(text) for text in texts]


@contextmanager
def _progress() -> Iterator[Callable[[LoadProgress], None]]:
    """A line for each step, which moves if standard error is a terminal."""
    moves = sys.stderr.isatty()
    last: tuple[str, int] = ("", 0)

    def update(progress: LoadProgress) -> None:
        nonlocal last
        now = (progress.agent, progress.users)
        step = f"{counted(progress.users, 'user')} at once" if progress.users else "starting"
        words = f"{progress.agent}: {step}"
        if moves:
            amount = f", {progress.done:,} of {progress.total:,} conversations" if progress.total else ""
            clear_line()
            print(f"{words}{amount} …", end="", file=sys.stderr, flush=True)
        elif now != last:
            announce(f"{words} …")
        last = now

    try:
        yield update
    finally:
        if moves:
            clear_line()
