"""Do 95 % intervals contain the truth 95 % of the time, and how often are identical agents called different?

Every simulation draws data from a population whose true value is known, computes the interval as the package does, and
counts how often it contains the truth. The tests run the same simulations with fewer trials.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from assay.compare import Margin, side_of
from assay.compare.comparing import verdict_lines
from assay.compare.conversations import measure_scores
from assay.stats import Resampling, difference, iqm, ratio_interval, value_intervals
from assay.types import Case, Distribution, Estimate, Floats, Ratio, Run, Verdict
from benchmarks.measuring import RESULTS

REPS = 1000
_STEP = 10.0  # time errors come in units of 10 ms


@dataclass(frozen=True)
class Population:
    """Time errors in ms and hits: episodes differ by `between`, events within one by `within`, and are skewed."""

    between: float
    within: float = 30.0
    shift: float = 0.0
    """Added to every error: the effect of a stratum or of another model."""

    def episode(self, size: int, rng: np.random.Generator, own: float | None = None) -> Floats:
        """The errors of one episode, shape (size,)."""
        own = rng.normal(0, self.between) if own is None else own
        errors = self.shift + own + self.within * (rng.gamma(2.0, 1.0, size) - 2.0) / np.sqrt(2)
        return np.asarray(np.rint(errors / _STEP) * _STEP, np.float64)

    @cache  # noqa: B019 — populations are few and small
    def iqm(self) -> float:
        """The true interquartile mean of an event of any episode."""
        return float(iqm(_mixture([(self, 1)])) or 0.0)


def _mixture(parts: Sequence[tuple[Population, int]]) -> Floats:
    """Two million events of many episodes, the populations in the given proportions; the same every time."""
    rng = np.random.default_rng(0)
    total = sum(weight for _, weight in parts)
    found = []
    for population, weight in parts:
        size = 2_000_000 * weight // total
        own = rng.normal(0, population.between, size)
        errors = population.shift + own + population.within * (rng.gamma(2.0, 1.0, size) - 2.0) / np.sqrt(2)
        found.append(np.rint(errors / _STEP) * _STEP)
    return np.concatenate(found)


Trial = Callable[[np.random.Generator], tuple[float, float, float]]
"""One draw of data: lower end, upper end, truth."""


def coverage(trial: Trial, *, trials: int, seed: int) -> float:
    """The share of trials whose interval contains the truth."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(trials):
        low, high, truth = trial(rng)
        held += low <= truth <= high
    return held / trials


def _ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def _plan(unit: str, rng: np.random.Generator, *, keep: bool = False) -> Resampling:
    # Each trial has its own seed: one seed for all would make the trials depend on each other.
    return Resampling(unit, REPS, 0.95, int(rng.integers(2**31)), keep=keep)


# --- independent events --------------------------------------------------------------------------------------------


def iqm_of_events(n: int = 400) -> Trial:
    """The interquartile mean of independent events."""
    population = Population(between=0.0)

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        values = Distribution.of(population.episode(n, rng, own=0.0))
        return *_ends(value_intervals([values], ["iqm"], _plan("event", rng))["iqm"]), population.iqm()

    return trial


def ratio_of_events(n: int = 400, share: float = 0.8) -> Trial:
    """A share of independent events."""

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        return *_ends(ratio_interval([Ratio(int(rng.binomial(n, share)), n)], _plan("event", rng))), share

    return trial


# --- episodes whose events depend on each other --------------------------------------------------------------------


def iqm_of_episodes(episodes: int = 60, size: int = 100, *, unit: str = "episode", between: float = 12.0) -> Trial:
    """The interquartile mean of events that share the effect of their episode."""
    population = Population(between)

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        parts = [Distribution.of(population.episode(size, rng)) for _ in range(episodes)]
        return *_ends(value_intervals(parts, ["iqm"], _plan(unit, rng))["iqm"]), population.iqm()

    return trial


def ratio_of_episodes(episodes: int = 60, size: int = 100, *, unit: str = "episode") -> Trial:
    """A share over episodes of unequal length, some of them hard."""

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        sizes = rng.integers(size // 2, size * 3 // 2, episodes)
        hits = rng.binomial(sizes, rng.beta(8, 2, episodes))
        parts = [Ratio(int(h), int(n)) for h, n in zip(hits, sizes, strict=True)]
        return *_ends(ratio_interval(parts, _plan(unit, rng))), 0.8

    return trial


def difference_of_episodes(episodes: int = 40, size: int = 100) -> Trial:
    """The paired difference of two models' interquartile means: both find the same episodes hard."""
    first, second = Population(12.0), Population(12.0, within=20.0, shift=7.0)
    truth = second.iqm() - first.iqm()

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        owns = rng.normal(0, 12.0, episodes)
        plan = _plan("episode", rng, keep=True)
        found = [
            value_intervals([Distribution.of(model.episode(size, rng, own)) for own in owns.tolist()], ["iqm"], plan)[
                "iqm"
            ]
            for model in (first, second)
        ]
        return *_difference_ends(found[0], found[1], episodes), truth

    return trial


def _difference_ends(a: Estimate, b: Estimate, n: int) -> tuple[float, float]:
    assert a.replicates is not None
    assert b.replicates is not None
    found = difference((b.value or 0) - (a.value or 0), b.replicates - a.replicates, level=0.95, freedom=n - 1, n=n)
    assert found is not None
    return found.low, found.high


# --- strata of unequal size ----------------------------------------------------------------------------------------

_STRATA = ((Population(12.0), 60), (Population(6.0, shift=40.0), 30), (Population(15.0, shift=-30.0), 20))


def iqm_of_strata(size: int = 50) -> Trial:
    """The interquartile mean over three games of 60, 30 and 20 episodes."""
    truth = float(iqm(_mixture(_STRATA)) or 0.0)
    strata = [str(at) for at, (_, n) in enumerate(_STRATA) for _ in range(n)]

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        parts = [Distribution.of(population.episode(size, rng)) for population, n in _STRATA for _ in range(n)]
        return *_ends(value_intervals(parts, ["iqm"], _plan("episode", rng), strata=strata)["iqm"]), truth

    return trial


def ratio_of_strata(size: int = 100) -> Trial:
    """A share over three games of 60, 30 and 20 episodes; one game is much harder."""
    games = (((8, 2), 60), ((3, 3), 30), ((9, 1), 20))
    truth = sum(n * a / (a + b) for (a, b), n in games) / sum(n for _, n in games)
    strata = [str(at) for at, (_, n) in enumerate(games) for _ in range(n)]

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        shares = np.concatenate([rng.beta(*ab, n) for ab, n in games])
        parts = [Ratio(int(hits), size) for hits in rng.binomial(size, shares)]
        return *_ends(ratio_interval(parts, _plan("episode", rng), strata=strata)), truth

    return trial


# --- scenarios with repetitions ------------------------------------------------------------------------------------


def _scores(hard: Floats, gain: float, repetitions: int, rng: np.random.Generator) -> Floats:
    """Scores 0–1 in steps of 0.01, shape (scenarios, repetitions): a rule fires or does not."""
    chance = np.clip(hard + gain, 0, 1)[:, None]
    fired = rng.random((len(hard), repetitions)) < chance
    noise = rng.choice([-0.1, 0.0, 0.1], fired.shape)
    return np.asarray(np.round(np.where(fired, 0.9, 0.5) + noise, 2), np.float64)


def mean_of_scenarios(scenarios: int = 40, repetitions: int = 3) -> Trial:
    """The mean score over scenarios with repetitions."""
    truth = 0.5 + 0.4 * 0.6  # a rule worth 0.4 fires with a mean chance of 0.6

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        scores = _scores(rng.beta(3, 2, scenarios), 0.0, repetitions, rng)
        parts = [Distribution.of(row) for row in scores]
        return *_ends(value_intervals(parts, ["mean"], _plan("episode", rng))["mean"]), truth

    return trial


def difference_of_scenarios(scenarios: int = 40, repetitions: int = 3) -> Trial:
    """The paired difference of two agents on the same scenarios, as `assay compare` computes it."""
    gain = 0.1
    rng = np.random.default_rng(0)
    hard = rng.beta(3, 2, 2_000_000)
    truth = 0.4 * float((np.clip(hard + gain, 0, 1) - hard).mean())

    def trial(rng: np.random.Generator) -> tuple[float, float, float]:
        hard = rng.beta(3, 2, scenarios)
        runs = [_run(_scores(hard, step, repetitions, rng)[:, None, :]) for step in (0.0, gain)]
        (line,) = _judged(runs[0], runs[1], int(rng.integers(2**31)))
        assert line.low is not None
        assert line.high is not None
        return line.low, line.high, truth

    return trial


# --- verdicts on identical agents ----------------------------------------------------------------------------------


def false_verdicts(*, trials: int, scenarios: int, metrics: int = 15, repetitions: int = 3, seed: int = 1) -> float:
    """The share of comparisons of two identical agents that call any metric better or worse, with no margin at all."""
    rng = np.random.default_rng(seed)
    wrong = 0
    for _ in range(trials):
        hard = rng.beta(3, 2, (scenarios, metrics))
        runs = [
            _run(np.stack([_scores(hard[:, at], 0.0, repetitions, rng) for at in range(metrics)], axis=1))
            for _ in range(2)
        ]
        verdicts = _judged(runs[0], runs[1], int(rng.integers(2**31)))
        wrong += any(verdict.call in ("better", "worse") for verdict in verdicts)
    return wrong / trials


def _run(scores: Floats) -> Run:
    """A run of one agent from scores of shape (scenarios, metrics, repetitions)."""
    tally = {
        Case(f"scenario {at}"): {f"metric {m}": _distribution(tuple(column)) for m, column in enumerate(row)}
        for at, row in enumerate(scores.tolist())
    }
    return Run("run", "chat", "run", "", "", {}, 0, {}, {}, {}, {"agent": tally})


@cache
def _distribution(scores: tuple[float, ...]) -> Distribution:
    """The distribution of a scenario's scores, cached: there are few different ones, and each is slow to build."""
    return Distribution.of(scores)


def _judged(a: Run, b: Run, seed: int) -> list[Verdict]:
    sample = measure_scores(side_of(a), side_of(b), level=0.95, seed=seed, reps=REPS, full=False)
    return [line.verdict for line in verdict_lines(sample, Margin(0.0), 0.95)]


# --- the long version ----------------------------------------------------------------------------------------------

TRIALS: dict[str, Callable[[], Trial]] = {
    "IQM, independent events": iqm_of_events,
    "ratio, independent events": ratio_of_events,
    "IQM, correlated episodes": iqm_of_episodes,
    "ratio, correlated episodes": ratio_of_episodes,
    "paired difference of IQM, correlated episodes": difference_of_episodes,
    "IQM, strata of unequal size": iqm_of_strata,
    "ratio, strata of unequal size": ratio_of_strata,
    "mean, scenarios with repetitions": mean_of_scenarios,
    "paired difference, scenarios with repetitions": difference_of_scenarios,
}
"""Simulations whose intervals must contain the truth in 92 to 97 % of trials."""


def main(trials: int = 1000) -> None:
    found: dict[str, float] = {}

    def report(what: str, share: float) -> None:
        found[what] = share
        print(f"{what:<75} {share:6.1%}", flush=True)

    print(f"Coverage of 95 % intervals, {trials} trials each")
    for at, (name, make) in enumerate(TRIALS.items()):
        report(name, coverage(make(), trials=trials, seed=at))
    for name, trial in _by_event():
        report(f"{name}, resampled by event", coverage(trial, trials=trials, seed=11))
    for episodes in (5, 10, 20, 40, 80):
        report(f"IQM, {episodes} episodes", coverage(iqm_of_episodes(episodes), trials=trials, seed=12))
        report(f"ratio, {episodes} episodes", coverage(ratio_of_episodes(episodes), trials=trials, seed=13))
        paired = difference_of_scenarios(episodes)
        report(f"paired difference, {episodes} scenarios", coverage(paired, trials=trials, seed=14))
    print("Comparisons of identical agents over 15 metrics that call any better or worse")
    for scenarios in (10, 20, 50, 100):
        report(f"false verdicts, {scenarios} scenarios", false_verdicts(trials=trials, scenarios=scenarios))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "honesty.json").write_text(
        json.dumps({"trials": trials, "shares": found}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _by_event() -> Iterator[tuple[str, Trial]]:
    yield "IQM, correlated episodes", iqm_of_episodes(unit="event")
    yield "ratio, correlated episodes", ratio_of_episodes(unit="event")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
