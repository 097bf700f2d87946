"""95 % intervals contain the truth about 95 % of the time, and verdicts hold what they say.

`benchmarks/honesty.py` runs the same simulations long enough to tell 93 from 94 %. Here the band of 93–97 % is widened
by two standard errors of the simulation itself, so that a wrong interval fails and a short simulation does not.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks import honesty, populations

from assay.stats import mean_pass_hat_k, performance_profile

TRIALS = 200
NOISE = 2 * math.sqrt(0.05 * 0.95 / TRIALS)
# One line of each method. The long table has all of them.
SHORT = [
    ("share near 1", 5),
    ("share near 1, unequal sizes", 10),
    ("share near ½, very unequal sizes", 20),
    ("share of 0.8, strata of two", 20),
    ("share of 0.8, strata of one", 5),
    ("mean, skewed", 5),
    ("mean, skewed, strata of two", 10),
    ("mean, symmetric, unequal sizes", 10),
    ("mean, the smallest of three strata varies most", 10),
    ("skill", 10),
    ("R²", 20),
    ("correlation", 10),
    ("paired difference of shares", 5),
    ("paired difference of scores, 3 repetitions", 10),
]
RESAMPLED = [
    ("IQM, skewed", 5),
    ("IQM, unequal sizes", 10),
    ("95th percentile, skewed", 5),
    ("median", 20),
    ("paired difference of IQMs", 5),
    ("the same, skewed", 10),
]


@pytest.mark.parametrize(("name", "episodes"), SHORT)
@pytest.mark.slow
def test_intervals_contain_the_truth_at_their_nominal_rate(name: str, episodes: int) -> None:
    held = populations.coverage(name, episodes, trials=TRIALS, seed=episodes)
    assert 0.93 - NOISE <= held <= 0.97 + NOISE


@pytest.mark.parametrize(("name", "episodes"), RESAMPLED)
@pytest.mark.slow
def test_resampled_intervals_contain_the_truth_at_their_nominal_rate(
    name: str, episodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(populations, "REPS", 400)
    held = populations.coverage(name, episodes, trials=100, seed=episodes)
    assert held >= 0.93 - 2 * math.sqrt(0.05 * 0.95 / 100)


def test_intervals_by_event_of_episodes_that_differ_fail_badly() -> None:
    assert honesty.of_events("share", 60, trials=TRIALS) < 0.7


@pytest.mark.parametrize("scenarios", [3, 10])
@pytest.mark.slow
def test_identical_agents_are_rarely_called_better_or_worse(scenarios: int) -> None:
    # Sixteen metrics, and no margin that would turn a false alarm into 'same'.
    wrong = honesty.false_verdicts(trials=30, scenarios=scenarios)
    assert wrong <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 30)


@pytest.mark.slow
@pytest.mark.parametrize("scenarios", [3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["normal changes", "small skewed changes", "a rule worth 0.2 fires"])
def test_agents_that_differ_by_the_margin_are_rarely_called_the_same(kind: str, scenarios: int) -> None:
    share = honesty.called_same(honesty.CHANGES[kind], honesty.MARGIN, trials=TRIALS, scenarios=scenarios)
    assert share <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / TRIALS)


def test_the_interval_beside_a_verdict_is_the_one_it_rests_on() -> None:
    # The plain interval of five changes ends at ±0.0196; the one that allows for a tail not seen yet, at ±0.0332.
    baseline = np.full((5, 1), 0.4)
    candidate = baseline + np.array([-0.02, -0.01, 0.0, 0.01, 0.02])[:, None]
    for margin, call in ((0.02, "inconclusive"), (0.03, "inconclusive"), (0.034, "same")):
        verdict = honesty.verdicts(baseline, candidate, margin)[0]
        assert verdict.call == call
        assert (verdict.low, verdict.high) == pytest.approx((-0.0332, 0.0332), abs=5e-5)
    verdict = honesty.verdicts(baseline, candidate, 0.019)[0]
    assert verdict.call == "inconclusive"
    assert verdict.high == pytest.approx(0.0196, abs=5e-5)


def test_the_number_of_cases_asked_for_decides() -> None:
    decided, _, _ = honesty.decided(trials=40, pilot=60, metrics=1, effect=0.02)
    assert decided >= 0.8 - 2 * math.sqrt(0.8 * 0.2 / 40)


def test_intervals_of_a_profile_cover_like_those_of_a_share() -> None:
    profile = performance_profile([0.0, 1.0] * 50, [0.5])
    assert profile.high[0] - profile.low[0] == pytest.approx(2 * 1.96 * 0.05, rel=0.15)


def test_a_published_row_of_pass_hat_k_follows_from_trial_outcomes() -> None:
    # tau-bench, gpt-4o, airline: 50 tasks of 4 trials. 10 tasks pass all four, 4 pass three, 10 pass two, 12 pass one.
    # k = 4: 10; k = 3: 10 + 4/4; k = 2: 10 + 4·3/6 + 10/6; k = 1: 10 + 4·3/4 + 10·2/4 + 12/4; each divided by 50.
    outcomes = [(4, 4)] * 10 + [(3, 4)] * 4 + [(2, 4)] * 10 + [(1, 4)] * 12 + [(0, 4)] * 14
    row = [round(mean_pass_hat_k(outcomes, k).value or 0.0, 3) for k in (1, 2, 3, 4)]
    assert row == [0.420, 0.273, 0.220, 0.200]
    # Plugging the pass rate of each task into p^k gives other numbers: it is biased upwards.
    plugged = sum((passes / trials) ** 4 for passes, trials in outcomes) / 50
    assert plugged > 0.23
