"""Runs or agents against each other, the leftmost the baseline: verdicts, the cases that changed, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.chat.scoring.answers import Answer
from assay.compare import Comparison, Side
from assay.errors import UsageError
from assay.plural import counted
from assay.report.html import compare as compare_report
from assay.report.html.conversation import STYLE, evidence, failed, outcome
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join, section
from assay.report.html.page import Content, table
from assay.report.verdicts import run_labels, signed, told_apart
from assay.types import Case, Distribution, Run
from assay.web.addresses import TURNS_ON_A_PAGE, address, conversation_address, run_address
from assay.web.pages.runs import MOST_COMPARED, choice, created
from assay.web.shell import View, crumbs, form, hidden, pager
from assay.web.site import ComparedRun, Site
from assay.web.text_difference import word_difference

CASES_ON_A_PAGE = 50
_PASSED = "trials_passed"
_MOST_OFFERED = 100
_Column = tuple[Run, str, list[Answer]]
"""A side of a case: its run, agent and answers."""


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case in which a candidate did better or worse than the baseline."""

    case: str
    baseline: float
    """Mean over the repetitions."""
    candidate: float
    beyond_noise: bool | None
    """Whether no repetition of one side reaches the other's range; None if a side has only one repetition."""

    @property
    def difference(self) -> float:
        return self.candidate - self.baseline


def difference_view(site: Site, references: Sequence[str], *, by: str, only: str, page: int = 1) -> View:
    """Verdicts for every metric, then the cases sorted by change."""
    if not references:
        return _chooser(site)
    if len(references) > MOST_COMPARED:
        raise UsageError(f"at most {MOST_COMPARED} runs can be compared at once, got {len(references)}")
    sides = [site.side(reference) for reference in references]
    compared = tuple((side.reference, side.run.name) for side in sides)
    shown = ("difference", *compared, by, only, page)
    return site.views.get(shown, lambda: _compared(site, sides, by=by, only=only, page=page))


def _compared(site: Site, sides: Sequence[ComparedRun], *, by: str, only: str, page: int) -> View:
    comparisons = site.comparisons(sides)
    if not comparisons:
        raise UsageError("these runs have nothing to compare", hint="Choose runs of the same kind")
    whole = [side.reference for side in sides]
    changes = _changes(told_apart(comparisons), whole, by, only, page) if sides[0].run.half == "chat" else EMPTY
    content = compare_report.content(comparisons, changed=changes)
    body = join([STYLE, _order(whole, comparisons), content.body])
    title = content.title if len(comparisons) == 1 else _heading(sides)
    above = [("Runs", "/runs")]
    if len({side.run.id for side in sides}) == 1:
        above.append((sides[0].run.name or sides[0].run.id, run_address(sides[0].run.id)))
    return View(
        content=Content(title=title, lead=content.lead, body=body, charts=content.charts),
        place="runs",
        above=crumbs(*above),
    )


def _heading(sides: Sequence[ComparedRun]) -> str:
    """The runs in a few words, the baseline last."""
    names = list(dict.fromkeys(side.run.name or side.run.id for side in sides))
    if len(names) > 1:
        return f"{', '.join(names[1:])} against {names[0]}"
    if len({side.run.id for side in sides}) == 1:
        return "Agents of one run compared"
    return f"{names[0]}: {counted(len(sides), 'run')} compared"


def _chooser(site: Site) -> View:
    from assay.store.searching import Search

    found = site.store.search(Search(state="complete"), limit=_MOST_OFFERED)
    above = crumbs(("Runs", "/runs"))
    if found.total < 2:
        there_are = "is one" if found.total else "is none"
        lead = element("p", "What changed between runs needs two finished runs. ", f"There {there_are}.")
        ways = (
            element("a", "All runs", class_="button primary", href="/runs"),
            element("a", "Start a run", class_="button", href="/runs/new"),
        )
        content = Content(title="Difference", lead=lead, body=element("div", *ways, class_="actions ways"))
        return View(content=content, place="runs", above=above, is_kept=False)
    options = [("", "–")] + [
        (run.id, f"{run.name or run.id} · {run.created[:16].replace('T', ' ')}") for run in found.runs
    ]
    shown = (
        element("label", label, " ", choice("run", label, options, ""))
        for label in ("Baseline", "Candidate", "Another candidate")
    )
    body = form("/difference", *shown, element("button", "Compare", class_="primary"), method="get", class_="stack")
    lead = element("p", "Choose two runs of the same kind; the first is the baseline.")
    content = Content(title="Difference", lead=lead, body=body)
    return View(content=content, place="runs", above=above, is_kept=False)


def _name(run: Run | None, agent: str, *, is_alone: bool) -> Markup:
    """A side in a list: its run and agent, or the agent if there is one run."""
    called = "" if run is None else run.name or run.id
    return isolated(agent if agent and (is_alone or not called) else f"{called}: {agent}" if agent else called)


def _order(references: Sequence[str], comparisons: Sequence[Comparison]) -> Markup:
    """The runs in their order, with a link that makes another one the baseline."""
    if len(references) < 2:
        return EMPTY
    runs = {side.run.id: side.run for one in comparisons for side in (one.baseline, one.candidate)}
    items = []
    for at, reference in enumerate(references):
        run_id, _, agent = reference.partition(":")
        run = runs.get(run_id)
        name = _name(run, agent, is_alone=len(runs) == 1)
        when = element("small", created(run.created), class_="muted") if run else EMPTY
        link = join([element("a", name, href=run_address(run_id)), " ", when])
        if at == 0:
            items.append(element("li", link, " ", element("span", "baseline", class_="badge")))
        else:
            others = [one for one in references if one != reference]
            swap = element("a", "make it the baseline", href=address("/difference", run=[reference, *others]))
            items.append(element("li", link, element("small", " · ", swap, class_="swap")))
    return element("ol", *items, class_="sides")


# --- cases ------------------------------------------------------------------------------------------------------------


def _changes(comparisons: Sequence[Comparison], references: Sequence[str], by: str, only: str, page: int) -> Markup:
    """The cases that changed, for each comparison, by one metric."""
    chosen = by or _PASSED
    found = [case_changes(one.baseline, one.candidate, chosen) for one in comparisons]
    n, flips = sum(map(len, found)), sum(bool(one.beyond_noise) for changes in found for one in changes)
    metrics = {_PASSED: "trials that pass"} | {
        line.measure.key: line.measure.title
        for comparison in comparisons
        for line in comparison.lines
        if line.measure.key != _PASSED and line.measure.unit == "" and line.measure.better == "higher"
    }
    filters = [("", f"all {n:,} that changed"), ("flips", f"{flips:,} beyond the repetitions' noise")]
    controls = form(
        "/difference",
        *(hidden("run", reference) for reference in references),
        element("label", "By ", choice("by", "Metric", list(metrics.items()), chosen)),
        element("label", "Show ", choice("only", "Cases", filters, only)) if n else EMPTY,
        element("button", "Show", type="submit"),
        method="get",
        class_="filters",
    )
    explained = (
        "A change is beyond the repetitions' noise if the ranges of the two sides' repetitions do not overlap."
        if any(_is_repeated(side, chosen) for one in comparisons for side in (one.baseline, one.candidate))
        else "With one repetition, a change cannot be distinguished from noise: play each scenario several times."
    )
    shown = [[one for one in changes if one.beyond_noise or only != "flips"] for changes in found]
    parts = [
        element("h3", _title(one, comparisons), class_="of-comparison") + _cases(one, changes, page)
        for one, changes in zip(comparisons, shown, strict=True)
        if changes
    ]
    still = [_title(one, comparisons) for one, changes in zip(comparisons, shown, strict=True) if not changes]
    if still:
        where = join([": ", join(map(isolated, still), ", ")]) if parts or len(still) > 1 else EMPTY
        words = "No change is beyond the repetitions' noise" if only == "flips" and n else "No case changed"
        parts.append(element("p", words, where, ".", class_="nothing"))
    pages = -(-max(map(len, shown), default=0) // CASES_ON_A_PAGE)
    given = {"run": list(references), "by": by, "only": only}
    paged = pager("/difference", given, at=page, pages=pages, words=("← Larger changes", "Smaller changes →"))
    lead = element("p", explained, class_="muted")
    return section("What changed", join([controls, lead, *parts, paged]), anchor="changes")


def _title(one: Comparison, comparisons: Sequence[Comparison]) -> str:
    """What tells a comparison from the others: the agent if all compare the same two runs, otherwise both sides."""
    runs = {(other.baseline.run.id, other.candidate.run.id) for other in comparisons}
    if len(runs) == 1 and one.candidate.agent and one.baseline.agent == one.candidate.agent:
        return one.candidate.agent
    if _within(one):
        return f"{one.candidate.agent} against {one.baseline.agent}"
    return f"{one.candidate.label} against {one.baseline.label}"


def _within(one: Comparison) -> bool:
    """Whether two agents of one run are compared."""
    return one.baseline.run.id == one.candidate.run.id and bool(one.baseline.agent and one.candidate.agent)


def _cases(comparison: Comparison, changes: Sequence[CaseChange], page: int) -> Markup:
    sides = [side_reference(comparison.baseline), side_reference(comparison.candidate)]
    first = (page - 1) * CASES_ON_A_PAGE
    rows: list[list[str]] = [
        [
            element("a", isolated(one.case), href=address("/difference/case", run=sides, case=one.case)),
            f"{one.baseline:.2f}",
            f"{one.candidate:.2f}",
            element("b", signed(one.difference), class_="good" if one.difference > 0 else "bad"),
            {True: "yes", False: "no", None: "–"}[one.beyond_noise],
        ]
        for one in changes[first : first + CASES_ON_A_PAGE]
    ]
    header = ["scenario", "baseline", "candidate", "change", "beyond noise"]
    return table(header, rows, label="Changed cases")


def case_changes(baseline: Side, candidate: Side, metric: str) -> list[CaseChange]:
    """The common cases whose mean changed, the largest change first."""
    before, after = (_scores(side.run, side.agent, metric) for side in (baseline, candidate))
    changes = []
    for case in before.keys() & after.keys():
        a, b = before[case], after[case]
        one = CaseChange(case, sum(a) / len(a), sum(b) / len(b), _is_beyond_noise(a, b))
        if one.difference:
            changes.append(one)
    return sorted(changes, key=lambda one: (-abs(one.difference), one.case))


def _is_repeated(side: Side, metric: str) -> bool:
    """Whether a scenario was played more than once."""
    return any(len(scores) > 1 for scores in _scores(side.run, side.agent, metric).values())


def _is_beyond_noise(before: Sequence[float], after: Sequence[float]) -> bool | None:
    if len(before) < 2 or len(after) < 2:
        return None
    return max(before) < min(after) or max(after) < min(before)


def _scores(run: Run, agent: str, metric: str) -> dict[str, list[float]]:
    """The scores of a metric by scenario, from the run's tallies."""
    found: dict[str, list[float]] = {}
    by_case: Mapping[Case, Mapping[str, Any]] = run.tallies.get(agent, {})
    for case, states in by_case.items():
        state = states.get(metric)
        if isinstance(state, Distribution) and state.n:
            pairs = zip(state.values.tolist(), state.counts.tolist(), strict=True)
            found[case.name] = [value for value, count in pairs for _ in range(count)]
    return found


def side_reference(side: Side) -> str:
    """A side as it is written in an address."""
    return f"{side.run.id}:{side.agent}" if side.agent else side.run.id


# --- one case ---------------------------------------------------------------------------------------------------------


def case_view(site: Site, references: Sequence[str], case: str, repetition: int, page: int = 1) -> View:
    """The answers of a case side by side; words that differ from the baseline's are marked."""
    if not 2 <= len(references) <= MOST_COMPARED:
        raise UsageError(f"answers of 2 to {MOST_COMPARED} sides can be shown side by side")
    columns: list[_Column] = []
    for reference in references:
        run_id, _, agent = reference.partition(":")
        entry = site.store.describe(run_id)
        rows = site.store.conversation(entry.run.id, case, agent or None)
        answers = [Answer.from_json(row) for row in rows]
        columns.append((entry.run, agent or (rows[0]["agent"] if rows else ""), answers))
    repetitions = sorted({answer.repetition for *_, answers in columns for answer in answers})
    if not repetitions:
        raise UsageError(f"none of these runs has the scenario '{case}'")
    at = repetition if repetition in repetitions else repetitions[0]
    turns = sorted({answer.turn for *_, answers in columns for answer in answers if answer.repetition == at})
    most = 2 * TURNS_ON_A_PAGE // len(references)
    pages = max(1, -(-len(turns) // most))
    number = min(page, pages)
    blocks = []
    for turn in turns[(number - 1) * most : number * most]:
        found = [
            next((one for one in answers if one.turn == turn and one.repetition == at), None) for *_, answers in columns
        ]
        blocks.append(_beside(turn, columns, found))
    links = (
        element(
            "a",
            str(one + 1),
            href=address("/difference/case", run=references, case=case, repetition=one or None),
            aria_current="page" if one == at else None,
        )
        for one in repetitions
    )
    tabs = element("nav", "repetition ", *links, class_="tabs small", aria_label="Repetitions")
    given = {"run": references, "case": case, "repetition": at or None}
    words = ("← Earlier turns", "Later turns →")
    blocks.append(pager("/difference/case", given, at=number, pages=pages, words=words))
    body = join([STYLE, tabs if len(repetitions) > 1 else EMPTY, *blocks])
    lead = element("p", "Words that only one side has are marked; the leftmost is the baseline.")
    above = crumbs(("Runs", "/runs"), ("Difference", address("/difference", run=references)))
    return View(content=Content(title=case, lead=lead, body=body), place="runs", above=above, wide=True)


def _labels(columns: Sequence[_Column]) -> list[str]:
    """What tells the sides apart: their agents, the names of their runs, or the times of these."""
    by_run = run_labels({run.id: run for run, *_ in columns}.values())
    names, agents = [by_run[run.id] for run, *_ in columns], [agent for _, agent, _ in columns]
    if len(by_run) == 1:
        return agents
    if len(set(agents)) == 1:
        return names
    return [f"{name}: {agent}" for name, agent in zip(names, agents, strict=True)]


def _beside(turn: int, columns: Sequence[_Column], found: Sequence[Answer | None]) -> Markup:
    first = found[0]
    base = first.response if first is not None else ""
    asked = next((answer.query for answer in found if answer is not None), "")
    shown = []
    for at, ((run, agent, _), name, answer) in enumerate(zip(columns, _labels(columns), found, strict=True)):
        link = EMPTY
        if answer is not None:
            to = conversation_address(run.id, answer.scenario, agent, answer.repetition, turn=turn)
            link = element("small", element("a", "open", href=to))
        base_mark = element("span", "baseline", class_="badge") + " " if at == 0 else EMPTY
        said = outcome(answer) if answer else EMPTY
        head = element("h3", isolated(name), " ", base_mark, said, " ", link)
        if answer is None:
            shown.append(element("div", head, element("p", "not played", class_="muted"), class_="agent"))
            continue
        other = next((one.response for one in found[1:] if one is not None), "") if at == 0 else answer.response
        marked = word_difference(base, other)[0 if at == 0 else 1]
        scores = evidence(answer.entries)
        shown.append(
            element(
                "div",
                head,
                element("p", marked, class_="said", dir="auto"),
                failed(answer),
                details("Scores and evidence", scores, class_="why") if scores else EMPTY,
                class_="agent",
            )
        )
    title = f"Turn {turn + 1}"
    question = element("p", asked, class_="asked", dir="auto")
    beside = element("div", *shown, class_=f"beside of-{len(shown)}")
    return section(title, question + beside, anchor=f"turn-{turn + 1}")
