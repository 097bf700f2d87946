"""Skill over baselines and failed checks for the terminal. Lays out what `compare.skill` and `report.failures` have."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from assay.chat.scoring.scores import Scores
from assay.compare.skill import SkillOverBaselines
from assay.report.failures import Failure, failure_words, failures_of, not_applicable_words
from assay.report.numbers import whole_percent
from assay.report.terminal import plain, plain_table
from assay.report.terminal.columns import named
from assay.report.text import shorten

MARK = "≈"
"""Marks a metric on which agents are not above the baselines."""
_MOST_FAILURES = 10
_LONGEST_LINE = 240


def skill_tables(found: SkillOverBaselines | None, width: int) -> Iterator[RenderableType]:
    """How far each agent is above the baselines; nothing if none was played."""
    if found is None:
        return
    shown = plain_table("")
    names = named(shown, "agent", width - 44, found.agents)
    for column in ("trials passed", "skill", "interval"):
        shown.add_column(column, justify="right", no_wrap=True)
    for agent in found.agents:
        one = found.skill[agent]
        ends = "" if one.low is None or one.high is None else f"[{one.low:.2f}, {one.high:.2f}]"
        value = "–" if one.value is None else f"{one.value:.2f}"
        cells = (text.replace("-", "−") for text in (value, ends))
        shown.add_row(names[agent], whole_percent(found.passed[agent]), *map(Text, cells))
    for name in found.baselines:
        shown.add_row(Text(plain(name), "dim"), Text(whole_percent(found.passed[name]), "dim"), Text("baseline", "dim"))
    title = Text("Skill over baselines · 0: a constant text or an echo does as well, 1: all pass", style="bold")
    yield Group(title, shown, *_useless(found))


def _useless(found: SkillOverBaselines) -> Iterator[Text]:
    if found.useless:
        names = ", ".join(f"{one.metric} ({one.baseline} {one.value:.2f})" for one in found.useless)
        yield Text(
            plain(f"{MARK} Not above a baseline, so they do not tell agents apart here: {names}"), style="yellow"
        )


def failure_lines(scores: Scores) -> Iterator[RenderableType]:
    """Expectations that are not checked, and the first scenarios with a failed check, with its words."""
    by_trial: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures_of(scores):
        by_trial.setdefault((failure.agent, failure.scenario), []).append(failure)
    left_out = [Text(plain(words)) for words in not_applicable_words(scores)]
    if left_out:
        yield Group(Text("Expectations that are not checked", style="bold"), *left_out)
    if not by_trial:
        return
    several = len(scores.agents) > 1
    failed = len(by_trial)
    if scores.table is not None:  # not all failed answers are kept
        failed = sum(passed < trials for agent in scores.agents for passed, trials in scores.table.trial_counts(agent))
    lines = [_line(found, several) for found in list(by_trial.values())[:_MOST_FAILURES]]
    title = f"Checks that failed · in {failed:,} of the scenarios{' and agents' if several else ''}"
    if failed > _MOST_FAILURES:
        title += f", the first {_MOST_FAILURES}"
    yield Group(Text(title, style="bold"), *lines)


def _line(found: list[Failure], several: bool) -> Text:
    more = f" · and {len(found) - 1} more" if len(found) > 1 else ""
    return Text(plain(shorten(failure_words(found[0], agent=several), _LONGEST_LINE) + more), overflow="fold")
