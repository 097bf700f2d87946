"""The outcome of a quirk, and what the framework did about it: computed by hand from answer, truth, error and spans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.scoring.answering import answer_of
from assay.chat.scoring.answers import Answer, FailedCheck, Record
from assay.chat.scoring.outcomes.alterations import told_alteration
from assay.chat.scoring.outcomes.quirk_matrix import quirk_matrix, quirk_summaries, quirks_json
from assay.chat.scoring.outcomes.quirk_turns import broken_turn, with_outcome, without_quirk
from assay.chat.scoring.outcomes.robustness import (
    OUTCOMES,
    QuirkOutcome,
    is_acceptable,
    outcome_of,
    reactions,
    severity,
    told_reactions,
    works_afterwards,
)
from assay.chat.scoring.scores import Scores
from assay.chat.scoring.tallies import tallies_of
from assay.chat.transcript import ToolCall, Transcript, Turn
from assay.compare import compare, side_of
from assay.report.failures import failures_of
from assay.types import Case, Distribution


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        ({"is_right": True}, "recovered"),
        ({"is_right": True, "says_so": True}, "recovered"),  # it tells of the trouble, and then the right answer
        ({"says_so": True}, "degraded"),
        ({}, "failed_silently"),
        ({"breakdown": "exception"}, "failed_clearly"),
        ({"breakdown": "timeout"}, "hung"),
        ({"breakdown": "crash"}, "crashed"),
        ({"breakdown": "timeout", "is_right": True}, "hung"),  # text that came before the turn broke down is no answer
    ],
)
def test_outcome_follows_from_the_answer_and_how_the_turn_ended(seen: dict[str, Any], outcome: str) -> None:
    assert outcome_of(**seen) == outcome


UNABLE = "I have no way to look up the weather here, so I can't tell you. You can check a website instead."


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (UNABLE, "recovered"),  # all that the model says
        (f"  {UNABLE}\n", "recovered"),
        ("I have no way to look up the weather here, so", "failed_silently"),  # cut off
        (f"<think>Figures.</think> {UNABLE}", "failed_silently"),
        ("", "failed_silently"),
        ("I'm sorry, but I can't help with that.", "degraded"),
    ],
)
def test_if_the_model_cannot_help_the_whole_of_what_it_says_is_right(said: str, outcome: str) -> None:
    turn = Turn(user="What's the weather in Rome?", assistant=said, truth={"city": "Rome", "temperature": 21.0})
    transcript = Transcript(agent="mine", scenario="rome", turns=[turn])
    record = Record(quirk="length", beyond_model=True, undisturbed=UNABLE)
    answer = answer_of(transcript, 0, ChatbotEvaluator(metrics=["accuracy", "task_completion"]), record=record)
    assert answer.record is not None
    assert answer.record.outcome == outcome


def test_outcomes_are_ordered_and_the_first_three_are_acceptable() -> None:
    assert [severity(outcome) for outcome in OUTCOMES] == [0, 1, 2, 3, 4, 5]
    assert [is_acceptable(outcome) for outcome in OUTCOMES] == [True, True, True, False, False, False]
    assert [is_acceptable(outcome, "recovered") for outcome in OUTCOMES] == [True, *[False] * 5]


def test_answer_that_says_nothing_of_its_trouble_fails_silently() -> None:
    said = {
        "It is 21 °C and sunny in Rome.": "recovered",
        "It is 3 °C and sunny in Rome.": "failed_silently",
        "": "failed_silently",
        "The weather in Rome": "failed_silently",
        "I'm sorry, I couldn't get the weather for Rome: the service is not available.": "degraded",
        "I'm sorry, but I can't help with that.": "degraded",
    }
    evaluator = ChatbotEvaluator(metrics=["accuracy", "task_completion"])
    truth = {"city": "Rome", "temperature": 21.0, "condition": "sunny"}
    for text, outcome in said.items():
        turn = Turn(user="What's the weather in Rome?", assistant=text, truth=truth)
        transcript = Transcript(agent="bot", scenario="rome", turns=[turn])
        answer = answer_of(transcript, 0, evaluator, record=Record(quirk="length"))
        assert answer.record is not None
        assert (text, answer.record.outcome) == (text, outcome)
        assert answer.passed is (outcome != "failed_silently")


# --- what the framework did -----------------------------------------------------------------------------------------

ROME = ToolCall(name="look_up", arguments={"city": "Rome"}, result={"temperature": 21})
REFUSED = ToolCall(name="look_up", arguments={"raw": "Rom"}, error="not JSON")


@pytest.mark.parametrize(
    ("record", "response", "did"),
    [
        (Record(tool_calls=[ROME], model_calls=2, requests=2), "21 °C", []),
        (
            Record(tool_calls=[REFUSED, ROME], model_calls=3, requests=4),
            "21 °C",
            ["told the model that 1 call failed", "repeated 1 request"],
        ),
        (Record(model_calls=1, requests=1), "", ["gave an empty answer"]),
        (
            Record(
                tool_calls=[REFUSED] * 8,
                model_calls=8,
                requests=8,
                status="failed",
                breakdown="exception",
                reason="LimitError: 8 calls",
            ),
            "",
            ["told the model that 8 calls failed", "called the model 8 times", "raised LimitError"],
        ),
        (
            Record(model_calls=1, requests=3, status="failed", breakdown="timeout", reason="TimeoutError: 10 s"),
            "It is",
            ["repeated 2 requests", "sent 5 characters of text", "did not end in time"],
        ),
        (
            Record(tool_calls=[ToolCall(name="look_up", arguments={"city": "Ro"}, result={})], model_calls=2),
            "30 °C",
            ["ran look_up with city='Ro'"],
        ),
        (
            Record(tool_calls=[ToolCall(name="look_up", arguments={"city": city}) for city in "ABC"], model_calls=2),
            "30 °C",
            ["ran 3 calls with other arguments"],
        ),
        (Record(status="failed", breakdown="crash", reason="its process ended"), "", ["ended its process"]),
    ],
)
def test_reactions_are_read_from_spans_and_requests(record: Record, response: str, did: list[str]) -> None:
    assert reactions(record, response=response, expected=[ROME], limit=8) == did


TURIN = ToolCall(name="look_up", arguments={"city": "Turin"}, result={"temperature": 12})
IN_UNITS = ToolCall(name="look_up", arguments={"city": "Rome", "units": "metric"}, result={"temperature": 21})
NOWHERE = ToolCall(name="look_up", result={"temperature": 9})
CUT = Record(quirk="arguments_cut_off*1", meant_calls=[ROME], model_calls=2)


@pytest.mark.parametrize(
    ("ran", "said", "outcome"),
    [
        ([ROME], "It is 21 °C in Rome.", "recovered"),
        ([TURIN], "It is 12 °C in Rome.", "failed_silently"),  # repaired, and wrong
        ([NOWHERE], "It is 9 °C in Rome.", "failed_silently"),  # a default took the place of what was lost
        ([TURIN], "I'm sorry, I couldn't get the weather in Rome: the service is not available.", "degraded"),
        ([REFUSED, ROME], "It is 21 °C in Rome.", "recovered"),  # told, and made again
        ([TURIN, ROME], "It is 21 °C in Rome.", "recovered"),
        (
            [ROME.model_copy(update={"arguments": {"city": "Rome", "units": "metric"}})],
            "It is 21 °C in Rome.",
            "recovered",
        ),
        ([TURIN, ROME], "It is 12 °C in Rome.", "failed_silently"),  # it tells what was not meant
        ([TURIN.model_copy(update={"name": "time_in"})], "It is 21 °C in Rome.", "recovered"),  # another tool
    ],
)
def test_a_call_that_was_repaired_to_another_one_fails_silently(ran: list[ToolCall], said: str, outcome: str) -> None:
    """Even if nothing else of the answer can be checked, as with tools of a user's own."""
    turn = Turn(user="What's the weather in Rome?", assistant=said, tool_calls=ran)
    transcript = Transcript(agent="mine", scenario="rome", turns=[turn])
    record = CUT.model_copy(update={"tool_calls": ran})
    answer = answer_of(transcript, 0, ChatbotEvaluator(metrics=["accuracy", "task_completion"]), record=record)
    assert answer.record is not None
    assert answer.record.outcome == outcome


SUNNY = "The weather in Rome is sunny with a high of 25 °C."


@pytest.mark.parametrize(
    ("said", "changed", "outcome"),
    [
        (SUNNY, None, "recovered"),
        (SUNNY, SUNNY[:40], "recovered"),  # it asked again
        (SUNNY[:43], SUNNY[:43], "failed_silently"),
        (f"<think>Look it up.</think>\n\n{SUNNY}", f"<think>Look it up.</think>\n\n{SUNNY}", "failed_silently"),
        (SUNNY, f"<think>Look it up.</think>\n\n{SUNNY}", "recovered"),  # the reasoning is left out
        ("", "", "failed_silently"),
        ("I'm sorry, I couldn't get the weather: the service is not available.", "", "degraded"),
    ],
)
def test_an_answer_of_own_tools_is_compared_with_what_the_model_said(
    said: str, changed: str | None, outcome: str
) -> None:
    call = ToolCall(name="get_weather", arguments={"city": "Rome"}, result=SUNNY)
    turn = Turn(user="What's the weather in Rome?", assistant=said, tool_calls=[call])
    transcript = Transcript(agent="mine", scenario="rome", turns=[turn])
    record = Record(quirk="length", undisturbed=SUNNY, changed_answer=changed, tool_calls=[call])
    answer = answer_of(transcript, 0, ChatbotEvaluator(metrics=["accuracy", "task_completion"]), record=record)
    assert answer.record is not None
    assert answer.record.outcome == outcome


def test_the_words_of_the_model_may_stand_inside_a_structured_answer() -> None:
    for said, outcome in ((f"advice='{SUNNY}' risk=1", "recovered"), ("advice='risk' risk=1", "failed_silently")):
        turn = Turn(user="What's the weather in Rome?", assistant=said)
        transcript = Transcript(agent="mine", scenario="rome", turns=[turn])
        record = Record(quirk="keep_alive", undisturbed=SUNNY, structured_answer=True)
        answer = answer_of(transcript, 0, ChatbotEvaluator(metrics=["accuracy", "task_completion"]), record=record)
        assert answer.record is not None
        assert answer.record.outcome == outcome


def test_what_an_own_tool_refuses_is_no_failure_of_the_framework() -> None:
    """The model says so undisturbed, and the user gets exactly that, unless the scenario demands something else."""
    refused = "Weather information for 'Rome' is not available."
    for says, never_says, outcome in (
        ([], [], "recovered"),
        ([], ["look it up"], "recovered"),
        (["25 °C"], [], "degraded"),
        ([], ["not available"], "degraded"),
    ):
        turn = Turn(user="What's the weather in Rome?", assistant=refused, says=says, never_says=never_says)
        transcript = Transcript(agent="mine", scenario="rome", turns=[turn])
        record = Record(quirk="keep_alive", undisturbed=refused)
        answer = answer_of(transcript, 0, ChatbotEvaluator(metrics=["accuracy", "task_completion"]), record=record)
        assert answer.record is not None
        assert answer.record.outcome == outcome


def test_what_the_framework_did_is_told_to_its_end() -> None:
    once = Record(tool_calls=[REFUSED, ROME], model_calls=1, requests=2)
    did = reactions(once, response="21 °C", limit=1)
    assert did == ["repeated 1 request", "called the model once"]
    assert told_reactions(did, None) == "The framework repeated 1 request, called the model once and answered."
    assert told_reactions(["told the model that 1 call failed"], None) == (
        "The framework told the model that 1 call failed and answered."
    )
    assert told_reactions(["gave an empty answer"], None) == "The framework gave an empty answer."
    cut = Record(model_calls=2, status="failed", breakdown="exception", reason="ReadTimeout: 5 s")
    broken = reactions(cut, response="I", limit=2)
    assert told_reactions(broken, "exception") == (
        "The framework called the model twice, sent 1 character of text and raised ReadTimeout."
    )
    assert told_reactions([], None) == ""


def test_what_ran_is_told_beside_what_was_meant() -> None:
    for call, words in ((TURIN, "with city='Turin'"), (NOWHERE, "without arguments")):
        record = CUT.model_copy(update={"tool_calls": [call]})
        assert reactions(record, response="It is 12 °C.") == [f"ran look_up {words}"]
        assert told_alteration(record, "It is 12 °C.") == f"look_up ran {words}, and the model meant city='Rome'"
    assert told_alteration(Record(tool_calls=[TURIN]), "It is 12 °C.") == ""  # what was meant is not known
    year = ToolCall(name="look_up", arguments={"year": 64})
    told_as_text = Record(meant_calls=[year], tool_calls=[ToolCall(name="look_up", arguments={"year": "64"})])
    assert told_alteration(told_as_text, "In 64.") == ""


def test_turn_passes_by_its_outcome() -> None:
    failed = Record(quirk="status_500", status="failed", breakdown="exception", reason="ServerError: 500")
    kept, failures = broken_turn(failed, "", expected=None, limit=8, worst=None)
    assert (kept.outcome, failures) == ("failed_clearly", ())
    _, failures = broken_turn(failed, "", expected=None, limit=8, worst="recovered")
    assert failures == (FailedCheck("recovers", "failed clearly: ServerError: 500"),)
    # A turn without a quirk has no outcome, however it ends.
    assert broken_turn(Record(breakdown="exception"), "", expected=None, limit=8, worst=None)[0].outcome is None
    _, failures = with_outcome(Record(quirk="length"), "failed_silently", None, [FailedCheck("says it", "does not")])
    assert failures == (
        FailedCheck("recovers, tells the user or raises an error", "failed silently: says it: does not"),
    )


# --- the matrix -----------------------------------------------------------------------------------------------------


def trial(agent: str, scenario: str, outcome: QuirkOutcome, *, next_passes: bool = True) -> list[Answer]:
    """A turn with a quirk and a plain one."""
    record = Record(quirk="length*1", outcome=outcome, kind="answer", did=["gave an empty answer"])
    common: dict[str, Any] = {"agent": agent, "scenario": scenario, "repetition": 0, "entries": {}}
    return [
        Answer(**common, turn=0, query="?", response="", passed=is_acceptable(outcome), record=record),
        Answer(**common, turn=1, query="?", response="", passed=next_passes, record=Record(kind="answer")),
    ]


ANSWERS = (
    *trial("a", "mild", "recovered"),
    *trial("b", "mild", "recovered"),
    *trial("a", "apart", "failed_silently"),
    *trial("b", "apart", "recovered", next_passes=False),
    *trial("a", "bad", "hung"),
    *trial("b", "bad", "failed_silently"),
)
SCORES = Scores(ANSWERS, ())


def test_worst_rows_come_first_and_harmless_ones_last() -> None:
    rows = quirk_matrix(SCORES)
    assert [row.scenario for row in rows] == ["bad", "apart", "mild"]
    assert [row.badness for row in rows] == [(2, 7, 0), (1, 3, 1), (0, 0, 0)]
    assert [row.is_harmless for row in rows] == [False, False, True]
    assert [row.differs for row in rows] == [True, True, False]
    assert rows[0].words == "the answer is cut off, with finish_reason 'length', once"


def test_sums_count_trials_by_outcome() -> None:
    a, b = quirk_summaries(quirk_matrix(SCORES), ["a", "b"])
    assert (a.counts["recovered"], a.counts["failed_silently"], a.counts["hung"]) == (1, 1, 1)
    assert (a.handled, a.total, a.works) == (1, 3, (3, 3))
    assert (b.handled, b.total, b.works) == (2, 3, (2, 3))
    data = quirks_json(SCORES)
    assert data is not None
    assert data["agents"]["b"]["next_turns_passed"] == 2
    assert data["matrix"][0]["agents"]["a"]["outcome"] == "hung"
    assert quirks_json(Scores((), ())) is None


def test_next_turn_is_what_follows_the_last_quirk() -> None:
    assert works_afterwards(ANSWERS[:2]) is True
    assert works_afterwards(ANSWERS[6:8]) is False
    assert works_afterwards(ANSWERS[:1]) is None  # nothing follows
    assert works_afterwards(ANSWERS[1:2]) is None  # no quirk


def unplayed(trial: list[Answer]) -> list[Answer]:
    skipped = Record(status="skipped", quirk="length*1", kind="answer", reason="cannot reach it")
    return [replace(answer, passed=False, record=skipped) for answer in trial]


def without_its_quirk(agent: str, scenario: str, *, next_fails: bool = False) -> list[Answer]:
    first, then = trial(agent, scenario, "recovered")
    record = without_quirk(Record(quirk="unknown_tool", quirk_occurred=False, kind="answer"))
    later = Record(status="failed" if next_fails else "scored")
    return [replace(first, passed=False, record=record), replace(then, passed=not next_fails, record=later)]


def test_a_quirk_that_did_not_occur_counts_nowhere() -> None:
    answers = [*without_its_quirk("a", "absent"), *trial("a", "met", "recovered"), *trial("b", "absent", "hung")]
    scores = Scores(tuple(answers), ())
    assert answers[0].record is not None
    assert answers[0].record.reason == "the quirk unknown_tool did not occur: the turn had no call of a tool"
    assert scores.trials("a") == {"met": {0: True}}
    absent, met = quirk_matrix(scores)
    assert (absent.scenario, absent.badness, absent.differs, absent.is_harmless) == ("absent", (1, 4, 0), False, False)
    assert (absent.cells[0].worst, absent.cells[0].missing, absent.cells[0].works) == (None, 1, (0, 0))
    assert met.is_harmless
    a, b = quirk_summaries([absent, met], ["a", "b"])
    assert (a.total, a.missing, a.works) == (1, 1, (1, 1))
    assert (b.total, b.missing) == (1, 0)
    data = quirks_json(scores)
    assert data is not None
    assert data["agents"]["a"]["did_not_occur"] == data["matrix"][0]["agents"]["a"]["did_not_occur"] == 1
    assert "quirks_handled" not in tallies_of(answers)["a"][Case("absent")]
    # Nor does a check that the next turn fails.
    first, then = without_its_quirk("a", "absent")
    then = replace(then, passed=False, failures=(FailedCheck("says it", "does not"),))
    assert failures_of(Scores((first, then), ())) == []
    # A row in which it occurred for nobody is not one from which all recovered; a turn that fails is a failure.
    alone = Scores(tuple(without_its_quirk("a", "absent", next_fails=True)), ())
    assert not quirk_matrix(alone)[0].is_harmless
    assert alone.trials("a") == {"absent": {0: False}}


def test_a_turn_that_fails_without_its_quirk_is_a_plain_failure() -> None:
    failed = Record(quirk="unknown_tool", quirk_occurred=False, status="failed", breakdown="exception", reason="No!")
    assert broken_turn(failed, "", expected=None, limit=8, worst=None) == (failed, ())


def test_the_next_turn_counts_if_it_was_played_and_works_with_an_answer_if_expectations_do_not_apply() -> None:
    first, then = trial("a", "s", "degraded", next_passes=False)
    assert works_afterwards(unplayed([first, then])) is None
    lacking = Record(not_applicable=["accuracy >= 0.9: the agent's tools are its own"])
    assert works_afterwards([first, replace(then, record=lacking, response="I have no way to look it up.")]) is True
    assert works_afterwards([first, replace(then, record=lacking, response=" ")]) is False
    broken = lacking.model_copy(update={"status": "failed"})
    assert works_afterwards([first, replace(then, record=broken, response="I have")]) is False


def test_outcomes_are_tallied_and_compared() -> None:
    tallies = tallies_of(ANSWERS)
    of_apart = tallies["b"][Case("apart")]
    assert of_apart["quirks_recovered"] == Distribution.of([1.0])
    assert of_apart["next_turns_passed"] == Distribution.of([0.0])
    assert tallies["a"][Case("bad")]["quirks_handled"] == Distribution.of([0.0])
    run = SCORES.as_run()
    compared = compare(side_of(run, "a"), side_of(run, "b"))
    # a handles one of three, b two of three.
    assert compared.line("quirks_handled").verdict.difference == pytest.approx(1 / 3)
    assert compared.line("next_turns_passed").verdict.difference == pytest.approx(-1 / 3)
