"""`assay chat`: score transcripts of assistants, and run agents and score them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import chat_lists, chat_load, chat_run
from assay.cli._engines import AllowMissing, ClusterAddress, EngineName, check_engine
from assay.cli._gate import GATE, Require, announce_failures, parsed_gate
from assay.cli._output import (
    OUTPUT,
    JsonOut,
    TrialsJUnit,
    TrialsMarkdown,
    announce_run,
    check_outputs,
    note,
    write_file,
    write_json,
)
from assay.cli.chat_stream import NO_ANSWERS_HINT, StreamedFile, is_streamed, keeping
from assay.cli.runs import NoStore, RunName, StoreAddress, Tags, keep
from assay.errors import SourceError, UsageError
from assay.shown import shown_console

if TYPE_CHECKING:
    from assay.chat.judge import Judge

_JUDGE = "Judge"
JudgeModel = Annotated[str | None, typer.Option(help="The model that judges.", rich_help_panel=_JUDGE)]
JudgeCache = Annotated[
    Path | None,
    typer.Option(
        "--judge-cache",
        metavar="FILE",
        help="Cache the judge's replies here, so that nothing is asked twice.",
        rich_help_panel=_JUDGE,
    ),
]
_JUDGED_AT_ONCE = 4

app = typer.Typer(
    help="Score conversations: fifteen metrics, each explained by the words that changed it; and run agents.",
    no_args_is_help=True,
)
app.command("run")(chat_run.run)
app.command("load")(chat_load.load)
app.command("agents")(chat_lists.list_agents)
app.command("suites")(chat_lists.list_suites)


@app.command()
def score(
    file: Annotated[Path, typer.Argument(help="Transcripts: assay's JSONL, OpenAI messages, or OpenTelemetry spans.")],
    form: Annotated[str, typer.Option(help="assay, openai, otel, or auto to detect it from the content.")] = "auto",
    agent: Annotated[str | None, typer.Option(help="Name of the agent, if the file does not have one.")] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            metavar="NAME|PATH",
            help="What the conversations are about, if the file does not say: weather, shop, another installed domain, "
            "or the folder of your own.",
        ),
    ] = None,
    metrics: Annotated[str | None, typer.Option(help="Names of metrics, separated by commas; all by default.")] = None,
    json_out: JsonOut = None,
    html_out: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write a page with each answer and its evidence.", rich_help_panel=OUTPUT
        ),
    ] = None,
    junit: TrialsJUnit = None,
    markdown: TrialsMarkdown = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help="Exit 1 if a trial does not pass (checks).", rich_help_panel=GATE),
    ] = None,
    require: Require = None,
    max_mb: Annotated[
        float, typer.Option(min=0, help="Read files of up to this size that are not one transcript per line.")
    ] = 32.0,
    judge_url: Annotated[
        str | None,
        typer.Option(help="Add a model's judgement: address of an OpenAI-compatible endpoint.", rich_help_panel=_JUDGE),
    ] = None,
    judge_model: JudgeModel = None,
    judge_samples: Annotated[
        int, typer.Option(min=1, help="Number of judgements of each answer.", rich_help_panel=_JUDGE)
    ] = 3,
    judge_cache: JudgeCache = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that score a large file; by default as many as there are cores."),
    ] = None,
    engine: EngineName = "local",
    address: ClusterAddress = None,
    allow_missing: AllowMissing = False,
    seed: Annotated[int, typer.Option(help="Seed of the intervals.")] = 42,
    name: RunName = "",
    tag: Tags = None,
    store: StoreAddress = None,
    no_store: NoStore = False,
) -> None:
    """Score the answers in FILE and print a table for each agent.

    A file of more than 8 MB with a transcript on each line is streamed: scored on all cores, a part at a time.

    A key for the judge is taken from the environment variable ASSAY_JUDGE_KEY.
    """
    from assay.chat.domains._own import domain_name
    from assay.chat.formats import read_transcripts
    from assay.chat.formats.own_states import notes_on_states
    from assay.chat.formats.unanswered import Unanswered
    from assay.chat.scoring.metric import METRICS, Metric
    from assay.chat.scoring.scores import score as score_transcripts

    check_engine(engine, address)
    check_outputs(json_out, html_out, junit, markdown, inputs=[file, judge_cache])
    names = [name.strip() for name in metrics.split(",")] if metrics else None
    known_domain = None if domain is None else domain_name(domain)
    judge = _judge(judge_url, judge_model, samples=judge_samples, cache=judge_cache)
    gate = None
    if fail_on or require:
        from assay.runs.gates import FAIL_TRANSCRIPTS_ON

        used = [*(names or METRICS.names()), *([] if judge is None else [judge.name])]
        gate = parsed_gate(fail_on, require, conditions=FAIL_TRANSCRIPTS_ON, metrics=used, shares=())
    in_shards = engine != "local" or allow_missing
    is_stream = is_streamed(file, form=form, asked=workers is not None or in_shards)
    if in_shards and (judge is not None or not is_stream):
        raise UsageError(
            "--engine ray and --allow-missing are for files with a transcript on each line, without a judge",
            where=str(file),
            hint="Leave them out, or write assay's JSONL",
        )
    if judge is None and is_stream:
        stream = StreamedFile(
            file,
            form=form,
            agent=agent,
            domain=domain,
            metrics=names,
            seed=seed,
            workers=workers,
            engine=engine,
            address=address,
            allow_missing=allow_missing,
        )
        with nullcontext() if no_store else keeping(stream, store, name=name, tags=tag or []) as recorder:
            scores = stream.score(recorder, json_out=json_out, store=store)
        run_id = None if recorder is None else recorder.id
    else:
        chosen: list[str | Metric] | None = None if names is None else [*names]
        if judge is not None:
            chosen = [*(names or METRICS.names()), judge.metric()]
        transcripts = read_transcripts(
            file, format=form, agent=agent, domain=known_domain, max_bytes=int(max_mb * 1e6), notify=note
        )
        at_once = 1 if judge is None else _JUDGED_AT_ONCE
        scores = score_transcripts(transcripts, metrics=chosen, seed=seed, at_once=at_once)
        if not scores.answers:
            raise SourceError("has no answers to score", where=str(file), hint=NO_ANSWERS_HINT)
        unanswered = Unanswered()
        for transcript in transcripts:
            unanswered.add(transcript)
        for sentence in (*unanswered.notes(), *notes_on_states(transcripts)):
            note(sentence)
        # Stored before anything else is written: a wrong path must not lose what was scored.
        run_id = None if no_store else keep(scores, store, name=name, tags=tag or [])
        if json_out is not None:
            write_json(scores.to_json(), json_out)
    chat_run.write_for_ci(scores, junit=junit, markdown=markdown, suite=file.stem)
    if html_out is not None:
        from assay.report.html import chat as page

        write_file(html_out, lambda: page.write(scores, html_out))
    announce_run(run_id)
    if json_out != "-":
        from assay.report.terminal.chat import conversations

        shown_console().print(conversations(scores))
    failures = [] if gate is None else gate.failures(scores)
    announce_failures(failures)
    if failures:
        raise typer.Exit(1)


@app.command()
def calibrate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A stored run of conversations: id, prefix, name, @last.")],
    labels: Annotated[
        Path,
        typer.Option(
            help='JSONL with human labels: {"agent": …, "scenario": …, "turn": 0, "label": true}, '
            'or {"scenario": …, "better": AGENT, "worse": AGENT}.'
        ),
    ],
    judge_url: Annotated[
        str | None,
        typer.Option(
            help="Let a model compare the labelled pairs, in both orders: address of an endpoint.",
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    judge_model: JudgeModel = None,
    judge_cache: JudgeCache = None,
    json_out: JsonOut = None,
    store: StoreAddress = None,
) -> None:
    """Show how far judge and metrics agree with human labels: kappa, confusion, bias, corrected scores."""
    from assay.chat.scoring.calibration import calibrate as calibrated
    from assay.chat.scoring.calibration import compare_pairs, read_labels
    from assay.runs import load
    from assay.runs.results import scores_of

    check_outputs(json_out, inputs=[labels, judge_cache])
    scores = scores_of(load(run, store=store))
    singles, pairs = read_labels(labels, scores)
    judge = _judge(judge_url, judge_model, cache=judge_cache)
    if pairs and judge is None:
        note(f"{len(pairs)} labelled pairs are left out: give --judge-url and --judge-model to have them compared")
    position = None
    if pairs and judge is not None:
        position = compare_pairs(scores, pairs, judge.compare)
    found = calibrated(scores, singles, position=position)
    if json_out is not None:
        write_json(found.to_json(), json_out)
    if json_out != "-":
        from assay.report.terminal.calibration import calibration_tables

        shown_console().print(calibration_tables(found))


def _judge(url: str | None, model: str | None, *, cache: Path | None, samples: int = 3) -> Judge | None:
    """The judge that the options describe; None if there is none."""
    if not url and not model:
        return None
    if not (url and model):
        raise UsageError("a judge needs both an address and a model", hint="Give --judge-url and --judge-model")
    from assay.chat.judge import Judge

    return Judge(url, model, samples=samples, cache=cache)
