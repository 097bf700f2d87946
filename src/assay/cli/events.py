"""`assay events`: score and read streams of desktop events."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from assay.cli._engines import AllowMissing, ClusterAddress, EngineName, check_engine, opened_sharding
from assay.cli._output import (
    OUTPUT,
    HtmlReport,
    JsonOut,
    ShardLines,
    announce_run,
    byte_progress,
    check_outputs,
    compiling_announced,
    note,
    write_file,
    write_json,
)
from assay.cli._process import load_numpy_with_one_thread, seldom_collected, share_memory_with_arrow
from assay.cli.runs import NoStore, RunName, StoreAddress, Tags, keep
from assay.errors import UsageError
from assay.shown import shown_console

app = typer.Typer(help="Score and read streams of desktop events.", no_args_is_help=True)

_READING = "Reading"
_SCORING = "Scoring"

Encoding = Annotated[
    str, typer.Option(help="hierarchical, hierarchical-time-first, factorized or json.", rich_help_panel=_READING)
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Reject digits beyond their base instead of adding them up.", rich_help_panel=_READING
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="OURS=THEIRS, e.g. text=generated; can be repeated.", rich_help_panel=_READING),
]
RowMeaning = Annotated[str, typer.Option(help="What a row is: auto, event or episode.", rich_help_panel=_READING)]
TokenizerFile = Annotated[
    str | None,
    typer.Option("--tokenizer", help="tokenizer.json to read columns of token ids with.", rich_help_panel=_READING),
]
TimeBases = Annotated[
    str | None, typer.Option(help="Bases of the time digits, e.g. 16,10,10.", rich_help_panel=_READING)
]
DeltaBases = Annotated[
    str | None, typer.Option(help="Bases of the digits of dx and dy, e.g. 2,20,10,10.", rich_help_panel=_READING)
]
ScrollBases = Annotated[
    str | None, typer.Option(help="Bases of the digits of a scroll, e.g. 2,10.", rich_help_panel=_READING)
]
UnitMs = Annotated[float | None, typer.Option(help="Unit of time in ms, by default 10.", rich_help_panel=_READING)]
ImageToken = Annotated[str | None, typer.Option(help="Token in place of a frame's image.", rich_help_panel=_READING)]


@app.command("eval")
def evaluate(
    predicted: Annotated[
        str, typer.Argument(metavar="PRED", help="Predicted events: file, folder, glob, address or '-'.")
    ],
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="True events: file, folder, glob or address.")],
    protocol: Annotated[
        str | None,
        typer.Option(help="Names, separated by commas; all protocols by default.", rich_help_panel=_SCORING),
    ] = None,
    encoding: Encoding = "hierarchical",
    strict: Strict = False,
    column: Columns = None,
    pred_column: Annotated[
        list[str] | None, typer.Option(help="Like --column, for PRED only.", rich_help_panel=_READING)
    ] = None,
    truth_column: Annotated[
        list[str] | None, typer.Option(help="Like --column, for TRUTH only.", rich_help_panel=_READING)
    ] = None,
    rows: RowMeaning = "auto",
    tokenizer: TokenizerFile = None,
    allow_duplicates: Annotated[
        bool,
        typer.Option("--allow-duplicates", help="Join rows of the same episode.", rich_help_panel=_READING),
    ] = False,
    time_bases: TimeBases = None,
    delta_bases: DeltaBases = None,
    scroll_bases: ScrollBases = None,
    unit_ms: UnitMs = None,
    image_token: ImageToken = None,
    interval: Annotated[
        str | None,
        typer.Option(
            help="Unit of the intervals: reference, event or episode; by default episodes, if they are named.",
            rich_help_panel=_SCORING,
        ),
    ] = None,
    reps: Annotated[int, typer.Option(help="Number of resamples.", rich_help_panel=_SCORING)] = 1000,
    level: Annotated[float, typer.Option(help="Confidence level.", rich_help_panel=_SCORING)] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.", rich_help_panel=_SCORING)] = 42,
    tolerance_ms: Annotated[
        float, typer.Option(help="Largest time between two matching actions (assay).", rich_help_panel=_SCORING)
    ] = 50.0,
    teacher_forced: Annotated[
        bool,
        typer.Option(
            "--teacher-forced",
            help="Predictions saw the true past: the copied input is a baseline too (assay).",
            rich_help_panel=_SCORING,
        ),
    ] = False,
    bin_ms: Annotated[float, typer.Option(help="Width of a bin (d2e).", rich_help_panel=_SCORING)] = 50.0,
    clock: Annotated[
        str, typer.Option(help="Common clock (assay, d2e): auto, frames, shared or start.", rich_help_panel=_SCORING)
    ] = "auto",
    bounded_tallies: Annotated[
        bool,
        typer.Option(
            "--bounded-tallies",
            help="Round errors of times by at most 0.4 %, so that tallies of recordings stay small.",
            rich_help_panel=_SCORING,
        ),
    ] = False,
    engine: EngineName = "local",
    address: ClusterAddress = None,
    allow_missing: AllowMissing = False,
    threads: Annotated[int | None, typer.Option(help="By default one for each core.", rich_help_panel=_SCORING)] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show every figure in the table.", rich_help_panel=OUTPUT)
    ] = False,
    json: JsonOut = None,
    html: HtmlReport = None,
    name: RunName = "",
    tag: Tags = None,
    store: StoreAddress = None,
    no_store: NoStore = False,
) -> None:
    """Score PRED against TRUTH: timing, movement, keys and buttons, with intervals."""
    check_engine(engine, address)
    load_numpy_with_one_thread()
    share_memory_with_arrow()
    from assay.events.evaluation import evaluate as run
    from assay.events.protocols import every_protocol

    check_outputs(html, json, inputs=[predicted, truth, tokenizer])
    both = _mapping(column)
    codec = _codec(encoding, strict, time_bases, delta_bases, scroll_bases, unit_ms, image_token)
    sharded = opened_sharding(
        engine, address, threads=threads, allow_missing=allow_missing, store=store, no_store=no_store
    )
    with sharded as sharding, byte_progress() as progress, compiling_announced(), seldom_collected():
        report = run(
            predicted,
            truth,
            protocols=[name.strip() for name in protocol.split(",")] if protocol else every_protocol(),
            encoding=codec,
            strict=strict,
            interval=interval,
            reps=reps,
            level=level,
            seed=seed,
            settings={
                "tolerance_ms": tolerance_ms,
                "teacher_forced": teacher_forced,
                "bin_ms": bin_ms,
                "clock": clock,
            },
            bounded_tallies=bounded_tallies,
            predicted_columns=both | _mapping(pred_column),
            truth_columns=both | _mapping(truth_column),
            rows=rows,
            tokenizer=tokenizer,
            allow_duplicates=allow_duplicates,
            threads=threads,
            sharding=sharding,
            progress=progress or (None if sharding is None else ShardLines()),
        )
    for warning in report.warnings:
        note(warning)
    # Stored before anything else is written: a wrong path must not lose hours of scoring.
    run_id = None if no_store else keep(report, store, name=name, tags=tag or [])
    if html is not None:
        write_file(html, lambda: report.html(html))
    if json is not None:
        write_json(report.to_json(), json)
    announce_run(run_id)
    if json != "-":
        from assay.report.terminal import events as terminal

        shown_console().print(terminal.events({"": report}, full=full))


@app.command()
def decode(
    file: Annotated[str, typer.Argument(help="File, folder, glob, address or '-'.")],
    encoding: Encoding = "hierarchical",
    strict: Strict = False,
    column: Columns = None,
    rows: RowMeaning = "auto",
    tokenizer: TokenizerFile = None,
    time_bases: TimeBases = None,
    delta_bases: DeltaBases = None,
    scroll_bases: ScrollBases = None,
    unit_ms: UnitMs = None,
    image_token: ImageToken = None,
    events: Annotated[
        int,
        typer.Option("--events", "-n", help="Also print the first N events, a JSON line each.", rich_help_panel=OUTPUT),
    ] = 0,
    json: Annotated[
        str | None, typer.Option(help="Write what was found as JSON to this file, or '-'.", rich_help_panel=OUTPUT)
    ] = None,
) -> None:
    """Show what assay reads in FILE: events by kind, invalid events by reason, episodes, time range."""
    from assay.events.describe import describe
    from assay.events.sources import ReadOptions
    from assay.report.terminal import events as terminal

    check_outputs(json, inputs=[file, tokenizer])
    codec = _codec(encoding, strict, time_bases, delta_bases, scroll_bases, unit_ms, image_token)
    with byte_progress() as progress, compiling_announced():
        follow = (lambda done, total: progress("events", done, total)) if progress else None
        reading = ReadOptions(codec, _mapping(column), rows=rows, tokenizer=tokenizer, progress=follow)  # type: ignore[arg-type]
        found = describe(file, reading, first=events)
    if json is not None:
        write_json(found.to_json(), json)
    if json != "-":
        shown_console().print(terminal.description(found))


def _codec(
    encoding: str,
    strict: bool,
    time_bases: str | None,
    delta_bases: str | None,
    scroll_bases: str | None,
    unit_ms: float | None,
    image_token: str | None,
) -> Any:
    from assay.events.codecs import codec

    settings: dict[str, Any] = {"strict": strict}
    for name, given in (("time_bases", time_bases), ("delta_bases", delta_bases), ("scroll_bases", scroll_bases)):
        if given is not None:
            settings[name] = _bases(name, given)
    if unit_ms is not None:
        if not math.isfinite(unit_ms):
            raise UsageError(f"--unit-ms must be a finite number, got {unit_ms}", hint="Give milliseconds, e.g. 10")
        settings["unit_ns"] = round(unit_ms * 1_000_000)
    if image_token is not None:
        settings["image"] = image_token
    return codec(encoding, **settings)


def _bases(name: str, given: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        option = f"--{name.replace('_', '-')}"
        raise UsageError(
            f"{option} takes whole numbers with commas, not '{given:.60}'", hint="For example 16,10,10"
        ) from None


def _mapping(given: list[str] | None) -> dict[str, str]:
    """OURS=THEIRS pairs as a dictionary."""
    pairs = {}
    for text in given or []:
        ours, mark, theirs = text.partition("=")
        if not (ours and mark and theirs):
            raise UsageError(f"'{text}' is not a mapping of columns", hint="Write OURS=THEIRS, e.g. text=generated")
        pairs[ours] = theirs
    return pairs
