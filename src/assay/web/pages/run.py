"""One run: its figures, the matrix of scenarios and agents, its settings; and the whole report inside the frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.chat.scoring.answers import Answer
from assay.chat.scoring.scores import Scores
from assay.plural import counted
from assay.report.facts import MatrixRow, scenario_matrix
from assay.report.html.agents.matrix import CellAddress, matrix_section
from assay.report.html.conversation import STYLE
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join, section
from assay.report.html.page import Content, notes_list, table
from assay.report.numbers import spelled_out
from assay.runs.results import ExperimentResult
from assay.runs.stored_agents import stored_agents
from assay.runs.summaries import RunFigure, RunSummary
from assay.store.store import StoredRun
from assay.web.addresses import address, conversation_address, run_address
from assay.web.pages.figures import figure_bar, figure_value
from assay.web.pages.opening import load_block, load_order, passed_block
from assay.web.pages.runs import created, kind_badge, progress_bar
from assay.web.shell import View, crumbs, form, hidden
from assay.web.site import Site

# Too long for a line of a table; the JSON has them.
_NOT_SHOWN = frozenset({"experience", "metrics", "notes"})
_RECORDED = ("status", "reason", "kind", "fault")
# More agents than this have their bars above their values, so that the table fits the page.
_BESIDE = 3
_MEANS = (
    "Means from 0 to 1, higher is better, with 95 % intervals over scenarios; what was measured once has no interval."
)
_MEDIANS = "Medians over the repetitions of each step; the whole report has every step."
_EPISODES = "Each value with its interval; a bar reaches from 0 to 1."
CONVERSATIONS = ("chat", "experiment")
"""Kinds of runs that have answers."""
_TABS = (("", "Overview"), ("report", "Whole report"), ("settings", "Settings"))


def run_view(site: Site, entry: StoredRun) -> View:
    """The overview of a run."""
    run = entry.run
    if not entry.complete:
        return _frame(entry, "", _unfinished(site, entry))
    summary = site.summaries([run.id]).get(run.id)
    if summary is None:
        return _frame(entry, "", _overview(site, entry, RunSummary(())).content.body)
    return _frame(entry, "", site.views.get((run.id, ""), lambda: _overview(site, entry, summary)).content.body)


def _overview(site: Site, entry: StoredRun, summary: RunSummary) -> View:
    """What a complete run says about itself, whatever it is called."""
    run = entry.run
    # The answer first; what has to be known about it below, before the single scenarios.
    parts = [_figures(summary, entry), notes_list(run.settings.get("notes", ()))]
    if run.kind in CONVERSATIONS:
        agents, rows = _matrix_rows(site, entry)
        shown = matrix_section(rows, agents, cell_address(run.id, agents))
        parts = [
            passed_block(rows, agents, run.id, summary),
            *parts,
            section("Scenario by scenario", shown, anchor="matrix"),
        ]
    elif run.kind == "load":
        parts.insert(0, load_block(summary, run.id))
    else:
        parts.insert(0, _findings(summary))
    return View(content=Content(title="", lead=EMPTY, body=join([STYLE, *parts])))


def report_view(site: Site, entry: StoredRun) -> View:
    """Everything that the report of the run shows."""
    run = entry.run
    view = site.views.get((run.id, run.name, "report"), lambda: _whole(site, entry))
    return replace(view, actions=_actions(entry))


def _whole(site: Site, entry: StoredRun) -> View:
    content = report_content(site, entry.run.id)
    title, body = entry.run.name or entry.run.id, _tabs(entry, "report") + content.body
    return View(content=replace(content, title=title, body=body), place="runs", above=crumbs(("Runs", "/runs")))


def report_content(site: Site, run_id: str) -> Content:
    """The report's content, with links to the conversations in place of the answers."""
    # Imported here: drawing events compiles code, and the first page of the server must not wait for that.
    result = site.result(run_id)
    if result.subject == "events":
        from assay.events.evaluation import EventReport
        from assay.report.html import events as events_report

        assert isinstance(result, EventReport)
        return events_report.content({"prediction": result}, address=_moment_address(site, run_id))
    if result.subject == "load":
        from assay.report.html import load as load_report
        from assay.runs.load_tests import LoadResult

        assert isinstance(result, LoadResult)
        return load_report.content(result)
    from assay.report.html import agents as agents_report
    from assay.report.html import chat as chat_report

    if isinstance(result, ExperimentResult):
        return agents_report.content(
            result.scores,
            experience=result.experience,
            notes=result.notes,
            suite=result.suite,
            comparisons=result.comparisons(),
            skill=result.skill(),
            address=cell_address(run_id, result.agents),
        )
    assert isinstance(result, Scores)
    rows = scenario_matrix(result)
    shown = element("p", "A cell links to its answers.")
    return chat_report.content(
        result, shown=shown + matrix_section(rows, result.agents, cell_address(run_id, result.agents))
    )


def _moment_address(site: Site, run_id: str) -> Callable[[str, int], str] | None:
    """Where the moments of a run of events are on its timeline; None if its recordings are not served."""
    inputs = site.store.describe(run_id).run.inputs
    sources = [str(inputs.get(side, {}).get("source", "")) for side in ("predicted", "truth")]
    if any(site.timelines.recordings.at(source) is None for source in sources):
        return None

    def found(episode: str, start_ms: int) -> str:
        return address("/timeline", run=run_id, episode=episode, moment=start_ms)

    return found


def settings_view(entry: StoredRun) -> View:
    """What is needed to repeat the run."""
    run = entry.run
    shown = {key: value for key, value in run.settings.items() if key not in (*_NOT_SHOWN, "seed")}
    rows: list[tuple[str, str]] = [("command", run.command), ("seed", str(run.seed))]
    rows.append(("scored by", ", ".join(f"{name}@{version}" for name, version in run.versions.items())))
    for side, read in run.inputs.items():
        rows.append((side, json.dumps(read, ensure_ascii=False, default=str)))
    rows += spelled_out(shown).items()
    machine = [[element("code", key), value] for key, value in run.environment.items()]
    lines = [[key.replace("_", " "), element("code", value)] for key, value in rows if value]
    body = section("Settings", element("div", table(["setting", "value"], lines, numeric=()), class_="long"))
    body += section("Machine", element("div", table(["what", "version"], machine, numeric=()), class_="long"))
    return _frame(entry, "settings", body)


def cell_address(run_id: str, agents: Sequence[str]) -> CellAddress:
    """Where the conversations of each cell of the matrix are."""

    def found(number: int, scenario: str, at: int) -> str | None:
        return conversation_address(run_id, scenario, agents[at])

    return found


# --- parts ------------------------------------------------------------------------------------------------------------


def _frame(entry: StoredRun, tab: str, body: Markup) -> View:
    run = entry.run
    facts = join(
        [
            kind_badge(run.kind),
            " ",
            element("code", run.id),
            " · ",
            created(run.created),
            " UTC · ",
            counted(entry.cases, "case"),
        ]
    )
    lead = element("p", facts, class_="facts") + _tag_row(entry)
    return View(
        content=Content(title=run.name or run.id, lead=lead, body=_tabs(entry, tab) + body),
        place="runs",
        above=crumbs(("Runs", "/runs")),
        actions=_actions(entry),
    )


def _tabs(entry: StoredRun, tab: str) -> Markup:
    links = []
    for part, title in _TABS:
        if part == "report" and not entry.complete:
            continue
        current = "page" if part == tab else None
        links.append(element("a", title, href=run_address(entry.run.id, part), aria_current=current))
    if entry.complete and _has_recordings(entry):
        links.append(element("a", "Timeline", href=address("/timeline", run=entry.run.id)))
    if entry.run.name and entry.complete:
        links.append(element("a", "History", href=address("/history", name=entry.run.name)))
    return element("nav", *links, class_="tabs", aria_label="Parts of the run")


def _has_recordings(entry: StoredRun) -> bool:
    """Whether it is a run of events from files, which a timeline can show; events given by a program are not stored."""
    sources = [str(entry.run.inputs.get(side, {}).get("source", "")) for side in ("predicted", "truth")]
    return entry.run.kind == "events" and not any(source.startswith("a stream of ") for source in sources)


def _tag_row(entry: StoredRun) -> Markup:
    run_id = entry.run.id
    chips = [
        form(
            run_address(run_id, "tags"),
            hidden("remove", tag),
            element("a", isolated(tag), href=address("/runs", tag=tag)),
            element("button", "✕", type="submit", aria_label=f"Remove the tag {tag}", title="Remove"),
            class_="chip",
        )
        for tag in entry.run.tags
    ]
    adding = form(
        run_address(run_id, "tags"),
        element("input", name="add", placeholder="add a tag", aria_label="Add a tag", maxlength=80, size=9),
        class_="chip adding",
    )
    return element("div", *chips, adding, class_="chips")


def _actions(entry: StoredRun) -> Markup:
    run = entry.run
    rename = form(
        run_address(run.id, "name"),
        element("label", "Name ", element("input", name="name", value=run.name, maxlength=200)),
        element("button", "Rename", type="submit"),
    )
    items = [rename]
    if entry.complete:
        items.append(element("a", "Save as one file", href=run_address(run.id, "report.html"), download=True))
        items.append(element("a", "JSON", href=f"/api/runs/{run.id}/export"))
        if run.kind in CONVERSATIONS:
            items.append(element("a", "Review answers", href=address("/review", run=run.id)))
            if len([name for name in entry.groups if name not in (run.settings.get("baselines") or ())]) > 1:
                items.append(element("a", "Compare its agents", href=address("/difference", run=run.id)))
    items.append(element("a", "Delete …", class_="bad", href=address("/runs/delete", run=run.id)))
    menu = details("Actions", element("div", *items, class_="menu-items"), class_="menu")
    return element("div", menu, class_="actions")


def _unfinished(site: Site, entry: StoredRun) -> Markup:
    run = entry.run
    state = "in progress" if run.id in site.started.under_way else "unfinished"
    words = f"This run is {state}. Its figures appear when it is complete."
    if run.kind == "chat":
        words = (
            "This conversation was not finished: it goes on in another window, or its server ended. Its answers are "
            "stored. Its figures appear when it is finished; nothing can be said in it after that."
        )
    parts = [element("p", words, class_="note")]
    failure = site.started.failure(run.id)
    if failure:
        parts.append(element("p", "It ended early: ", isolated(failure), class_="note bad"))
    parts.append(progress_bar(site, run.id))
    if run.id in site.started.under_way:
        parts.append(form(run_address(run.id, "stop"), element("button", "Stop", type="submit")))
    elif run.kind == "experiment":
        resume = element("button", "Resume", type="submit", class_="primary")
        parts.append(form(run_address(run.id, "resume"), resume))
    elif run.kind == "chat":
        finish = element("button", "Finish with the answers it has", type="submit", class_="primary")
        parts.append(form(run_address(run.id, "finish"), finish))
    return join(parts)


def _findings(summary: RunSummary) -> Markup:
    if not summary.findings:
        return EMPTY
    from assay.report.findings import MARKS, MEANINGS

    first, *others = (
        (element("span", MARKS[tone], class_=f"mark tone-{tone}", role="img", aria_label=MEANINGS[tone]), text)
        for tone, text in summary.findings
    )
    items = (element("li", mark, text, class_="finding") for mark, text in others)
    body = element("p", *first, class_="sentence") + element("ul", *items, class_="findings")
    return element("div", body, class_="verdict")


def _figures(summary: RunSummary, entry: StoredRun) -> Markup:
    run_id = entry.run.id
    if not summary.figures:
        link = element("a", "the whole report", href=run_address(run_id, "report"))
        return element("p", "The figures of this run are in ", link, ".")
    chosen = [figure for figure in summary.figures if figure.headline]
    if chosen and chosen[0].is_by_agent:
        by_agent: dict[str, dict[str, RunFigure]] = {}
        titles: dict[str, str] = {}
        for figure in summary.figures:
            by_agent.setdefault(figure.group, {})[figure.key] = figure
            titles.setdefault(figure.key, figure.title)
        is_load = entry.run.kind == "load"
        keys = sorted(titles, key=load_order) if is_load else list(titles)
        rows = [[titles[key], *(_cell(by_agent[agent].get(key)) for agent in by_agent)] for key in keys]
        shown = table(["metric", *map(isolated, by_agent)], rows, numeric=(), label="Figures")
        many = " many" if len(by_agent) > _BESIDE else ""
        words = _MEDIANS if is_load else _MEANS
        return section(
            "Figures", element("p", words, class_="muted") + element("div", shown, class_=f"figure-table{many}")
        )
    parts = []
    for group in dict.fromkeys(figure.group for figure in chosen):
        rows = [[figure.title, _cell(figure)] for figure in chosen if figure.group == group]
        parts.append(element("div", element("h3", group), table(["figure", "value"], rows, numeric=(), label=group)))
    more = element(
        "p", "Every figure is in ", element("a", "the whole report", href=run_address(run_id, "report")), "."
    )
    words = element("p", _EPISODES, class_="muted")
    return section("Figures", words + element("div", *parts, class_="figures figure-table") + more)


def _cell(figure: RunFigure | None) -> Markup:
    if figure is None:
        return element("span", "–", class_="muted", title="not measured")
    return element("div", figure_bar(figure), figure_value(figure), class_="figure-cell")


def _matrix_rows(site: Site, entry: StoredRun) -> tuple[Sequence[str], list[MatrixRow]]:
    baselines = set(entry.run.settings.get("baselines", ()))
    answers = [_outcome(row) for row in site.store.outcomes(entry.run.id) if row["agent"] not in baselines]
    scores = Scores(tuple(_in_order(answers, entry)), ())
    return scores.agents, scenario_matrix(scores)


def _outcome(row: Mapping[str, Any]) -> Answer:
    """An answer with as much of its record as the matrix shows; tool calls would take most of the time to check."""
    record = row["record"] and {key: row["record"][key] for key in _RECORDED if key in row["record"]}
    return Answer.from_json({**row, "record": record})


def agents_of_run(entry: StoredRun) -> list[str]:
    """The agents of a run of agents, in the order in which they were named; empty for other kinds of runs."""
    return [agent["name"] for agent in stored_agents(entry.run)] if "agents" in entry.run.settings else []


def _in_order(answers: list[Answer], entry: StoredRun) -> list[Answer]:
    """Agents in the order in which they were named; a run is played in random order."""
    named = agents_of_run(entry)
    places = {name: at for at, name in enumerate(named)}
    return sorted(answers, key=lambda answer: places.get(answer.agent, len(places)))
