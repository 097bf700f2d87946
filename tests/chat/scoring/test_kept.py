"""What is kept between answers never changes a result: equal data share it, and nothing else does."""

from __future__ import annotations

import gc
from datetime import date
from typing import Any

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.reading.text import Reading
from assay.chat.scoring.context.claims import StateClaim
from assay.chat.scoring.kept import KeptByValue

QUERY, ANSWER = "What's the weather in Helsinki?", "It is 15 °C and clear in Helsinki."


def test_a_result_is_computed_once_for_equal_data() -> None:
    computed: list[Any] = []

    def compute(data: Any) -> str:
        computed.append(data)
        return str(data)

    kept = KeptByValue(compute)
    assert kept({"a": [1, "b"]}) == kept({"a": [1, "b"]}) == "{'a': [1, 'b']}"
    assert len(computed) == 1


def test_data_of_another_type_are_not_equal() -> None:
    kept = KeptByValue(repr)
    assert [kept(value) for value in (1, 1.0, True, "1")] == ["1", "1.0", "True", "'1'"]


def test_data_that_are_not_plain_are_computed_each_time() -> None:
    kept = KeptByValue(repr)
    assert kept({"day": date(2026, 11, 20)}) == "{'day': datetime.date(2026, 11, 20)}"


def test_a_truth_that_its_owner_changes_is_another_truth() -> None:
    evaluator = ChatbotEvaluator()
    truth: dict[str, Any] = {"current": {"city": "Helsinki", "temperature": 15, "main_condition": "clear"}}

    def scores() -> tuple[float, float]:
        entries = evaluator.evaluate_response(QUERY, ANSWER, "bot", truth)
        return entries["accuracy"].score, entries["groundedness"].score

    assert scores() == (1.0, 1.0)
    truth["current"]["temperature"] = 5
    assert scores() == (0.7, 0.0)
    truth["current"]["temperature"] = 15
    assert scores() == (1.0, 1.0)


def test_answers_with_and_without_a_day_share_a_truth_and_not_what_it_supports() -> None:
    forecast = [{"date": "2026-11-20", "temperature_max": 9, "temperature_min": 1, "condition": "snow"}]
    truth = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "rain"}, "forecast": forecast}
    expected = {"It will be 5 °C in Oslo.": 1.0, "It will be 5 °C in Oslo tomorrow.": 0.0}
    for responses in (list(expected), list(reversed(expected))):
        evaluator = ChatbotEvaluator(metrics=["groundedness"])
        for response in responses:
            entries = evaluator.evaluate_response("Weather in Oslo tomorrow?", response, "x", truth)
            assert entries["groundedness"].score == expected[response]


ANSWERS = (
    "Yes, it rains in Oslo, 5 to 9 °C.",
    'You said "rain": I cannot say. Take a coat.',
    "It will rain tomorrow and be sunny on Friday. Which city did you mean?",
)
FORECAST = {"date": "2026-11-20", "temperature_max": 9, "temperature_min": 5, "condition": "rain"}
TRUTH = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "clear"}, "forecast": [FORECAST]}
ASKED: list[tuple[str, Any]] = [
    ("Weather in Oslo?", TRUTH),
    ("Weather in Oslo tomorrow?", TRUTH),
    ("Will it rain in Oslo on Friday?", TRUTH),
    ("Weather in Rome?", {"current": {"city": "Rome", "temperature": 5, "main_condition": "rain"}}),
    ("Weather in Oslo?", None),
    ("Is there rain?", None),
    ("Hello!", None),
]


def test_one_answer_to_several_questions_is_scored_as_if_it_were_to_each_alone() -> None:
    def scored(at: int, answer: str) -> dict[str, Any]:
        return evaluator.evaluate_response(ASKED[at][0], answer, "bot", ASKED[at][1])

    for answer in ANSWERS:
        alone = []
        for at in range(len(ASKED)):
            evaluator = ChatbotEvaluator()
            evaluator.reader._short.clear()  # what is kept with a reading is forgotten with it
            alone.append(scored(at, answer))
        evaluator = ChatbotEvaluator()
        assert len({str(entries) for entries in alone}) > 4
        for first in range(len(ASKED)):
            for second in range(len(ASKED)):
                assert [scored(first, answer), scored(second, answer)] == [alone[first], alone[second]]


def test_few_answers_are_kept_for_later_turns() -> None:
    """Each that is kept costs time: a garbage collection goes through all that was found in it."""
    evaluator = ChatbotEvaluator()
    answer = "It is 5 °C in Oslo with rain, so take an umbrella and a warm coat, and plan your day for layers, answer"
    for at in range(200):
        evaluator.evaluate_response("Weather in Oslo?", f"{answer} {at}.", "bot", TRUTH)
    # By type: asking other objects for their class has effects in some libraries.
    kept = [one for one in gc.get_objects() if type(one) is Reading and one.text.startswith(answer)]
    assert len(kept) < 70


def test_what_an_answer_claims_is_kept_for_questions_about_the_same_truth_and_day() -> None:
    evaluator = ChatbotEvaluator()

    def claims(query: str, truth: dict[str, Any], answer: str = ANSWERS[0]) -> list[StateClaim]:
        return evaluator.context(query, answer, "bot", truth=truth).state_claims

    now = claims("Weather in Oslo?", TRUTH)
    assert claims("Is it raining in Oslo?", TRUTH) is now
    assert [claim.day for claim in now] == [None]
    assert [claim.day for claim in claims("Weather in Oslo tomorrow?", TRUTH)] == ["tomorrow"]
    in_rome = {"current": {"city": "Rome", "temperature": 5, "main_condition": "rain"}}
    assert [claim.is_about_truth for claim in now] == [True]
    assert [claim.is_about_truth for claim in claims("Weather in Oslo?", in_rome)] == [False]


def test_words_that_quote_one_user_are_claimed_to_another() -> None:
    evaluator = ChatbotEvaluator()
    answer = 'It is what they call "heavy rain".'
    claims = [
        [claim.what for claim in evaluator.context(query, answer, "bot").state_claims]
        for query in ("Is it heavy rain?", "Is it wet?", "Is it heavy rain?")
    ]
    assert claims == [[], ["rain"], []]
