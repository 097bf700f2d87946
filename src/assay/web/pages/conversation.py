"""One conversation of a run: every turn with its evidence, the time it took and on what, and the stored record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.chat.scoring.answers import Answer
from assay.errors import UsageError
from assay.plural import counted
from assay.report.html.agents.answers import answer_view
from assay.report.html.conversation import STYLE
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import Content, long_text
from assay.store.store import StoredRun
from assay.web.addresses import TURNS_ON_A_PAGE, address, conversation_address, run_address
from assay.web.pages.run import agents_of_run
from assay.web.pages.trace import sequence_diagram, waterfall
from assay.web.shell import View, crumbs, pager
from assay.web.site import Site

_MOST_LINKED = 20
_Rows = Sequence[Mapping[str, Any]]


def conversation_view(site: Site, entry: StoredRun, scenario: str, agent: str, repetition: int, page: int = 1) -> View:
    """The conversation of an agent in a scenario; other agents and repetitions are a link away."""
    run = entry.run
    reviews = [review for review in site.store.reviews(run.id) if review["scenario"] == scenario]

    def played() -> View:
        return _played(entry, scenario, agent, repetition, site.store.conversation(run.id, scenario), reviews, page)

    # The answers of a complete run do not change; what reviewers say about them does.
    shown = (run.id, run.name, "conversation", scenario, agent, repetition, page, repr(reviews))
    return site.views.get(shown, played) if entry.complete else played()


def _played(entry: StoredRun, scenario: str, agent: str, repetition: int, rows: _Rows, said: _Rows, page: int) -> View:
    run = entry.run
    if not rows:
        raise UsageError(f"the run has no scenario '{scenario}'", hint="Open one from the matrix of the run")
    agents = [name for name in agents_of_run(entry) if any(row["agent"] == name for row in rows)]
    agents += [name for name in dict.fromkeys(row["agent"] for row in rows) if name not in agents]
    chosen = agent or agents[0]
    of_agent = [row for row in rows if row["agent"] == chosen]
    if not of_agent:
        raise UsageError(f"'{chosen}' did not play the scenario '{scenario}'", hint=f"These did: {', '.join(agents)}")
    repetitions = sorted({row["repetition"] for row in of_agent})
    at = repetition if repetition in repetitions else repetitions[0]
    shown = sorted((row for row in of_agent if row["repetition"] == at), key=lambda row: row["turn"])
    reviews = [review for review in said if (review["agent"], review["repetition"]) == (chosen, at)]
    baselines = run.settings.get("baselines", ())
    tabs = _tabs(run.id, scenario, agents, chosen, repetitions, at, rows, baselines)
    pages = -(-len(shown) // TURNS_ON_A_PAGE)
    number = min(page, pages)
    some = shown[(number - 1) * TURNS_ON_A_PAGE : number * TURNS_ON_A_PAGE]
    turns = (_turn(row, [one for one in reviews if one["turn"] == row["turn"]]) for row in some)
    parts = [tabs, _passing(shown, run.id, number), element("div", *turns, class_="agent turns")]
    given = {"scenario": scenario, "agent": chosen, "repetition": at or None}
    words = ("← Earlier turns", "Later turns →")
    parts.append(pager(run_address(run.id, "conversation"), given, at=number, pages=pages, words=words))
    body = join([STYLE, *parts, _neighbours(entry, scenario, chosen)])
    above = crumbs(
        ("Runs", "/runs"), (run.name or run.id, run_address(run.id)), ("Matrix", run_address(run.id) + "#matrix")
    )
    return View(
        content=Content(title=scenario, lead=EMPTY, body=body),
        place="runs",
        above=above,
        actions=_actions(run.id, scenario, agents),
        modules=("steps.js", "evidence.js"),
    )


def _tabs(
    run_id: str,
    scenario: str,
    agents: Sequence[str],
    chosen: str,
    repetitions: Sequence[int],
    at: int,
    rows: Sequence[Mapping[str, Any]],
    baselines: Sequence[str],
) -> Markup:
    links = []
    for name in agents:
        trials: dict[int, bool] = {}
        for row in rows:
            if row["agent"] == name:
                trials[row["repetition"]] = trials.get(row["repetition"], True) and row["passed"]
        passed = sum(trials.values())
        state = "all" if passed == len(trials) else "some" if passed else "none"
        mark = element("span", f"{passed}/{len(trials)}", class_=f"cell {state}")
        current = "page" if name == chosen else None
        trivial = element("small", "baseline: ") if name in baselines else EMPTY
        to = conversation_address(run_id, scenario, name)
        links.append(element("a", trivial, isolated(name), " ", mark, href=to, aria_current=current))
    tabs = element("nav", *links, class_="tabs", aria_label="Agents")
    if len(repetitions) > 1:
        again = (
            element(
                "a",
                f"{one + 1}",
                href=conversation_address(run_id, scenario, chosen, one),
                aria_current="page" if one == at else None,
            )
            for one in repetitions
        )
        tabs += element("nav", "repetition ", *again, class_="tabs small", aria_label="Repetitions")
    return tabs


def _passing(rows: _Rows, run_id: str, page: int) -> Markup:
    """Which turns of a long conversation are shown, and a link to each that does not pass; empty for a short one."""
    if len(rows) <= TURNS_ON_A_PAGE:
        return EMPTY
    first = (page - 1) * TURNS_ON_A_PAGE + 1
    words = f"Turns {first} to {min(first + TURNS_ON_A_PAGE - 1, len(rows))} of {len(rows)}. "
    missed = [row for row in rows if not row["passed"]]
    if not missed:
        return element("p", words, "Every turn passes.")
    links = (
        element(
            "a",
            str(row["turn"] + 1),
            href=conversation_address(run_id, row["scenario"], row["agent"], row["repetition"], turn=row["turn"]),
        )
        for row in missed[:_MOST_LINKED]
    )
    more = f" and {len(missed) - _MOST_LINKED:,} more" if len(missed) > _MOST_LINKED else ""
    do = "does" if len(missed) == 1 else "do"
    return element("p", words, f"{counted(len(missed), 'turn')} {do} not pass: ", join(links, ", "), more, ".")


def _turn(row: Mapping[str, Any], reviews: Sequence[Mapping[str, Any]]) -> Markup:
    answer = Answer.from_json(row)
    raw = json.dumps(answer.to_json(), indent=2, ensure_ascii=False, default=str)
    said = join(_review(review) for review in reviews)
    return element(
        "article",
        answer_view(answer, anchor=f"turn-{answer.turn + 1}-evidence"),
        said,
        waterfall(answer.record) + sequence_diagram(answer.record) if answer.record is not None else EMPTY,
        details("Raw JSON", long_text(raw, label="Raw JSON"), class_="why"),
        class_="turn",
        id=f"turn-{answer.turn + 1}",
    )


def _review(review: Mapping[str, Any]) -> Markup:
    words = []
    if review["passed"] is not None:
        good = review["passed"]
        words.append(element("b", "✓ good" if good else "✗ not good", class_="good" if good else "bad"))
    if review["score"] is not None:
        words.append(join([f"{review['score']} of 5"]))
    if review["comment"]:
        words.append(element("q", isolated(review["comment"])))
    return element("p", isolated(review["reviewer"]), ": ", join(words, ", "), class_="review")


def _neighbours(entry: StoredRun, scenario: str, agent: str) -> Markup:
    """Links to the scenario before and after, in the order of the suite."""
    suite = entry.run.settings.get("suite")
    names = suite.get("scenarios", []) if isinstance(suite, dict) else []
    if scenario not in names:
        return EMPTY
    at = names.index(scenario)
    links = []
    for words, to in (("←\N{NO-BREAK SPACE}{}", at - 1), ("{}\N{NO-BREAK SPACE}→", at + 1)):
        if 0 <= to < len(names):
            before, _, after = words.partition("{}")
            link = conversation_address(entry.run.id, names[to], agent)
            links.append(element("a", before, isolated(names[to]), after, href=link, rel="prev" if to < at else "next"))
        else:
            links.append(element("span"))
    return element("nav", *links, class_="pager", aria_label="Scenarios")


def _actions(run_id: str, scenario: str, agents: Sequence[str]) -> Markup:
    if len(agents) < 2:
        return EMPTY
    sides = [f"{run_id}:{agent}" for agent in agents[:5]]
    beside = element(
        "a", "Answers side by side", class_="button", href=address("/difference/case", run=sides, case=scenario)
    )
    return element("div", beside, class_="actions")
