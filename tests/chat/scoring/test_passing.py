"""Which answers pass: silence, wrong figures and missing calls do not; a short right answer does."""

from __future__ import annotations

from typing import Any

import pytest

from assay.chat import ToolCall, Transcript, Turn, score
from assay.chat.scoring.answers import Answer, FailedCheck

FARE: dict[str, Any] = {"product": "single ticket", "price": 89.9, "availability": "in stock"}
RAIN: dict[str, Any] = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "rain"}}


def scored(said: str, *, domain: str = "shop", user: str = "How much is a single ticket?", **turn: Any) -> Answer:
    turn = {"truth": FARE if domain == "shop" else RAIN, **turn}
    made = Turn(user=user, assistant=said, **turn)
    return score([Transcript(agent="a", scenario="s", domain=domain, names=["single ticket"], turns=[made])]).answers[0]


def failed(answer: Answer) -> list[str]:
    return [failure.check for failure in answer.failures]


# --- the default rule ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["...", "I don't know", "Sorry, I cannot say what a ticket costs today.", "Which one?"]
)
def test_silence_does_not_pass(said: str) -> None:
    answer = scored(said)
    assert not answer.passed
    assert failed(answer)[0] == "claims what was asked for"


@pytest.mark.parametrize(
    ("said", "demanded", "passes"),
    [
        ("It is 4.", ["4"], True),
        ("The sum of the two numbers that you named is 4.", ["4"], True),
        ("It is 5.", ["4"], False),
        ("It is between -40 and 40.", ["4"], False),  # not as a word
        ("What is 2 + 2?", ["2"], False),  # only what the question has
        ("Error: 4", ["4"], False),
    ],
)
def test_an_answer_that_says_what_is_demanded_passes_without_a_truth(
    said: str, demanded: list[str], passes: bool
) -> None:
    assert scored(said, user="What is 2 + 2?", truth=None, says=demanded).passed is passes


@pytest.mark.parametrize(
    ("demanded", "result", "error", "passes"),
    [
        ("no loan B-99", {"error": "no loan B-99"}, None, True),
        ("no loan B-99", None, "ValueError: no loan B-99", True),
        ("no loan B-99", {"title": "Emma"}, None, False),  # the tool found it
        ("B-99", {"error": "no loan B-99"}, None, False),  # the question has it
    ],
)
def test_an_error_that_the_scenario_demands_passes(
    demanded: str, result: object, error: str | None, passes: bool
) -> None:
    call = ToolCall(name="find_loan", arguments={"loan_id": "B-99"}, result=result, error=error)
    said = "I could not do that: no loan B-99."
    answer = scored(said, user="When is loan B-99 due?", truth=None, says=[demanded], tool_calls=[call])
    assert answer.passed is passes, answer.failures


@pytest.mark.parametrize(
    ("said", "result", "passes"),
    [
        ("It's always sunny in Oslo!", "It's always sunny in Oslo!", True),
        ("Here it is: the weather in Oslo is sunny.", {"report": "The weather in Oslo is sunny."}, True),
        ("It's always sunny in", "It's always sunny in Oslo!", False),  # cut off
        ("Sunny in Oslo.", "sunny in Oslo", False),  # three words may stand in any answer
        ("It's always sunny in Oslo!", None, False),
    ],
)
def test_an_answer_that_passes_on_a_sentence_of_a_tool_passes_without_a_truth(
    said: str, result: object, passes: bool
) -> None:
    calls = [ToolCall(name="get_weather", arguments={"city": "Oslo"}, result=result)]
    asked = "What is the weather in Oslo?"
    assert scored(said, domain="weather", user=asked, truth=None, tool_calls=calls).passed is passes


@pytest.mark.parametrize(
    ("said", "result", "passes"),
    [
        ("Dish: goulash. Minutes: 35.", {"status": "success", "dish": "goulash", "minutes": 35.0}, True),
        ("It takes 35 minutes to make goulash: chop, fry.", {"dish": "Goulash", "n": 35, "do": ["chop", "fry"]}, True),
        ("Dish: goulash. Minutes: 355.", {"dish": "goulash", "minutes": 35}, False),  # another figure
        ("Dish: goulash. Minutes: 35.5.", {"dish": "goulash", "minutes": 35}, False),
        ("Dish: goulash, on its way.", {"dish": "goulash", "minutes": 35}, False),  # not everything
        ("A recipe for goulash.", {"dish": "goulash", "what": "recipe"}, False),  # nothing that was not asked
        ("It takes 35.", {"status": "success", "minutes": 35}, False),  # one value may stand in any answer
    ],
)
def test_an_answer_that_states_a_whole_table_of_a_tool_passes_without_a_truth(
    said: str, result: object, passes: bool
) -> None:
    calls = [ToolCall(name="find_recipe", arguments={"dish": "goulash"}, result=result)]
    asked = "Find a recipe for goulash."
    assert scored(said, domain="weather", user=asked, truth=None, tool_calls=calls).passed is passes


@pytest.mark.parametrize(
    ("said", "result", "passes"),
    [
        ("Roll dice: 5.", 5, True),
        ("You got 5.5!", 5.5, True),
        ("Roll dice: 5.", 6, False),
        ("Roll dice: 4.", 4, False),  # the question has it
        ("Roll dice: yes.", True, False),
        ("Roll dice: five.", "five", False),  # a word may stand in any answer
    ],
)
def test_an_answer_with_the_figure_that_is_all_a_tool_returned_passes_without_a_truth(
    said: str, result: object, passes: bool
) -> None:
    calls = [ToolCall(name="roll_dice", arguments={}, result=result)]
    answer = scored(said, domain="weather", user="My guess is 4", truth=None, tool_calls=calls)
    assert answer.passed is passes, answer.failures


def test_a_wrong_figure_fails_whatever_the_mean_is() -> None:
    answer = scored("A single ticket costs €98.90, and it is in stock in every shop of the city, as it always was.")
    assert answer.entries["accuracy"].score >= 0.7
    assert answer.failures[0] == FailedCheck(
        "nothing is wrong", "a figure is wrong: off by 9 € (true: 89.9 €)", "€98.90"
    )


def test_a_contradicted_state_fails() -> None:
    answer = scored("It is 5 °C and clear and sunny in Oslo.", domain="weather", user="What's the weather in Oslo?")
    assert "nothing is wrong" in failed(answer)
    assert "clear" in answer.failures[0].words


@pytest.mark.parametrize("said", ["€89.90.", "89.90 euros", "A single ticket costs €89.90."])
def test_a_short_right_answer_passes(said: str) -> None:
    assert scored(said).passed


def test_a_short_right_answer_keeps_the_points_of_the_length_rule() -> None:
    assert scored("€89.90.").entries["task_completion"].score == 0.1


def test_what_is_asked_for_must_be_claimed_and_something_else_is_not_enough() -> None:
    assert failed(scored("Tickets are in stock at every shop of ours, all day long."))[0] == "claims what was asked for"
    assert scored("Tickets are in stock at every shop, all day long.", user="Are tickets in stock?").passed
    [what] = scored(
        "It is raining in Oslo at the moment, so take care.", domain="weather", user="temperature in oslo pls"
    ).failures[:1]
    assert what.says == "the question asks for a figure in °C, and the answer has none"


def test_an_error_does_not_complete_the_task_even_with_a_right_figure() -> None:
    answer = scored("Error: something went wrong. €89.90")
    assert "task_completion >= 0.7" in failed(answer)


def test_without_a_truth_the_task_must_be_completed() -> None:
    assert failed(scored("No idea, honestly, ask somebody else.", truth=None)) == ["task_completion >= 0.7"]


# --- calls -----------------------------------------------------------------------------------------------------------

CALLED = [ToolCall(name="get_fare", arguments={"kind": "single", "zone": 2})]


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ([ToolCall(name="get_fair")], "get_fair was not called; get_fare was called instead"),
        ([ToolCall(name="get_fare", arguments={"kind": "day"})], "get_fare got kind='single', expected 'day'"),
        ([*CALLED, *CALLED], "get_fare was not called"),
    ],
)
def test_an_expected_call_that_was_not_made_fails(expected: list[ToolCall], says: str) -> None:
    answer = scored("€89.90.", tool_calls=CALLED, expected_calls=expected)
    [failure] = answer.failures
    assert failure.check == f"calls {expected[0].name}"
    assert failure.says == says


@pytest.mark.parametrize("expected", [None, CALLED, [ToolCall(name="get_fare")]])
def test_expected_calls_that_were_made_pass(expected: list[ToolCall] | None) -> None:
    assert scored("€89.90.", tool_calls=CALLED, expected_calls=expected).passed


def test_additional_calls_pass_but_not_if_none_is_expected() -> None:
    more = [*CALLED, ToolCall(name="get_zones")]
    assert scored("€89.90.", tool_calls=more, expected_calls=CALLED).passed
    [failure] = scored("€89.90.", tool_calls=more, expected_calls=[]).failures
    assert str(failure) == "calls no tool: get_fare, get_zones was called"
    assert scored("€89.90.", tool_calls=[], expected_calls=[]).passed


def test_unknown_calls_are_not_held_against_an_answer() -> None:
    assert scored("€89.90.", tool_calls=None, expected_calls=CALLED).passed


def test_calls_count_in_addition_to_checks_of_the_scenario() -> None:
    check = {"metric": "accuracy", "is": ">=", "value": 0.7}
    answer = scored("€89.90.", checks=[check], tool_calls=[], expected_calls=CALLED)
    assert failed(answer) == ["calls get_fare"]


# --- the scenario's own checks ---------------------------------------------------------------------------------------


def test_a_failed_check_says_what_was_wrong_with_the_words() -> None:
    check = {"metric": "accuracy", "is": ">=", "value": 0.9}
    [failure] = scored("A ticket is €98.90 and in stock.", checks=[check]).failures
    assert failure.check == "accuracy >= 0.9"
    assert failure.says == "accuracy is 0.70: a figure is wrong: off by 9 € (true: 89.9 €)"
    assert failure.words == "€98.90"
    assert str(failure) == f"accuracy >= 0.9: {failure.says} (“€98.90”)"


def test_a_check_of_something_unmeasured_or_unscored_says_so() -> None:
    slow = {"metric": "response_time", "is": ">=", "value": 0.1}
    other = {"metric": "politeness", "is": "<", "value": 0.1}
    measured = {"metric": "response_time", "is": "measured", "value": 1}
    answer = scored("€89.90.", checks=[slow, other, measured])
    assert [str(failure) for failure in answer.failures] == [
        "response_time >= 0.1: response_time was not measured: the response time is not known",
        "politeness < 0.1: politeness was not scored",
        "response_time measured: response_time was not measured: the response time is not known",
    ]


def test_texts_are_required_in_addition_to_the_default_rule() -> None:
    assert failed(scored("", never_says=["sorry"])) == ["gives an answer"]
    answer = scored("€89.90. PARDON!", says=["zone"], never_says=["pardon"])
    assert [str(failure) for failure in answer.failures] == [
        'says "zone": the answer does not contain it',
        'never says "pardon": the answer contains it (“PARDON”)',
    ]


def test_failures_survive_json() -> None:
    answer = scored("€98.90")
    assert Answer.from_json(answer.to_json()).failures == answer.failures
    assert Answer.from_json(answer.to_row()).failures == answer.failures
