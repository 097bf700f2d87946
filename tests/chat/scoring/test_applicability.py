"""What a suite of ours expects of an agent with tools of its own: what cannot be known of it is not checked."""

from __future__ import annotations

from typing import Any

import pytest

from assay import chat
from assay.chat.checks import Check
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.scoring.answering import answer_of
from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.applicability import expectations_of, unmeasured_checks
from assay.chat.suites import Suite
from assay.chat.transcript import ToolCall, Transcript, Turn

ANSWER = "It is 12 °C and raining in Helsinki, so take an umbrella."
BUNDLED = ("get_current_weather", "get_weather_forecast")
EXPECTED = [ToolCall(name="get_current_weather", arguments={"city": "Helsinki"})]


def checks(*texts: str) -> list[Check]:
    return [Check.model_validate(text) for text in texts]


def groundedness(response: str, tool_calls: list[dict[str, Any]] | None) -> Any:
    asked = "What's the weather like in Helsinki right now?"
    return ChatbotEvaluator().evaluate_response(asked, response, "mine", tool_calls=tool_calls)["groundedness"]


# --- figures and their sources ---------------------------------------------------------------------------------------


def test_calls_whose_results_are_not_reported_are_no_source() -> None:
    call = {"name": "get_weather", "arguments": {"city": "Helsinki"}}
    unknown = groundedness(ANSWER, [call])
    assert not unknown.measured
    assert "what the tools returned is not known" in unknown.details
    # One result that is known is a source, right or wrong.
    assert groundedness(ANSWER, [call, {**call, "result": {"temperature": 12}}]).score == 1
    wrong = groundedness(ANSWER, [call, {**call, "result": {"temperature": 25}}])
    assert (wrong.measured, wrong.score) == (True, 0)


def test_without_any_call_and_after_a_failed_one_a_figure_is_made_up() -> None:
    for calls in ([], [{"name": "get_weather", "error": "timeout"}]):
        entry = groundedness(ANSWER, calls)
        assert (entry.measured, entry.score) == (True, 0)


# --- checks that do not apply ----------------------------------------------------------------------------------------


def test_a_plan_of_our_tools_is_not_expected_of_an_agent_whose_calls_are_unknown() -> None:
    given = checks("action_planning >= 0.5", "task_completion >= 0.7")
    found = expectations_of(EXPECTED, given, record=Record(), bundled_tools=BUNDLED, knows_truth=False)
    assert [str(check) for check in found.checks] == ["task_completion >= 0.7"]
    assert [text.partition(": ")[0] for text in found.not_applicable] == [
        "calls get_current_weather",
        "action_planning >= 0.5",
    ]


def test_an_expected_call_of_an_agent_that_reports_none_is_not_checked_and_said() -> None:
    booking = [ToolCall(name="book_room")]
    found = expectations_of(booking, [], record=Record(), bundled_tools=BUNDLED, knows_truth=True)
    assert found.not_applicable == ["calls book_room: which tools the agent calls is not known"]
    reported = expectations_of(booking, [], record=Record(own_tool_calls=0), bundled_tools=BUNDLED, knows_truth=True)
    assert (reported.calls, reported.not_applicable) == (booking, [])


def test_what_your_own_suite_expects_always_applies() -> None:
    # Not about the embedded weather: the truth is what the suite says, or there is none.
    given = checks("action_planning >= 0.5", "groundedness >= 0.9", "accuracy >= 0.9")
    calls = [ToolCall(name="get_balance"), *EXPECTED]
    found = expectations_of(calls, given, record=Record(own_tool_calls=0), bundled_tools=BUNDLED, knows_truth=True)
    assert (found.calls, found.checks) == (calls, given)
    assert not any(check.is_only_if_measured for check in found.checks)


def test_steps_that_nobody_saw_are_not_measured() -> None:
    """An agent that answers well and reports no calls is neither praised nor blamed for its plan; an honest one is."""
    said = "The weather in Helsinki: 12 °C and rain. Based on that, take an umbrella."
    asked = Turn(user="What should I wear in Helsinki?", assistant=said)
    played = Transcript(agent="mine", scenario="one", turns=[asked])
    for record in (None, Record(own_tool_calls=0), Record(model=1.0), Record()):
        turn = asked.model_copy(
            update={"tool_calls": [], "tool_call_count": 0} if record == Record(own_tool_calls=0) else {}
        )
        played.turns[0] = turn
        entry = answer_of(played, 0, ChatbotEvaluator(), record=record).entries["action_planning"]
        assert entry.measured is (record is None or record.knows_tool_calls)
        if not entry.measured:
            assert entry.details == "Not measured: which tools the agent called is not known."


def test_a_check_of_the_steps_does_not_apply_if_nobody_saw_them() -> None:
    given = checks("action_planning >= 0.5", "task_completion >= 0.7")
    for knows_truth in (True, False):
        found = expectations_of(None, given, record=Record(), bundled_tools=BUNDLED, knows_truth=knows_truth)
        assert found.not_applicable == ["action_planning >= 0.5: which tools the agent calls is not known"]
        seen = expectations_of(None, given, record=Record(model=0.1), bundled_tools=BUNDLED, knows_truth=knows_truth)
        assert (seen.checks, seen.not_applicable) == (given, [])


def test_a_check_that_needs_a_source_waits_for_the_score() -> None:
    given = checks("groundedness >= 0.9")
    found = expectations_of(None, given, record=Record(), bundled_tools=BUNDLED, knows_truth=False)
    unmeasured, wrong = groundedness(ANSWER, None), groundedness(ANSWER, [])
    assert (unmeasured.measured, wrong.measured) == (False, True)
    (check,) = found.checks
    assert check.holds({"groundedness": unmeasured})
    assert not check.holds({"groundedness": wrong})
    assert not given[0].holds({"groundedness": unmeasured})
    assert len(unmeasured_checks(found.checks, {"groundedness": unmeasured})) == 1
    assert unmeasured_checks(found.checks, {"groundedness": wrong}) == []


def test_figures_that_cannot_be_compared_with_the_truth_have_to_come_from_a_tool() -> None:
    given = checks("accuracy >= 0.9")
    found = expectations_of(None, given, record=Record(own_tool_calls=1), bundled_tools=BUNDLED, knows_truth=False)
    (check,) = found.checks
    assert (str(check), check.is_implied) == ("groundedness >= 0.9", True)
    # A suite that asks for it itself is not asked twice, and where the truth is known it takes no other's place.
    both = checks("accuracy >= 0.9", "groundedness >= 0.5")
    kept = expectations_of(None, both, record=Record(), bundled_tools=BUNDLED, knows_truth=False).checks
    assert [str(one) for one in kept] == ["groundedness >= 0.5"]
    assert expectations_of(None, given, record=Record(), bundled_tools=BUNDLED, knows_truth=True).checks == given


HELSINKI = "What's the weather like in Helsinki right now?"
LOOKED_UP = ToolCall(name="get_weather", arguments={"city": "Helsinki"}, result="It is 12 °C and raining in Helsinki.")


@pytest.mark.parametrize(
    ("said", "calls", "passes"),
    [
        ("It is 12 °C and raining in Helsinki.", [LOOKED_UP], True),
        ("It is 12 °C in Helsinki, with rain, so take an umbrella.", [LOOKED_UP], True),
        ("It is 25 °C and sunny in Helsinki, so leave your coat at home.", [LOOKED_UP], False),  # no tool says so
        (ANSWER, [], False),  # nothing was looked up
        (ANSWER, None, True),  # what was looked up is not known
        (HELSINKI, [LOOKED_UP], False),
        ("what's the weather like in helsinki right now", [], False),
        ("", [LOOKED_UP], False),
        ("It is raining in Helsinki right now, with a light wind.", [LOOKED_UP], True),  # no figure to compare
        ("It is raining in Helsinki right now, with a light wind.", [], False),
        ("It is raining in Helsinki right now, with a light wind.", None, True),
        ("I have no way to look up the weather, so I can't tell you.", [LOOKED_UP], False),
    ],
)
def test_the_words_of_an_own_tool_do_not_take_the_place_of_an_answer(
    said: str, calls: list[ToolCall] | None, passes: bool
) -> None:
    for given in (checks("accuracy >= 0.9"), checks("accuracy >= 0.9", "groundedness >= 0.9")):
        record = Record(own_tool_calls=None if calls is None else len(calls))
        kept = expectations_of(None, given, record=record, bundled_tools=BUNDLED, knows_truth=False).checks
        turn = Turn(user=HELSINKI, assistant=said, tool_calls=calls, checks=kept)
        answer = answer_of(Transcript(agent="mine", scenario="one", turns=[turn]), 0, ChatbotEvaluator())
        assert answer.passed is passes, answer.failures


def test_only_results_of_expected_calls_are_an_answer_as_they_stand() -> None:
    other = ToolCall(name="get_terms", result="All offers are subject to change.")
    fares = ToolCall(name="get_fare", result="A ticket is for two zones.")
    for call, passes in ((fares, True), (other, False)):
        turn = Turn(
            user="What is a ticket for?",
            assistant=str(call.result),
            tool_calls=[fares, other],
            expected_calls=[ToolCall(name="get_fare")],
        )
        answer = answer_of(Transcript(agent="mine", scenario="one", turns=[turn]), 0, ChatbotEvaluator())
        assert answer.passed is passes or not [one for one in answer.failures if "task_completion" in one.check]


# --- in a run --------------------------------------------------------------------------------------------------------


def told(message: str) -> str:
    return ANSWER


def called(message: str) -> dict[str, Any]:
    return {"text": ANSWER, "tool_calls": [{"name": "get_weather", "arguments": {"city": "Helsinki"}}]}


def counted(message: str) -> str:
    return "Your balance is 123.45, and it rains in Helsinki at the moment."


@pytest.mark.slow
def test_functions_that_do_not_report_results_pass_or_fail_by_what_they_say() -> None:
    agents = {"told": told, "called": called, "counted": counted}
    result = chat.run("weather", agents, scenarios=["current-helsinki"], baselines=False)
    by_agent: dict[str, Answer] = {answer.agent: answer for answer in result.answers}
    for name in ("told", "called"):
        answer = by_agent[name]
        assert answer.passed, (name, answer.failures)
        assert answer.record is not None
        left_out = [text.partition(": ")[0] for text in answer.record.not_applicable]
        assert sorted(left_out) == [
            "accuracy >= 0.9",
            "action_planning >= 0.5",
            "calls get_current_weather",
            "groundedness >= 0.9",
        ], name
    # A digit without a unit is no figure that a source could have.
    assert "groundedness" not in str(by_agent["counted"].failures)


@pytest.mark.slow
def test_a_check_of_your_own_suite_fails_if_it_cannot_be_measured() -> None:
    turn = {"user": "How warm is it in Helsinki?", "checks": ["groundedness >= 0.9"]}
    suite = Suite.model_validate(
        {"name": "mine", "version": 1, "scenarios": [{"id": "a", "kind": "current", "turns": [turn]}]}
    )
    result = chat.run(suite, {"told": told}, baselines=False)
    (answer,) = result.answers
    assert not answer.passed
    assert "was not measured" in str(answer.failures)
