"""From measurements to verdicts: paired differences, p-values corrected for the number of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.compare.comparison import (
    Change,
    Comparable,
    Comparison,
    ComparisonLine,
    Margin,
    Measured,
    PerCase,
    Sample,
    Side,
    differing_settings,
    side_of,
)
from assay.errors import UsageError, unknown_name
from assay.plural import counted
from assay.stats import Difference, Resampling, difference, holm, performance_profile, probability_of_improvement
from assay.stats.paired import Changes, cases_needed
from assay.types import Call, Estimate, Floats, Run, Verdict

_CHANGES = 10
# How many cases without a partner are named.
_NAMED = 10
_THRESHOLDS = 41
# Comparing every case of one side with every case of the other takes time quadratic in their number.
_MOST_CASES_FOR_PAIRS = 2000
# Settings that change no number, or whose difference has a separate note.
_REPORTED_ELSEWHERE = frozenset(
    ("interval", "reps", "level", "seed", "threads", "metrics", "experience", "notes", "details", "streamed_times")
)


def compare(
    baseline: Run | Side | Comparable,
    candidate: Run | Side | Comparable,
    *,
    margin: float | Margin = 0.05,
    level: float = 0.95,
    seed: int = 42,
    reps: int = 1000,
    full: bool = False,
) -> Comparison:
    """The candidate against the baseline, on the cases that both have.

    `margin` is how large a difference may be and still not matter (see `Margin`). `full` compares every
    figure of a protocol instead of the headline ones; the more metrics, the stronger the correction.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=4, seconds=2, seed=1)
        >>> good, poor = (events.synthetic.prediction(truth, model, seed=1) for model in
        ...               (events.synthetic.GOOD, events.synthetic.POOR))
        >>> comparison = compare(events.evaluate(poor, truth), events.evaluate(good, truth))
        >>> comparison.line("comparable").verdict.difference > 0
        True

    """
    a, b = _labelled(side_of(baseline), "baseline"), _labelled(side_of(candidate), "candidate")
    if a.run.half != b.run.half:
        raise UsageError(
            f"a run of {a.run.half} cannot be compared with a run of {b.run.half}",
            hint="Choose two runs of the same kind",
        )
    margins = margin if isinstance(margin, Margin) else Margin(margin)
    sample = _measure(a, b, level, seed, reps, full)
    _check_names(margins, sample)
    return Comparison(
        a,
        b,
        a.run.half,
        len(sample.cases),
        len(_cases(a)) - len(sample.cases),
        len(_cases(b)) - len(sample.cases),
        sample.unit,
        level,
        sample.reps,
        seed,
        verdict_lines(sample, margins, level),
        [_per_case(entry, sample, level, seed) for entry in sample.measured if _worth_listing(entry, sample)],
        [*sample.notes, *_direction_note(sample), *_unpaired_note(a, b), *_differences_of_input(a, b)],
    )


def _labelled(side: Side, role: str) -> Side:
    """The side, labelled with its role if it has no name."""
    return replace(side, label=f"{role}{side.label}") if side.label in ("", f":{side.agent}") else side


def _measure(a: Side, b: Side, level: float, seed: int, reps: int, full: bool) -> Sample:
    if a.run.half == "events":
        from assay.compare.events import measure_events as measure
    elif "load" in (a.run.kind, b.run.kind):
        if a.run.kind != b.run.kind:
            raise UsageError("a load test can be compared only with a load test", hint="Choose two runs of one kind")
        from assay.compare.load import measure_load as measure
    else:
        from assay.compare.conversations import measure_scores as measure
    return measure(a, b, level=level, seed=seed, reps=reps, full=full)


def _cases(side: Side) -> dict[str, None]:
    """The names of a side's cases."""
    tallies = [side.run.tallies[side.agent]] if side.agent else side.run.tallies.values()
    return {case.name: None for by_case in tallies for case in by_case}


def _direction_note(sample: Sample) -> list[str]:
    """A note on the scores of logs of which lower values were taken to be better."""
    lower = [one.measure.title for one in sample.measured if one.measure.is_logged and one.measure.better == "lower"]
    return [f"Lower is better for {', '.join(lower)}."] if lower else []


def _unpaired_note(a: Side, b: Side) -> list[str]:
    """A note that names the cases without a partner, the first of them, if there are any."""
    ours, theirs = _cases(a), _cases(b)
    words = []
    for side, names, others in (("baseline", ours, theirs), ("candidate", theirs, ours)):
        alone = [name for name in names if name not in others]
        if alone:
            listed = ", ".join(alone[:_NAMED]) + (" …" if len(alone) > _NAMED else "")
            words.append(f"{counted(len(alone), 'case')} only the {side} has ({listed})")
    return [f"Left out, because they have no partner: {' and '.join(words)}."] if words else []


def _check_names(margins: Margin, sample: Sample) -> None:
    known = {entry.measure.key for entry in sample.measured}
    for name in margins.special:
        if known and name not in known:
            raise unknown_name("metric", name, known)


def _differences_of_input(a: Side, b: Side) -> list[str]:
    """Notes on inputs and settings that differ: runs on different truths are paired by case names only."""
    notes = []
    if "truth" in a.run.inputs and "truth" in b.run.inputs:
        digests = [
            run.inputs["truth"].get("sha256") if isinstance(run.inputs["truth"], dict) else None
            for run in (a.run, b.run)
        ]
        if None not in digests and digests[0] != digests[1]:
            notes.append("The two runs were scored against different truths: cases are paired by their names only.")
    settings = [_settings(side) for side in (a, b)]
    both = settings[0].keys() & settings[1].keys()
    words = differing_settings({key: settings[0][key] for key in both}, {key: settings[1][key] for key in both})
    return [*notes, f"Settings differ: {'; '.join(words)}."] if words else notes


def _settings(side: Side) -> dict[str, Any]:
    """The settings that determine the numbers of a side; those of its agent are compared only with the same agent."""
    stated = side.run.settings
    if side.run.kind == "events":
        from assay.events.stored import settings_of

        stated = settings_of(side.run)
    found = {key: value for key, value in stated.items() if key not in _REPORTED_ELSEWHERE}
    agents = found.pop("agents", ())
    for spec in agents if isinstance(agents, list | tuple) else ():
        if isinstance(spec, Mapping) and spec.get("name") == side.agent:
            found[f"agent {side.agent}"] = spec
    return found


# --- verdicts ------------------------------------------------------------------------------------------------------


def verdict_lines(sample: Sample, margins: Margin, level: float) -> list[ComparisonLine]:
    """A line with its verdict for every metric that was measured."""
    found = [_difference(entry, sample, level) for entry in sample.measured]
    tested = [at for at, result in enumerate(found) if isinstance(result, Difference)]
    adjusted: dict[int, float] = {}
    if tested:
        adjusted = dict(zip(tested, holm([found[at].p for at in tested]).tolist(), strict=True))  # type: ignore[union-attr]
    # The first metric to be shown to differ must withstand a correction for all that are not shown to differ yet.
    open_tests = sum(p > 1 - level for p in adjusted.values())
    lines = []
    for at, (entry, result) in enumerate(zip(sample.measured, found, strict=True)):
        a, b = entry.baseline.value, entry.candidate.value
        margin = 0.0 if a is None or b is None else margins.of(entry.measure, a, b)
        if isinstance(result, Difference):
            verdict = _verdict(entry, result, adjusted[at], margin, level, max(open_tests, 1))
        else:
            verdict = _without_test(entry, *result)
        lines.append(
            ComparisonLine(
                entry.measure,
                replace(entry.baseline, replicates=None, contributions=None),
                replace(entry.candidate, replicates=None, contributions=None),
                margin,
                entry.n_cases,
                verdict,
            )
        )
    return lines


def _difference(entry: Measured, sample: Sample, level: float) -> Difference | tuple[Call, str]:
    """The tested difference of a metric; or, if it cannot be tested, its call and the reason."""
    a, b = entry.baseline, entry.candidate
    if entry.reason:
        return "unmeasured", entry.reason
    if a.value is None or b.value is None:
        side = "on both sides" if a.value is None and b.value is None else f"in the {_missing(a)}"
        return "unmeasured", f"undefined {side}: {entry.measure.undefined}"
    if entry.measure.better == "none":
        return "descriptive", "describes the data; no direction is better"
    if entry.once:
        return "descriptive", "measured once for each side; cases give it no interval"
    if entry.n_cases < 2:
        return (
            "inconclusive",
            f"{counted(entry.n_cases, 'common case')}: too few to compare",
        )
    sides = [_signed(side, entry.measure.better == "zero") for side in (a, b)]
    value = float(sides[1].value or 0.0) - float(sides[0].value or 0.0)
    freedom = min(side.freedom or entry.n_cases - 1.0 for side in sides)
    contributions, replicates = (_subtracted(sides, name) for name in ("contributions", "replicates"))
    strata = [case.stratum for case in sample.cases]
    if contributions is not None and entry.scores is not None:
        known = ~(np.isnan(entry.scores[0]) & np.isnan(entry.scores[1]))
        contributions, strata = (
            contributions[known],
            [name for name, is_known in zip(strata, known, strict=True) if is_known],
        )
    if contributions is None and replicates is None:
        return "unmeasured", "has no interval"
    found = difference(
        value,
        level=level,
        freedom=freedom,
        contributions=contributions,
        strata=strata,
        replicates=replicates,
        changes=changes_of(entry),
    )
    return ("unmeasured", "no resample could be measured") if found is None else found


def _signed(side: Estimate, by_distance: bool) -> Estimate:
    """The estimate, or, if 0 is best, that of its distance from 0."""
    if not by_distance or side.value is None:
        return side
    sign = -1.0 if side.value < 0 else 1.0
    return replace(
        side,
        value=abs(side.value),
        contributions=None if side.contributions is None else sign * side.contributions,
        replicates=None if side.replicates is None else np.abs(side.replicates),
    )


def _subtracted(sides: Sequence[Estimate], name: str) -> Floats | None:
    a, b = (getattr(side, name) for side in sides)
    return None if a is None or b is None else b - a


def changes_of(entry: Measured) -> Changes | None:
    """How many cases changed, and how much one can; None if cases were not scored one by one."""
    if entry.scores is None:
        return None
    a, b = (np.abs(side) if entry.measure.better == "zero" else side for side in entry.scores)
    is_share = entry.measure.unit == "" and np.nanmax(np.abs([a, b]), initial=0.0) <= 1
    return Changes.of(a, b, 1.0 if is_share else float(np.nanmax(np.abs([a, b]), initial=0.0)))


def _missing(baseline: Estimate) -> str:
    return "baseline" if baseline.value is None else "candidate"


def _verdict(entry: Measured, found: Difference, p_adjusted: float, margin: float, level: float, tests: int) -> Verdict:
    """A difference within the margin is 'same', however certain it is; otherwise the p-value decides.

    'Same' means two one-sided tests at once: the wider of both intervals lies within the margin. The wider one is
    printed then, and also if it is the reason why a difference is not 'same'.
    """
    gain = found.value if entry.measure.better == "higher" else -found.value
    low, high = found.wide if found.within(margin, surely=False) else (found.low, found.high)
    if entry.measure.most is not None:
        # Few cases give an interval that reaches beyond what can be.
        low, high = max(low, -entry.measure.most), min(high, entry.measure.most)
    call: Call
    if found.within(margin, surely=True):
        call = "same"
    elif found.within(margin, surely=False):
        call = "inconclusive"
    elif p_adjusted <= 1 - level and gain and not found.low <= 0 <= found.high:
        call = "better" if gain > 0 else "worse"
    else:
        call = "inconclusive"
    verdict = Verdict(entry.measure.key, found.value, low, high, p_adjusted, call, None)
    if call != "inconclusive":
        return verdict
    needed = cases_needed(found, entry.n_cases, margin=margin, tests=tests, level=level, changes=changes_of(entry))
    if needed is None:
        return verdict
    return replace(verdict, n_needed=needed[1], n_needed_low=needed[0] if needed[0] < needed[1] else None)


def _without_test(entry: Measured, call: Call, reason: str) -> Verdict:
    a, b = entry.baseline.value, entry.candidate.value
    away = abs if entry.measure.better == "zero" else float
    value = None if a is None or b is None or entry.reason else float(away(b) - away(a))
    return Verdict(entry.measure.key, value, None, None, None, call, None, reason)


# --- case by case --------------------------------------------------------------------------------------------------


def _worth_listing(entry: Measured, sample: Sample) -> bool:
    is_tested = not entry.reason and not entry.once and entry.measure.better != "none"
    return entry.scores is not None and entry.measure.headline and is_tested


def _per_case(entry: Measured, sample: Sample, level: float, seed: int) -> PerCase:
    """The cases that changed most, the probability that a case is better, and the share above each threshold."""
    assert entry.scores is not None
    a, b = entry.scores
    defined = np.flatnonzero(~np.isnan(a) & ~np.isnan(b))
    a, b = a[defined], b[defined]
    moved = np.abs(b - a)
    order = np.argsort(-moved, kind="stable")
    changes = [
        Change(sample.cases[int(defined[at])], float(a[at]), float(b[at]))
        for at in order[:_CHANGES].tolist()
        if moved[at] > 0
    ]
    plan = Resampling("episode", 1000, level, seed)
    improvement, profiles = Estimate(None, n=len(a), n_units=len(a)), None
    if 2 <= len(a) <= _MOST_CASES_FOR_PAIRS:
        strata = [sample.cases[at].stratum for at in defined.tolist()]
        improvement = replace(
            probability_of_improvement(*_turned(entry, b, a), strata=strata, plan=plan), unit=sample.unit
        )
        both = np.concatenate([a, b])
        marks = np.linspace(both.min(), both.max(), _THRESHOLDS)
        profiles = (
            performance_profile(a, marks, strata=strata, plan=plan),
            performance_profile(b, marks, strata=strata, plan=plan),
        )
    return PerCase(entry.measure, changes, int((moved > 0).sum()), improvement, profiles)


def _turned(entry: Measured, *sides: Floats) -> tuple[Floats, Floats]:
    """Scores of both sides, with the sign changed if needed so that more is better."""
    if entry.measure.better == "higher":
        return sides[0], sides[1]
    away = [np.abs(side) if entry.measure.better == "zero" else side for side in sides]
    return -away[0], -away[1]
