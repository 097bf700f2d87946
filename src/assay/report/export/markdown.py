"""Markdown summaries for a pull request: of a comparison, or of agents in a suite."""

from __future__ import annotations

from collections.abc import Sequence

from assay.chat.scoring.outcomes.interruption_matrix import interruption_matrix
from assay.chat.scoring.outcomes.quirk_matrix import (
    DID_NOT_OCCUR,
    OUTCOME_WORDS,
    UNTESTED,
    quirk_matrix,
    quirk_summaries,
)
from assay.chat.scoring.scores import Scores
from assay.compare import Comparison, Outcome
from assay.compare.costs import costs_of
from assay.compare.decision import Decision
from assay.compare.skill import SkillOverBaselines
from assay.plural import counted
from assay.report.costs import (
    EFFECT_HEADER,
    EFFECTS_EXPLAINED,
    cost_note,
    cost_table,
    effect_rows,
    has_costs,
)
from assay.report.decision import basis_words, by_words, given_up_words, leader_words, needed_words, untested_words
from assay.report.failures import failure_words, failures_of, not_applicable_words
from assay.report.gates import allowing_words, not_checked_words
from assay.report.numbers import whole_percent
from assay.report.text import shorten
from assay.report.verdicts import (
    difference_text,
    empty_words,
    headline,
    is_empty,
    matching,
    p_value,
    title_with_unit,
    value_text,
)

_MOST_FAILURES = 25
_LONGEST = 300
_MARKS = {"better": "✅ better", "worse": "❌ worse", "same": "same", "inconclusive": "❔ inconclusive"}


def markdown(comparisons: Sequence[Comparison], outcomes: Sequence[Outcome] = ()) -> str:
    """A summary that reads well in a pull request: what failed, then a table for each comparison."""
    parts = []
    failures = [outcome for outcome in outcomes if outcome.failure]
    if failures:
        lines = []
        for failed in failures:
            lines.append(f"- {_escaped(failed.failure)}")
            lines += [f"  - {_escaped(shorten(line, _LONGEST))}" for line in failed.details.splitlines()]
        parts.append("**The gate failed.**\n\n" + "\n".join(lines))
        if allowing := allowing_words(failures):
            parts.append(_escaped(allowing))
    parts += [f"> {_escaped(words[0].upper() + words[1:])}" for words in not_checked_words(outcomes)]
    for comparison in comparisons:
        rows = ["| metric | baseline | candidate | difference | p | verdict |", "|---|--:|--:|--:|--:|---|"]
        for line in comparison.lines:
            if is_empty(line):
                continue
            verdict, measure = line.verdict, line.measure
            call = _MARKS.get(verdict.call, f"{verdict.call}: {verdict.reason}")
            if verdict.n_needed is not None:
                call += f" (~{verdict.needed} cases would decide)"
            values = [value_text(line.baseline.value, measure), value_text(line.candidate.value, measure)]
            lower = " (lower is better)" if measure.is_logged and measure.better == "lower" else ""
            cells = [f"{title_with_unit(measure)}{lower}", *values, difference_text(line), p_value(line), call]
            rows.append(f"| {' | '.join(map(_escaped, cells))} |")
        notes = "".join(f"\n\n> {_escaped(note)}" for note in comparison.notes)
        parts.append(
            f"### {_escaped(headline(comparison))}\n\n{_escaped(matching(comparison))}{notes}\n\n" + "\n".join(rows)
        )
        if empty := empty_words([line.measure for line in comparison.lines if is_empty(line)]):
            parts.append(_escaped(empty))
    return "\n\n".join(parts) + "\n"


def trials_markdown(
    scores: Scores,
    *,
    skill: SkillOverBaselines | None = None,
    suite: str = "conversations",
    decision: Decision | None = None,
    effects: Sequence[Comparison] = (),
    incomplete: str = "",
) -> str:
    """Agents in a suite: who leads, which share of their trials passes, what they cost, and which checks failed."""
    scenarios = len(scores.scenarios)
    rows = ["| agent | trials passed | skill over baselines |", "|---|--:|--:|"]
    for agent in scores.agents:
        trials = [passed for of_scenario in scores.trials(agent).values() for passed in of_scenario.values()]
        share = f"{sum(trials)} of {len(trials)}" if trials else "–"
        rows.append(f"| {_escaped(agent)} | {share} | {_skill(skill, agent)} |")
    if skill is not None:
        rows += [f"| {_escaped(name)} (baseline) | {whole_percent(skill.passed[name])} | |" for name in skill.baselines]
    parts = [f"### {_escaped(suite)}: {counted(scenarios, 'scenario')}"]
    if incomplete:
        parts.append(f"> {_escaped(incomplete)}")
    parts += [_answer(decision), "\n".join(rows), _costs(scores), _effects(effects)]
    if skill is not None and skill.useless:
        names = ", ".join(one.metric for one in skill.useless)
        parts.append(f"Not above a baseline, so they do not tell agents apart here: {_escaped(names)}.")
    quirks = _quirks(scores)
    if quirks:
        parts.append(quirks)
    interruptions = _interruptions(scores)
    if interruptions:
        parts.append(interruptions)
    parts += [_escaped(words) for words in not_applicable_words(scores)]
    failures = failures_of(scores)
    if failures:
        lines = [f"- {_escaped(shorten(failure_words(one), 300))}" for one in failures[:_MOST_FAILURES]]
        more = len(failures) - _MOST_FAILURES
        if scores.table is not None:
            lines.append("- and more: the file is large, and only the first failed answers are listed")
        elif more > 0:
            lines.append(f"- and {more:,} more")
        parts.append("**Checks that failed**\n\n" + "\n".join(lines))
    return "\n\n".join(part for part in parts if part) + "\n"


def _answer(decision: Decision | None) -> str:
    """Who leads, for each priority."""
    if decision is None:
        return ""
    lines = []
    for answer in decision.answers:
        said = (by_words(answer), given_up_words(answer), needed_words(answer, decision))
        lines.append(
            f"- **{answer.priority.capitalize()}:** {_escaped(leader_words(answer))}. "
            + _escaped(" ".join(text for text in said if text))
        )
    # Assay's own text: its backticks mark commands.
    closing = " ".join(text for text in (basis_words(decision), untested_words(decision)) if text)
    return "**Answer**\n\n" + "\n".join(lines) + f"\n\n{closing}"


def _costs(scores: Scores) -> str:
    costs = costs_of(scores)
    if not has_costs(costs):
        return ""
    note = cost_note(costs)
    return f"**Cost**\n\n{_table(*cost_table(costs))}" + (f"\n\n{note}" if note else "")


def _effects(effects: Sequence[Comparison]) -> str:
    if not effects:
        return ""
    return f"**Frameworks and models**\n\n{EFFECTS_EXPLAINED}\n\n{_table(EFFECT_HEADER, effect_rows(effects))}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(header)} |", "|---|" + "--:|" * (len(header) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(map(_escaped, row))} |" for row in rows)])


def _quirks(scores: Scores) -> str:
    """The matrix of quirks and agents, worst first, without the scenarios from which all recovered."""
    rows = quirk_matrix(scores)
    if not rows:
        return ""
    lines = [f"| quirk | {' | '.join(map(_escaped, scores.agents))} |", "|---|" + "---|" * len(scores.agents)]
    for row in rows:
        if not (row.is_harmless or row.is_untested):
            cells = [
                (DID_NOT_OCCUR if cell.missing else "–")
                if cell.worst is None
                else OUTCOME_WORDS[cell.worst] + (" !" if cell.is_broken else "")
                for cell in row.cells
            ]
            lines.append(f"| {' | '.join(map(_escaped, (row.scenario, *cells)))} |")
    recovered = sum(row.is_harmless for row in rows)
    sums = "; ".join(
        f"{_escaped(one.agent)} {one.handled} of {one.total}" for one in quirk_summaries(rows, scores.agents)
    )
    words = f"Neither silent nor hung nor crashed: {sums}."
    words += f" All recovered from {counted(recovered, 'more scenario')}." if recovered else ""
    untested = sum(row.is_untested for row in rows)
    words += f" Not shown: {counted(untested, 'scenario')} {UNTESTED}." if untested else ""
    return f"**Robustness** (worst first; ! the next turn fails too)\n\n{words}\n\n" + "\n".join(lines)


def _interruptions(scores: Scores) -> str:
    """Scenarios in which the user hangs up or has to approve a tool."""
    rows = interruption_matrix(scores)
    if not rows:
        return ""
    lines = [f"| scenario | {' | '.join(map(_escaped, scores.agents))} |", "|---|" + "---|" * len(scores.agents)]
    for row in rows:
        cells = [cell.word + (" !" if cell.is_broken else "") for cell in row.cells]
        lines.append(f"| {' | '.join(map(_escaped, (row.scenario, *cells)))} |")
    title = "**Hanging up and consent** (ms until model or tool stopped; ! the rest of the conversation fails)"
    return f"{title}\n\n" + "\n".join(lines)


def _skill(skill: SkillOverBaselines | None, agent: str) -> str:
    one = None if skill is None else skill.skill.get(agent)
    if one is None or one.value is None:
        return "–"
    ends = "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
    return _escaped(f"{one.value:.2f}{ends}".replace("-", "−"))


def _escaped(text: str) -> str:
    for mark in ("\\", "|", "<", "`", "*", "_", "["):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
