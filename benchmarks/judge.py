"""Do corrected scores of a judge with known error rates contain what people would say, 95 % of the time?

A scripted judge calls good answers good with one rate and bad ones with another. A few answers have labels. Each trial
computes the corrected interval as the package does; the uncorrected mean of the judge is counted beside it.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

from assay.stats import corrected_mean
from benchmarks.measuring import RESULTS


@dataclass(frozen=True)
class Setting:
    """Answers and a judge of them."""

    labels: int
    others: int
    good: float
    """Share of answers that people call good."""
    kind_to_good: float
    """Share of the good answers that the judge calls good."""
    kind_to_bad: float
    """Share of the bad answers that it calls good."""


SETTINGS = (
    Setting(30, 300, 0.7, 0.9, 0.2),
    Setting(60, 500, 0.7, 0.95, 0.4),
    Setting(100, 1000, 0.7, 0.9, 0.2),
    Setting(100, 1000, 0.9, 0.9, 0.3),
    Setting(50, 500, 0.9, 0.95, 0.2),
    Setting(100, 1000, 0.5, 0.6, 0.4),
)


def coverage(setting: Setting, *, trials: int, seed: int) -> tuple[float, float]:
    """Shares of trials whose interval contains the truth: corrected, and of the judge's plain mean."""
    rng = np.random.default_rng(seed)
    n, total = setting.labels, setting.labels + setting.others
    corrected = plain = 0
    for _ in range(trials):
        truth = (rng.random(total) < setting.good).astype(float)
        rates = np.where(truth == 1, setting.kind_to_good, setting.kind_to_bad)
        said = (rng.random(total) < rates).astype(float)
        found = corrected_mean(said[n:], said[:n], truth[:n])
        corrected += found.low is not None and found.high is not None and found.low <= setting.good <= found.high
        plain += abs(float(said.mean()) - setting.good) <= 1.96 * math.sqrt(float(said.var()) / total)
    return corrected / trials, plain / trials


def main(trials: int = 4000) -> None:
    print(f"Coverage of 95 % intervals of a judged score, {trials} trials each: corrected, and not")
    found = {}
    for at, setting in enumerate(SETTINGS):
        shares = coverage(setting, trials=trials, seed=at)
        name = f"{setting.labels} labels of {setting.labels + setting.others}, good {setting.good:.0%}, judge "
        name += f"{setting.kind_to_good:.0%} / {setting.kind_to_bad:.0%}"
        found[name] = {"corrected": shares[0], "plain": shares[1]}
        print(f"{name:<60} {shares[0]:6.1%} {shares[1]:6.1%}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    content = json.dumps({"trials": trials, "shares": found}, indent=2, ensure_ascii=False)
    (RESULTS / "judge.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
