"""The declaration of every figure of `assay@1`: its key, title, unit and which direction is better."""

from __future__ import annotations

from functools import cache

from assay.events.actions.baselines import BASELINES, COPIED
from assay.events.actions.states import TOLERANCES_MS
from assay.events.protocols import ProtocolMetric


@cache
def metrics(*, teacher_forced: bool = False) -> tuple[ProtocolMetric, ...]:
    """All figures, in the order of tables."""
    return (*_matching(), *_skill(teacher_forced), *_timing(), *_holds(), *_pointer(), *_errors(), *_calibration())


def _matching() -> list[ProtocolMetric]:
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
            ProtocolMetric(f"{prefix}f1", f"F1, {title}", group, undefined=none, headline=True),
            ProtocolMetric(f"{prefix}precision", f"Precision, {title}", group, undefined=no_guess, headline=first),
            ProtocolMetric(f"{prefix}recall", f"Recall, {title}", group, undefined=no_truth, headline=first),
        ]
    found.append(ProtocolMetric("macro_f1", "F1, mean over labels", "Actions", undefined=no_truth))
    found += [
        ProtocolMetric(f"f1_at_{ms}_ms", f"F1 within {ms} ms", "F1 by tolerance", undefined=none)
        for ms in TOLERANCES_MS
    ]
    found.append(ProtocolMetric("f1_curve_area", "Area under F1 by log tolerance", "F1 by tolerance", undefined=none))
    return found


def _skill(teacher_forced: bool) -> list[ProtocolMetric]:
    names = (*BASELINES, COPIED) if teacher_forced else BASELINES
    none = "the truth has no keys or buttons"
    return [
        ProtocolMetric("skill", "Skill over the best baseline", "Skill", undefined=none, headline=True),
        ProtocolMetric("pointer_skill", "Skill of the pointer", "Skill", undefined="the true pointer never moves"),
        *(
            ProtocolMetric(
                f"{name}_f1", f"F1 of the baseline {name.replace('_', '-')}", "Skill", better="none", undefined=none
            )
            for name in names
        ),
    ]


def _timing() -> list[ProtocolMetric]:
    none = "no key or button was matched"
    no_lag = "nothing matches at any shift, or the furthest is best and less than half matches there"
    return [
        ProtocolMetric("lag_ms", "Lag (+ late)", "Time", "ms", "zero", no_lag, headline=True),
        ProtocolMetric("f1_without_lag", "F1 with the lag removed", "Time", undefined="neither side has any"),
        ProtocolMetric("time_error_p50_ms", "Time error of matches, median (+ late)", "Time", "ms", "zero", none),
        ProtocolMetric(
            "time_error_spread_ms", "Time error of matches, standard deviation", "Time", "ms", "lower", none
        ),
        ProtocolMetric(
            "coverage", "Coverage of the truth's span", "Time", undefined="the truth has no span", headline=True
        ),
    ]


def _holds() -> list[ProtocolMetric]:
    none = "neither side holds anything"
    return [
        ProtocolMetric("hold_f1", "F1 of holds, onset and offset", "Holds", undefined=none),
        ProtocolMetric("hold_onset_f1", "F1 of holds, onset", "Holds", undefined=none),
        ProtocolMetric("hold_iou", "Time held, intersection over union", "Holds", undefined=none, headline=True),
        ProtocolMetric(
            "hold_duration_error_p50_ms", "Error of a hold's length, median", "Holds", "ms", "lower", "no hold matched"
        ),
        ProtocolMetric("auto_repeats", "Predicted auto-repeats, collapsed", "Holds", better="none"),
        ProtocolMetric("unreleased_holds", "Predicted holds never released", "Holds", better="none"),
    ]


def _pointer() -> list[ProtocolMetric]:
    still, both = "the true pointer never moves", "no bin in which both sides move"
    one = "a side never moves"
    return [
        ProtocolMetric("pointer_r2", "R² of the pointer's movement", "Pointer", undefined=still, headline=True),
        ProtocolMetric("pointer_pearson_x", "Correlation of movement, x", "Pointer", undefined=one),
        ProtocolMetric("pointer_pearson_y", "Correlation of movement, y", "Pointer", undefined=one),
        ProtocolMetric("pointer_cosine", "Cosine of movement", "Pointer", undefined=one),
        ProtocolMetric("pointer_log2_scale", "log₂ of path length (+ too far)", "Pointer", "", "zero", one),
        ProtocolMetric(
            "pointer_path_error_px", "Distance of the paths, mean", "Pointer", "px", "lower", "no mouse events"
        ),
        ProtocolMetric(
            "pointer_final_error_px", "Distance of the paths' ends", "Pointer", "px", "lower", "no mouse events"
        ),
        ProtocolMetric("pointer_direction_error_p50_deg", "Direction error, median", "Pointer", "°", "lower", both),
        ProtocolMetric("pointer_missed_rate", "Movement missed", "Pointer", "", "lower", still),
        ProtocolMetric(
            "pointer_idle_rate", "Movement while the truth stands still", "Pointer", "", "lower", "no such bin"
        ),
    ]


def _errors() -> list[ProtocolMetric]:
    none = "the truth has no keys or buttons"
    return [
        ProtocolMetric("error_rate", "Error rate (S + D + I) ÷ N", "Errors", "", "lower", none),
        ProtocolMetric("substitutions", "Substitutions", "Errors", "", "lower", "neither side has any"),
        ProtocolMetric("deletions", "Deletions", "Errors", "", "lower", "neither side has any"),
        ProtocolMetric("insertions", "Insertions", "Errors", "", "lower", "neither side has any"),
        ProtocolMetric("victor_purpura", "Victor–Purpura distance by true action", "Errors", "", "lower", none),
    ]


def _calibration() -> list[ProtocolMetric]:
    none = "no log-probabilities were given"
    return [
        ProtocolMetric("nll", "Negative log-likelihood of true events", "Calibration", "", "lower", none),
        ProtocolMetric("calibration_error", "Expected calibration error", "Calibration", "", "lower", none),
    ]
