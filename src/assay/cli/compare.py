"""`assay compare`: runs against a baseline, as a table, a page, and a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import __version__
from assay.cli._output import announce, note, write_file, write_json, write_text
from assay.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.compare import Margin, Side
    from assay.types import Run

_GATE = "Gate"
_OUTPUT = "Output"


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
        bool, typer.Option("--full", help="Compare every figure, not only those that matter first.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 42,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help="Exit 1 on a metric that is worse, inconclusive or unmeasured.", rich_help_panel=_GATE),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help='Exit 1 unless it holds: "accuracy>=0.9", "accuracy.low>=0.8".', rich_help_panel=_GATE),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the gate as JUnit XML.", rich_help_panel=_OUTPUT)] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a summary for a pull request.", rich_help_panel=_OUTPUT)
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write everything as JSON to this file, or '-'.", rich_help_panel=_OUTPUT)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report that opens offline.", rich_help_panel=_OUTPUT)
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where runs are kept: a file or a postgresql:// address.")] = None,
) -> None:
    """Compare runs with a baseline: what is better, worse, the same, or not decided yet.

    Exits 0, 1 with a reason where a gate fails, 2 where the call is wrong.
    """
    from assay.compare import Gates, Requirement
    from assay.compare import compare as run

    gates = Gates(_calls(fail_on), [Requirement.parse(text) for text in require or []])
    margins = _margins(margin)
    pairs = _pairs(load_runs(references, store))
    comparisons = [run(a, b, margin=margins, seed=seed, full=full) for a, b in pairs]
    outcomes = gates.check(comparisons)
    failures = [outcome for outcome in outcomes if outcome.failure]
    for text in dict.fromkeys(text for comparison in comparisons for text in comparison.notes):
        note(text)
    if junit is not None:
        from assay.report.export.junit import junit as as_junit

        write_text(as_junit(outcomes), junit)
    if markdown is not None:
        from assay.report.export.markdown import markdown as as_markdown

        write_text(as_markdown(comparisons, failures), markdown)
    if html is not None:
        from assay.report.html.compare import write

        write_file(html, lambda: write(comparisons, html))
    if json is not None:
        content = {
            "assay": __version__,
            "comparisons": [comparison.to_json() for comparison in comparisons],
            "failures": [outcome.failure for outcome in failures],
        }
        write_json(content, json)
    if json != "-":
        from rich.console import Console

        from assay.report.terminal.compare import table

        Console().print(table(comparisons))
    for failed in failures:
        side = f"{failed.comparison.candidate.label}: " if len(comparisons) > 1 else ""
        announce(f"assay: gate: {side}{failed.failure}")
    if failures:
        raise typer.Exit(1)


def load_runs(references: list[str], store: str | None) -> list[tuple[Run, str | None]]:
    """Each reference as a run of the store, with the agent that it names, if it names one."""
    from assay.store import open_store

    kept = open_store(store)
    found: list[tuple[Run, str | None]] = []
    for reference in references:
        try:
            found.append((kept.load(reference), None))
        except AssayError:
            # A name may hold a colon, so what stands after one is an agent only where the whole is no run.
            head, mark, agent = reference.rpartition(":")
            if not (head and mark and agent):
                raise
            found.append((kept.load(head), agent))
    return found


def _pairs(runs: list[tuple[Run, str | None]]) -> list[tuple[Side, Side]]:
    """Who is compared with whom: the others with the first; the same agents of two runs; or the agents of one."""
    from assay.compare import side_of

    (first, agent), *others = runs
    if not others:
        if first.kind == "events" or len(first.tallies) < 2 or agent is not None:
            raise UsageError("a comparison needs two runs", hint="Name a baseline and at least one candidate")
        baseline, *candidates = (side_of(first, name) for name in first.tallies)
        return [(baseline, candidate) for candidate in candidates]
    pairs = []
    for other, other_agent in others:
        several = any(run.kind == "chat" and len(run.tallies) > 1 for run in (first, other))
        if agent is None and other_agent is None and several and first.kind == other.kind:
            shared = [name for name in first.tallies if name in other.tallies]
            if not shared:
                raise UsageError(
                    "these runs have no agent in common",
                    hint=f"Name them: {first.id}:{next(iter(first.tallies))} {other.id}:{next(iter(other.tallies))}",
                )
            pairs += [(side_of(first, name), side_of(other, name)) for name in shared]
        else:
            pairs.append((side_of(first, agent), side_of(other, other_agent)))
    return pairs


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


def _calls(given: list[str] | None) -> list[str]:
    return [call.strip() for text in given or [] for call in text.split(",")]
