"""How a comparison is put into words, in all output formats: its headline, matching, differences and p-values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.plural import counted
from assay.report.numbers import number
from assay.types import Run

if TYPE_CHECKING:
    from assay.compare import Comparison, ComparisonLine, Measure, Side


def told_apart(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, labelled with no more than tells their sides apart.

    Agents of one run are called by their own names, and the same agent of several runs by those of the runs, with the
    time if the runs have one name.
    """
    sides = [side for one in comparisons for side in (one.baseline, one.candidate)]
    runs = {side.run.id: side.run for side in sides}
    if any(side.label != f"{side.run.name or side.run.id}{':' if side.agent else ''}{side.agent}" for side in sides):
        return list(comparisons)  # labelled for another purpose
    if len(runs) == 1:
        return [_labelled(one, lambda side: side.agent or side.label) for one in comparisons]
    names = run_labels(runs.values())
    agents = {side.agent for side in sides}

    def label(side: Side) -> str:
        name = names[side.run.id]
        return name if len(agents) == 1 else f"{name}: {side.agent}"

    return [_labelled(one, label) for one in comparisons]


def run_labels(runs: Iterable[Run]) -> dict[str, str]:
    """What tells runs apart, by id: their names, with the times to the minute or second if these are the same."""
    found = list(runs)
    for digits in (0, 16, 19):
        labels = {
            run.id: f"{run.name or run.id} of {run.created[:digits].replace('T', ' ')}"
            if digits
            else run.name or run.id
            for run in found
        }
        if len(set(labels.values())) == len(labels):
            return labels
    return {run.id: f"{run.name} ({run.id})" for run in found}


def _labelled(one: Comparison, label: Callable[[Side], str]) -> Comparison:
    baseline, candidate = (replace(side, label=label(side)) for side in (one.baseline, one.candidate))
    return replace(one, baseline=baseline, candidate=candidate)


def headline(comparison: Comparison) -> str:
    """What is compared with what, and the count of calls."""
    return f"{comparison.candidate.label} against {comparison.baseline.label}: {counted_calls(comparison)}"


def counted_calls(comparison: Comparison) -> str:
    """How many metrics are better, worse, the same and inconclusive."""
    calls = comparison.calls
    found = ", ".join(f"{calls[call]} {call}" for call in ("better", "worse", "same", "inconclusive") if calls[call])
    return found or "no verdicts"


def matching(comparison: Comparison) -> str:
    """How many cases are paired, how many are not, and what the intervals rest on."""
    case = "scenario" if comparison.kind == "chat" else "episode"
    only = [
        f"{n:,} only in the {side}"
        for n, side in ((comparison.n_baseline_only, "baseline"), (comparison.n_candidate_only, "candidate"))
        if n
    ]
    left = f"; not matched: {' and '.join(only)}" if only else ""
    return (
        f"{counted(comparison.n_common, f'common {case}')}{left}. {comparison.level:.0%} intervals by "
        f"{comparison.unit}; p after Holm's correction."
    )


def is_empty(line: ComparisonLine) -> bool:
    """Whether neither side has a value: such metrics are named in one line, not in a row each."""
    return line.verdict.call == "unmeasured" and line.baseline.value is None and line.candidate.value is None


def empty_words(measures: Sequence[Measure]) -> str:
    """The metrics that neither side has, in a sentence; empty if there are none."""
    return f"Not measured on either side: {', '.join(one.title for one in measures)}." if measures else ""


def p_value(line: ComparisonLine) -> str:
    """The adjusted p-value; empty if there is none."""
    p = line.verdict.p_adjusted
    return "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def signed(value: float, unit: str = "") -> str:
    """A difference, with its sign."""
    text = number(value, unit)
    return text if value <= 0 else f"+{text}"


def title_with_unit(measure: Measure) -> str:
    """The measure's title with its unit."""
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def value_text(value: float | None, measure: Measure) -> str:
    """A value in the measure's unit; a dash if there is none."""
    return "–" if value is None else number(value, measure.unit)


def difference_text(line: ComparisonLine) -> str:
    """A difference and its interval on one line; a dash if there is none."""
    verdict, unit = line.verdict, line.measure.unit
    if verdict.difference is None:
        return "–"
    text = signed(verdict.difference, unit)
    if verdict.low is not None and verdict.high is not None:
        text += f" [{signed(verdict.low, unit)}, {signed(verdict.high, unit)}]"
    return text
