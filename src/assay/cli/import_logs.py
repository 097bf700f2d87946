"""`assay import`: logs of other evaluation tools become a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli._output import HtmlReport, JsonOut, announce_run, check_outputs, note, write_file, write_json
from assay.cli.runs import RunName, StoreAddress, Tags

_TABLES = "Tables"


def import_logs(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Logs; several make one run.")],
    format: Annotated[
        str,
        typer.Option(help="adk, deepeval, inspect, lm_eval, promptfoo, pydantic_evals, table, or a plug-in's name."),
    ] = "auto",
    agent: Annotated[str, typer.Option(help="Agent's name, if the log has none; by default the file's name.")] = "",
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option("--lower-is-better", "--lower", metavar="NAME", help="A score that is better when lower."),
    ] = None,
    higher_is_better: Annotated[
        list[str] | None,
        typer.Option("--higher-is-better", metavar="NAME", help="A score that is better when higher."),
    ] = None,
    pass_at: Annotated[
        float | None, typer.Option(help="An answer passes if every score from 0 to 1 is at least this.")
    ] = None,
    case: Annotated[str, typer.Option(help="The column with the case's id.", rich_help_panel=_TABLES)] = "",
    repetition: Annotated[str, typer.Option(help="The column with the repetition.", rich_help_panel=_TABLES)] = "",
    agent_column: Annotated[
        str, typer.Option(help="The column with the agent or model.", rich_help_panel=_TABLES)
    ] = "",
    score: Annotated[
        list[str] | None,
        typer.Option(help="A column with scores; can be repeated. By default all numbers.", rich_help_panel=_TABLES),
    ] = None,
    json: JsonOut = None,
    html: HtmlReport = None,
    name: RunName = "",
    tag: Tags = None,
    store: StoreAddress = None,
) -> None:
    """Store logs of other evaluation tools as a run: compare it, gate on it, and look at it like any other.

    Reads Inspect, promptfoo, DeepEval, pydantic-evals, ADK, lm-evaluation-harness, and tables. `assay compare` reads
    such files too, without storing them.
    """
    import sys

    from assay.logs import LogOptions, read_logs
    from assay.runs import record

    check_outputs(json, html, inputs=files)
    scores = read_logs(
        files,
        format=format,
        agent=agent,
        lower=lower_is_better or (),
        higher=higher_is_better or (),
        pass_at=pass_at,
        options=LogOptions(case=case, repetition=repetition, agent=agent_column, scores=tuple(score or ())),
    )
    kinds = {
        metric.name: metric.scale + (" (lower is better)" if metric.direction == "lower" else "")
        for metric in scores.metrics
    }
    note("Scores were read as: " + ", ".join(f"{metric} {kind}" for metric, kind in kinds.items()) + ".")
    run_id = record(scores, store=store, name=name, tags=tag or (), command=sys.argv)
    if html is not None:
        write_file(html, lambda: scores.html(html))
    if json is not None:
        write_json(scores.to_json(), json)
    if json != "-":
        scores.print()
    announce_run(run_id, see_also=[f"assay compare {run_id}"] if len(scores.agents) > 1 else (), store=store)
