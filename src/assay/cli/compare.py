"""`assay compare`: runs against a baseline, as a table, a page, and a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import __version__
from assay.cli._output import (
    OUTPUT,
    HtmlReport,
    JsonOut,
    announce,
    check_outputs,
    note,
    write_file,
    write_json,
    write_text,
)
from assay.cli.runs import StoreAddress
from assay.errors import UsageError
from assay.shown import shown_console

if TYPE_CHECKING:
    from assay.compare import Margin

_MOST_EXPLAINED = 5
"""How many lost scenarios the terminal shows with the answers before and now."""
_LONGEST = 300
_GATE = "Gate"
_FILES = "Log files"


def compare(
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…", help="Baseline first: id, prefix, name, @last; RUN:AGENT for one agent of conversations."
        ),
    ],
    margin: Annotated[
        list[str] | None,
        typer.Option(help="Differences up to this do not matter, by default 0.05; METRIC=NUMBER for one metric."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Compare every figure, not only the most important ones.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 42,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit 1 on a metric that is worse, inconclusive or unmeasured; or on regressions: a scenario that "
            "passed in the baseline and fails now, or is missing.",
            rich_help_panel=_GATE,
        ),
    ] = None,
    allow_missing: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-missing",
            metavar="SCENARIO",
            help="A scenario that may be missing without being a regression, such as one that was removed on purpose; "
            "* stands for any text.",
            rich_help_panel=_GATE,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help='Exit 1 unless it holds: "accuracy>=0.9", "accuracy.low>=0.8".', rich_help_panel=_GATE),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the gate as JUnit XML.", rich_help_panel=OUTPUT)] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a summary for a pull request.", rich_help_panel=OUTPUT)
    ] = None,
    json: JsonOut = None,
    html: HtmlReport = None,
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option(
            "--lower-is-better",
            metavar="NAME",
            help="A score of a log file that is better when lower.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    higher_is_better: Annotated[
        list[str] | None,
        typer.Option(
            "--higher-is-better", metavar="NAME", help="A score that is better when higher.", rich_help_panel=_FILES
        ),
    ] = None,
    store: StoreAddress = None,
) -> None:
    """Compare runs with a baseline: what is better, worse, the same, or inconclusive.

    Exits 0, 1 with a reason if a gate fails, 2 if the arguments are wrong.
    """
    from assay.compare import Gates, Requirement
    from assay.runs import compare as compare_runs

    check_outputs(junit, markdown, json, html)
    gates = Gates(_words(fail_on), [Requirement.parse(text) for text in require or []], _words(allow_missing))
    if gates.allow_missing and "regressions" not in gates.fail_on:
        raise UsageError("--allow-missing needs --fail-on regressions", hint="Give both, or leave --allow-missing out")
    margins = _margins(margin)
    comparisons = compare_runs(
        *references,
        store=store,
        margin=margins,
        seed=seed,
        full=full,
        lower=lower_is_better or (),
        higher=higher_is_better or (),
    )
    outcomes = gates.check(comparisons)
    if any(outcome.scenario and outcome.failure for outcome in outcomes):
        from assay.runs.gates import with_answers
        from assay.store import open_store

        with open_store(store, create=False) as opened:
            outcomes = with_answers(outcomes, opened)
    failures = [outcome for outcome in outcomes if outcome.failure]
    for text in dict.fromkeys(text for comparison in comparisons for text in comparison.notes):
        note(text)
    if junit is not None:
        from assay.report.export.junit import junit as as_junit

        write_text(as_junit(outcomes), junit)
    if markdown is not None:
        from assay.report.export.markdown import markdown as as_markdown

        write_text(as_markdown(comparisons, outcomes), markdown)
    if html is not None:
        from assay.report.html.compare import write

        write_file(html, lambda: write(comparisons, html))
    if json is not None:
        content = {
            "assay": __version__,
            "comparisons": [comparison.to_json() for comparison in comparisons],
            "failures": [outcome.failure for outcome in failures],
            "not_checked": {outcome.scenario: outcome.not_checked for outcome in outcomes if outcome.not_checked},
        }
        write_json(content, json)
    if json != "-":
        from assay.report.terminal.compare import comparison_table

        shown_console().print(comparison_table(comparisons))
    from assay.report.gates import allowing_words, not_checked_words
    from assay.report.text import shorten

    for text in not_checked_words(outcomes):
        announce(f"assay: {text}")
    for failed in failures:
        side = f"{failed.comparison.candidate.label}: " if len(comparisons) > 1 else ""
        announce(f"assay: gate: {side}{failed.failure}")
    explained = [failed for failed in failures if failed.details]
    for failed in explained[:_MOST_EXPLAINED]:
        announce(f"{failed.scenario}:")
        for line in failed.details.splitlines():
            announce(f"  {shorten(line, _LONGEST)}")
    if len(explained) > _MOST_EXPLAINED:
        announce(f"and {len(explained) - _MOST_EXPLAINED} more; --markdown and --junit have the answers of all")
    if failures:
        if allowing := allowing_words(failures):
            announce(f"assay: {allowing}")
        raise typer.Exit(1)


def _margins(given: list[str] | None) -> Margin:
    from assay.compare import Margin

    general, special = 0.05, {}
    for text in given or []:
        metric, mark, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise UsageError(f"'{text}' is not a margin", hint="Write --margin 0.05, or --margin METRIC=5") from None
        if mark:
            special[metric] = value
        else:
            general = value
    return Margin(general, special)


def _words(given: list[str] | None) -> list[str]:
    return [word.strip() for text in given or [] for word in text.split(",")]
