"""What a report about agents shows, counted by hand: how trials ended, the matrix, times, accounts, faults."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.report.agent_scores import answer, scored

from assay.chat.scoring.answers import Record
from assay.chat.transcript import ToolCall
from assay.report.facts import accounts, scenario_matrix, survival_by_fault, time_facts, trial_counts


def test_a_trial_ends_as_its_worst_turn() -> None:
    ended = trial_counts(
        [
            answer("adk", "one"),
            answer("adk", "one", turn=1, status="failed", passed=False),
            answer("adk", "two", status="skipped", passed=False),
            answer("adk", "three"),
            answer("adk", "three", repetition=1),
        ]
    )
    assert (ended.scored, ended.skipped, ended.failed, ended.total) == (2, 1, 1, 4)


def test_cells_count_repetitions_and_keep_every_reason_once() -> None:
    rows = scenario_matrix(
        scored(
            answer("adk", "one"),
            answer("adk", "one", repetition=1, status="failed", passed=False, reason="boom"),
            answer("adk", "one", repetition=2, status="failed", passed=False, reason="boom"),
            *(
                answer("lang", "one", turn=at, status="skipped", passed=False, reason="not installed")
                for at in range(2)
            ),
        )
    )
    adk, lang = rows[0].cells
    assert (adk.passed, adk.trials, adk.failed, adk.skipped, adk.state) == (1, 3, 2, 0, "some")
    assert adk.reasons == ("failed: boom",)
    assert (lang.trials, lang.skipped, lang.state, lang.reasons) == (0, 1, "skipped", ("skipped: not installed",))
    assert rows[0].differs


@pytest.mark.parametrize(
    ("adk", "lang", "differs"),
    [((True, True), (True, True), False), ((True, False), (False, True), False), ((True, True), (True, False), True)],
)
def test_agents_differ_if_different_shares_pass(adk: Sequence[bool], lang: Sequence[bool], differs: bool) -> None:
    some = [
        answer(agent, "one", passed, repetition=at)
        for agent, trials in (("adk", adk), ("lang", lang))
        for at, passed in enumerate(trials)
    ]
    assert scenario_matrix(scored(*some))[0].differs is differs


def test_a_scenario_that_one_agent_did_not_play_is_absent_and_differs() -> None:
    rows = scenario_matrix(scored(answer("adk", "one"), answer("adk", "two"), answer("lang", "one")))
    (two,) = [row for row in rows if row.scenario == "two"]
    assert two.cells[1].state == "absent"
    assert two.differs


def test_scenarios_are_grouped_by_kind_and_the_most_different_come_first() -> None:
    rows = scenario_matrix(
        scored(
            *(answer(agent, "a1", kind="a") for agent in ("adk", "lang")),
            *(answer(agent, "b1", kind="b") for agent in ("adk", "lang")),
            *(answer(agent, "a2", passed=agent == "adk", kind="a") for agent in ("adk", "lang")),
        )
    )
    assert [row.scenario for row in rows] == ["a2", "a1", "b1"]


def test_the_parts_of_a_typical_turn_add_up_and_the_rest_is_the_frameworks() -> None:
    # Ten turns of 100 ms: 60 the model, 30 tools, so 10 are left; and one that took a minute.
    usual = [answer("adk", f"s{at}", wall=0.1, model=0.06, tools=0.03, model_calls=2) for at in range(10)]
    slow = answer("adk", "slow", wall=60.0, model=59.0, tools=0.5, model_calls=2)
    found = time_facts(scored(*usual, slow), "adk")
    assert found.typical == pytest.approx({"model": 0.06, "tools": 0.03, "framework": 0.01})
    assert sum(found.typical.values()) == pytest.approx(0.1)
    assert found.wall is not None
    assert found.wall[0] == pytest.approx(0.1)
    assert found.overhead.value == pytest.approx(0.01)
    assert (found.turns, found.model_calls, found.tool_calls) == (11, 2, 0)
    assert found.first_text is None
    assert found.input_tokens is None


def test_calls_that_nobody_saw_are_unknown_and_not_none() -> None:
    # An endpoint or a function has no spans: its model may have been called any number of times.
    own = answer("bot", "one", wall=0.1, own_tool_calls=1)
    found = time_facts(scored(own), "bot")
    assert (found.model_calls, found.tool_calls) == (None, 0)
    record = own.record
    assert record is not None
    assert record.to_json()["model_calls"] is None
    assert Record.from_json(record.to_json()) == record
    # With spans, none is a number.
    seen = answer("adk", "one", wall=0.1, model=0.0, tools=0.0)
    assert time_facts(scored(seen), "adk").model_calls == 0


def test_failed_turns_have_no_times() -> None:
    failed = answer("adk", "one", passed=False, status="failed", wall=9.0, model=1.0, tools=1.0)
    assert time_facts(scored(failed), "adk").turns == 0


def test_a_framework_that_counts_differently_is_found() -> None:
    call = ToolCall(name="get")
    found = accounts(
        scored(
            answer("adk", "one", own_tool_calls=1, tool_calls=[call], own_tokens=12, input_tokens=10, output_tokens=2),
            answer("adk", "two", own_tool_calls=2, tool_calls=[call], own_tokens=13, input_tokens=10, output_tokens=2),
            answer("adk", "three"),
        ),
        "adk",
    )
    assert found.tool_calls == found.tokens == (1, 2)
    assert [what for _, what in found.differing] == ["2 tool calls, by spans 1", "13 tokens, by spans 12"]
    assert found.wire == (0, 0)


def test_spans_that_count_other_tokens_than_the_responses_are_found() -> None:
    found = accounts(
        scored(
            answer("adk", "one", input_tokens=10, output_tokens=2, wire_tokens=12),
            answer("adk", "two", input_tokens=100, output_tokens=20, own_tokens=120, wire_tokens=12),
            answer("adk", "three", input_tokens=10, output_tokens=2),
        ),
        "adk",
    )
    assert (found.wire, found.tokens) == ((1, 2), (0, 1))
    assert [what for _, what in found.differing] == ["120 tokens by spans, by the responses 12"]


def test_tool_calls_that_nobody_reports_are_unknown_and_not_none() -> None:
    unknown = answer("mine", "one", wall=0.1)
    assert time_facts(scored(unknown), "mine").tool_calls is None
    assert time_facts(scored(unknown, answer("mine", "two", own_tool_calls=0, wall=0.1)), "mine").tool_calls == 0
    broken = answer("mine", "one", wall=0.1, broken_streams=2)
    assert time_facts(scored(broken), "mine").broken_streams == 1


def test_a_fault_is_survived_if_the_turn_is_scored_and_passes() -> None:
    found = survival_by_fault(
        scored(
            answer("adk", "one", fault="timeout"),
            answer("adk", "one", passed=False, repetition=1, fault="timeout"),
            answer("adk", "one", passed=False, repetition=2, fault="timeout", status="failed", reason="boom"),
            answer("adk", "two", passed=False, fault="timeout", status="skipped"),
            answer("lang", "one"),
        )
    )
    adk, lang = found["timeout"]
    assert (adk.survived, adk.turns, adk.failed, adk.errors) == (1, 3, 1, {"boom": 1})
    assert lang.turns == 0
