"""The overall is the weighted mean, and the ranges of the weights are those in which the same agent comes first."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.chat.scoring.answers import Answer, Record, Status
from assay.chat.scoring.metric import Entry, Metric
from assay.chat.scoring.scores import Scores
from assay.compare.overall import overall, overall_of
from assay.compare.scenario_table import ScenarioTable
from assay.compare.standing import CriterionMeans, WeightRange, contributions, group_ranges, ranges, standing
from assay.compare.weights import (
    DEFAULT_WEIGHTS,
    EQUAL_WEIGHTS,
    MAX_WEIGHT,
    OPERATIONS,
    OUTCOME,
    PRESETS,
    TRIALS_PASSED,
    Criterion,
    Weights,
)
from assay.errors import UsageError


def means(groups: str = "ab", **values: tuple[float, ...]) -> CriterionMeans:
    """Agents by name with their means in criteria x, y, z, …, each in the group that `groups` has at its place."""
    n = len(next(iter(values.values())))
    criteria = tuple(Criterion(chr(ord("x") + at), groups[at % len(groups)], "?") for at in range(n))
    return CriterionMeans(tuple(values), criteria, values)


def test_the_overall_is_the_weighted_mean() -> None:
    found = standing(means(adk=(1.0, 0.2), lang=(0.5, 0.8)), Weights({"x": 3, "y": 1}))
    # (3 · 1.0 + 1 · 0.2) / 4 and (3 · 0.5 + 1 · 0.8) / 4
    assert found.values == pytest.approx({"adk": 0.8, "lang": 0.575})
    assert found.order == ("adk", "lang")
    assert found.winners == ("adk",)
    assert found.lead == pytest.approx(0.225)


def test_a_group_multiplies_the_weights_of_its_criteria() -> None:
    both = means(adk=(1.0, 0.2), lang=(0.5, 0.8))
    assert standing(both, Weights({"x": 2}, {"a": 1.5})) == standing(both, Weights({"x": 3}))
    assert standing(both, Weights(groups={"b": 0})).values == {"adk": 1.0, "lang": 0.5}


def test_a_lead_is_the_sum_of_what_each_criterion_adds() -> None:
    both, weights = means(adk=(1.0, 0.25), lang=(0.5, 0.5)), Weights({"x": 3})
    # (3 · 0.5) / 4 from x and −0.25 / 4 from y.
    assert contributions(both, weights, "adk", "lang") == [("x", 0.375), ("y", -0.0625)]
    assert standing(both, weights).lead == 0.375 - 0.0625


def test_the_first_stays_first_up_to_the_weight_at_which_the_second_draws_level() -> None:
    # adk is 0.5 ahead in x and 0.25 behind in y: level where 0.5 · wx = 0.25 · wy.
    both = means(adk=(1.0, 0.25), lang=(0.5, 0.5))
    found = ranges(both, Weights({"x": 3, "y": 1}))
    assert found["x"] == WeightRange(0.5, math.inf, "lang", None)
    assert found["y"] == WeightRange(0.0, 6.0, None, "lang")


def test_the_nearest_rival_ends_the_range_and_is_named() -> None:
    three = means(first=(1.0, 0.5), slow=(0.25, 0.625), near=(0.75, 1.0))
    # At weights 1 and v for x and y: near draws level at 0.25 = 0.5 v, slow at 0.75 = 0.125 v.
    assert ranges(three, Weights({"y": 0.25}))["y"] == WeightRange(0.0, 0.5, None, "near")


def test_what_is_alike_for_all_does_not_matter() -> None:
    assert ranges(means(adk=(1.0, 0.5), lang=(0.5, 0.5)), EQUAL_WEIGHTS)["y"] == WeightRange()


def test_a_weight_in_a_group_that_counts_nothing_does_not_matter() -> None:
    both = means(adk=(1.0, 0.2), lang=(0.5, 0.8))
    assert ranges(both, Weights(groups={"b": 0}))["y"] == WeightRange()


def test_the_range_of_a_group_moves_all_its_criteria() -> None:
    # Group a has x and z: adk is twice 0.125 ahead there and 0.5 behind in y, so it leads from a weight of 2 on.
    both = means(adk=(0.625, 0.25, 0.625), lang=(0.5, 0.75, 0.5))
    assert group_ranges(both, Weights(groups={"a": 3}))["a"] == WeightRange(2.0, math.inf, "lang", None)
    assert group_ranges(both, Weights(groups={"a": 3}))["b"] == WeightRange(0.0, 1.5, None, "lang")


def test_a_tie_is_called_one_and_ends_with_any_move() -> None:
    both = means(adk=(0.75, 0.25), lang=(0.25, 0.75), far=(0.0, 0.0))
    found = standing(both, EQUAL_WEIGHTS)
    assert found.winners == ("adk", "lang")
    assert found.lead == 0
    assert {name: (found.low, found.high) for name, found in ranges(both, EQUAL_WEIGHTS).items()} == {
        "x": (1, 1),
        "y": (1, 1),
    }


def test_agents_that_are_alike_in_everything_tie_at_any_weight() -> None:
    both = means(adk=(0.1 + 0.2, 0.7), lang=(0.3, 0.7))
    assert standing(both, EQUAL_WEIGHTS).winners == ("adk", "lang")
    assert ranges(both, EQUAL_WEIGHTS) == {"x": WeightRange(), "y": WeightRange()}


def test_if_every_weight_is_0_no_agent_wins() -> None:
    both = means(adk=(1.0, 0.2), lang=(0.5, 0.8))
    nothing = Weights(groups={"a": 0, "b": 0})
    assert standing(both, nothing).winners == ()
    assert ranges(both, nothing) == group_ranges(both, nothing) == {}


def test_one_agent_alone_has_no_lead_and_wins_at_any_weight() -> None:
    alone = means(adk=(1.0, 0.2))
    assert standing(alone, EQUAL_WEIGHTS).lead is None
    assert ranges(alone, EQUAL_WEIGHTS) == {"x": WeightRange(), "y": WeightRange()}


@pytest.mark.parametrize("weight", [-0.1, 5.1, math.nan, math.inf])
def test_weights_lie_between_0_and_5(weight: float) -> None:
    with pytest.raises(UsageError, match="the weight of 'x'"):
        Weights({"x": weight})


HUNDREDTHS = st.integers(0, 100).map(lambda n: n / 100)
QUARTERS = st.integers(0, 20).map(lambda n: n / 4)


@st.composite
def tables(draw: st.DrawFn) -> tuple[CriterionMeans, Weights]:
    n = draw(st.integers(1, 4))
    agents = draw(st.integers(1, 4))
    values = {f"agent-{at}": tuple(draw(HUNDREDTHS) for _ in range(n)) for at in range(agents)}
    weights = Weights(
        {chr(ord("w") + at): draw(QUARTERS) for at in range(n)}, {group: draw(QUARTERS) for group in ("a", "b")}
    )
    criteria = tuple(Criterion(chr(ord("w") + at), "ab"[at % 2], "?") for at in range(n))
    return CriterionMeans(tuple(values), criteria, values), weights


def exact(table: CriterionMeans, weights: Weights) -> set[str]:
    """Who comes first, without any rounding."""
    weighed = [Fraction(weights.of(criterion)) for criterion in table.criteria]
    totals = {
        agent: sum(w * Fraction(round(100 * v), 100) for w, v in zip(weighed, table.values[agent], strict=True))
        for agent in table.agents
    }
    return {agent for agent, total in totals.items() if total == max(totals.values())}


@given(tables())
def test_the_winners_are_those_of_exact_arithmetic(given_: tuple[CriterionMeans, Weights]) -> None:
    table, weights = given_
    found = standing(table, weights)
    assume(found.values)
    assert set(found.winners) == exact(table, weights)


@given(tables(), st.integers(0, 80).map(lambda n: n / 16))
def test_inside_its_range_a_weight_keeps_the_winners_and_outside_another_leads(
    given_: tuple[CriterionMeans, Weights], tried: float
) -> None:
    table, weights = given_
    winners = exact(table, weights)
    for kind, found in (("criteria", ranges(table, weights)), ("groups", group_ranges(table, weights))):
        for name, kept in found.items():
            moved = {"criteria": dict(weights.criteria), "groups": dict(weights.groups)}
            moved[kind][name] = tried
            then = exact(table, Weights(**moved))
            if not any(Weights(**moved).of(criterion) for criterion in table.criteria):
                continue  # nothing counts, so nobody wins
            if kept.low + 1e-9 < tried < kept.high - 1e-9:
                assert winners <= then, (name, kept)
            elif tried < kept.low - 1e-9 or tried > kept.high + 1e-9:
                assert not winners <= then, (name, kept)
            assert kept.low <= getattr(weights, kind)[name] <= kept.high


@given(tables())
def test_just_beyond_the_end_of_a_range_the_named_agent_comes_first(given_: tuple[CriterionMeans, Weights]) -> None:
    table, weights = given_
    for name, kept in ranges(table, weights).items():
        for end, rival, step in ((kept.low, kept.below, -1e-7), (kept.high, kept.above, 1e-7)):
            if rival is not None and 0 <= end + step <= MAX_WEIGHT:
                beyond = standing(table, Weights(dict(weights.criteria) | {name: end + step}, weights.groups))
                if beyond.values:
                    assert beyond.values[rival] == pytest.approx(max(beyond.values.values()), abs=1e-13)
        assert (kept.below is None) == (kept.low == 0)
        assert (kept.above is None) == math.isinf(kept.high)


# --- from scores ---------------------------------------------------------------------------------------------------


def metric(name: str, direction: str = "higher") -> Metric:
    return Metric(name, "functional", 0.0, (), "?", direction=direction)  # type: ignore[arg-type]


def answer(agent: str, scenario: str, score: float | None, *, repetition: int = 0, passed: bool = True) -> Answer:
    entry = Entry.make(
        metric("m"), 0.5 if score is None else score, measured=score is not None, details="", evidence=[]
    )
    return Answer(
        agent=agent,
        scenario=scenario,
        repetition=repetition,
        turn=0,
        query="",
        response="",
        entries={"m": entry},
        passed=passed,
    )


def test_means_are_over_what_was_measured() -> None:
    found = overall(
        Scores(
            (
                answer("adk", "one", 1.0),
                answer("adk", "two", None, passed=False),
                answer("lang", "one", 0.5),
                answer("lang", "two", 0.7),
            ),
            (metric("m"),),
        )
    )
    assert found.means.values == {"adk": (0.5, 1.0), "lang": (1.0, pytest.approx(0.6))}
    assert [criterion.name for criterion in found.means.criteria] == [TRIALS_PASSED, "m"]


def test_criteria_not_measured_for_every_agent_are_left_out_and_named() -> None:
    found = overall(Scores((answer("adk", "one", 1.0), answer("lang", "one", None)), (metric("m"),)))
    assert found.means.left_out == {"m": "not measured for lang"}
    none = overall(Scores((answer("adk", "one", None), answer("lang", "one", None)), (metric("m"),)))
    assert none.means.left_out == {"m": "measured for no agent"}


def test_a_failed_turn_fails_its_trial_and_a_skipped_one_does_not_count() -> None:
    failed = Answer(
        agent="adk",
        scenario="two",
        repetition=0,
        turn=0,
        query="",
        response="",
        entries={},
        passed=False,
        record=Record(status="failed", reason="boom"),
    )
    skipped = Answer(
        agent="adk",
        scenario="three",
        repetition=0,
        turn=0,
        query="",
        response="",
        entries={},
        passed=False,
        record=Record(status="skipped", reason="not installed"),
    )
    scores = Scores((answer("adk", "one", 1.0), failed, skipped), (metric("m"),))
    found = overall(scores)
    assert found.means.values["adk"][0] == 0.5 == scores.passes("adk")["pass^k"][1].value


def ended(agent: str, scenario: str, status: Status, reason: str, *, turn: int = 0) -> Answer:
    return Answer(
        agent=agent,
        scenario=scenario,
        repetition=0,
        turn=turn,
        query="",
        response="",
        entries={},
        passed=False,
        record=Record(status=status, reason=reason),
    )


def test_an_agent_without_a_scored_turn_is_named_and_takes_nothing_from_the_others() -> None:
    both = [answer(agent, scenario, 0.75) for scenario in ("one", "two") for agent in ("adk", "lang")]
    absent = [ended("late", scenario, "skipped", "not installed: late") for scenario in ("one", "two", "three")]
    # What follows a failed turn is skipped; why it failed is the reason.
    broken = [
        ended("broken", "one", "failed", "boom"),
        *(ended("broken", "one", "skipped", "x", turn=at) for at in (1, 2)),
    ]
    found = overall(Scores((*both, *absent, *broken), (metric("m"),)))
    assert found.means == replace(
        overall(Scores(tuple(both), (metric("m"),))).means,
        without={"late": "not installed: late", "broken": "failed: boom"},
    )
    assert found.standing.winners == ("adk", "lang")
    # A scenario that only they were to play is none of those that are resampled.
    assert found.uncertainty.values["adk"].n_units == 2
    assert found.to_json()["agents_left_out"] == {"late": "not installed: late", "broken": "failed: boom"}
    nobody = overall(Scores(tuple(absent), (metric("m"),)))
    assert (nobody.standing.winners, nobody.means.agents) == ((), ())
    assert nobody.to_json()["agents_left_out"] == {"late": "not installed: late"}


def test_the_outcome_opens_with_as_much_as_a_group_of_metrics() -> None:
    from assay.chat.evaluator import ChatbotEvaluator

    groups = [metric.group for metric in ChatbotEvaluator().metrics]
    assert DEFAULT_WEIGHTS.criteria[TRIALS_PASSED] == len(groups) / len(set(groups))
    # An agent that fails half of its trials and answers the others as well is an eighth behind, if all is measured.
    criteria = (Criterion(TRIALS_PASSED, "outcome", "?"), *(Criterion(f"m{at}", "functional", "?") for at in range(15)))
    found = standing(
        CriterionMeans(("adk", "lang"), criteria, {"adk": (1.0,) * 16, "lang": (0.5, *(1.0,) * 15)}), DEFAULT_WEIGHTS
    )
    assert found.lead == 0.125
    assert PRESETS["all metrics alike"] == EQUAL_WEIGHTS


def test_the_share_of_trials_is_pass_hat_1_whatever_the_number_of_repetitions() -> None:
    some = [answer("adk", "one", 1.0, repetition=at, passed=at == 0) for at in range(4)]
    scores = Scores((*some, answer("adk", "two", 1.0)), (metric("m"),))
    # A quarter of one scenario and all of the other.
    assert overall(scores).means.values["adk"][0] == 0.625 == scores.passes("adk")["pass^k"][1].value


def test_a_metric_of_which_less_is_better_is_turned() -> None:
    entry = Entry.make(metric("m"), 0.2, measured=True, details="", evidence=[])
    scores = Scores(
        (
            Answer(
                agent="adk",
                scenario="one",
                repetition=0,
                turn=0,
                query="",
                response="",
                entries={"m": entry},
                passed=True,
            ),
        ),
        (metric("m", "lower"),),
    )
    assert overall(scores).means.values["adk"][1] == 0.8


def test_a_lead_that_every_scenario_shares_is_certain_and_one_of_a_single_scenario_is_not() -> None:
    steady = [answer(agent, f"s{at}", 0.9 if agent == "adk" else 0.8) for at in range(30) for agent in ("adk", "lang")]
    sure = overall(Scores(tuple(steady), (metric("m"),)), EQUAL_WEIGHTS).uncertainty
    assert sure.lead is not None
    missed = 0.05 * (1 - 0.025 ** (1 / 30))  # 30 scenarios can have missed that part of all
    assert (sure.lead.low, sure.lead.value, sure.lead.high) == pytest.approx((0.05 - missed, 0.05, 0.05 + missed))
    assert sure.first == {"adk": 1.0, "lang": 0.0}
    odd = [answer(a, f"s{at}", 1.0 if at == 0 and a == "adk" else 0.5) for at in range(30) for a in ("adk", "lang")]
    unsure = overall(Scores(tuple(odd), (metric("m"),)), EQUAL_WEIGHTS).uncertainty
    assert unsure.lead is not None
    assert unsure.lead.low is not None
    assert unsure.lead.low <= 0 < (unsure.lead.value or 0) < (unsure.lead.high or 0)
    # In (29/30)^29 = 37 % of the resamples that scenario is missing and the two tie.
    assert unsure.first["lang"] == pytest.approx(0.37 / 2, abs=0.03)


def _measured_in(measured: int, scenarios: int) -> Scores:
    """A metric that some scenarios do not measure, and that is 0.2 better for adk wherever it is measured."""
    scores = {"adk": 0.9, "lang": 0.7}
    answers = [
        answer(agent, f"s{at}", score if at < measured else None)
        for at in range(scenarios)
        for agent, score in scores.items()
    ]
    return Scores(tuple(answers), (metric("m"),))


@pytest.mark.parametrize(("measured", "is_sure"), [(1, False), (3, False), (5, False), (6, True), (30, True)])
def test_scenarios_that_do_not_measure_a_criterion_make_a_lead_by_it_no_surer(measured: int, is_sure: bool) -> None:
    """Five that agree are chance once in 16 times, six once in 32, however many others say nothing."""
    found = overall(_measured_in(measured, 30), EQUAL_WEIGHTS).uncertainty
    assert found.lead is not None
    assert found.lead.low is not None
    assert found.lead.value == pytest.approx(0.1)
    assert (found.lead.low > 0) is is_sure
    if is_sure:
        assert found.needed is None
    else:
        assert found.needed is not None
        assert found.needed[0] >= 6 * 30 / measured  # of which 6 would measure it


def test_a_criterion_of_one_scenario_tells_agents_apart_in_the_resamples_that_have_it() -> None:
    found = overall(_measured_in(1, 30), EQUAL_WEIGHTS).uncertainty
    # (29/30)^30 = 36 % of the resamples lack it, and the two tie.
    assert found.first["lang"] == pytest.approx(0.36 / 2, abs=0.03)


def test_what_one_gives_up_has_to_be_seen_in_enough_scenarios() -> None:
    few, many = (ScenarioTable.of(_measured_in(measured, 30)).behind("lang", level=0.95) for measured in (5, 6))
    assert not few
    assert [(one.criterion, one.to) for one in many] == [("m", "adk")]


def test_what_every_scenario_passed_may_still_fail_in_those_that_were_not_played() -> None:
    some = [answer("adk", f"s{at}", score) for at, score in enumerate((0.5, 0.6, 0.5, 0.6))]
    found = overall(Scores(tuple(some), (metric("m"),)), EQUAL_WEIGHTS).uncertainty.values["adk"]
    assert found.value is not None
    assert found.value == pytest.approx(0.775)
    # Four scenarios can have missed 1 - 0.025^(1/4) = 60 % of all; the share of trials passed is half of the overall.
    assert found.low is not None
    assert found.high is not None
    assert found.value - found.low > 0.5 * (1 - 0.025 ** (1 / 4))
    assert found.high - found.value < 0.1


@pytest.mark.parametrize("scenarios", [5, 10, 20])
def test_the_interval_of_an_overall_contains_the_truth(scenarios: int) -> None:
    """Nine of ten trials pass, a metric follows them, and one varies: the overall is 0.9 · 2/3 + 0.85 · 1/3."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        passed = rng.random(scenarios) < 0.9
        sums = np.stack([passed, passed, rng.choice([0.7, 1.0], scenarios)], axis=1)[:, None, :].astype(float)
        criteria = tuple(Criterion(name, "functional", "?") for name in (TRIALS_PASSED, "follows", "varies"))
        table = ScenarioTable(("adk",), criteria, sums, np.ones_like(sums), {})
        found = overall_of(table, EQUAL_WEIGHTS, reps=2).uncertainty.values["adk"]
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= (0.9 + 0.9 + 0.85) / 3 <= found.high
    assert covered >= 0.93 * 200


def test_the_lead_is_a_paired_difference() -> None:
    # Scenarios differ a lot, agents always by the same: each overall is uncertain and the lead is not.
    some = [answer(a, f"s{at}", at % 10 / 10 + 0.05 * (a == "adk")) for at in range(40) for a in ("adk", "lang")]
    found = overall(Scores(tuple(some), (metric("m"),)), EQUAL_WEIGHTS).uncertainty
    wide = found.values["adk"]
    assert wide.high is not None
    assert wide.low is not None
    assert found.lead is not None
    assert wide.high - wide.low > 0.05
    assert found.lead.low is not None
    assert found.lead.high is not None
    assert found.lead.high - found.lead.low < 0.005


def test_the_same_seed_gives_the_same_intervals_and_one_scenario_gives_none() -> None:
    some = [answer(a, f"s{at}", at % 7 / 7) for at in range(20) for a in ("adk", "lang")]
    scores = Scores(tuple(some), (metric("m"),), seed=3)
    assert overall(scores).uncertainty == overall(scores).uncertainty
    one = overall(Scores(tuple(some[:2]), (metric("m"),))).uncertainty
    assert one.values["adk"].low is None
    assert one.first == {}


def test_everything_is_ready_for_json() -> None:
    some = [answer(a, f"s{at}", 1.0 if a == "adk" else at / 8) for at in range(8) for a in ("adk", "lang")]
    found = json.loads(json.dumps(overall(Scores(tuple(some), (metric("m"),))).to_json(), allow_nan=False))
    assert found["order"] == ["adk", "lang"]
    assert found["ranges"]["m"] == {"low": 0.0, "high": None, "below": None, "above": None}
    assert found["lead"]["low"] < found["lead"]["value"] < found["lead"]["high"]
    assert found["means"]["adk"] == {TRIALS_PASSED: 1.0, "m": 1.0}


def test_without_scores_there_is_no_standing() -> None:
    empty = overall(Scores((), (metric("m"),)))
    assert empty.standing.winners == ()
    assert empty.uncertainty.lead is None


def test_presets_name_criteria_and_groups_that_exist() -> None:
    from assay.chat.scoring.metric import GROUPS, METRICS

    known = {*OUTCOME, *OPERATIONS, *METRICS.names()}
    for weights in PRESETS.values():
        assert set(weights.criteria) <= known
        assert set(weights.groups) <= {"outcome", *GROUPS}
