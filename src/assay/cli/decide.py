"""`assay decide`: runs of the same agents, taken together, and which agent leads for which priority."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli._output import OUTPUT, JsonOut, check_outputs
from assay.cli.runs import StoreAddress


def decide(
    references: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="Runs of the same agents: of suites, and load tests; id, name, @last."),
    ],
    html_out: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write a page that opens with the recommendation.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json_out: JsonOut = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="OUT",
            help="Write a summary that opens with the recommendation.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    store: StoreAddress = None,
) -> None:
    """Say which agent leads for users, developers and operations, from several runs taken together.

    Robustness, restarts, hanging up, consent, load and cost count as criteria of their own if such runs are among them.
    """
    from assay.cli.chat_run import show_result, write_for_ci
    from assay.runs.combining import combine_runs

    check_outputs(html_out, json_out, markdown)
    result = combine_runs(*references, store=store)
    write_for_ci(result, junit=None, markdown=markdown)
    show_result(result, html_out=html_out, json_out=json_out)
