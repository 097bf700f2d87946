"""95 % intervals contain the truth about 95 % of the time, and identical agents are rarely called different.

`benchmarks/honesty.py` runs the same simulations long enough to tell 92 from 93 %. Here the band of 92–97 % is widened
by two standard errors of the simulation itself, so that a wrong interval fails and a short simulation does
not.
"""

from __future__ import annotations

import math

import pytest
from benchmarks import honesty

from assay.stats import mean_pass_hat_k, performance_profile

TRIALS = 200
NOISE = 2 * math.sqrt(0.05 * 0.95 / TRIALS)


@pytest.mark.parametrize("name", honesty.TRIALS)
@pytest.mark.slow
def test_intervals_contain_the_truth_at_their_nominal_rate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(honesty, "REPS", 400)
    at = list(honesty.TRIALS).index(name)
    held = honesty.coverage(honesty.TRIALS[name](), trials=TRIALS, seed=at)
    assert 0.92 - NOISE <= held <= 0.97 + NOISE


def test_resampling_events_of_correlated_episodes_fails_badly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(honesty, "REPS", 400)
    held = honesty.coverage(honesty.ratio_of_episodes(unit="event"), trials=TRIALS, seed=11)
    assert held < 0.7


@pytest.mark.slow
def test_identical_agents_are_rarely_called_better_or_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fifteen metrics, and no margin that would turn a false alarm into 'same'.
    monkeypatch.setattr(honesty, "REPS", 400)
    wrong = honesty.false_verdicts(trials=100, scenarios=40)
    assert wrong <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 100)


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
