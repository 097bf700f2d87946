"""A figure over the runs of one name: a chart with intervals, and for each run the verdict against the one before."""

from __future__ import annotations

from typing import Any

from assay.errors import UsageError
from assay.plural import counted
from assay.report.html.elements import Markup, element, isolated, join, section
from assay.report.html.figures import Figures
from assay.report.html.page import Content, table
from assay.report.verdicts import headline
from assay.runs.summaries import PASS_RATE, RunFigure, RunSummary
from assay.store.searching import ListedRun, Search
from assay.web.addresses import address, run_address
from assay.web.pages.figures import figure_value
from assay.web.pages.runs import choice, created
from assay.web.shell import View, crumbs, form, hidden
from assay.web.site import Site

MOST_RUNS = 200
# What the share of trials that pass is called in comparisons.
_COMPARED_AS = {PASS_RATE: "trials_passed"}
_LISTED = 25


def history_view(site: Site, name: str, figure: str) -> View:
    """The history of one figure over the complete runs of a name."""
    found = site.store.search(Search(name=name, state="complete"), limit=MOST_RUNS)
    if not found.runs:
        raise UsageError(f"there is no complete run called '{name}'", hint="Choose one in the list of runs")
    runs = list(reversed(found.runs))
    summaries = site.summaries([run.id for run in runs])
    if len(summaries) < len(runs):  # a run without a summary may have one next time
        return _trend(name, figure, found.total, runs, summaries)
    shown = ("history", name, figure, found.total, *summaries)
    return site.views.get(shown, lambda: _trend(name, figure, found.total, runs, summaries))


def _trend(name: str, figure: str, total: int, runs: list[ListedRun], summaries: dict[str, RunSummary]) -> View:
    titles = _titles(summaries)
    chosen = figure if figure in titles else next(iter(titles), "")
    figures = Figures()
    rows = []
    for at, run in enumerate(runs, 1):
        for one in _of(summaries.get(run.id), chosen):
            when = run.created[:16].replace("T", " ")
            point = {"model": one.group, "run": f"{when} {run.id}", "label": when[5:], "at": at}
            rows.append(point | {"value": one.value, "low": one.low, "high": one.high})
    unit = next((one.unit for run in runs for one in _of(summaries.get(run.id), chosen)), "")
    chart = figures.add("run_history", rows=rows, title=titles.get(chosen, ""), unit=unit)
    menu = form(
        "/history",
        hidden("name", name),
        element("label", "Figure ", choice("figure", "Figure", list(titles.items()), chosen)),
        element("button", "Show", type="submit"),
        method="get",
        class_="filters",
    )
    heading = titles.get(chosen, "")
    over_time = section(heading[:1].upper() + heading[1:] or "Over time", chart)
    body = join([menu, over_time, section("Run by run", _runs(runs, summaries, chosen))])
    words = counted(total, "complete run") if total <= MOST_RUNS else f"The newest {MOST_RUNS:,} runs"
    newest = join(
        (join([isolated(one.group), " ", figure_value(one)]) for one in _of(summaries.get(runs[-1].id), chosen)), ", "
    )
    lead = element("p", f"{words} of this name. ", element("a", "List them", href=address("/runs", name=name)), ".")
    if newest:
        lead = element("p", "The newest run, ", element("b", heading), ": ", newest, ".") + lead
    return View(
        content=Content(title=f"History of {name}", lead=lead, body=body, charts=figures.charts),
        place="runs",
        above=crumbs(("Runs", "/runs")),
    )


def _titles(summaries: dict[str, RunSummary]) -> dict[str, str]:
    """Every figure that a run has, the headlines first."""
    every = [figure for summary in summaries.values() for figure in summary.figures]
    ordered = [one for one in every if one.headline] + [one for one in every if not one.headline]
    return {figure.key: figure.title for figure in ordered}


def _of(summary: RunSummary | None, key: str) -> list[RunFigure]:
    return [] if summary is None else [figure for figure in summary.figures if figure.key == key]


def _runs(runs: list[ListedRun], summaries: dict[str, RunSummary], key: str) -> Markup:
    """The newest runs, each with its values and a place for the verdict, which a script requests."""
    lines: list[list[str]] = []
    newest = list(reversed(list(enumerate(runs))))[:_LISTED]
    for at, run in newest:
        values = (
            element("div", isolated(one.group), " ", figure_value(one)) for one in _of(summaries.get(run.id), key)
        )
        verdict: Markup = element("span", "the first", class_="muted")
        if at:
            before = runs[at - 1]
            pair = {"run": [before.id, run.id]}
            asked = address("/api/verdict", **pair, figure=key)
            verdict = element("a", "compare", href=address("/difference", **pair), data_verdict=asked)
        lines.append([element("a", created(run.created), href=run_address(run.id)), join(values), verdict])
    return table(["run (UTC)", "value", "against the run before"], lines, numeric=(), label="Runs")


def verdict_of(site: Site, before: str, after: str, figure: str = "") -> dict[str, list[Any]]:
    """A run against another: a sentence for each agent they share, and the calls of one figure if it is named."""
    comparisons = site.comparisons([site.side(before), site.side(after)])
    key = _COMPARED_AS.get(figure, figure)
    calls = [
        {"of": comparison.candidate.agent or line.measure.part, "call": line.verdict.call}
        for comparison in comparisons
        for line in comparison.lines
        if line.measure.key == key
    ]
    return {"sentences": [headline(comparison) for comparison in comparisons], "calls": calls}
