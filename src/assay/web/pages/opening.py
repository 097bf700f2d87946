"""What the page of a run opens with: the outcome in a sentence, from counts, before any table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.plural import counted
from assay.report.facts import MatrixRow
from assay.report.html.elements import EMPTY, Markup, element, isolated, join
from assay.report.numbers import number
from assay.runs.summaries import RunSummary
from assay.web.addresses import run_address

_LOAD_ORDER = ("throughput", "p95_ms", "error_share")


def passed_block(rows: Sequence[MatrixRow], agents: Sequence[str], run_id: str, summary: RunSummary) -> Markup:
    """How many trials pass with each agent, and in how many scenarios they differ; empty if nothing was played.

    If the model misbehaved, also how often each gave the right answer all the same: an error that is raised passes too.
    """
    counts = {
        agent: (sum(row.cells[at].passed for row in rows), sum(row.cells[at].trials for row in rows))
        for at, agent in enumerate(agents)
    }
    by_count: dict[tuple[int, int], list[str]] = {}
    for agent, count in counts.items():
        if count[1]:
            by_count.setdefault(count, []).append(agent)
    if not by_count:
        return EMPTY
    ordered = sorted(by_count.items(), key=lambda one: -one[0][0] / one[0][1])
    sentence = join([join([_passes(names, *count, len(agents)) for count, names in ordered], "; "), "."])
    return _opened(sentence, _recovered(summary), _differing(rows, len(agents)), _decision(len(agents), run_id))


def load_block(summary: RunSummary, run_id: str) -> Markup:
    """The highest throughput of each agent, and at how many users it is reached."""
    best: dict[str, tuple[float, str, str]] = {}
    for figure in summary.figures:
        name, _, users = figure.key.partition("@")
        if name == _LOAD_ORDER[0] and figure.value is not None:
            known = best.get(figure.group)
            if known is None or figure.value > known[0]:
                best[figure.group] = (figure.value, figure.unit, users)
    if not best:
        return EMPTY
    parts = [
        join([isolated(agent), f" answers at most {number(value, unit)} {unit}, with {counted(int(users), 'user')}"])
        for agent, (value, unit, users) in sorted(best.items(), key=lambda one: -one[1][0])
    ]
    link = element("a", "the whole report", href=run_address(run_id, "report"))
    more = element("span", "How times grow with the users, memory and leaks: ", link, ".")
    return _opened(join([join(parts, "; "), "."]), more)


def load_order(key: str) -> tuple[int, int]:
    """The place of a figure of a load test: figure by figure, from few users to many."""
    name, _, users = key.partition("@")
    return _LOAD_ORDER.index(name), int(users)


def _opened(sentence: Markup, *more: Markup) -> Markup:
    items = (element("li", one, class_="finding") for one in more if one)
    said = element("p", sentence, class_="sentence")
    return element("div", said, element("ul", *items, class_="findings"), class_="opening")


def _passes(names: Sequence[str], passed: int, trials: int, agents: int) -> Markup:
    if len(names) == agents and agents > 2:
        who: Markup = join([f"all {agents} agents"]).capitalize()
    else:
        listed = [isolated(name) for name in names]
        who = listed[0] if len(listed) == 1 else join([join(listed[:-1], ", "), " and ", listed[-1]])
    each = " each" if len(names) > 1 else ""
    return join([who, " passes" if len(names) == 1 else " pass", f" {passed:,} of {counted(trials, 'trial')}{each}"])


def _recovered(summary: RunSummary) -> Markup:
    shares = [
        (one.group, one.value) for one in summary.figures if one.key == "quirks_recovered" and one.value is not None
    ]
    if not shares:
        return EMPTY
    ordered = sorted(shares, key=lambda one: -one[1])
    parts = [join([isolated(agent), f" {100 * value:.0f} %"]) for agent, value in ordered]
    return element(
        "span", "Right answers although the model, its endpoint or a tool misbehaved: ", join(parts, ", "), "."
    )


def _differing(rows: Sequence[MatrixRow], agents: int) -> Markup:
    matrix = "#matrix"
    if agents == 1:
        missed = [row for row in rows if row.cells[0].passed < row.cells[0].trials]
        if not missed:
            return EMPTY
        words = f"{len(missed):,} of {counted(len(rows), 'scenario')}"
        return element("span", "Not every trial passes in ", element("a", words, href=matrix), ".")
    different = sum(row.differs for row in rows)
    if not different:
        return element("span", f"They differ in none of {counted(len(rows), 'scenario')}.")
    words = f"{different:,} of {counted(len(rows), 'scenario')}"
    return element("span", "They differ in ", element("a", words, href=matrix), ".")


def _decision(agents: int, run_id: str) -> Markup:
    if agents == 1:
        return EMPTY
    link = element("a", "the whole report", href=run_address(run_id, "report"))
    return element("span", "Who leads for users, developers and operations, and how sure that is: ", link, ".")
