"""`assay runs`: list, show, export, delete and tag stored runs; and storing a run for other commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli._output import announce, note, write_file, write_json, write_text
from assay.errors import AssayError, UsageError
from assay.plural import counted
from assay.shown import shown_console

if TYPE_CHECKING:
    from assay.chat.scoring.scores import Scores
    from assay.events.evaluation import EventReport
    from assay.runs.load_tests import LoadResult
    from assay.store.store import Store

app = typer.Typer(help="List, show, export, delete and tag stored runs.", no_args_is_help=True)

_STORING = "Storing"
_FORMATS = ("json", "parquet", "html", "junit", "markdown")
_SUFFIXES = {"xml": "junit", "md": "markdown"}

StoreAddress = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PATH|URL",
        help="Store of runs: a file or postgresql://…; by default ASSAY_STORE, else the data folder.",
        rich_help_panel=_STORING,
    ),
]
RunName = Annotated[str, typer.Option("--name", help="Name of the run.", rich_help_panel=_STORING)]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Tag of the run; can be repeated.", rich_help_panel=_STORING)
]
NoStore = Annotated[bool, typer.Option("--no-store", help="Do not store the run.", rich_help_panel=_STORING)]
Reference = Annotated[
    str, typer.Argument(metavar="RUN", help="An id or the beginning of one, a name, @last, @last~1, or @unfinished.")
]


@app.command("list")
def list_runs(
    store: StoreAddress = None,
    kind: Annotated[str | None, typer.Option(help="events, chat, experiment or load.")] = None,
    name: Annotated[str | None, typer.Option(help="Only runs of this name.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many, the newest.")] = 50,
    json: Annotated[str | None, typer.Option(help="Write the list as JSON to this file, or '-'.")] = None,
) -> None:
    """List the newest runs."""
    with _opened(store) as opened:
        found = opened.list(kind=kind, name=name, tag=tag, limit=limit)
        where = opened.address
    if json is not None:
        from assay.report.runs import header

        write_json([header(entry) for entry in found], json)
        return

    from assay.report import runs as pages

    if found:
        shown_console().print(pages.listing(found))
    else:
        announce(f"no runs in {where}")


@app.command()
def show(
    run: Reference = "@last",
    store: StoreAddress = None,
    full: Annotated[bool, typer.Option("--full", help="Show every figure in the table.")] = False,
) -> None:
    """Show a run: its settings and inputs, and its numbers, recomputed from the stored tallies."""
    from assay.report import runs as pages
    from assay.runs import load

    with _opened(store) as opened:
        described = opened.describe(run)
        console = shown_console()
        console.print(pages.run_details(described))
        if described.complete:
            console.print()
            load(described.run.id, store=opened).print(full=full)


@app.command()
def export(
    run: Reference,
    out: Annotated[str, typer.Argument(metavar="OUT", help="File to write; '-' for JSON on standard output.")],
    store: StoreAddress = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="json, parquet, html, junit (.xml) or markdown (.md); by default from the suffix."
        ),
    ] = None,
) -> None:
    """Write a run to a file: everything as JSON, a table as Parquet, or a report as one HTML file.

    Conversations can also be written as JUnit XML and as a Markdown summary, with the checks that failed.
    """
    suffix = Path(out).suffix.lower().lstrip(".")
    chosen = form or ("json" if out == "-" else _SUFFIXES.get(suffix, suffix))
    if chosen not in _FORMATS:
        raise UsageError(f"there is no format '{chosen}'", hint=f"Give --format with one of: {', '.join(_FORMATS)}")
    if out == "-" and chosen != "json":
        raise UsageError(f"{chosen} cannot be written to standard output", hint="Name a file")
    from assay.report import page
    from assay.report import runs as pages
    from assay.runs.results import rebuilt

    with _opened(store) as opened:
        entry = opened.describe(run)
        loaded, answers = opened.load(entry.run.id), opened.answers(entry.run.id)
    if chosen in _SUFFIXES.values():
        write_text(pages.for_ci(rebuilt(loaded, answers), chosen), out)
    elif chosen == "json":
        write_json(pages.to_json(entry, loaded, answers), out)
    elif chosen == "html":
        write_text(page(rebuilt(loaded, answers)), out)
    else:
        write_file(out, lambda: pages.to_parquet(loaded, answers, out))


@app.command()
def trend(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that the runs share.")],
    metric: Annotated[
        str | None, typer.Option(help="The figure to follow, such as trials_passed; by default the first in reports.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many runs, the newest.")] = 30,
    json: Annotated[str | None, typer.Option(help="Write the figures as JSON to this file, or '-'.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with a chart.")] = None,
    store: StoreAddress = None,
) -> None:
    """Follow a figure over all complete runs of a name, oldest first."""
    from assay.report.trends import trend_table, write_trend
    from assay.runs.trends import trend_of

    with _opened(store) as opened:
        found = trend_of(opened, name, metric=metric, limit=limit)
    if json is not None:
        write_json(found.to_json(), json)
    if html is not None:
        write_file(html, lambda: write_trend(found, html))
    if json != "-":
        shown_console().print(trend_table(found))


@app.command()
def delete(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="As for show; one or more.")],
    store: StoreAddress = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    compact: Annotated[bool, typer.Option("--compact", help="Give the space back to the disk.")] = False,
) -> None:
    """Delete runs with everything that belongs to them."""
    with _opened(store) as opened:
        # All references are resolved before the first run is deleted: @last would refer to another run afterwards.
        chosen = [opened.describe(run) for run in dict.fromkeys(runs)]
        for entry in {entry.run.id: entry for entry in chosen}.values():
            label = f"{entry.run.id} ({entry.run.name})" if entry.run.name else entry.run.id
            if not yes and not _agreed(f"Delete run {label} of {entry.run.created}?"):
                continue
            opened.delete(entry.run.id)
            announce(f"Deleted: {label}")
        if compact:
            opened.compact()


@app.command()
def tag(
    run: Reference,
    tags: Annotated[list[str] | None, typer.Argument(metavar="[TAG]...", help="Tags to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="A tag to remove.")] = None,
    store: StoreAddress = None,
) -> None:
    """Add tags to a run or remove them; prints all its tags."""
    with _opened(store) as opened:
        print(" ".join(opened.tag(run, *(tags or ()), remove=remove or ())))


@app.command()
def verify(store: StoreAddress = None) -> None:
    """Check every run against its digest and decode it. Exits 1 if one is damaged."""
    with _opened(store) as opened:
        found = opened.verify()
    damaged = {run: problem for run, problem in found.items() if problem}
    for run, problem in damaged.items():
        print(f"{run}: {problem}")
    whole = len(found) - len(damaged)
    announce(f"{whole:,} of {counted(len(found), 'run')} {'is' if len(found) == 1 else 'are'} whole")
    if damaged:
        raise typer.Exit(1)


@app.command()
def repair(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File of the new store; it must not exist.")],
    store: StoreAddress = None,
) -> None:
    """Copy every undamaged run into a new store; the old store is unchanged. Exits 1 if a run was left out."""
    if out.exists():
        raise UsageError("the file exists", where=str(out), hint="Name a new file")
    from assay.store import open_store

    with _opened(store) as opened, open_store(str(out)) as new:
        copied, left = opened.repair(new)
    for run, problem in left.items():
        print(f"left out: {run}: {problem}")
    announce(f"{counted(len(copied), 'run')} {'is' if len(copied) == 1 else 'are'} in {out}")
    if left:
        raise typer.Exit(1)


# --- for the commands that make runs --------------------------------------------------------------------------------


def keep(
    result: EventReport | Scores | LoadResult, store: str | None, *, name: str = "", tags: Sequence[str] = ()
) -> str | None:
    """Store a result as a run; gives its id, to be announced at the end.

    If a store that was asked for fails, that is an error; if the default store fails, a note says so.
    """
    import os

    from assay.extras import check_extras
    from assay.store import VARIABLE

    try:
        check_extras("store", of="store", purpose="keep runs")
        from assay.runs import record
        from assay.runs.machine import command_line

        return record(result, store=store, command=command_line(), name=name, tags=tags)
    except AssayError as error:
        if store or os.environ.get(VARIABLE):
            raise
        note(f"the run was not stored: {error}")
        return None


def _opened(address: str | None) -> Store:
    from assay.store import open_store

    return open_store(address, create=False)


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("cannot confirm: stdin is not a terminal", hint="Give --yes to delete without confirmation")
    return typer.confirm(question, err=True)
