"""Verdicts on runs whose differences are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from assay.compare import Margin, Measure, compare, side_of
from assay.errors import UsageError
from assay.events import codec, evaluate, synthetic
from assay.types import Case, Run

from .conftest import chat_run, run

Make = Callable[..., Run]


@pytest.fixture(scope="module")
def events() -> dict[str, Run]:
    """Two made-up models on the same eight recordings, scored with two protocols."""
    quantise = codec("hierarchical").quantise
    truth = quantise(synthetic.recording(episodes=9, seconds=10))
    found = {}
    for name, model in (("good", synthetic.GOOD), ("poor", synthetic.POOR)):
        predicted = quantise(synthetic.prediction(truth, model, seed=3))
        report = evaluate(predicted, truth, protocols=("owa", "d2e"))
        tallies = {
            result.name: {Case(e.name, e.stratum): states for e, states in result.tally.states().items()}
            for result in report.protocols.values()
        }
        versions = {result.name: result.version for result in report.protocols.values()}
        found[name] = run("events", tallies, name, settings=dict(report.settings), versions=versions)
    return found


def test_an_agent_is_the_same_as_itself(noisy: Make) -> None:
    comparison = compare(noisy(scenarios=72), noisy(scenarios=72))
    missed = 1 - 0.025 ** (1 / 72)  # the part of all scenarios that 72 can have missed; at most the margin of 0.05
    for verdict in comparison.verdicts:
        assert (verdict.call, verdict.difference) == ("same", 0.0)
        assert (verdict.low, verdict.high) == pytest.approx((-missed, missed))
    assert comparison.n_common == 72


def test_fewer_scenarios_in_which_nothing_differs_can_have_missed_a_difference(noisy: Make) -> None:
    for verdict in compare(noisy(scenarios=71), noisy(scenarios=71)).verdicts:
        assert (verdict.call, verdict.difference, verdict.n_needed, verdict.needed) == ("inconclusive", 0.0, 72, "72")


def test_a_clear_gain_is_better_and_the_other_way_round_it_is_worse(noisy: Make) -> None:
    low, high = noisy(0.5, seed=2), noisy(0.7, seed=3)
    for verdict in compare(low, high).verdicts:
        assert verdict.call == "better"
        assert verdict.difference == pytest.approx(0.2, abs=0.03)
        assert verdict.p_adjusted is not None
        assert verdict.p_adjusted < 0.001
        assert verdict.n_needed is None
    assert compare(high, low).calls == {"worse": 3}


def test_a_difference_within_the_margin_is_the_same_however_certain_it_is(noisy: Make) -> None:
    a, b = noisy(0.6, seed=2), noisy(0.62, seed=3)
    assert compare(a, b).calls == {"same": 3}
    assert compare(a, b, margin=0.0).calls == {"better": 3}


def test_with_too_few_cases_the_verdict_states_how_many_would_decide(noisy: Make) -> None:
    a, b = noisy(0.6, seed=2, scenarios=5), noisy(0.63, seed=3, scenarios=5)
    verdicts = compare(a, b, margin=0.0).verdicts
    assert {verdict.call for verdict in verdicts} == {"inconclusive"}
    for verdict in verdicts:
        assert verdict.n_needed is not None
        assert verdict.n_needed_low is not None
        assert 5 < verdict.n_needed_low < verdict.n_needed < 3000  # a pilot of five gives a range
        assert verdict.needed == f"{verdict.n_needed_low}–{verdict.n_needed}"


def test_only_common_cases_count_and_the_others_are_counted(noisy: Make) -> None:
    a, b = noisy(scenarios=60), noisy(scenarios=40)
    cases = dict(b.tallies["agent"]) | {Case("another"): next(iter(b.tallies["agent"].values()))}
    comparison = compare(a, replace(b, tallies={"agent": cases}))
    assert (comparison.n_common, comparison.n_baseline_only, comparison.n_candidate_only) == (40, 20, 1)


def test_a_scenario_measured_on_one_side_only_says_nothing() -> None:
    a = chat_run({"x": {"accuracy": [[0.5], [0.6], [0.7], []]}})
    b = chat_run({"x": {"accuracy": [[0.5], [0.6], [], [1.0]]}})
    line = compare(a, b).line("accuracy")
    assert (line.n_cases, line.verdict.difference) == (2, 0.0)
    assert line.baseline.n_skipped == 2


def test_a_metric_undefined_on_one_side_has_no_verdict_but_a_reason() -> None:
    a = chat_run({"x": {"accuracy": [[0.5], [0.6]], "groundedness": [[1.0], [1.0]]}})
    b = chat_run({"x": {"accuracy": [[0.5], [0.6]], "groundedness": [[], []]}})
    verdict = compare(a, b).line("groundedness").verdict
    assert (verdict.call, verdict.difference) == ("unmeasured", None)
    assert "undefined" in verdict.reason


def test_one_common_case_is_inconclusive() -> None:
    a, b = (chat_run({"x": {"accuracy": [[score]]}}) for score in (0.2, 0.9))
    verdict = compare(a, b).line("accuracy").verdict
    assert (verdict.call, verdict.low) == ("inconclusive", None)
    assert verdict.difference == pytest.approx(0.7)
    assert "1 common case" in verdict.reason


def test_no_common_case_gives_no_number(noisy: Make) -> None:
    a = noisy()
    b = replace(a, tallies={"agent": {Case("elsewhere"): next(iter(a.tallies["agent"].values()))}})
    assert {verdict.call for verdict in compare(a, b).verdicts} == {"unmeasured"}


def test_repetitions_lie_inside_their_scenario() -> None:
    # The same scenario a thousand times over is still one scenario: certainty must not grow with repetitions.
    rng = np.random.default_rng(4)
    hard = rng.normal(0, 0.1, 12)
    few, many = (
        [chat_run({"x": {"m": [[round(0.6 + h + s, 3)] * times for h in hard.tolist()]}}) for s in (0.0, 0.02)]
        for times in (1, 1000)
    )
    narrow, wide = compare(*few, margin=0).line("m").verdict, compare(*many, margin=0).line("m").verdict
    assert (narrow.low, narrow.high) == pytest.approx((wide.low, wide.high))


def test_versions_of_a_metric_are_never_compared(noisy: Make) -> None:
    a, b = noisy(scenarios=80), replace(noisy(scenarios=80), versions={"chat": 1, "metric_1": 2})
    calls = {verdict.metric: verdict for verdict in compare(a, b).verdicts}
    assert calls["metric_0"].call == "same"
    assert calls["metric_1"].call == "unmeasured"
    assert "different measures" in calls["metric_1"].reason


def passing(shares: list[list[float]], **ends: int) -> Run:
    """An agent that passes these trials, always with the same score; so many turns `failed` or were `skipped`."""
    n = len(shares)
    turns = {
        f"turns_{name}": [[1.0] if at < ends.get(name, 0) else [0.0] for at in range(n)]
        for name in ("failed", "skipped")
    }
    return chat_run({"x": {"trials_passed": shares, "accuracy": [[0.9]] * n, **turns}}, versions={"accuracy": 1})


def test_an_agent_that_fails_every_second_scenario_is_worse_although_all_scores_are_equal() -> None:
    comparison = compare(passing([[1.0]] * 80), passing([[0.0], [1.0]] * 40, failed=40))
    line = comparison.line("trials_passed")
    assert (line.measure.title, line.measure.unit, line.measure.part) == ("trials passed", "", "chat@1")
    assert (line.verdict.call, line.verdict.difference) == ("worse", -0.5)
    assert comparison.line("accuracy").verdict.call == "same"
    assert {line.measure.key for line in comparison.lines} == {"trials_passed", "accuracy"}
    assert {line.measure.key for line in compare(passing([[1.0]]), passing([[1.0]]), full=True).lines} == {
        "trials_passed",
        "accuracy",
    }


def test_the_number_of_turns_without_scores_is_noted_if_it_differs() -> None:
    (note,) = compare(passing([[1.0]] * 20, skipped=2), passing([[1.0]] * 20, failed=10)).notes
    assert "in the baseline 0 failed and 2 skipped of 20 turns" in note
    assert "in the candidate 10 failed and 0 skipped of 20 turns" in note
    assert not compare(passing([[1.0]] * 20, failed=3), passing([[1.0]] * 20, failed=3)).notes


def test_a_run_that_was_kept_before_trials_were_tallied_has_lost_nothing() -> None:
    old = chat_run({"x": {"accuracy": [[0.9]] * 20}}, versions={"accuracy": 1})
    new = passing([[1.0]] * 20, failed=3)
    for comparison in (compare(old, new), compare(new, old)):
        assert [line.measure.key for line in comparison.lines] == ["accuracy"]
        assert not comparison.notes
    # A run in which nothing could be played has them, and lost them.
    nothing = passing([[]] * 20, skipped=20)
    assert compare(new, nothing).line("trials_passed").verdict.call == "unmeasured"


def test_settings_that_differ_are_named_shortly(noisy: Make) -> None:
    given = {
        "seed": 1,
        "repeat": 3,
        "metrics": {"accuracy": {"version": "chat@1"}},
        "experience": {"agent": {"measured": {"lines": 120}}},
        "notes": ["scripted"],
        "suite": {"name": "weather", "digest": "a" * 64, "scenarios": ["one", "two"]},
        "venue": {"model": None, "limits": {"steps": 12, "seconds": 30.0}},
        "agents": [{"name": "agent", "options": {}}, {"name": "other", "options": {}}],
    }
    changed = given | {
        "seed": 2,
        "metrics": {},
        "experience": {},
        "notes": [],
        "suite": {"name": "weather", "digest": "b" * 64, "scenarios": ["one", "two"]},
        "venue": {"model": "small", "limits": {"steps": 20, "seconds": 30.0}},
        "agents": [{"name": "agent", "options": {"retries": 2}}, {"name": "third", "options": {}}],
    }
    a, b = (replace(noisy(), settings=settings) for settings in (given, changed))
    assert compare(a, b).notes == [
        "Settings differ: agent agent.options.retries was None and 2; suite.digest is not the same; "
        "venue.limits.steps was 12 and 20; venue.model was None and 'small'."
    ]
    assert compare(a, replace(b, settings=given | {"repeat": 1})).notes == ["Settings differ: repeat was 3 and 1."]
    # That two agents are two agents is no difference of settings.
    both = replace(a, tallies=dict.fromkeys(("agent", "other"), a.tallies["agent"]))
    assert compare(side_of(both, "agent"), side_of(both, "other")).notes == []


def test_runs_of_two_kinds_are_not_compared(noisy: Make, events: dict[str, Run]) -> None:
    with pytest.raises(UsageError, match="cannot be compared"):
        compare(noisy(), events["good"])


def test_agents_of_one_run_are_compared_by_name(noisy: Make) -> None:
    both = replace(noisy(), tallies={"low": noisy(0.4).tallies["agent"], "high": noisy(0.8, seed=5).tallies["agent"]})
    with pytest.raises(UsageError, match="2 agents"):
        compare(both, both)
    with pytest.raises(UsageError, match="no agent 'middle'"):
        side_of(both, "middle")
    assert compare(side_of(both, "low"), side_of(both, "high")).calls == {"better": 3}


def test_the_cases_that_changed_most_come_first() -> None:
    scores = [[0.5]] * 20
    a = chat_run({"x": {"accuracy": scores}})
    b = chat_run({"x": {"accuracy": [*scores[:7], [0.9], *scores[8:15], [0.1], [0.6], *scores[17:]]}})
    entry = compare(a, b).cases[0]
    assert [change.case.name for change in entry.changes] == ["scenario-007", "scenario-015", "scenario-016"]
    assert entry.n_changed == 3


def test_a_stratum_of_one_case_does_not_seem_certain(noisy: Make) -> None:
    scores = {"m": [[0.5], [0.9], [0.4], [0.8]]}
    changed = {"m": [[0.6], [0.7], [0.9], [0.85]]}
    alone = list("abcd")
    comparison = compare(chat_run({"x": scores}, strata=alone), chat_run({"x": changed}, strata=alone))
    verdict = comparison.verdicts[0]
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.high > verdict.low
    assert any("only one common case" in note for note in comparison.notes)


# --- events --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_directions_of_metrics_are_respected(events: dict[str, Run]) -> None:
    comparison = compare(events["poor"], events["good"])
    directions = {line.measure.better: line for line in comparison.lines if line.verdict.call == "better"}
    assert directions["higher"].verdict.difference > 0  # type: ignore[operator]
    assert directions["lower"].verdict.difference < 0  # type: ignore[operator]
    assert directions["zero"].verdict.difference < 0  # type: ignore[operator]
    assert not comparison.calls["worse"]
    backwards = compare(events["good"], events["poor"])
    assert not backwards.calls["better"]
    assert backwards.calls["worse"] > 10


def test_a_model_is_the_same_as_itself(events: dict[str, Run]) -> None:
    comparison = compare(events["good"], events["good"])
    # Few episodes in which nothing differs can have missed a difference, and say how many could not.
    assert set(comparison.calls) <= {"inconclusive", "unmeasured"}
    assert comparison.line("comparable").verdict.n_needed == 72
    for entry in comparison.cases:
        assert entry.n_changed == 0
        assert entry.improvement.value in (0.5, None)


@pytest.mark.slow
def test_values_that_describe_the_data_get_no_verdict(events: dict[str, Run]) -> None:
    line = compare(events["good"], events["poor"], full=True).line("owa:events")
    assert line.verdict.call == "descriptive"


def test_a_single_episode_falls_back_on_its_events(events: dict[str, Run]) -> None:
    def first(kept: Run) -> Run:
        return replace(kept, tallies={name: dict([next(iter(t.items()))]) for name, t in kept.tallies.items()})

    comparison = compare(first(events["poor"]), first(events["good"]))
    assert comparison.unit == "event"
    assert comparison.line("comparable").verdict.call == "better"
    assert any("one common episode" in note for note in comparison.notes)


def test_events_of_one_episode_are_not_drawn_from_one_seed(events: dict[str, Run]) -> None:
    # From one seed, the draws of both sides would move together and the difference would seem far too certain.
    def first(kept: Run) -> Run:
        return replace(kept, tallies={"owa": dict([next(iter(kept.tallies["owa"].items()))])})

    line = compare(first(events["good"]), first(events["poor"])).line("comparable")
    n, a, b = line.n_cases, line.baseline.value or 0, line.candidate.value or 0
    expected = 2 * 1.96 * np.sqrt(a * (1 - a) / n + b * (1 - b) / n)
    assert (line.verdict.high or 0) - (line.verdict.low or 0) == pytest.approx(expected, rel=0.15)


@pytest.mark.slow
def test_other_versions_and_other_settings_are_left_out(events: dict[str, Run]) -> None:
    good = events["good"]
    newer = replace(good, versions={**good.versions, "owa": 2})
    comparison = compare(good, newer)
    assert {line.measure.part for line in comparison.lines} == {"d2e@1"}
    assert any("owa@1 and owa@2 are different measures" in note for note in comparison.notes)
    other_bins = good.settings["protocols"] | {"d2e": {"bin_ms": 100.0, "clock": "auto"}}
    coarser = replace(good, settings={**good.settings, "protocols": other_bins})
    assert {line.measure.part for line in compare(good, coarser).lines} == {"owa@1"}
    with pytest.raises(UsageError, match="no protocol in common"):
        compare(good, replace(newer, tallies={"owa": newer.tallies["owa"]}))


@pytest.mark.slow
def test_titles_distinguish_metrics(events: dict[str, Run]) -> None:
    titles = [line.measure.title for line in compare(events["good"], events["poor"]).lines]
    assert len(titles) == len(set(titles))


# --- margins -------------------------------------------------------------------------------------------------------


def test_margins_of_shares_are_absolute_and_of_other_units_relative() -> None:
    margin = Margin(0.05, {"special": 7.0})
    assert margin.of(Measure("accuracy", "", ""), 0.4, 0.5) == 0.05
    assert margin.of(Measure("p95", "", "", unit="ms"), 40.0, 50.0) == pytest.approx(2.0)
    assert margin.of(Measure("loss", "", ""), 30.0, 20.0) == pytest.approx(1.5)
    assert margin.of(Measure("special", "", "", unit="ms"), 40.0, 50.0) == 7.0
    with pytest.raises(UsageError, match="margin"):
        Margin(-0.1)


def test_a_margin_for_an_unknown_metric_hints_at_the_nearest(noisy: Make) -> None:
    with pytest.raises(UsageError, match="metric_1"):
        compare(noisy(), noisy(), margin=Margin(0.05, {"metrik_1": 0.1}))


@pytest.mark.slow
def test_everything_is_json(events: dict[str, Run]) -> None:
    text = json.dumps(compare(events["good"], events["poor"]).to_json(), allow_nan=False)
    assert '"call": "worse"' in text
