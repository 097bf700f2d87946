"""The decision: who leads is who leads, what was measured once has no interval, and a tie names what would end it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.report.agent_scores import METRIC, answer, scored

from assay.chat.load.results import AgentLoad, LoadStep
from assay.chat.scoring.answers import Answer, Status
from assay.chat.scoring.metric import Entry, Metric
from assay.chat.scoring.outcomes.interruptions import ConsentRecord, HangUpRecord
from assay.chat.scoring.scores import Scores
from assay.compare.decision import Decision, PriorityAnswer, decide
from assay.compare.overall import overall
from assay.compare.weights import PRIORITIES
from assay.errors import UsageError
from assay.report.decision import by_words, given_up_words, leader_words, needed_words, untested_words
from assay.runs.combining import combined
from assay.runs.results import ExperimentResult
from assay.types import Distribution

EFFORT = Metric("implementation_effort", "developer experience", 0.5, (), "How easy was it to build?")


def decided(scores: Scores, **settings: object) -> Decision:
    found = decide(scores, **settings)  # type: ignore[arg-type]
    assert found is not None
    return found


def users(found: Decision) -> PriorityAnswer:
    return found.answers[0]


def test_an_agent_that_passes_everything_leads_and_one_that_passes_half_does_not() -> None:
    scores = scored(*(answer(agent, f"s{at}", agent == "a" or at % 2 == 0) for agent in "ab" for at in range(40)))
    found = decided(scores)
    assert [one.priority for one in found.answers] == list(PRIORITIES)
    for one in found.answers:
        assert (one.leaders, one.second, one.sureness) == (("a",), "b", "sure")
        assert one.low is not None
        assert one.low > 0
        assert one.first_in == 1.0
        assert one.made_by[0][0] == "trials_passed"
        assert one.gives_up == ()
    # Users: trials passed weigh 5, accuracy 3; 0.5 of 5 in 8.
    assert users(found).lead == pytest.approx(0.5 * 5 / 8)
    assert leader_words(users(found)) == "a leads"
    assert given_up_words(users(found)) == "No measured criterion is given up."
    assert needed_words(users(found), found) == ""


def test_a_lead_that_chance_explains_says_how_many_scenarios_would_decide() -> None:
    scores = scored(*(answer(agent, f"s{at}", (agent, at) != ("b", 3)) for agent in "ab" for at in range(12)))
    found = decided(scores)
    one = users(found)
    assert one.sureness == "open"
    assert one.needed is not None
    assert one.needed[1] > 12
    assert "nothing separates it from b" in leader_words(one)
    assert "such scenarios would decide" in needed_words(one, found)
    assert given_up_words(one) == ""


def test_a_lead_that_nobody_could_be_sure_of_is_a_tie() -> None:
    # b is ahead in 20 scenarios and behind in 19 by as much: a lead of 0.1/40 of accuracy, of which noise is 40 times.
    def score(agent: str, at: int) -> float:
        return 0.9 if (agent == "b") == (at % 2 == 0 or at == 39) or at == 37 else 0.8

    scores = scored(*(answer(agent, f"s{at}", score=score(agent, at)) for agent in "abc" for at in range(40)))
    found = decided(scores)
    one = users(found)
    assert (one.sureness, one.leaders[0], one.lead, one.first_in) == ("tie", "b", None, None)
    assert set(one.leaders) == {"a", "b", "c"}
    assert one.apart is not None
    assert 0.0005 < one.apart < 0.01
    assert leader_words(one) == "b, a and c tie"
    assert by_words(one).startswith("Their overall scores differ by at most 0.00")
    assert needed_words(one, found) == "Only many times as many scenarios of this kind could tell them apart."
    assert one.to_json()["apart"] == one.apart


def test_a_lead_that_rounds_to_nothing_is_a_tie_unless_it_is_sure() -> None:
    def decided_by(*scores: float) -> PriorityAnswer:
        answers = [answer("b", f"s{at}", score=0.5 + score) for at, score in enumerate(scores)]
        return users(decided(scored(*answers, *(answer("a", f"s{at}", score=0.5) for at in range(len(scores))))))

    one = decided_by(0.01, *[0.0] * 19)
    assert (one.sureness, by_words(one)) == (
        "tie",
        "Their overall scores differ by less than 0.001, and the choice of scenarios may explain it.",
    )
    sure = decided_by(*[0.01] * 20, *[0.0] * 180)
    assert sure.sureness == "sure"
    assert by_words(sure).startswith("less than 0.001 ahead of a")


def test_an_agent_that_fails_does_not_tie_with_one_that_answers() -> None:
    # No trial passes. "late" answers one turn as "calm" answers all, and ends with an error in every scenario.
    def turns(agent: str, at: int) -> list[Answer]:
        first = answer(agent, f"s{at}", False, score=0.5)
        if agent == "calm" or not at:
            status: Status = "scored" if agent == "calm" else "failed"
            return [first, answer(agent, f"s{at}", False, turn=1, status=status, score=0.5)]
        return [
            answer(agent, f"s{at}", False, status="failed", reason="status 401"),
            answer(agent, f"s{at}", False, turn=1, status="skipped", reason="turn 1 failed"),
        ]

    found = decided(scored(*(one for agent in ("late", "calm") for at in range(8) for one in turns(agent, at))))
    for one in found.answers:
        assert (one.leaders, one.sureness) == (("calm",), "sure")
        assert [name for name, _ in one.made_by] == ["turns_answered"]
    # Users: trials passed and turns answered weigh 5, accuracy 3. late answers 1 of 2 turns of one scenario of eight.
    assert users(found).lead == pytest.approx((1 - 1 / 16) * 5 / 13)
    assert "by turns answered" in by_words(users(found))


def test_turns_answered_count_only_if_one_was_not() -> None:
    calm = scored(*(answer(agent, f"s{at}") for agent in "ab" for at in range(8)))
    assert "turns_answered" not in overall(calm).to_json()["weights"]
    # A scenario that is skipped from its first turn on says nothing about who answers.
    apart = scored(*calm.answers, answer("a", "s8", False, status="failed"), answer("b", "s8", False, status="skipped"))
    means = overall(apart).to_json()["means"]
    assert means["a"]["turns_answered"] == pytest.approx(8 / 9)
    assert means["b"]["turns_answered"] == 1.0


@pytest.mark.parametrize("spread", [0.0, 1e-5])
def test_a_few_scenarios_that_are_alike_are_not_sure(spread: float) -> None:
    def cheaper(scenarios: int) -> Decision:
        costs = [("a", 0.01, 0.0), ("b", 0.011, spread)]
        return decided(
            scored(
                *(
                    answer(agent, f"s{at}", cost=cost + at * more)
                    for agent, cost, more in costs
                    for at in range(scenarios)
                )
            )
        )

    # Three coins fall on the same side in one of four trials, and six in one of 32.
    for scenarios in (2, 3, 5):
        found = cheaper(scenarios)
        one = found.answers[-1]
        assert (one.leaders, one.sureness, one.low, one.gives_up) == (("a",), "open", 0.0, ())
        assert one.needed is not None
        assert one.needed[0] >= 6
        assert "The choice of scenarios may explain it" in by_words(one)
        assert "such scenarios would decide" in needed_words(one, found)
    assert cheaper(6).answers[-1].sureness == "sure"


def test_agents_that_are_alike_tie_and_the_other_tests_are_named() -> None:
    found = decided(scored(*(answer(agent, f"s{at}") for agent in "abc" for at in range(5))))
    for one in found.answers:
        assert (one.sureness, one.leaders, one.lead, one.first_in) == ("tie", ("a", "b", "c"), None, None)
    assert leader_words(users(found)) == "a, b and c tie"
    # Five scenarios can have missed 1 - 0.025^(1/5) = 52 % of all, 72 only 5 %.
    more = "More scenarios of this kind may tell them apart: after 5, up to 52\u00a0% of all may still do so."
    assert needed_words(users(found), found) == more
    many = decided(scored(*(answer(agent, f"s{at}") for agent in "abc" for at in range(72))))
    assert needed_words(users(many), many) == "More scenarios of this kind would not decide."
    assert found.untested == ("robustness", "restart", "cancellation", "consent", "load", "cost")
    words = untested_words(found)
    suites = "assay chat run --suite robustness` and the same with restart, cancellation and consent"
    bundled = "Restart, cancellation and consent are for agents that come with assay."
    for part in (suites, "assay chat load", bundled):
        assert part in words
    assert "Developer experience was not measured, so what developers feel rests on the other criteria." in words


def with_effort(one: Answer, score: float) -> Answer:
    entries = {**one.entries, EFFORT.name: Entry.make(EFFORT, score, measured=True, details="", evidence=[])}
    return Answer(**{name: getattr(one, name) for name in Answer.__slots__} | {"entries": entries})


def test_developer_experience_is_one_measurement_without_an_interval() -> None:
    answers = [with_effort(answer(agent, f"s{at}"), 0.9 if agent == "a" else 0.5) for agent in "ab" for at in range(20)]
    scores = Scores(tuple(answers), (METRIC, EFFORT))
    for line in scores.lines():
        is_once = line.metric == EFFORT.name
        assert (line.estimate.low is None) == is_once
    developers = decided(scores).answers[1]
    # Trials passed weigh 5, accuracy 1, effort 5: 0.4 of 5 in 11.
    assert (developers.once, developers.lead) == pytest.approx((0.4 * 5 / 11, 0.4 * 5 / 11))
    assert (developers.sureness, developers.first_in) == ("once", None)
    assert developers.by_scenarios == pytest.approx(0.0)
    assert "was measured once and has no interval" in by_words(developers)
    assert users(decided(scores)).sureness == "tie"  # users do not feel it
    # With four scenarios that are alike, a fifth may differ by more than that; with enough of them it leads, as above.
    few = decided(Scores(tuple(one for one in answers if one.scenario in ("s0", "s1", "s2", "s3")), (METRIC, EFFORT)))
    assert few.answers[1].sureness == "open"
    assert few.answers[1].needed == (19, 19)  # the first n with 1 - 0.025 ** (1 / n) < 0.4 * 5 / 11
    found = overall(scores)
    assert found.uncertainty.lead is not None
    assert found.uncertainty.lead.low is None
    assert found.uncertainty.first == {}


def test_more_scenarios_decide_against_what_was_measured_once() -> None:
    # Scenarios alone separate the two; a measurement in favour of b leaves it open, and more scenarios would decide.
    answers = [
        with_effort(answer(agent, f"s{at}", agent == "a" or at >= 6), 0.8 if agent == "a" else 0.9)
        for agent in "ab"
        for at in range(30)
    ]
    developers = decided(Scores(tuple(answers), (METRIC, EFFORT))).answers[1]
    assert developers.leaders == ("a",)
    assert developers.low is not None
    assert developers.low > 0 > developers.low + developers.once
    ((name, adds),) = developers.once_by
    assert name == EFFORT.name
    assert adds == pytest.approx(-0.1 * 5 / 11)
    assert developers.sureness == "open"
    assert developers.needed is not None
    assert developers.needed[0] > 30
    assert f"Of this, {EFFORT.name.replace('_', ' ')} −0.045 was measured once" in by_words(developers)


def test_what_another_agent_does_better_is_given_up() -> None:
    answers = [
        answer(agent, f"s{at}", agent == "a", score=0.5 if agent == "a" else 1.0) for agent in "ab" for at in range(20)
    ]
    one = users(decided(scored(*answers)))
    assert one.leaders == ("a",)
    assert [(lost.criterion, lost.to, lost.by) for lost in one.gives_up] == [("accuracy", "b", 0.5)]
    assert "accuracy to b by 0.50" in given_up_words(one)


def test_one_agent_alone_has_nothing_to_decide() -> None:
    assert decide(scored(answer("a", "one"))) is None


def result_of(agents: str, scenario: str, **more: Any) -> ExperimentResult:
    scores = scored(*(answer(agent, scenario, **more) for agent in agents))
    return ExperimentResult(scores=scores, tallies={}, suite=scenario, notes=(scenario,))


def test_runs_of_the_same_agents_are_decided_on_together() -> None:
    whole = combined([result_of("ab", "plain"), result_of("abc", "quirky", quirk="garbage", outcome="recovered")])
    assert (whole.agents, whole.suite) == (["a", "b"], "plain, quirky")
    assert whole.notes[-1] == "Not in all of these runs and left out: c."
    assert decided(whole.scores).untested == ("restart", "cancellation", "consent", "load", "cost")
    with pytest.raises(UsageError, match="two of these runs have the scenario 'plain'"):
        combined([result_of("ab", "plain"), result_of("ab", "plain")])
    with pytest.raises(UsageError, match=r"no agent in common: a, b; c, d\. Name runs"):
        combined([result_of("ab", "plain"), result_of("cd", "other")])


def step(users_: int, wall: float, breaches: int = 0) -> LoadStep:
    whole: dict[str, Any] = dict.fromkeys(
        ("repetition", "finished", "sessions", "asked", "recalled", "rss_before", "rss_peak", "rss_open", "rss_closed"),
        0,
    )
    return LoadStep(
        users=users_, conversations=1, planned_turns=2, seconds=1.0, cpu_seconds=0.1, service_cpu_seconds=0.1,
        stall=0.0, breach_count=breaches, walls=Distribution.of([wall, wall]), own=Distribution(), **whole,
    )  # fmt: skip


def test_robustness_restarts_load_and_cost_are_criteria_if_they_were_measured() -> None:
    answers = [
        answer("a", "quirk", quirk="garbage", outcome="recovered", cost=0.01),
        answer("b", "quirk", False, quirk="garbage", outcome="failed_silently", cost=0.02),
        answer("a", "killed", user_messages=2, cost=0.01),
        answer("b", "killed", False, user_messages=1, cost=0.04),
        answer("a", "hung up", hang_up=HangUpRecord(moment="text"), cost=0.01),
        answer("b", "hung up", False, hang_up=HangUpRecord(moment="text"), cost=0.01),
        answer("a", "asked", False, consent=ConsentRecord(decision="refuse"), cost=0.01),
        answer("b", "asked", consent=ConsentRecord(decision="refuse"), cost=0.01),
    ]
    loads = [AgentLoad("a", [step(10, 100.0)]), AgentLoad("b", [step(10, 200.0), step(50, 1.0)])]
    found = overall(scored(*answers), loads=loads)
    names = [criterion.name for criterion in found.means.criteria]
    means = {agent: dict(zip(names, values, strict=True)) for agent, values in found.means.values.items()}
    wanted = ("robustness", "restart", "cancellation", "consent", "load", "cost")
    picked = {agent: [of[name] for name in wanted] for agent, of in means.items()}
    # Load: the faster one's 100 ms over the own, at the most users that both had. Cost: a half, a quarter, 1 and 1.
    assert picked == {"a": [1.0, 1.0, 1.0, 0.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0, 1.0, 0.5, 0.6875]}
    assert decided(scored(*answers), loads=loads).untested == ()
    leaking = [AgentLoad("a", [step(10, 100.0, breaches=1)]), AgentLoad("b", [step(10, 200.0)])]
    found = overall(scored(*answers), loads=leaking)
    at = [criterion.name for criterion in found.means.criteria].index("load")
    assert (found.means.values["a"][at], found.means.values["b"][at]) == (0.0, 0.5)


def test_an_agent_that_recovers_is_more_robust_than_one_that_raises_errors() -> None:
    ends = {"a": ("recovered", "recovered", "degraded"), "b": ("failed_clearly", "recovered", "failed_silently")}
    answers = [
        answer(agent, f"q{at}", quirk="garbage", outcome=outcome)
        for agent, outcomes in ends.items()
        for at, outcome in enumerate(outcomes)
    ]
    found = overall(scored(*answers))
    at = [criterion.name for criterion in found.means.criteria].index("robustness")
    # a: (1 + 1 + 2/3) / 3; b: (1/3 + 1 + 0) / 3. All trials pass, so only this tells them apart.
    assert found.means.values["a"][at] == pytest.approx(8 / 9)
    assert found.means.values["b"][at] == pytest.approx(4 / 9)
    assert users(decided(scored(*answers))).leaders == ("a",)
