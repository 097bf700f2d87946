"""The HTML page that compares agents: which comes first and how certain that is, where they differ, and every answer.

page(result)          the page of an experiment, as text
content(scores, …)    what it shows, also for a page of `assay serve`

Each section has a file of this package; what the sections show is counted in `assay.report.facts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from assay import __version__
from assay.chat.load.results import AgentLoad
from assay.chat.scoring.scores import Scores
from assay.compare import Comparison, ComparisonLine
from assay.compare.costs import costs_of
from assay.compare.decision import decision_of
from assay.compare.overall import overall_of
from assay.compare.scenario_table import ScenarioTable
from assay.compare.skill import SkillOverBaselines
from assay.compare.weights import DEFAULT_WEIGHTS, PRESETS, Weights
from assay.plural import counted
from assay.report.experience import MeasuredExperience
from assay.report.facts import scenario_matrix, trial_counts
from assay.report.growth import EXPLAINED, HEADER, growth_rows
from assay.report.html.agents.answers import answers_section
from assay.report.html.agents.baselines import MARK, baselines_section
from assay.report.html.agents.costs import costs_section, effects_section
from assay.report.html.agents.decision import decision_block
from assay.report.html.agents.experience import experience_section
from assay.report.html.agents.failures import failures_section
from assay.report.html.agents.interruptions import interruptions_section
from assay.report.html.agents.matrix import CellAddress, anchor_of, matrix_section
from assay.report.html.agents.repetitions import faults_section, repetitions_section
from assay.report.html.agents.robustness import quirks_section
from assay.report.html.agents.standing import overall_section, script_data
from assay.report.html.agents.timing import timing_section
from assay.report.html.conversation import STYLE, metric_table
from assay.report.html.elements import EMPTY, Markup, element, isolated, join, section
from assay.report.html.figures import Figures
from assay.report.html.page import Content, notes_list, table
from assay.report.html.parts import Parts
from assay.report.numbers import interval
from assay.report.verdicts import signed
from assay.runs.results import ExperimentResult

__all__ = ["content", "page"]

_NONE: Final[Mapping[str, MeasuredExperience]] = MappingProxyType({})
_CLASSES = {"better": "good", "worse": "bad", "inconclusive": "warn", "same": ""}


def content(
    scores: Scores,
    *,
    experience: Mapping[str, MeasuredExperience] = _NONE,
    notes: Sequence[str] = (),
    suite: str = "",
    comparisons: Sequence[Comparison] = (),
    weights: Weights = DEFAULT_WEIGHTS,
    skill: SkillOverBaselines | None = None,
    address: CellAddress | None = None,
    loads: Sequence[AgentLoad] = (),
    effects: Sequence[Comparison] = (),
) -> Content:
    """What the page shows; it opens with these weights, and its reader may move them.

    `skill` is that of the agents over the baselines, if those were played. If answers have their own pages, `address`
    says where, and they are left out here. `loads` are load tests of the agents, and `effects` those of frameworks and
    models, if there are several of both.
    """
    figures = Figures()
    by_scenario = ScenarioTable.of(scores, loads)
    found = overall_of(by_scenario, weights, seed=scores.seed)
    presets = {title: overall_of(by_scenario, preset, seed=scores.seed) for title, preset in PRESETS.items()}
    rows = scenario_matrix(scores)
    shown = EMPTY
    parts = Parts()
    if address is None:
        shown, linked = answers_section(scores, rows, parts)

        def address(number: int, scenario: str, at: int) -> str | None:
            anchor = anchor_of(number, at)
            return f"#{anchor}" if anchor in linked else None

    sections = {
        "Robustness": quirks_section(scores, address),
        "Hanging up and consent": interruptions_section(scores, address),
        "Overall": overall_section(found, scores),
        "Cost": costs_section(costs_of(scores)),
        "Frameworks and models": effects_section(effects),
        "Baselines": baselines_section(skill),
        "Scenario by scenario": matrix_section(rows, scores.agents, address),
        "Checks that failed": failures_section(scores),
        "Metrics": _metrics(scores, skill),
        "Where the time goes": timing_section(scores, figures),
        "Growth over a long conversation": _growth(scores),
        "Faults survived": faults_section(scores),
        "Repetitions": repetitions_section(scores, figures),
        "Developer experience": experience_section(experience, scores.agents),
        "Verdicts": _verdicts(comparisons),
        "Answers": shown,
    }
    if scores.answers and all(answer.status == "skipped" for answer in scores.answers):
        # Tables without a number, and baselines beside nothing, would only hide why.
        sections = {"Nothing was played": _reasons(scores), "Answers": shown}
    kept = {title: body for title, body in sections.items() if body}
    body = join((section(title, content, anchor=_anchor(title)) for title, content in kept.items()), "\n")
    links = (element("li", element("a", title, href=f"#{_anchor(title)}")) for title in kept)
    contents = element("nav", element("ul", join(links, " ")), class_="contents", aria_label="Contents")
    return Content(
        title=f"{len(scores.agents)} agents side by side" if len(scores.agents) != 1 else "One agent",
        lead=_lead(scores, notes, suite, decision_block(decision_of(by_scenario, seed=scores.seed))),
        body=STYLE + contents + "\n" + body,
        charts=figures.charts,
        scripts=("overall.js", *(("answers.js",) if shown else ()), "reveal.js"),
        data={"assay-overall": script_data(found, presets), **parts.data()},
    )


def _anchor(title: str) -> str:
    return title.casefold().replace(" ", "-")


def _lead(scores: Scores, notes: Sequence[str], suite: str, answer: Markup) -> Markup:
    ended = trial_counts(scores.answers)
    scenarios = len({answer.scenario for answer in scores.answers})
    repetitions = len({answer.repetition for answer in scores.answers})
    times = "once" if repetitions == 1 else f"up to {repetitions} times"
    played = element(
        "p",
        _names(scores.agents),
        f" in {counted(scenarios, 'scenario')}",
        " of the suite " + isolated(suite) if suite else EMPTY,
        f", each played {times}.",
    )
    ends = ((ended.scored, "trials scored", ""), (ended.skipped, "skipped", "warn"), (ended.failed, "failed", "bad"))
    tiles = [
        element("li", element("b", f"{number:,}", class_=css if number else ""), f" {word}")
        for number, word, css in ends
    ]
    tiles.append(element("li", element("b", f"{len(scores.answers):,}"), " turns in all"))
    has_quirks = any(answer.record is not None and answer.record.quirk is not None for answer in scores.answers)
    unless = ", unless a quirk was played for which a clear error is good enough" if has_quirks else ""
    explained = (
        "Intervals are 95 %, over scenarios. What could not be measured is left out of the means. A failed turn has no "
        f"scores and does not pass{unless}. assay {__version__}."
    )
    return join(
        [
            played,
            answer,
            notes_list(notes),
            element("ul", *tiles, class_="tiles", aria_label=f"How {counted(ended.total, 'trial')} ended"),
            element("p", explained),
        ]
    )


def _names(agents: Sequence[str]) -> Markup:
    shown = [element("b", isolated(agent)) for agent in agents]
    if len(shown) < 2:
        return shown[0] if shown else join(["No agents"])
    return join(shown[:-1], ", ") + " and " + shown[-1]


def _reasons(scores: Scores) -> Markup:
    """Why turns were skipped, by agent, the most frequent first; empty if there are no turns."""
    found = Counter((answer.agent, answer.record.reason) for answer in scores.answers if answer.record is not None)
    rows = [[isolated(agent), f"{turns:,}", isolated(reason)] for (agent, reason), turns in found.most_common()]
    return table(["agent", "turns", "skipped, because"], rows, numeric=(1,), label="Why turns were skipped")


def _growth(scores: Scores) -> Markup:
    rows = growth_rows(scores)
    if not rows:
        return EMPTY
    cells = [[isolated(row[0]), *row[1:]] for row in rows]
    return element("p", EXPLAINED) + table(HEADER, cells, numeric=range(1, 6), label="Growth over a long conversation")


def _metrics(scores: Scores, skill: SkillOverBaselines | None) -> Markup:
    explained = (
        "The mean over what was measured, its interval, and how many answers it rests on. Agents may have been "
        "measured on different answers if turns failed or were skipped."
    )
    marks = {one.metric: MARK for one in skill.useless} if skill is not None else {}
    if marks:
        explained += f" {MARK} marks a metric on which a baseline does as well as the best agent."
    return element("p", explained) + metric_table(scores, marks=marks)


def _verdicts(comparisons: Sequence[Comparison]) -> Markup:
    """Every agent against the first, metric by metric."""
    if not comparisons:
        return EMPTY
    keys = dict.fromkeys((line.measure.key, line.measure.title) for one in comparisons for line in one.lines)
    rows: list[list[str]] = []
    for key, title in keys:
        found = [next((line for line in one.lines if line.measure.key == key), None) for one in comparisons]
        rows.append([title, *(_verdict(line) for line in found)])
    baseline = comparisons[0].baseline
    header = ["metric", *(isolated(one.candidate.agent or one.candidate.label) for one in comparisons)]
    explained = element(
        "p",
        *("Each against ", element("b", isolated(baseline.agent or baseline.label))),
        ", paired on the scenarios both had: the difference with its interval. ",
        *(element("b", "Same"), " lies within the margin as a whole, "),
        *(element("b", "better"), " and ", element("b", "worse")),
        " hold after Holm's correction for the number of metrics, and ",
        *(element("b", "inconclusive"), " says how many scenarios would decide in 80 % of all repetitions."),
    )
    return explained + table(header, rows, label="Verdicts")


def _verdict(line: ComparisonLine | None) -> Markup:
    if line is None:
        return join(["–"])
    verdict = line.verdict
    call = element("span", verdict.call, class_=_CLASSES.get(verdict.call, "muted"))
    if verdict.difference is not None:
        call += element("small", signed(verdict.difference, line.measure.unit))
        if verdict.low is not None and verdict.high is not None:
            call += element("small", interval(verdict.low, verdict.high, line.measure.unit))
    if verdict.n_needed is not None:
        call += element("small", f"~{verdict.needed} would decide")
    return call


def page(result: ExperimentResult) -> str:
    """The page about an experiment."""
    shown = content(
        result.scores,
        experience=result.experience,
        notes=result.notes,
        suite=result.suite,
        comparisons=result.comparisons(),
        skill=result.skill(),
        loads=result.loads,
        effects=result.effects(),
    )
    return shown.as_document()
