"""Plausible rows of two models for every chart: one that lags a little, one that is sharper but sometimes invalid."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.report import browser as browsers

from assay.report.charts import CATEGORY_ORDER

TOLERANCES = (10, 20, 50, 100, 200, 500)
MODELS = ("baseline-3b", "tuned-3b")
Rows = list[dict[str, Any]]
Arguments = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def browser() -> Iterator[browsers.Browser]:
    """A browser for every page that is tested; needed if ASSAY_REQUIRE_BROWSER is set."""
    if browsers.CHROMIUM is None:
        if os.environ.get("ASSAY_REQUIRE_BROWSER"):
            pytest.fail("ASSAY_REQUIRE_BROWSER is set and there is no chromium", pytrace=False)
        pytest.skip("needs chromium")
    with browsers.running() as running:
        yield running


@pytest.fixture(scope="session")
def arguments() -> Callable[..., Arguments]:
    """The keyword arguments of every chart function, for the models given."""
    return settings


def settings(*models: str) -> Arguments:
    models = models or MODELS
    return {
        "f1_by_tolerance": {
            "rows": f1_by_tolerance(models),
            "baselines": [
                {"name": name, "tolerance_ms": ms, "f1": f1, "low": f1 - 0.01, "high": f1 + 0.01}
                for name, f1 in (("random", 0.1), ("repeat-last", 0.12))
                for ms in TOLERANCES
            ],
            "marked_ms": 50,
        },
        "f1_by_shift": {
            "rows": f1_by_shift(models),
            "lags": [{"model": model, "lag_ms": 80.0, "low_ms": 70.0, "high_ms": 90.0, "f1": 0.9} for model in models],
        },
        "reliability": {"rows": reliability(models)},
        "run_history": {
            "rows": [
                {
                    "model": model,
                    "run": f"run {at}",
                    "at": at,
                    "value": 0.1 * at,
                    "low": 0.1 * at - 0.05,
                    "high": 0.1 * at,
                }
                for model in models
                for at in range(1, 6)
            ],
            "title": "trials that pass",
        },
        "action_outcomes": {"rows": action_outcomes(models)},
        "shares_right": {"rows": shares_right(models)},
        "movement_agreement": {"rows": movement_agreement(models)},
        "binned_movement": {"rows": displacement(models), "limit": 60, "step": 4},
        "digits_right": {"rows": digits_right(models)},
        "comparability": {"rows": comparability(models)},
        "kinds_confusion": {"rows": kinds_confusion(models)},
        "signed_errors": {"rows": signed_errors(models)},
        "time_error_distribution": {"rows": time_error_distribution(models)},
        "error_over_position": {"rows": error_over_position(models)},
        "direction_errors": {"rows": direction_errors(models)},
        "displacement": {"rows": displacement(models), "limit": 60, "step": 4},
        "differences": {"rows": differences(models)},
        "improvement": {"rows": improvement(models)},
        "profiles": {"rows": profiles(models)},
        "time_split": {"rows": time_split(models)},
        "waiting_times": {"rows": waiting_times(models)},
        "framework_overhead": {"rows": framework_overhead(models)},
        "passes_by_k": {"rows": passes_by_k(models)},
        "load_throughput": {"rows": load_steps(models)},
        "load_waiting": {"rows": [{**row, "name": name} for name in ("median", "p95") for row in sizes(models)]},
        "memory_by_sessions": {"rows": sizes(models)},
    }


def f1_by_tolerance(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "tolerance_ms": ms, "f1": f1, "low": f1 - 0.03, "high": f1 + 0.02, "n": 1200}
        for at, model in _spread(models)
        for ms in TOLERANCES
        for f1 in [min(0.95, (0.2 + 0.3 * at) * math.log10(ms))]
    ]


def f1_by_shift(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "shift_ms": float(ms), "f1": f1, "low": f1 * 0.9, "high": f1, "n": 1200}
        for at, model in _spread(models)
        for ms in range(-500, 501, 50)
        for f1 in [0.9 if abs(ms - 80 + 80 * at) < 50 else 0.05]
    ]


def reliability(models: tuple[str, ...]) -> Rows:
    return [
        {
            "model": model,
            "confidence": tenth / 10 + 0.05,
            "right": tenth / 10 * (1 - at / 4),
            "n": 40.0,
        }
        for at, model in _spread(models)
        for tenth in range(10)
    ]


def action_outcomes(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "kind": kind, "outcome": outcome, "count": int(100 * share), "share": share, "n": 100}
        for _, model in _spread(models)
        for kind in ("keyboard", "button")
        for outcome, share in (("matched", 0.7), ("substituted", 0.1), ("missed", 0.2), ("inserted", 0.3))
    ]


def shares_right(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "name": name, "value": 0.5 + at / 4, "low": 0.4 + at / 4, "high": 0.6 + at / 4, "n": 90}
        for at, model in _spread(models)
        for name in ("keys right by bin", "buttons right by bin")
    ]


def movement_agreement(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "name": axis, "figure": figure, "value": 0.8, "low": 0.7, "high": 0.9, "n": 90}
        for model in models
        for axis in "xy"
        for figure in ("correlation", "scale")
    ]


def digits_right(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "name": name, "level": level, "value": value, "low": value - 0.1, "high": value, "n": 90}
        for model in models
        for name in ("times", "dx")
        for level, value in (("p1", 0.9), ("p2", 0.7), ("p3", 0.4))
    ]


def _spread(models: tuple[str, ...]) -> list[tuple[float, str]]:
    """Each model with how good it is, from 0 for the first to 1 for the last."""
    return [(place / max(1, len(models) - 1), model) for place, model in enumerate(models)]


def time_error_distribution(models: tuple[str, ...]) -> Rows:
    rows: Rows = []
    for index, model in _spread(models):
        for place, category in enumerate(CATEGORY_ORDER):
            centre, width = (18 - 16 * index) + 8 * place, 35 + 20 * place - 12 * index
            edges = np.arange(-200, 201, 10)
            heights = np.exp(-(((edges[:-1] + 5 - centre) / width) ** 2)) + (0.5 if category == "screen" else 0) * (
                edges[:-1] == 0
            )
            for low, share in zip(edges[:-1], heights / heights.sum(), strict=True):
                rows.append(
                    {
                        "model": model,
                        "category": category,
                        "low_ms": int(low),
                        "high_ms": int(low) + 10,
                        "share": float(share),
                    }
                )
    return rows


def signed_errors(models: tuple[str, ...]) -> Rows:
    rows: Rows = []
    for index, model in _spread(models):
        for place, name in enumerate(("all", *CATEGORY_ORDER)):
            value = 14.0 - 12 * index + 3 * place
            rows.append(
                {"model": model, "name": name, "value": value, "low": value - 5, "high": value + 4.2, "unit": "ms"}
            )
        rows.append(
            {"model": model, "name": "mouse x", "value": -12.5 + 9 * index, "low": -19.0, "high": 2.5, "unit": "%"}
        )
        rows.append({"model": model, "name": "mouse y", "value": None, "low": None, "high": None, "unit": "%"})
    return rows


def direction_errors(models: tuple[str, ...]) -> Rows:
    rows: Rows = []
    for index, model in _spread(models):
        angles = np.arange(-180, 180, 10)
        heights = np.exp(-(((angles + 5 - 12 * (1 - index)) / (38 - 14 * index)) ** 2)) + 0.02
        heights /= heights.sum()
        for low, share in zip(angles, heights, strict=True):
            rows.append({"model": model, "low_deg": int(low), "high_deg": int(low) + 10, "share": float(share)})
    return rows


def displacement(models: tuple[str, ...]) -> Rows:
    rows: Rows = []
    for index, model in _spread(models):
        for axis, slope in (("x", 0.7 + 0.25 * index), ("y", 0.55 + 0.3 * index)):
            for truth in range(-60, 61, 4):
                for predicted in range(-60, 61, 4):
                    spread = 6 + abs(truth) / 5
                    density = math.exp(-(((predicted - slope * truth) / spread) ** 2) - abs(truth) / 16)
                    count = int(4000 * density)
                    if count:
                        rows.append(
                            {"model": model, "axis": axis, "truth": truth, "predicted": predicted, "count": count}
                        )
    return rows


def kinds_confusion(models: tuple[str, ...]) -> Rows:
    shares = {
        "keyboard": (0.913, 0.05, 0.0004, 0.02, 0.0166),
        "mouse": (0.021, 0.9612, 0.0072, 0.0106, 0.0),
        "screen": (0.0, 0.0004, 0.9996, 0.0, 0.0),
    }
    return [
        {
            "model": model,
            "truth": truth,
            "predicted": predicted,
            "count": round(share * 12000),
            "share": share,
        }
        for model in models
        for truth, line in shares.items()
        for predicted, share in zip(("keyboard", "mouse", "screen", "invalid", "missing"), line, strict=True)
    ]


def comparability(models: tuple[str, ...]) -> Rows:
    rows: Rows = []
    for index, model in _spread(models):
        for place, category in enumerate(("all", *CATEGORY_ORDER)):
            value = 0.86 + 0.05 * index + 0.015 * place
            rows.append(
                {
                    "model": model,
                    "category": category,
                    "value": value,
                    "low": value - 0.035,
                    "high": value + 0.02,
                    "n": 12000 - 1000 * place,
                }
            )
    return rows


def error_over_position(models: tuple[str, ...]) -> Rows:
    ends = [0, 10, 20, 50, 100, 200, 500, 1000, 2000]
    return [
        {
            "model": model,
            "from_position": first,
            "to_position": following - 1,
            "p50_ms": 10.0 + (6 - 4 * index) * place,
            "p95_ms": 90.0 + (35 - 20 * index) * place**1.2,
            "p50_low": 8.0,
            "p50_high": 70.0,
            "p95_low": 80.0,
            "p95_high": 600.0,
            "n": 40 * (following - first),
        }
        for index, model in _spread(models)
        for place, (first, following) in enumerate(pairwise(ends))
    ]


def differences(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "name": name, "unit": unit, "value": at, "low": at - 0.1, "high": at + 0.2, "call": "better"}
        for at, model in _spread(models)
        for name, unit in (("accuracy", ""), ("groundedness", ""), ("time error", "ms"))
    ]


def improvement(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "name": name, "value": 0.5 + at / 4, "low": 0.4 + at / 4, "high": 0.6 + at / 4}
        for at, model in _spread(models)
        for name in ("accuracy", "groundedness")
    ]


def profiles(models: tuple[str, ...]) -> Rows:
    rows: Rows = []
    for at, model in _spread(models):
        for mark in np.linspace(0, 1, 11).tolist():
            share = (1 - mark) ** (1 - at / 2)
            ends = {"low": max(0.0, share - 0.1), "high": min(1.0, share + 0.1)}
            rows.append({"model": model, "name": "accuracy", "threshold": mark, "share": share, **ends})
    return rows


def time_split(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "part": part, "ms": ms * (2 - at)}
        for at, model in _spread(models)
        for part, ms in (("model", 40.0), ("tools", 12.0), ("framework", 7.5))
    ]


def waiting_times(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "first_text_ms": 30 - 9 * at, "p50_ms": 60 - 20 * at, "p95_ms": 140 - 20 * at}
        for at, model in _spread(models)
    ]


def framework_overhead(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "value": 20 - 9 * at, "low": 18 - 9 * at, "high": 24 - 9 * at, "turns": 200}
        for at, model in _spread(models)
    ]


def sizes(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "users": users, "value": 20.0 - at + users / 10}
        for at, model in _spread(models)
        for users in (1, 10, 50, 200)
    ]


def load_steps(models: tuple[str, ...]) -> Rows:
    return [{**row, "knee": row["users"] == 10} for row in sizes(models)]


def passes_by_k(models: tuple[str, ...]) -> Rows:
    return [
        {"model": model, "name": name, "k": k, "value": (0.9 - 0.1 * at) ** (k if name == "pass^k" else 1 / k), "n": 70}
        for at, model in _spread(models)
        for name in ("pass^k", "pass@k")
        for k in (1, 2, 3)
    ]
