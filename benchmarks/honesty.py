"""Do 95 % intervals contain the truth 95 % of the time, and do verdicts hold what they say?

Every simulation draws data from a population whose true value is known, and computes the interval or the verdict as
the package does. The table is written into docs/concepts/intervals.md; the tests run a part of it with fewer trials.
`python -m benchmarks.honesty 2000 same IQM` repeats only the numbers whose name contains one of these words; the others
are those of the last run.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from assay.compare import Margin, Measure
from assay.compare.comparing import verdict_lines
from assay.compare.comparison import Measured, Sample
from assay.stats import Resampling, mean_interval, ratio_interval, value_intervals
from assay.types import Case, Distribution, Floats, Ratio, Verdict
from benchmarks import populations
from benchmarks.measuring import RESULTS
from benchmarks.populations import POPULATIONS, coverage, scores

EPISODES = (5, 10, 20, 60)
SCENARIOS = (3, 5, 10, 20, 60)
IDENTICAL = (3, 5, 10, 20, 40, 80)
TRIALS = 2000
# A share of 2.5 % has a smaller error than one of 95 %, but has to be told from 2.7 %.
MORE = 2
MARGIN = 0.05
DOCUMENT = Path(__file__).parent.parent / "docs/concepts/intervals.md"
_RESULTS = RESULTS / "honesty.json"
_START, _END = "<!-- benchmarks honesty: begin -->\n", "<!-- benchmarks honesty: end -->\n"


# --- verdicts --------------------------------------------------------------------------------------------------------


def verdicts(baseline: Floats, candidate: Floats, margin: float = 0.0) -> list[Verdict]:
    """The verdicts on scores of two agents, shape (scenarios, metrics) each."""
    n, metrics = baseline.shape
    plan = Resampling("episode", keep=True)
    measured = [
        Measured(
            Measure(f"metric {at}", f"metric {at}", "chat@1"),
            mean_interval(baseline[:, at], np.ones(n), plan),
            mean_interval(candidate[:, at], np.ones(n), plan),
            (baseline[:, at], candidate[:, at]),
            n,
        )
        for at in range(metrics)
    ]
    sample = Sample([Case(str(at)) for at in range(n)], measured, "scenario", plan.reps, [])
    return [line.verdict for line in verdict_lines(sample, Margin(margin), 0.95)]


def false_verdicts(*, trials: int, scenarios: int, metrics: int = 16, repetitions: int = 3, seed: int = 1) -> float:
    """The share of comparisons of two identical agents that call any metric better or worse, with no margin at all."""
    rng = np.random.default_rng(seed)
    wrong = 0
    for _ in range(trials):
        hard = rng.beta(3, 2, (scenarios, metrics))
        sides = [scores(hard, 0.0, repetitions, rng).mean(axis=-1) for _ in range(2)]
        wrong += any(verdict.call in ("better", "worse") for verdict in verdicts(sides[0], sides[1]))
    return wrong / trials


Changes = Callable[[int, float, np.random.Generator], Floats]
"""Changes of so many scenarios whose mean is the given one."""


def _normal(spread: float) -> Changes:
    return lambda n, mean, rng: rng.normal(mean, spread, n)


def _skewed(spread: float) -> Changes:
    return lambda n, mean, rng: np.asarray(mean + spread * (rng.gamma(2.0, 1.0, n) - 2) / math.sqrt(2))


def _rule(size: float) -> Changes:
    """A rule that fires in some scenarios only, and changes nothing in the others."""

    def changes(n: int, mean: float, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(n) < mean / size, size, 0.0)

    return changes


CHANGES: dict[str, Changes] = {
    "normal changes": _normal(0.05),
    "skewed changes": _skewed(0.05),
    "small normal changes": _normal(0.02),
    "small skewed changes": _skewed(0.02),
    "a rule worth 0.5 fires": _rule(0.5),
    "a rule worth 0.2 fires": _rule(0.2),
}


def called_same(changes: Changes, difference: float, *, trials: int, scenarios: int, seed: int = 1) -> float:
    """How often two agents that differ by `difference` are called the same within 0.05."""
    rng = np.random.default_rng(seed)
    baseline = np.full((scenarios, 1), 0.4)
    found = [
        verdicts(baseline, baseline + changes(scenarios, difference, rng)[:, None], MARGIN)[0].call == "same"
        for _ in range(trials)
    ]
    return float(np.mean(found))


def decided(*, trials: int, pilot: int, metrics: int, effect: float, seed: int = 1) -> tuple[float, float, float]:
    """How often a comparison with the number of cases that an inconclusive one asked for is decided.

    Of `metrics`, one has a true difference: the one that its pilot saw. Also the median of both ends of what was asked.
    """
    rng = np.random.default_rng(seed)
    hits: list[bool] = []
    asked: list[tuple[int, int]] = []
    while len(hits) < trials:
        seen = rng.normal(0, 0.1, (pilot, metrics))
        seen[:, 0] += effect - seen[:, 0].mean()  # the difference seen is the true one
        verdict = verdicts(np.full_like(seen, 0.4), 0.4 + seen)[0]
        if verdict.call != "inconclusive" or verdict.n_needed is None:
            continue
        again = rng.normal(0, 0.1, (verdict.n_needed, metrics))
        again[:, 0] += effect
        hits.append(verdicts(np.full_like(again, 0.4), 0.4 + again)[0].call == "better")
        asked.append((verdict.n_needed_low or verdict.n_needed, verdict.n_needed))
    low, high = np.median(asked, axis=0)
    return float(np.mean(hits)), float(low), float(high)


def decided_same(*, trials: int, pilot: int, effect: float, seed: int = 1) -> tuple[float, float, float]:
    """The same for the number of cases that would show that two agents are the same within 0.05."""
    rng = np.random.default_rng(seed)
    hits: list[bool] = []
    asked: list[tuple[int, int]] = []
    while len(hits) < trials:
        seen = rng.normal(0, 0.1, (pilot, 1))
        seen += effect - seen.mean()
        verdict = verdicts(np.full_like(seen, 0.4), 0.4 + seen, MARGIN)[0]
        if verdict.call != "inconclusive" or verdict.n_needed is None:
            continue
        again = rng.normal(effect, 0.1, (verdict.n_needed, 1))
        hits.append(verdicts(np.full_like(again, 0.4), 0.4 + again, MARGIN)[0].call == "same")
        asked.append((verdict.n_needed_low or verdict.n_needed, verdict.n_needed))
    low, high = np.median(asked, axis=0)
    return float(np.mean(hits)), float(low), float(high)


# --- events instead of episodes --------------------------------------------------------------------------------------


def of_events(kind: str, episodes: int, *, trials: int, seed: int = 1) -> float:
    """Coverage of intervals that resample single events although 60 episodes of 100 differ, or one has 400 events."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(trials):
        plan = Resampling("event", populations.REPS, 0.95, int(rng.integers(2**31)))
        if kind == "share":
            size = 400 if episodes == 1 else 100
            chance = np.full(1, 0.8) if episodes == 1 else rng.beta(8, 2, episodes)
            found = ratio_interval([Ratio(int(hits), size) for hits in rng.binomial(size, chance)], plan)
            truth = 0.8
        else:
            own = [0.0] if episodes == 1 else rng.normal(0, 12, episodes).tolist()
            size = 400 if episodes == 1 else 100
            values = np.concatenate([np.rint(one + 30 * (rng.gamma(2.0, 1.0, size) - 2) / math.sqrt(2)) for one in own])
            found = value_intervals([Distribution.of(values)], ["iqm"], plan)["iqm"]
            truth = _IQM_OF_ONE if episodes == 1 else populations.time_errors_truth("iqm")
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    return held / trials


_IQM_OF_ONE = -5.82  # of rounded 30 · (gamma(2) − 2) ÷ √2, from ten million draws


# --- the table -------------------------------------------------------------------------------------------------------


class Numbers:
    """The numbers of the table: measured now, or kept from the last run if their name contains no word of `only`."""

    def __init__(self, only: Sequence[str]) -> None:
        self.only = only
        last = json.loads(_RESULTS.read_text(encoding="utf-8")) if only else {}
        self.last: dict[str, list[float]] = {
            name: [share, *last.get("asked", {}).get(name, ())] for name, share in last.get("shares", {}).items()
        }
        self.shares: dict[str, float] = {}
        self.asked: dict[str, list[float]] = {}

    def of(self, name: str, measure: Callable[[], float | tuple[float, ...]]) -> list[float]:
        """What `measure` gives: a share, and the ends of the range of cases that were asked for, if there is one."""
        found = None if any(word in name for word in self.only) else self.last.get(name)
        if found is None:
            found = np.atleast_1d(measure()).tolist()
            print(f"{name:<75} {found[0]:6.1%}", flush=True)
        self.shares[name] = found[0]
        if found[1:]:
            self.asked[name] = found[1:]
        return found

    def cell(self, name: str, measure: Callable[[], float]) -> str:
        """A share in percent."""
        return f"{100 * self.of(name, measure)[0]:.1f}"


def main(trials: int = TRIALS, *only: str) -> None:
    numbers = Numbers(only)
    text = [*_coverage_text(numbers, trials), *_verdict_text(numbers, trials), *_power_text(numbers, trials // 4)]
    document = DOCUMENT.read_text(encoding="utf-8")
    before, rest = document.split(_START)
    joined = "\n\n".join(text)
    DOCUMENT.write_text(f"{before}{_START}\n{joined}\n\n{_END}{rest.split(_END)[1]}", encoding="utf-8")
    RESULTS.mkdir(exist_ok=True)
    _RESULTS.write_text(
        json.dumps({"trials": trials, "shares": numbers.shares, "asked": numbers.asked}, indent=2, ensure_ascii=False)
        + "\n",
        encoding="utf-8",
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * words + "|--:" * (len(head) - words) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def _coverage_text(numbers: Numbers, trials: int) -> list[str]:
    noise = 100 * math.sqrt(0.95 * 0.05 / trials)
    rows = []
    for at, (name, (method, _, _)) in enumerate(POPULATIONS.items()):
        cells = [
            numbers.cell(f"{name}, {k}", partial(coverage, name, k, trials=trials, seed=100 * at + k)) for k in EPISODES
        ]
        rows.append([name, method, *cells])
    kinds = [("IQM of 400 independent events", "iqm", 1), ("share of 400 independent events", "share", 1)]
    kinds += [(f"{what} of 60 episodes that differ", kind, 60) for what, kind in (("IQM", "iqm"), ("share", "share"))]
    return [
        f"Coverage of 95 % intervals in %, {trials:,} trials for each number, so that 95 has a standard error of "
        f"{noise:.1f}. The columns are numbers of episodes or scenarios.",
        _table(["what", "method", *map(str, EPISODES)], rows, words=2),
        "With the unit `event`, for comparison:",
        _table(
            ["what", "coverage"],
            [[w, numbers.cell(w, partial(of_events, k, n, trials=trials))] for w, k, n in kinds],
        ),
    ]


def _verdict_text(numbers: Numbers, trials: int) -> list[str]:
    noise = 100 * math.sqrt(0.025 * 0.975 / (MORE * trials))
    rows = [[name] for name in CHANGES]
    for row, (name, make) in zip(rows, CHANGES.items(), strict=True):
        for n in SCENARIOS:
            measure = partial(called_same, make, MARGIN, trials=MORE * trials, scenarios=n)
            row.append(numbers.cell(f"same: {name}, {MARGIN:g}, {n}", measure))
    wrong = [
        numbers.cell(f"false verdicts, {n}", partial(false_verdicts, trials=trials, scenarios=n)) for n in IDENTICAL
    ]
    return [
        "How often two agents are called the *same* within a margin of 0.05 although they differ by it, in % of "
        f"{MORE * trials:,} comparisons (at most 2.5 is wanted; it has a standard error of {noise:.1f}). Changes have "
        "a spread of 0.05, small ones of 0.02.",
        _table(["scenarios", *map(str, SCENARIOS)], rows),
        "How often identical agents are called better or worse in any of 16 metrics, with no margin, in % of "
        "comparisons (at most 5 is wanted):",
        _table(["scenarios", *map(str, IDENTICAL)], [["any false verdict", *wrong]]),
    ]


def _power_text(numbers: Numbers, trials: int) -> list[str]:
    rows = []
    for pilot, metrics, effect in ((10, 1, 0.05), (20, 1, 0.03), (20, 16, 0.05), (60, 1, 0.02), (60, 16, 0.03)):
        measure = partial(decided, trials=trials, pilot=pilot, metrics=metrics, effect=effect)
        share, low, high = numbers.of(f"power: {effect:g}, pilot of {pilot}, metrics: {metrics}", measure)
        name = f"{effect:g}, {metrics} metric{'s' * (metrics > 1)}"
        rows.append([name, str(pilot), _range(low, high), f"{100 * share:.1f}"])
    for pilot, effect in ((20, 0.01), (60, 0.03)):
        measure = partial(decided_same, trials=trials, pilot=pilot, effect=effect)
        share, low, high = numbers.of(f"power: {effect:g} as the same, pilot of {pilot}", measure)
        rows.append([f"{effect:g}, the same within 0.05", str(pilot), _range(low, high), f"{100 * share:.1f}"])
    return [
        "Inconclusive comparisons, repeated with the number of cases that they asked for (the upper end of a range): "
        f"in how many % of {trials:,} is the repetition decided (80 is wanted; it has a standard error of "
        f"{100 * math.sqrt(0.16 / trials):.1f})? Changes have a spread of 0.1; the difference seen is the true one.",
        _table(["difference", "cases", "asked for (median)", "decided"], rows),
    ]


def _range(low: float, high: float) -> str:
    return f"{low:.0f}–{high:.0f}" if low < high else f"{high:.0f}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else TRIALS, *sys.argv[2:])
