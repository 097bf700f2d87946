"""Conversations of two agents, measured on the scenarios both have: means of scores, repetitions within a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.chat.scoring.metric import LOG_VERSION, MEASURED_ONCE
from assay.chat.scoring.scores import SCALES
from assay.compare.comparison import Measure, Measured, Sample, Side, matched, pooled_strata
from assay.plural import counted
from assay.stats import PLAIN, POSITIVE, SHARE, Resampling, Scale, mean_interval
from assay.types import Case, Direction, Distribution, Floats, State

_PROTOCOL = "chat"
_NOTHING = Distribution()
_UNDEFINED = "no scenario could be measured on both sides"

# What is measured about a turn besides its scores, if agents were run. Times differ from run to run and tokens say
# nothing about quality, so these are compared only with `full`, and do not change the p-values of other metrics.
FIGURES_OF_TURNS = {
    "overhead_ms": ("the framework's own time", "ms"),
    "wall_ms": ("time of a turn", "ms"),
    "first_text_ms": ("time to the first text", "ms"),
    "hang_up_ms": ("time until a hang-up stops model or tool", "ms"),
    "input_tokens": ("tokens in", "tokens"),
    "output_tokens": ("tokens out", "tokens"),
    "cost_musd": ("cost of a thousand turns", "USD"),
}

# Whether a trial passes. Older stored runs lack it; it is then left out rather than reported as lost.
_PASSED = "trials_passed"
# How turns ended, 0 or 1 each. Failures count in the trials that pass; these are reported in a note.
_ENDS = {"turns_failed": "failed", "turns_skipped": "skipped"}


def measure_scores(a: Side, b: Side, *, level: float, seed: int, reps: int, full: bool) -> Sample:
    """Every metric that either agent was scored with; with `full` times and tokens too."""
    sides = [side.run.tallies[side.agent] for side in (a, b)]
    common = matched(*sides)
    cases, notes = pooled_strata(common)
    metrics = metrics_of(sides, full=full)
    strata = [case.stratum for case in cases]
    tables = [case_sums(side, common, metrics) for side in sides]
    # A scenario that was measured on one side only says nothing about the difference.
    both = (tables[0][1] > 0) & (tables[1][1] > 0)
    sums, counts = (np.concatenate([table[at] * both for table in tables], axis=1) for at in (0, 1))
    plan = Resampling("episode", reps, level, seed, keep=True)
    measured = []
    for at, name in enumerate(metrics):
        columns = (at, at + len(metrics))
        chosen = both[:, at]
        if chosen.any():
            shown = [(sums[:, column], counts[:, column]) for column in columns]
        else:  # the value of one side alone still shows whether the other lost it
            shown = [(table[0][:, at], table[1][:, at]) for table in tables]
        estimates = [
            replace(
                mean_interval(*side, plan, strata=strata, scale=interval_scale(a, b, name), unit="scenario"),
                n_units=int(chosen.sum()),
                n_skipped=len(cases) - int(chosen.sum()),
            )
            for side in shown
        ]
        scores = [np.where(chosen, sums[:, column] / np.maximum(counts[:, column], 1), np.nan) for column in columns]
        versions = [version_of(side, name) for side in (a, b)]
        reason = (
            "" if versions[0] == versions[1] else f"versions {versions[0]} and {versions[1]} are different measures"
        )
        measure = measure_of(a, b, name)
        measured.append(
            Measured(
                measure,
                estimates[0],
                estimates[1],
                (scores[0], scores[1]),
                int(chosen.sum()),
                reason,
                is_measured_once(a, name),
            )
        )
    return Sample(cases, measured, "scenario", reps, [*notes, *_unscored_note(sides, common)])


def metrics_of(sides: Sequence[Mapping[Case, Mapping[str, State]]], *, full: bool) -> list[str]:
    """The metrics that any side was scored with; with `full` times, tokens and costs too."""
    named = [{name: None for names in dict.fromkeys(map(tuple, side.values())) for name in names} for side in sides]
    in_all = set.intersection(*(set(names) for names in named))
    left_out = {*_ENDS, *(() if full else FIGURES_OF_TURNS), *({_PASSED} - in_all)}
    return [name for name in dict.fromkeys(name for names in named for name in names) if name not in left_out]


def is_measured_once(side: Side, name: str) -> bool:
    """Whether a metric is one measurement of an agent, which scenarios do not vary."""
    stated = side.run.settings.get("metrics", {})
    return isinstance(stated, Mapping) and stated.get(name, {}).get("group") == MEASURED_ONCE


def _unscored_note(sides: Sequence[Mapping[Case, Mapping[str, State]]], cases: Sequence[Case]) -> list[str]:
    """A note on how many turns failed or were skipped on each side, if that is known for both and differs."""
    if not all(any(name in states for states in side.values()) for side in sides for name in _ENDS):
        return []
    tables = [case_sums(side, cases, list(_ENDS)) for side in sides]
    ended = [[int(count) for count in sums.sum(axis=0)] for sums, _ in tables]
    turns = [int(counts[:, 0].sum()) for _, counts in tables]
    if ended[0] == ended[1]:
        return []
    sides_text = "; ".join(
        f"in the {side} {' and '.join(f'{n:,} {word}' for n, word in zip(numbers, _ENDS.values(), strict=True))} "
        f"of {counted(total, 'turn')}"
        for side, numbers, total in zip(("baseline", "candidate"), ended, turns, strict=True)
    )
    return [f"Turns without scores differ: {sides_text}. Of all metrics, only trials passed counts a failed turn."]


def measure_of(a: Side, b: Side, name: str) -> Measure:
    """What a metric, or a figure of turns, is."""
    part = f"{_PROTOCOL}@{version_of(a, _PROTOCOL) or 1}"
    if name in FIGURES_OF_TURNS:
        title, unit = FIGURES_OF_TURNS[name]
        return Measure(name, title, part, unit=unit, better="lower", headline=False, undefined=_UNDEFINED)
    tools = [version for version in _stated(a, b, name, "version") if version.startswith(LOG_VERSION)]
    if tools:
        part = tools[0].removeprefix(LOG_VERSION)
    better: Direction = "lower" if "lower" in _stated(a, b, name, "direction") else "higher"
    most = 1.0 if interval_scale(a, b, name) is SHARE else None
    return Measure(name, name.replace("_", " "), part, better=better, undefined=_UNDEFINED, most=most)


def interval_scale(a: Side, b: Side, name: str) -> Scale:
    """The scale of a mean's interval: that of shares unless a side has scores beyond them."""
    if name in FIGURES_OF_TURNS:
        return POSITIVE
    found = {SCALES[scale] for scale in _stated(a, b, name, "scale")}
    return next((scale for scale in (PLAIN, POSITIVE) if scale in found), SHARE)


def _stated(a: Side, b: Side, name: str, field: str) -> set[Any]:
    """What the runs say about a metric; a log's scores may be any number, and lower ones better."""
    found = set()
    for side in (a, b):
        stated = side.run.settings.get("metrics", {}).get(name)
        if isinstance(stated, Mapping) and field in stated:
            found.add(stated[field])
    return found


def version_of(side: Side, name: str) -> int | None:
    """The version of a metric in a run, else that of the protocol."""
    versions = side.run.versions
    return versions.get(name, versions.get(_PROTOCOL))


def case_sums(
    side: Mapping[Case, Mapping[str, State]], cases: Sequence[Case], metrics: Sequence[str]
) -> tuple[Floats, Floats]:
    """Sum and number of the scores of each case and metric, shape (cases, metrics) each."""
    sums, counts = np.zeros((2, len(cases), len(metrics)))
    rows = [side[case] for case in cases]
    for at, name in enumerate(metrics if rows else ()):
        column = [row.get(name) for row in rows]
        # Scores repeat often and equal ones are often the same object, so each object is read once.
        objects = np.fromiter(map(id, column), np.int64, len(column))
        _, first, where = np.unique(objects, return_index=True, return_inverse=True)
        states = [column[index] for index in first.tolist()]
        distinct = [state if isinstance(state, Distribution) else _NOTHING for state in states]
        index = np.repeat(np.arange(len(distinct)), [len(state.values) for state in distinct])
        times = np.concatenate([state.counts for state in distinct]).astype(np.float64)
        values = np.concatenate([state.values for state in distinct])
        sums[:, at] = np.bincount(index, values * times, len(distinct))[where]
        counts[:, at] = np.bincount(index, times, len(distinct))[where]
    return sums, counts
