"""Tables, curves and worst moments of `assay@1`, ready for JSON: what a report shows in addition to the figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.events.actions import lag, positions, states
from assay.events.actions.baselines import BASELINES, COPIED
from assay.events.actions.calibration import calibration_table, likelihood_table
from assay.events.actions.causes import find_causes
from assay.events.actions.drift import shared_drift
from assay.events.actions.estimates import ActionFigures
from assay.events.actions.holds import HELD
from assay.events.actions.labels import (
    ACTION_KINDS,
    EXTRA,
    KIND_EDGES,
    MATCHED,
    MISSED,
    SUBSTITUTED,
    key_of,
    kind_of,
    name_of,
    name_of_key,
)
from assay.events.actions.moments import NO_PARTNER, PREDICTED, TRUE, WINDOW_NS
from assay.events.actions.pointer import BIN_NS, SCALE, SUMS
from assay.events.actions.states import TOLERANCES_MS
from assay.events.actions.verdict import find_verdict
from assay.types import Estimate, Ints, Joint, Ratio

TOP_CONFUSIONS = 30
_NAMED_EPISODES = 10
_WORST_EPISODES = 20
_WORST_MOMENTS = 12
_OUTCOME_NAMES = {
    MATCHED: "matched",
    MISSED: "missed",
    EXTRA: "extra",
    SUBSTITUTED: "substituted",
}

_Row = dict[str, Any]


def report_details(figures: ActionFigures, estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Everything except the flat figures; `verdict` comes first because it is read first."""
    keys = key_table(figures)
    missing, unknown = (_with_fact(figures, name) for name in ("missing", "unknown"))
    best = figures.best_baseline
    found = find_verdict(
        estimates,
        figures.facts,
        keys,
        best_baseline=best,
        best_f1=None if best is None else figures.baseline_f1(best),
        copies=figures.copies,
        drift=shared_drift(figures, estimates["f1_without_lag"].value),
        causes=find_causes(figures, estimates["f1_without_lag"].value),
        n_missing=len(missing),
        n_unknown=len(unknown),
        n_episodes=len(figures.tally.episodes) - len(unknown),
    )
    return {
        "verdict": [finding.to_json() for finding in found],
        "keys": keys,
        "labels": label_table(figures),
        "confusion": {"kinds": kind_confusion(figures), "keys": key_confusion(figures)},
        "curve": curve(figures, estimates),
        "lag_curve": lag_curve(figures),
        "best_baseline": best,
        "positions": positions.summary(figures.tally),
        "facts": figures.facts,
        "n_missing": len(missing),
        "missing_episodes": missing[:_NAMED_EPISODES],
        "n_unknown": len(unknown),
        "unknown_episodes": unknown[:_NAMED_EPISODES],
        "episodes": worst_episodes(figures),
        "moments": worst_moment_rows(figures),
        "paths": paths(figures),
        "calibration": calibration_table(figures.tally),
        "likelihood": likelihood_table(figures.tally),
    }


def _with_fact(figures: ActionFigures, name: str) -> list[str]:
    counts = figures.counts.table(states.FACTS)[:, states.FACT_SUMS.index(name)]
    return [episode.name for episode, count in zip(figures.tally.episodes, counts.tolist(), strict=True) if count]


def _rates(matched: int, missed: int, extra: int) -> _Row:
    return {
        "n": matched + missed,
        "predicted": matched + extra,
        "matched": matched,
        "missed": missed,
        "extra": extra,
        "precision": matched / (matched + extra) if matched + extra else None,
        "recall": matched / (matched + missed) if matched + missed else None,
        "f1": 2 * matched / (2 * matched + missed + extra) if matched + missed + extra else None,
    }


def label_table(figures: ActionFigures) -> list[_Row]:
    """A row for each label that either side has: presses and releases apart."""
    total = figures.by_label
    return [
        {"label": name_of(label), "kind": kind_of(label), **_rates(*total[label].tolist())}
        for label in np.flatnonzero(total.sum(axis=1)).tolist()
    ]


def key_table(figures: ActionFigures) -> list[_Row]:
    """A row for each key, button and scroll direction that either side has, the most common first."""
    total = figures.by_label
    holds = figures.holds_by_key
    rows: dict[int, Ints] = {}
    for label in np.flatnonzero(total.sum(axis=1)).tolist():
        rows[key_of(label)] = rows.get(key_of(label), np.zeros(3, np.int64)) + total[label]
    confused = _most_confused(figures)
    out = []
    for key, counts in rows.items():
        with_what, times = confused.get(key, (None, 0))
        shared, either = holds[key // 2, 4:6].tolist() if key < 2 * HELD else (0, 0)
        out.append(
            {
                "key": name_of_key(key),
                "kind": kind_of(key),
                **_rates(*counts.tolist()),
                "hold_iou": shared / either if either else None,
                "confused_with": None if with_what is None else name_of_key(with_what),
                "confused_times": times,
            }
        )
    return sorted(out, key=lambda row: (-row["n"], -row["predicted"], row["key"]))


def _confusions(figures: ActionFigures) -> dict[tuple[int, int], int]:
    """Substitutions by true and predicted key."""
    total = figures.confusion
    found: dict[tuple[int, int], int] = {}
    rows = zip(total.column(0).tolist(), total.column(1).tolist(), total.counts.tolist(), strict=True)
    for true, predicted, times in rows if len(total) else ():
        pair = key_of(true), key_of(predicted)
        found[pair] = found.get(pair, 0) + times
    return found


def _most_confused(figures: ActionFigures) -> dict[int, tuple[int, int]]:
    """For each true key, the key that most often replaced it, and how often."""
    most: dict[int, tuple[int, int]] = {}
    for (true, predicted), times in sorted(_confusions(figures).items()):
        if true != predicted and times > most.get(true, (0, 0))[1]:
            most[true] = predicted, times
    return most


def key_confusion(figures: ActionFigures) -> list[_Row]:
    """The most common substitutions; the same key twice is a press for a release."""
    pairs = sorted(_confusions(figures).items(), key=lambda item: (-item[1], item[0]))[:TOP_CONFUSIONS]
    return [
        {"true": name_of_key(true), "predicted": name_of_key(predicted), "times": times}
        for (true, predicted), times in pairs
    ]


def kind_confusion(figures: ActionFigures) -> list[_Row]:
    """By kind: matched, substituted within the kind, missed and extra."""
    total = figures.by_label
    confused = figures.confusion
    of_kind = np.searchsorted(KIND_EDGES, confused.column(0), "right") - 1
    out = []
    for at, kind in enumerate(ACTION_KINDS):
        matched, missed, extra = total[KIND_EDGES[at] : KIND_EDGES[at + 1]].sum(axis=0).tolist()
        substituted = int(confused.counts[of_kind == at].sum())
        row = {"kind": kind, "matched": matched, "substituted": substituted}
        out.append({**row, "deleted": missed - substituted, "inserted": extra - substituted})
    return out


def curve(figures: ActionFigures, estimates: Mapping[str, Estimate]) -> list[_Row]:
    """F1 at each tolerance with its interval, and that of every baseline with its own."""
    trivial = {}
    for at, name in enumerate((*BASELINES, COPIED)):
        counts = figures.baselines[:, at]
        totals = figures.headline[:, :2].sum(axis=1) + counts[:, 1]
        found = figures.curves(np.column_stack([counts[:, 2:], totals]))
        trivial[name] = [dict(zip(("f1", "low", "high"), point, strict=True)) for point in found]
    out = []
    for at, tolerance in enumerate(TOLERANCES_MS):
        estimate = estimates[f"f1_at_{tolerance}_ms"]
        row = {"tolerance_ms": tolerance, "f1": estimate.value, "low": estimate.low, "high": estimate.high}
        out.append({**row, "n": estimate.n, "baselines": {name: points[at] for name, points in trivial.items()}})
    return out


def lag_curve(figures: ActionFigures) -> list[_Row]:
    """F1 within the tolerance at every shift, with its interval; empty if nothing matches at any shift."""
    matches = figures.lag_matches[:, 1] if len(figures.lag_matches) else np.zeros((0, 0))
    if not matches.any():
        return []
    totals = 2 * figures.headline[:, 0] + figures.headline[:, 1] + figures.headline[:, 2]
    shifts = lag.shifts(figures.unit_ns) / 1e6
    points = zip(shifts.tolist(), figures.curves(np.column_stack([matches, totals])), strict=True)
    return [{"shift_ms": shift, "f1": f1, "low": low, "high": high} for shift, (f1, low, high) in points]


def worst_episodes(figures: ActionFigures) -> list[_Row]:
    """The episodes with the most errors in keys and buttons, each with an outline for a small timeline."""
    rows = []
    outlines, spans = figures.counts.table(states.OUTLINE), figures.tally.parts(states.COVERAGE, Ratio)
    for at, episode in enumerate(figures.tally.episodes):
        matched, missed, extra = figures.headline[at].tolist()
        if matched + missed + extra:
            row = {"episode": episode.name, "stratum": episode.stratum, **_rates(matched, missed, extra)}
            rows.append(row | {"seconds": spans[at].total / 1e9, "at": at})
    rows.sort(key=lambda row: -(row["missed"] + row["extra"]))
    return [row | {"outline": _outline(outlines[row.pop("at")])} for row in rows[:_WORST_EPISODES]]


def _outline(counts: Ints) -> dict[str, dict[str, list[int]]]:
    """By side and outcome, the number of actions in each slice."""
    return {
        side: {name: counts[:, at, outcome].tolist() for outcome, name in _OUTCOME_NAMES.items() if name != other}
        for at, (side, other) in enumerate((("true", "extra"), ("predicted", "missed")))
    }


def worst_moment_rows(figures: ActionFigures) -> list[_Row]:
    """The windows with the most errors of all episodes, with the actions in them, for a small timeline each."""
    every = states.StateRows.of(figures.tally, states.MOMENTS)
    if not len(every.episode):
        return []
    rows = every.where(np.ones(len(every.episode), np.bool_))
    starts, side, outcome = (rows.columns[at] for at in (0, 1, 4))
    first = np.flatnonzero(np.diff(rows.episode, prepend=-1) | np.diff(starts, prepend=starts[0] - 1))
    # A substitution has a row on both sides and is one error.
    wrong = np.where(side == TRUE, outcome != MATCHED, outcome == EXTRA)
    errors = np.add.reduceat(rows.counts * wrong, first)
    # Episodes are in the order of their strata and names.
    worst = np.lexsort((starts[first], rows.episode[first], -errors))[:_WORST_MOMENTS]
    found = []
    for at in worst.tolist():
        number, start = int(rows.episode[first[at]]), int(starts[first[at]])
        part = figures.tally.part(number, states.MOMENTS, Joint)
        window = part.where(part.column(0) == start)
        episode = figures.tally.episodes[number]
        found.append(
            {
                "episode": episode.name,
                "stratum": episode.stratum,
                "start_ms": start,
                "length_ms": WINDOW_NS // 1_000_000,
                "errors": int(errors[at]),
                "true": _actions(window, TRUE),
                "predicted": _actions(window, PREDICTED),
            }
        )
    return found


def _actions(window: Joint, side: int) -> list[_Row]:
    chosen = window.where(window.column(1) == side)
    columns = [chosen.column(at).tolist() for at in (2, 3, 4, 5)]
    rows = zip(*columns, chosen.counts.tolist(), strict=True)
    return [
        {
            "ms": ms,
            "label": name_of(label),
            "key": name_of_key(key_of(label)),
            "press": None if kind_of(label) == "scroll" else bool(label & 1) == (kind_of(label) == "keyboard"),
            "outcome": _OUTCOME_NAMES[outcome],
            "partner_ms": None if partner == NO_PARTNER else partner,
            "n": n,
        }
        for ms, label, outcome, partner, n in rows
    ]


def paths(figures: ActionFigures) -> list[_Row]:
    """Both paths of a typical episode and of the worst ones, by their mean distance."""
    distance, edges = (figures.pointer_sums[:, SUMS.index(name)] for name in ("distance", "edges"))
    known = np.flatnonzero(edges)
    if not len(known):
        return []
    mean = distance[known] / edges[known] / SCALE
    order = known[np.argsort(mean, kind="stable")]
    chosen = {int(order[len(order) // 2]): "typical"} | {int(at): "worst" for at in order[::-1][: min(3, len(order))]}
    episodes = figures.tally.episodes
    parts = {at: figures.tally.part(at, states.PATH, Joint) for at in chosen}
    return [
        {
            "episode": episodes[at].name,
            "stratum": episodes[at].stratum,
            "role": role,
            "path_error_px": float(distance[at] / edges[at] / SCALE),
            "bin_ms": BIN_NS // 1_000_000,
            "points": np.stack([parts[at].column(k) for k in range(5)], axis=1).tolist(),
        }
        for at, role in chosen.items()
    ]
