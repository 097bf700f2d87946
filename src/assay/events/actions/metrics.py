"""What every figure of `assay@1` is: its key, its name for people, its unit and which way is better."""

from __future__ import annotations

from functools import cache

from assay.events.actions.baselines import BASELINES, COPIED
from assay.events.actions.estimates import TOLERANCES_MS
from assay.events.protocols import Metric


@cache
def metrics(*, teacher_forced: bool = False) -> tuple[Metric, ...]:
    """All figures, in the order of tables."""
    return (*_matching(), *_skill(teacher_forced), *_timing(), *_holds(), *_pointer(), *_errors(), *_calibration())


def _matching() -> list[Metric]:
    none, no_truth, no_guess = "neither side has any", "the truth has none", "nothing was predicted"
    found = []
    for prefix, title, group in (
        ("", "keys and buttons", "Actions"),
        ("keyboard_", "keys", "Keys"),
        ("button_", "buttons", "Buttons"),
        ("scroll_", "scrolls", "Scrolls"),
    ):
        first = not prefix
        found += [
            Metric(f"{prefix}f1", f"F1, {title}", group, undefined=none, headline=True),
            Metric(f"{prefix}precision", f"Precision, {title}", group, undefined=no_guess, headline=first),
            Metric(f"{prefix}recall", f"Recall, {title}", group, undefined=no_truth, headline=first),
        ]
    found.append(Metric("macro_f1", "F1, mean over labels", "Actions", undefined=no_truth))
    found += [Metric(f"f1_at_{ms}_ms", f"F1 within {ms} ms", "F1 by tolerance", undefined=none) for ms in TOLERANCES_MS]
    found.append(Metric("f1_curve_area", "Area under F1 by log tolerance", "F1 by tolerance", undefined=none))
    return found


def _skill(teacher_forced: bool) -> list[Metric]:
    names = (*BASELINES, COPIED) if teacher_forced else BASELINES
    none = "the truth has no keys or buttons"
    return [
        Metric("skill", "Skill over the best baseline", "Skill", undefined=none, headline=True),
        Metric("pointer_skill", "Skill of the pointer", "Skill", undefined="the true pointer never moves"),
        *(
            Metric(f"{name}_f1", f"F1 of the baseline {name.replace('_', '-')}", "Skill", better="none", undefined=none)
            for name in names
        ),
    ]


def _timing() -> list[Metric]:
    none = "no key or button was matched"
    return [
        Metric("lag_ms", "Lag (+ late)", "Time", "ms", "zero", "nothing matches at any shift", headline=True),
        Metric("f1_without_lag", "F1 once the lag is taken out", "Time", undefined="neither side has any"),
        Metric("time_error_p50_ms", "Time error of matches, median (+ late)", "Time", "ms", "zero", none),
        Metric("time_error_spread_ms", "Time error of matches, standard deviation", "Time", "ms", "lower", none),
        Metric("coverage", "Coverage of the truth's span", "Time", undefined="the truth has no span", headline=True),
    ]


def _holds() -> list[Metric]:
    none = "neither side holds anything"
    return [
        Metric("hold_f1", "F1 of holds, onset and offset", "Holds", undefined=none),
        Metric("hold_onset_f1", "F1 of holds, onset", "Holds", undefined=none),
        Metric("hold_iou", "Time held, intersection over union", "Holds", undefined=none, headline=True),
        Metric(
            "hold_duration_error_p50_ms", "Error of a hold's length, median", "Holds", "ms", "lower", "no hold matched"
        ),
        Metric("auto_repeats", "Predicted auto-repeats, collapsed", "Holds", better="none"),
        Metric("unreleased_holds", "Predicted holds never released", "Holds", better="none"),
    ]


def _pointer() -> list[Metric]:
    still, both = "the true pointer never moves", "no bin in which both sides move"
    one = "a side never moves"
    return [
        Metric("pointer_r2", "R² of the pointer's movement", "Pointer", undefined=still, headline=True),
        Metric("pointer_pearson_x", "Correlation of movement, x", "Pointer", undefined=one),
        Metric("pointer_pearson_y", "Correlation of movement, y", "Pointer", undefined=one),
        Metric("pointer_cosine", "Cosine of movement", "Pointer", undefined=one),
        Metric("pointer_log2_scale", "log₂ of path length (+ too far)", "Pointer", "", "zero", one),
        Metric("pointer_path_error_px", "Distance of the paths, mean", "Pointer", "px", "lower", "no mouse events"),
        Metric("pointer_final_error_px", "Distance of the paths' ends", "Pointer", "px", "lower", "no mouse events"),
        Metric("pointer_direction_error_p50_deg", "Direction error, median", "Pointer", "°", "lower", both),
        Metric("pointer_missed_rate", "Movement missed", "Pointer", "", "lower", still),
        Metric("pointer_idle_rate", "Movement while the truth stands still", "Pointer", "", "lower", "no such bin"),
    ]


def _errors() -> list[Metric]:
    none = "the truth has no keys or buttons"
    return [
        Metric("error_rate", "Error rate (S + D + I) ÷ N", "Errors", "", "lower", none),
        Metric("substitutions", "Substitutions", "Errors", "", "lower", "neither side has any"),
        Metric("deletions", "Deletions", "Errors", "", "lower", "neither side has any"),
        Metric("insertions", "Insertions", "Errors", "", "lower", "neither side has any"),
        Metric("victor_purpura", "Victor–Purpura distance by true action", "Errors", "", "lower", none),
    ]


def _calibration() -> list[Metric]:
    none = "no log-probabilities were given"
    return [
        Metric("nll", "Negative log-likelihood of true events", "Calibration", "", "lower", none),
        Metric("calibration_error", "Expected calibration error", "Calibration", "", "lower", none),
    ]
