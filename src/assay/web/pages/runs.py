"""The list of runs: search, filters, headline figures with intervals; and what can be done with several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import UsageError
from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, element, isolated, join, section
from assay.report.html.page import Content, table
from assay.runs.background import progress_of
from assay.runs.summaries import RunSummary
from assay.store.searching import ListedRun, RunPage, Search
from assay.web.addresses import address, run_address
from assay.web.pages.figures import headline_figures
from assay.web.shell import View, crumbs, form, hidden, pager
from assay.web.site import Site

RUNS_ON_A_PAGE = 25
MOST_COMPARED = 5
KINDS = {"experiment": "agents", "chat": "conversations", "events": "events", "load": "load"}
"""What each kind of run is called on pages."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The filters of the list."""

    search: Search
    page: int = 1


def runs_view(site: Site, asked: Listed) -> View:
    """The list."""
    found = site.store.search(asked.search, limit=RUNS_ON_A_PAGE, offset=(asked.page - 1) * RUNS_ON_A_PAGE)
    if not found.stored:
        return _empty(site)
    pages = max(1, -(-found.total // RUNS_ON_A_PAGE))
    body = join([_filters(asked.search, found), _list(site, found, asked.search)])
    wanted = asked.search
    given = {"q": wanted.words, "kind": wanted.kind, "tag": wanted.tag, "name": wanted.name, "state": wanted.state}
    body += pager("/runs", given, at=asked.page, pages=pages)
    of = "" if found.total == found.stored else f" of {found.stored:,}"
    words = f"{found.total:,}{of} runs" if of else counted(found.total, "run")
    lead = element("p", words, " in ", element("code", site.store.address), ".")
    return View(content=Content(title="Runs", lead=lead, body=body), place="runs", actions=_start(), wide=True)


def _start() -> Markup:
    live = element("a", "Compare live", class_="button primary", href="/live")
    return element("div", element("a", "Start a run", class_="button", href="/runs/new"), live, class_="actions")


def _filters(search: Search, found: RunPage) -> Markup:
    kinds = [("", "every kind")] + [(kind, f"{KINDS.get(kind, kind)} ({n:,})") for kind, n in found.kinds.items()]
    tags = [("", "every tag")] + [(tag, f"{tag} ({n:,})") for tag, n in found.tags.items()]
    states = [("", "finished or not"), ("complete", "finished"), ("open", "unfinished")]
    fields = [
        element(
            "input",
            type="search",
            name="q",
            value=search.words,
            placeholder="Search names, tags, ids",
            aria_label="Search",
            maxlength=200,
        ),
        choice("kind", "Kind", kinds, search.kind),
        choice("tag", "Tag", tags, search.tag) if len(tags) > 1 else EMPTY,
        choice("state", "State", states, search.state),
        element("button", "Search", type="submit"),
    ]
    if search.name:
        fields.append(hidden("name", search.name))
        shown = element("span", "name: ", isolated(search.name))
        fields.append(element("a", shown, " ✕", class_="chip", href="/runs", title="Show every name"))
    return form("/runs", *fields, method="get", class_="filters", role="search")


def choice(name: str, label: str, options: Sequence[tuple[str, str]], chosen: str) -> Markup:
    """A menu that takes one of several values."""
    items = (element("option", words, value=value, selected=value == chosen) for value, words in options)
    return element("select", *items, name=name, aria_label=label)


def _list(site: Site, found: RunPage, search: Search) -> Markup:
    if not found.runs:
        return element("p", "No run matches. ", element("a", "Show all runs", href="/runs"), class_="nothing")
    summaries = site.summaries([run.id for run in found.runs if run.complete])
    rows = [_row(site, run, summaries.get(run.id)) for run in found.runs]
    header = ["run", "kind", "headline figures", "cases", "tags", "created (UTC)"]
    whole = table(header, rows, numeric=(3,), label="Runs")
    buttons = element(
        "div",
        # The list shows the newest first; the oldest of those chosen is the baseline.
        element(
            "button",
            "Compare",
            type="submit",
            class_="primary",
            formaction="/difference",
            formmethod="get",
            name="sort",
            value="age",
        ),
        element("button", "Delete …", type="submit", formaction="/runs/delete", formmethod="get"),
        element("input", name="tag", placeholder="tag", aria_label="Tag for the chosen runs", maxlength=80, size=10),
        element("button", "Add tag", type="submit"),
        element("span", "choose runs; the oldest is the baseline", class_="muted hint", data_chosen="hint"),
        class_="bulk",
    )
    return form("/runs/tag", element("div", whole, class_="runs"), buttons, data_choose="run")


def _row(site: Site, run: ListedRun, summary: RunSummary | None) -> list[Markup]:
    if not run.complete:
        return _cells(run, progress_bar(site, run.id))
    if summary is None:
        return _cells(run, headline_figures(()))
    return site.rows.get(run, lambda: _cells(run, headline_figures(summary.headlines)))


def _cells(run: ListedRun, shown: Markup) -> list[Markup]:
    cases = join([f"{run.cases:,}"])
    return [_name(run), kind_badge(run.kind), shown, cases, _tags(run.tags), created(run.created)]


def _name(run: ListedRun) -> Markup:
    box = element("input", type="checkbox", name="run", value=run.id, aria_label=f"Choose {run.name or run.id}")
    link = element("a", isolated(run.name or run.id), href=run_address(run.id), class_="run-name")
    history = EMPTY
    if run.name and run.complete:
        history = " · " + element("a", "history", href=address("/history", name=run.name))
    small = element("small", element("code", run.id), history)
    return element("span", box, element("span", link, small), class_="pick")


def kind_badge(kind: str) -> Markup:
    """The kind of a run as a small label."""
    return element("span", KINDS.get(kind, kind), class_=f"badge kind-{kind}" if kind in KINDS else "badge")


def _tags(tags: Sequence[str]) -> Markup:
    return join((element("a", isolated(tag), class_="chip", href=address("/runs", tag=tag)) for tag in tags), " ")


def created(when: str) -> Markup:
    """A time of the store, to the minute."""
    return element("time", when[:16].replace("T", " "), datetime=when)


def progress_bar(site: Site, run_id: str) -> Markup:
    """How far an unfinished run has come; a script keeps it up to date."""
    done, total = progress_of(site.store, run_id)
    state = "in progress" if site.is_in_progress(run_id) else "unfinished"
    words = f"{state}: {done:,} of {counted(total, 'trial')}" if total else state
    bar = element("progress", value=done, max=total) if total else EMPTY
    return element("div", bar, element("span", words), class_="going", data_progress=run_id)


def delete_view(site: Site, ids: Sequence[str]) -> View:
    """Asks before runs are deleted."""
    if not ids:
        raise UsageError("no run was chosen", hint="Choose some in the list")
    entries = [site.store.describe(run_id) for run_id in ids]
    rows = [
        [
            element("span", isolated(entry.run.name or entry.run.id), element("small", element("code", entry.run.id))),
            kind_badge(entry.run.kind),
            f"{entry.cases:,}",
            created(entry.run.created),
        ]
        for entry in entries
    ]
    shown = table(["run", "kind", "cases", "created (UTC)"], rows, numeric=(2,), label="Runs to be deleted")
    body = shown + form(
        "/runs/delete",
        *(hidden("run", entry.run.id) for entry in entries),
        element("button", f"Delete {counted(len(entries), 'run')}", type="submit", class_="danger"),
        element("a", "Keep them" if len(entries) > 1 else "Keep it", class_="button", href="/runs"),
        class_="actions ways",
    )
    lead = element("p", "With all their answers, scores and reviews. This cannot be undone.")
    title = f"Delete {counted(len(entries), 'run')}?"
    return View(
        content=Content(title=title, lead=lead, body=body), place="runs", above=crumbs(("Runs", "/runs")), is_kept=False
    )


def _command(words: str) -> Markup:
    """A command that breaks between its words only."""
    return element("code", join((element("span", word) for word in words.split()), " "))


def _empty(site: Site) -> View:
    here = (
        ("/live", "Compare live", "Ask several agents the same question; their answers are scored side by side."),
        ("/runs/new", "Start a run", "Let agents answer the scenarios of a suite; it is stored here."),
        ("/timeline", "Timeline", "Look into a recording: what was done above what was predicted, key by key."),
        ("/metrics", "Metrics", "What every score means, and the rules behind it."),
    )
    commands = (
        ("Run agents through a suite of scenarios", _command("assay chat run --suite weather --limit 10")),
        ("Score a model's desktop events", _command("assay events eval PREDICTED TRUTH")),
        ("Score conversations that another system had", _command("assay chat score TRANSCRIPTS.jsonl")),
        ("Compare two runs", _command("assay compare BASELINE CANDIDATE")),
    )
    links = (
        element("li", element("a", title, href=to), element("span", what, class_="muted")) for to, title, what in here
    )
    cards = (element("li", element("b", what), element("span", how)) for what, how in commands)
    demo = form(
        "/demo",
        element("button", "Load the demo", type="submit", class_="primary", data_busy="Loading the demo …"),
        element("p", "See the pages filled: three synthetic models of desktop events and two made-up assistants, "
                "scored on this machine in a few seconds.", class_="muted"),
        class_="demo",
    )  # fmt: skip
    lead = element("p", "assay scores AI agents: what they do on a desktop, and what they say in conversations. Each "
                   "evaluation is stored as a run. There are no runs in ", element("code", site.store.address),
                   " yet.")  # fmt: skip
    body = join(
        [
            demo,
            section("On these pages", element("ul", *links, class_="next")),
            section("In a terminal", element("ul", *cards, class_="next")),
        ]
    )
    return View(content=Content(title="No runs yet", lead=lead, body=body), place="runs", is_kept=False)
