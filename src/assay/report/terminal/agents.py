"""Agents side by side for the terminal: the main parts of the page, in 80 columns, however many agents there are.

Lays out what `compare.overall` and `report.facts` have; computes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from assay.chat.scoring.scores import KS, Scores
from assay.compare.costs import costs_of
from assay.compare.decision import decision_of
from assay.compare.overall import Overall, overall_of
from assay.compare.scenario_table import ScenarioTable
from assay.compare.skill import SkillOverBaselines
from assay.compare.standing import WeightRange
from assay.compare.weights import DEFAULT_WEIGHTS, MAX_WEIGHT, TRIALS_PASSED, TURNS_ANSWERED
from assay.plural import counted
from assay.report.experience import MeasuredExperience, value_words
from assay.report.facts import (
    PARTS,
    MatrixCell,
    accounts,
    failed_trials,
    scenario_matrix,
    survival_by_fault,
    time_facts,
    trial_counts,
)
from assay.report.failures import is_unplayed, unplayed_words
from assay.report.growth import HEADER, growth_rows
from assay.report.overall import ahead_words, lead_words, signed_ends, signed_fixed
from assay.report.terminal import plain, plain_table
from assay.report.terminal.columns import BESIDE_WIDE, beside, chunks, named
from assay.report.terminal.decision import cost_tables, decision_lines, effect_tables
from assay.report.terminal.interruptions import interruption_tables
from assay.report.terminal.outcomes import MARK, failure_lines, skill_tables
from assay.report.terminal.robustness import quirk_tables
from assay.report.text import shorten
from assay.runs.results import ExperimentResult
from assay.types import Estimate

if TYPE_CHECKING:
    from assay.chat.load.results import AgentLoad
    from assay.compare import Comparison

_NONE: Final[Mapping[str, MeasuredExperience]] = MappingProxyType({})
_MOST_ROWS = 15
_CALLS = ("model\ncalls", "tool\ncalls", "tools\notherwise", "tokens\notherwise", "on the\nwire")
_STYLES = {"all": "green", "some": "yellow", "none": "red", "failed": "bold red", "skipped": "dim", "absent": "dim"}


def side_by_side(
    scores: Scores,
    *,
    experience: Mapping[str, MeasuredExperience] = _NONE,
    notes: Sequence[str] = (),
    suite: str = "",
    skill: SkillOverBaselines | None = None,
    loads: Sequence[AgentLoad] = (),
    effects: Sequence[Comparison] = (),
) -> RenderableType:
    """Everything that fits: counts, overall, skill, scenarios that differ, failed checks, metrics, times, faults, …"""
    return _SideBySide(scores, experience, notes, suite, skill, loads, effects)


@dataclass(frozen=True, slots=True)
class _SideBySide:
    """Laid out once the width of the terminal is known: names take what the numbers leave."""

    scores: Scores
    experience: Mapping[str, MeasuredExperience]
    notes: Sequence[str]
    suite: str
    skill: SkillOverBaselines | None
    loads: Sequence[AgentLoad]
    effects: Sequence[Comparison]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        scores, width = self.scores, options.max_width
        if is_unplayed(scores):
            yield _lead(scores, self.suite)
            yield ""
            yield from (_text(words) for words in unplayed_words(scores))
            return
        by_scenario = ScenarioTable.of(scores, self.loads)
        parts = [
            _lead(scores, self.suite),
            *decision_lines(decision_of(by_scenario, seed=scores.seed)),
            *([Group(*(_text(note, "yellow") for note in self.notes))] if self.notes else []),
            *quirk_tables(scores, width),
            *interruption_tables(scores, width),
            _overall(overall_of(by_scenario, seed=scores.seed), failed_trials(scores), width),
            *cost_tables(costs_of(scores), width),
            *effect_tables(self.effects),
            *skill_tables(self.skill, width),
            *_matrix(scores, width),
            *failure_lines(scores),
            *_metrics(scores, width, {one.metric for one in self.skill.useless} if self.skill else set()),
            *_times(scores, width),
            *_growth(scores),
            *_faults(scores, width),
            *([_passes(scores, width)] if scores.agents else ()),
            *_experience(self.experience, scores.agents, width),
        ]
        yield parts[0]
        for part in parts[1:]:
            yield ""
            yield part


def _short(name: str | None) -> str:
    """A name in a sentence."""
    return shorten(name or "", 30)


def _text(text: str, style: str = "") -> Text:
    return Text(plain(text), style=style)


# --- the lead --------------------------------------------------------------------------------------------------------


def _lead(scores: Scores, suite: str) -> RenderableType:
    ended = trial_counts(scores.answers)
    scenarios = len({answer.scenario for answer in scores.answers})
    head = Text(f"{counted(len(scores.agents), 'agent')}, {counted(scenarios, 'scenario')}", style="bold")
    if suite:
        head.append_text(_text(f" of {suite}"))
    trials = Text(f"{counted(ended.total, 'trial')}: {ended.scored:,} scored, ")
    trials.append(f"{ended.skipped:,} skipped", style="yellow" if ended.skipped else "")
    trials.append(", ").append(f"{ended.failed:,} failed", style="red" if ended.failed else "")
    numbered = [_text(f"{at} {_short(agent)}") for at, agent in enumerate(scores.agents, 1)]
    return Group(head, trials, Text("  ").join(numbered))


# --- overall ---------------------------------------------------------------------------------------------------------


def _overall(found: Overall, failed: Mapping[str, int], width: int) -> RenderableType:
    if not found.standing.winners:
        nothing = Text("Nothing was measured for every agent, so there is no overall score.")
        return Group(nothing, *_without(found))
    shown = plain_table("")
    shown.add_column("")
    errors = {agent: f"{failed[agent]:,} failed" if failed[agent] else "" for agent in found.standing.order}
    longest = max(map(len, errors.values()))
    names = named(shown, "agent", width - 42 - (longest + 2 if longest else 0), found.standing.order)
    ranked = len(found.standing.order) > 1
    for column in (*([""] if longest else []), "overall", "interval", *(["first in"] if ranked else [])):
        shown.add_column(column, justify="right", no_wrap=True)
    for rank, agent in enumerate(found.standing.order, 1):
        estimate, first = found.uncertainty.values[agent], found.uncertainty.first.get(agent)
        share = ["–" if first is None else f"{100 * first:.0f} %"] if ranked else []
        cells = [names[agent], Text(errors[agent], "red")] if longest else [names[agent]]
        shown.add_row(str(rank), *cells, f"{found.standing.values[agent]:.3f}", Text(_ends(estimate, 3)), *share)
    weight = DEFAULT_WEIGHTS.criteria[TRIALS_PASSED]
    title = f"Overall · weight of trials passed {weight:g}, like a group of metrics; of each metric 1"
    if any(one.name == TURNS_ANSWERED for one in found.means.criteria):
        title = f"Overall · weight of trials passed and of turns answered {weight:g}, of each metric 1"
    return Group(_title(title), shown, *_standing_words(found), *_without(found))


def _without(found: Overall) -> Iterator[Text]:
    """Which agents are not in the overall, and why."""
    for agent, why in found.means.without.items():
        yield _text(f"Not in the overall score, no turn was scored: {_short(agent)}, {shorten(why, 160)}", "yellow")


def _standing_words(found: Overall) -> Iterator[Text]:
    standing, lead, once = found.standing, found.uncertainty.by_scenarios, found.uncertainty.once
    if len(standing.winners) > 1:
        yield _text(f"{', '.join(map(_short, standing.winners))} tie for first.", "bold")
    elif standing.lead is not None:
        text = _text(
            f"{_short(standing.order[0])} is {ahead_words(standing.lead)} of {_short(standing.order[1])}", "bold"
        )
        if lead is not None and lead.low is not None and lead.high is not None:
            chance = "more than the choice of scenarios explains" if lead.low > 0 else "the scenarios may explain it"
            spread = signed_ends(lead.low, lead.high)
            said = f", {spread}: {chance}."
            if once:
                varied = f"{signed_fixed(lead.value or 0.0)} {spread}"
                said = f": {signed_fixed(once)} was measured once and has no interval, and scenarios add {varied}."
            text.append(said, style="not bold")
        yield text
    # The weight of a group with one member is that of the member.
    sizes = Counter(criterion.group for criterion in found.means.criteria)
    groups = {name: kept for name, kept in found.group_ranges.items() if sizes[name] > 1}
    made = lead_words(found.means, found.weights, standing)
    if made:
        yield _text(made)
    turned = [(name, kept) for name, kept in {**groups, **found.ranges}.items() if _turns(kept)]
    if turned:
        yield Text("Another comes first, with all other weights unchanged, if the weight of", style="dim")
        for name, kept in turned:
            ends = []
            if kept.low > 0:
                ends.append(f"is below {kept.low:.2f} ({_short(kept.below)})")
            if kept.high < MAX_WEIGHT:
                ends.append(f"is above {kept.high:.2f} ({_short(kept.above)})")
            yield _text(f"  {name.replace('_', ' ')} {' or '.join(ends)}", "dim")
    elif len(standing.order) > 1 and len(standing.winners) == 1:
        yield Text(f"No single weight from 0 to {MAX_WEIGHT:g} puts another first.", style="dim")
    if found.means.left_out:
        yield _text(f"Left out, not measured for all: {', '.join(found.means.left_out)}", "dim")


def _turns(kept: WeightRange) -> bool:
    return kept.low > 0 or kept.high < MAX_WEIGHT


# --- scenarios -------------------------------------------------------------------------------------------------------


def _matrix(scores: Scores, width: int) -> Iterator[RenderableType]:
    agents = scores.agents
    if len(agents) < 2:
        return
    rows = scenario_matrix(scores)
    apart = sorted((row for row in rows if row.differs), key=lambda row: -row.spread)
    if not apart:
        yield Text(f"The agents differ in none of {counted(len(rows), 'scenario')}.")
        return
    title = f"The agents differ in {len(apart):,} of {counted(len(rows), 'scenario')}"
    title += " · repetitions that pass, ! some failed"
    if len(apart) > _MOST_ROWS:
        title += f" · the {_MOST_ROWS} furthest apart"
    for some in chunks(agents):
        shown = beside("scenario", agents, some, width, rows=[row.scenario for row in apart[:_MOST_ROWS]])
        for row in apart[:_MOST_ROWS]:
            shown.add_row(_text(row.scenario), *(_cell(row.cells[at]) for at in some))
        yield Group(_title(title), shown)


def _cell(cell: MatrixCell) -> Text:
    style = _STYLES[cell.state]
    if not cell.trials:
        return Text("skipped" if cell.skipped else "–", style=style)
    return Text(f"{cell.passed}/{cell.trials}{' !' if cell.failed else ''}", style=style)


# --- metrics ---------------------------------------------------------------------------------------------------------


def _metrics(scores: Scores, width: int, useless: Collection[str]) -> Iterator[RenderableType]:
    lines = {(line.agent, line.metric): line.estimate for line in scores.lines()}
    metrics = [one for one in scores.metrics if any(lines[name, one.name].value is not None for name in scores.agents)]
    if not metrics:
        return
    wide = len(scores.agents) <= BESIDE_WIDE
    labels = [f"  {metric.name}{f' {MARK}' if metric.name in useless else ''}" for metric in metrics]
    level = next((estimate.level for estimate in lines.values()), 0.95)
    for some in chunks(scores.agents):
        shown = beside("metric", scores.agents, some, width, cell=9, rows=labels)
        for group in dict.fromkeys(metric.group for metric in metrics):
            shown.add_row(Text(group, style="bold"))
            for metric in (metric for metric in metrics if metric.group == group):
                found = [lines[scores.agents[at], metric.name] for at in some]
                mark = f" {MARK}" if metric.name in useless else ""
                shown.add_row(_text(f"  {metric.name}{mark}"), *(_estimate(estimate, wide) for estimate in found))
        yield Group(_title(f"Metrics · means, {100 * level:g}% intervals by scenario"), shown)
    empty = [one.name for one in scores.metrics if one not in metrics]
    if empty:
        yield _text(f"Not measured: {', '.join(empty)}", "dim")


def _estimate(estimate: Estimate, wide: bool) -> Text:
    if estimate.value is None:
        return Text("–")
    ends = _ends(estimate, 2)
    if not ends:
        return Text(f"{estimate.value:.2f}")
    if wide:
        return Text(f"{estimate.value:.2f} ").append(ends, style="dim")
    # [0.95, 0.98] is three characters too long for five columns.
    short = ends.replace("0.", ".").replace("1.00", "1.0").replace(", ", ",")
    return Text(f"{estimate.value:.2f}\n").append(short, style="dim")


def _ends(estimate: Estimate, digits: int) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]".replace("-", "−")


# --- times, faults, repetitions --------------------------------------------------------------------------------------


def _times(scores: Scores, width: int) -> Iterator[RenderableType]:
    found = [time_facts(scores, agent) for agent in scores.agents]
    if not any(one.turns for one in found):
        return
    shown = plain_table("")
    names = named(shown, "agent", width - 62, scores.agents)
    for column in ("wall", "p95", "1st text", *PARTS, "interval"):
        shown.add_column(column, justify="right", no_wrap=True)
    for one in found:
        wall, text = one.wall or (None, None), one.first_text or (None, None)
        low, high = one.overhead.low, one.overhead.high
        ends = "" if low is None or high is None else f"[{_ms(low)}, {_ms(high)}]"
        shown.add_row(
            names[one.agent],
            *map(_ms, (wall[0], wall[1], text[0], *(one.parts.get(part) for part in PARTS))),
            Text(ends, style="dim"),
        )
    yield Group(_title("Where the time goes · ms per turn, medians"), shown)
    counts = plain_table("")
    named(counts, "agent", width - 62)
    for column in ("in", "out", *_CALLS):
        counts.add_column(column, justify="right", no_wrap=True)
    for one in found:
        own = accounts(scores, one.agent)
        counts.add_row(
            names[one.agent],
            *("–" if value is None else f"{value:,.0f}" for value in (one.input_tokens, one.output_tokens)),
            *("–" if value is None else f"{value:.2f}" for value in (one.model_calls, one.tool_calls)),
            *(f"{differ:,} of {n:,}" if n else "–" for differ, n in (own.tool_calls, own.tokens, own.wire)),
        )
    yield Group(_title("Tokens and calls · means per turn, and turns the framework counts differently"), counts)
    for one in found:
        if one.broken_streams:
            yield _text(f"{one.agent}: in {counted(one.broken_streams, 'turn')} a stream of the model broke off")


def _growth(scores: Scores) -> Iterator[RenderableType]:
    rows = growth_rows(scores)
    if rows:
        shown = plain_table("Growth over a long conversation · exponent 0: none, 1: linear")
        for column in HEADER:
            is_text = column in ("agent", "history")
            shown.add_column(column, justify="left" if is_text else "right", no_wrap=column == "agent")
        for row in rows:
            shown.add_row(*map(_text, row))
        yield shown


def _ms(seconds: float | None) -> str:
    if seconds is None or math.isnan(seconds):
        return "–"
    value = 1000 * seconds
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _faults(scores: Scores, width: int) -> Iterator[RenderableType]:
    found = survival_by_fault(scores)
    for some in chunks(scores.agents) if found else ():
        shown = beside("fault", scores.agents, some, width, rows=list(found))
        for fault, by_agent in found.items():
            cells = []
            for one in (by_agent[at] for at in some):
                style = "green" if one.survived == one.turns else "yellow" if one.survived else "red"
                mark = " !" if one.failed else ""
                cells.append(Text(f"{one.survived}/{one.turns}{mark}", style) if one.turns else Text("–", "dim"))
            shown.add_row(_text(fault), *cells)
        yield Group(_title("Faults survived · turns that were scored and passed, ! some failed"), shown)


def _passes(scores: Scores, width: int) -> RenderableType:
    passes = {agent: scores.passes(agent) for agent in scores.agents}
    known = [k for k in KS if any(found["pass^k"][k].value is not None for found in passes.values())]
    columns = [("pass^k", k) for k in known] + [("pass@k", k) for k in known if k > 1]
    shown = plain_table("")
    names = named(shown, "agent", width - 8 * len(columns), scores.agents)
    for kind, k in columns:
        shown.add_column(kind.replace("k", str(k)), justify="right", no_wrap=True)
    for agent, found in passes.items():
        cells = ["–" if (value := found[kind][k].value) is None else f"{value:.2f}" for kind, k in columns]
        shown.add_row(names[agent], *cells)
    return Group(_title("Repetitions · pass^k: all of k pass, pass@k: at least one does"), shown)


def _experience(
    experience: Mapping[str, MeasuredExperience], agents: Sequence[str], width: int
) -> Iterator[RenderableType]:
    known = {agent: experience[agent] for agent in agents if agent in experience}
    names = dict.fromkeys(name for one in known.values() for name in one.characteristics)
    for some in chunks(agents) if names else ():
        shown = beside("", agents, some, width, cell=11, rows=list(names))
        for name in names:
            shown.add_row(_text(name.replace("_", " ")), *(_known(known.get(agents[at]), name) for at in some))
        yield Group(_title("Developer experience · measured; claimed values in brackets"), shown)
    reasons = [(agent, part, why) for agent, one in known.items() for part, why in one.absent.items()]
    if reasons:
        lines = (_text(f"  {_short(agent)}, {part}: {shorten(why, 160)}", "dim") for agent, part, why in reasons)
        yield Group(_title("Could not be measured"), *lines)


def _known(one: MeasuredExperience | None, name: str) -> Text:
    if one is None:
        return Text("–", style="dim")
    text = _text(value_words(one.characteristics.get(name)))
    if one.claimed and name in one.claimed and one.claimed[name] != one.characteristics.get(name):
        text.append("\n").append(plain(f"({value_words(one.claimed[name])})"), style="yellow")
    return text


# --- tables ----------------------------------------------------------------------------------------------------------


def _title(text: str) -> Text:
    """The title of a table, on a line of its own: inside the table it would wrap if the table is narrow."""
    return Text(text, style="bold")


def tables(result: ExperimentResult, *, full: bool = False) -> RenderableType:
    """The tables of an experiment; they are always shown in full."""
    return side_by_side(
        result.scores,
        experience=result.experience,
        notes=result.notes,
        suite=result.suite,
        skill=result.skill(),
        loads=result.loads,
        effects=result.effects(),
    )
