"""Runs or agents against each other, the leftmost the baseline: verdicts, the cases that changed, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.chat.scoring.answers import Answer
from assay.compare import Comparison, Side
from assay.errors import UnknownRunError, UsageError
from assay.plural import counted
from assay.report.html import compare as compare_report
from assay.report.html.conversation import STYLE, evidence, failed, outcome
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join, section
from assay.report.html.page import Content, table
from assay.report.verdicts import signed
from assay.types import Case, Distribution, Run
from assay.web.addresses import address, conversation_address, run_address
from assay.web.pages.runs import MOST_COMPARED, choice
from assay.web.shell import View, crumbs, form, hidden
from assay.web.site import Site
from assay.web.text_difference import word_difference

CASES_ON_A_PAGE = 50
_PASSED = "trials_passed"
_MOST_OFFERED = 100


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


def difference_view(site: Site, references: Sequence[str], *, by: str, only: str) -> View:
    """Verdicts for every metric, then the cases sorted by change."""
    if not references:
        return _chooser(site)
    if len(references) > MOST_COMPARED:
        raise UsageError(f"at most {MOST_COMPARED} runs can be compared at once, got {len(references)}")
    sides = [_found(site, reference) for reference in references]
    whole = [f"{run.id}:{agent}" if agent else run.id for run, agent in sides]
    comparisons = site.comparisons(whole)
    if not comparisons:
        raise UsageError("these runs have nothing to compare", hint="Choose runs of the same kind")
    content: Content = site.pages.get(("difference", *whole), lambda: compare_report.content(comparisons))
    changes = join(_changes(one, whole, by, only) for one in comparisons) if sides[0][0].half == "chat" else EMPTY
    body = join([STYLE, _order(whole, comparisons), changes, content.body])
    title = content.title if len(comparisons) == 1 else f"{len(comparisons)} comparisons"
    return View(
        content=Content(title=title, lead=content.lead, body=body, charts=content.charts),
        place="runs",
        above=crumbs(("Runs", "/runs")),
    )


def _found(site: Site, reference: str) -> tuple[Run, str]:
    """The run of a reference without its tallies, and the agent if the reference names one (`RUN:AGENT`)."""
    try:
        return site.store.describe(reference).run, ""
    except UnknownRunError:
        head, mark, agent = reference.rpartition(":")
        if not (head and mark and agent):
            raise
        return site.store.describe(head).run, agent


def _chooser(site: Site) -> View:
    from assay.store.searching import Search

    found = site.store.search(Search(state="complete"), limit=_MOST_OFFERED)
    options = [("", "–")] + [
        (run.id, f"{run.name or run.id} · {run.created[:16].replace('T', ' ')}") for run in found.runs
    ]
    fields = [choice("run", label, options, "") for label in ("Baseline", "Candidate", "Another candidate")]
    labels = ("Baseline", "Candidate", "Another candidate")
    shown = (element("label", label, " ", field) for label, field in zip(labels, fields, strict=True))
    body = form("/difference", *shown, element("button", "Compare", class_="primary"), method="get", class_="stack")
    lead = element("p", "Choose two runs of the same kind; the first is the baseline.")
    return View(
        content=Content(title="Difference", lead=lead, body=body), place="runs", above=crumbs(("Runs", "/runs"))
    )


def _order(references: Sequence[str], comparisons: Sequence[Comparison]) -> Markup:
    """The runs in their order, with a link that makes another one the baseline."""
    if len(references) < 2:
        return EMPTY
    labels = {
        side.run.id: side.run.name or side.run.id for one in comparisons for side in (one.baseline, one.candidate)
    }
    items = []
    for at, reference in enumerate(references):
        run_id, _, agent = reference.partition(":")
        name = isolated(labels.get(run_id, run_id) + (f":{agent}" if agent else ""))
        link = element("a", name, href=run_address(run_id))
        if at == 0:
            items.append(element("li", link, " ", element("span", "baseline", class_="badge")))
        else:
            others = [one for one in references if one != reference]
            swap = element("a", "make it the baseline", href=address("/difference", run=[reference, *others]))
            items.append(element("li", link, " ", element("small", swap)))
    return element("ol", *items, class_="sides")


# --- cases ------------------------------------------------------------------------------------------------------------


def _changes(comparison: Comparison, references: Sequence[str], by: str, only: str) -> Markup:
    chosen = by or _PASSED
    changes = case_changes(comparison.baseline, comparison.candidate, chosen)
    flips = [one for one in changes if one.beyond_noise]
    measurable = any(one.beyond_noise is not None for one in changes)
    shown = flips if only == "flips" else changes
    sides = [side_reference(comparison.baseline), side_reference(comparison.candidate)]
    metrics = [(_PASSED, "trials that pass")] + [
        (line.measure.key, line.measure.title)
        for line in comparison.lines
        if line.measure.key != _PASSED and line.measure.unit == "" and line.measure.better == "higher"
    ]
    filters = [("", f"all {len(changes):,} that changed"), ("flips", f"{len(flips):,} beyond the repetitions' noise")]
    controls = form(
        "/difference",
        *(hidden("run", reference) for reference in references),
        element("label", "By ", choice("by", "Metric", metrics, chosen)),
        element("label", "Show ", choice("only", "Cases", filters, only)),
        element("button", "Show", type="submit"),
        method="get",
        class_="filters",
    )
    explained = (
        "A change is beyond the repetitions' noise if no repetition of one side reaches the range of the other's."
        if measurable
        else "With one repetition, a change cannot be distinguished from noise: play each scenario several times."
    )
    rows: list[list[str]] = [
        [
            element("a", isolated(one.case), href=address("/difference/case", run=sides, case=one.case)),
            f"{one.baseline:.2f}",
            f"{one.candidate:.2f}",
            element("b", signed(one.difference), class_="good" if one.difference > 0 else "bad"),
            {True: "yes", False: "no", None: "–"}[one.beyond_noise],
        ]
        for one in shown[:CASES_ON_A_PAGE]
    ]
    header = ["scenario", "baseline", "candidate", "change", "beyond noise"]
    more = len(shown) - CASES_ON_A_PAGE
    listed = table(header, rows, label="Changed cases") if rows else element("p", "No case changed.", class_="nothing")
    note = element("p", f"{more:,} smaller changes are left out.", class_="muted") if more > 0 else EMPTY
    title = f"What changed: {comparison.candidate.label} against {comparison.baseline.label}"
    return section(title, join([controls, element("p", explained, class_="muted"), listed, note]), anchor="changes")


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


def case_view(site: Site, references: Sequence[str], case: str, repetition: int) -> View:
    """The answers of a case side by side; words that differ from the baseline's are marked."""
    if not 2 <= len(references) <= MOST_COMPARED:
        raise UsageError(f"answers of 2 to {MOST_COMPARED} sides can be shown side by side")
    columns: list[tuple[str, str, str, list[Answer]]] = []
    for reference in references:
        run_id, _, agent = reference.partition(":")
        entry = site.store.describe(run_id)
        rows = site.store.conversation(entry.run.id, case, agent or None)
        answers = [Answer.from_json(row) for row in rows]
        columns.append(
            (entry.run.id, entry.run.name or entry.run.id, agent or (rows[0]["agent"] if rows else ""), answers)
        )
    repetitions = sorted({answer.repetition for *_, answers in columns for answer in answers})
    if not repetitions:
        raise UsageError(f"none of these runs has the scenario '{case}'")
    at = repetition if repetition in repetitions else repetitions[0]
    turns = sorted({answer.turn for *_, answers in columns for answer in answers if answer.repetition == at})
    blocks = []
    for turn in turns:
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
    body = join([STYLE, tabs if len(repetitions) > 1 else EMPTY, *blocks])
    lead = element("p", "Words that only one side has are marked; the leftmost is the baseline.")
    above = crumbs(("Runs", "/runs"), ("Difference", address("/difference", run=references)))
    return View(content=Content(title=case, lead=lead, body=body), place="runs", above=above, wide=True)


def _beside(turn: int, columns: Sequence[tuple[str, str, str, list[Answer]]], found: Sequence[Answer | None]) -> Markup:
    first = found[0]
    base = first.response if first is not None else ""
    asked = next((answer.query for answer in found if answer is not None), "")
    shown = []
    for at, ((run_id, name, agent, _), answer) in enumerate(zip(columns, found, strict=True)):
        link = EMPTY
        if answer is not None:
            to = conversation_address(run_id, answer.scenario, agent, answer.repetition)
            link = element("small", element("a", "open", href=to))
        head = element("h3", isolated(f"{name}: {agent}"), " ", outcome(answer) if answer else EMPTY, " ", link)
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
    return section(title, question + element("div", *shown, class_="beside"), anchor=f"turn-{turn + 1}")


def verdict_words(comparison: Comparison) -> str:
    """How many metrics got which call, for lists."""
    calls = comparison.calls
    parts = [f"{calls[call]} {call}" for call in ("better", "worse", "same", "inconclusive") if calls[call]]
    return ", ".join(parts) or f"no verdicts on {counted(comparison.n_common, 'case')}"
