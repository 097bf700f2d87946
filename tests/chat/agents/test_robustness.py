"""Where the five frameworks differ if a model misbehaves, the user hangs up, or a tool needs their approval: a few
scenarios of three suites, played once on the real packages.

Each fact was seen with the versions in constraints.txt. If one changes with a version, the framework has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from assay.chat.agents import AGENTS, Limits
from assay.chat.running.hosts.host import LocalHost
from assay.chat.running.runner import Runner
from assay.chat.running.scoring_process import LocalScorer
from assay.chat.running.sinks import MemorySink
from assay.chat.running.trials import Pace
from assay.chat.scoring.answers import Answer
from assay.chat.scoring.outcomes.interruption_matrix import InterruptionCell, interruption_matrix
from assay.chat.scoring.outcomes.quirk_matrix import QuirkCell, quirk_matrix
from assay.chat.scoring.scores import Scores
from assay.runs import plan_experiment

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.slow(seconds=4),
    # A framework that warns of what a model sends has not failed; in a user's process it would go on too.
    pytest.mark.filterwarnings("ignore"),
]

ADK, MAF, OPENAI, LANGGRAPH, PYDANTIC = "google-adk", "agent-framework", "openai-agents", "langgraph", "pydantic-ai"
FIVE = (ADK, MAF, OPENAI, LANGGRAPH, PYDANTIC)
OK, TOLD, ERROR, SILENT = "recovered", "degraded", "failed_clearly", "failed_silently"
DIFFERENCES = {
    "arguments-object": (ERROR, OK, ERROR, ERROR, OK),
    "arguments-cut-off": (OK, OK, OK, SILENT, OK),
    "arguments-not-json": (OK, OK, OK, SILENT, OK),
    "arguments-not-json-always": (ERROR, ERROR, ERROR, SILENT, ERROR),
    "arguments-list": (ERROR, OK, OK, SILENT, OK),
    "calls-end-with-length": (OK, OK, OK, SILENT, OK),
    "stream-ends-in-arguments": (OK, OK, OK, SILENT, OK),
    "missing-call-id": (OK, OK, ERROR, ERROR, OK),
    "empty-call-id": (OK, OK, ERROR, OK, OK),
    "duplicate-call-ids": (OK, OK, ERROR, OK, OK),
    "ignores-stream": (SILENT, SILENT, SILENT, ERROR, ERROR),
    "html": (SILENT, SILENT, SILENT, ERROR, ERROR),
    "error-with-status-200": (SILENT, SILENT, SILENT, ERROR, ERROR),
    "refusal": (SILENT, TOLD, ERROR, SILENT, ERROR),
    "content-filter-empty": (ERROR, SILENT, ERROR, SILENT, ERROR),
    "empty-answer": (SILENT, SILENT, SILENT, SILENT, ERROR),
    "null-answer": (SILENT, SILENT, SILENT, SILENT, ERROR),
    "empty-answer-once": (SILENT, SILENT, SILENT, SILENT, OK),
    "think-tags": (SILENT, SILENT, SILENT, SILENT, OK),
    "tool-not-utf8": (OK, OK, OK, ERROR, TOLD),
}
"""Every row of the matrix in which the five differ, in the order of FIVE."""
ALIKE = ("length", "content-filter", "stream-ends-in-text", "tool-exception", "usage-in-every-chunk")
QUIRKS = (*DIFFERENCES, *ALIKE)

INTERRUPTED = {
    "cancellation": ("hang-up-text-first", "hang-up-tool-first", "hang-up-between-first"),
    "consent": ("consent-approved-later", "consent-refused", "consent-unanswered"),
}

Cells = Mapping[tuple[str, str], QuirkCell]
Interrupted = Mapping[tuple[str, str], InterruptionCell]


@pytest.fixture(scope="module")
def result() -> Scores:
    return asyncio.run(played("robustness", QUIRKS))


async def played(suite: str, scenarios: Sequence[str]) -> Scores:
    """In this process, which spares five others their start; `test_cli.py` plays quirks in processes of their own."""
    experiment = plan_experiment(suite, FIVE, scenarios=scenarios, metrics=["accuracy", "task_completion"])
    evaluator, sink = experiment.evaluator(), MemorySink()
    # A busy machine is no reason for a timeout.
    environment, pace = replace(experiment.environment, limits=Limits()), Pace(turn_timeout=120, warm_up=False)
    async with environment.opened() as services:
        setup = replace(services.setup(), has_deletion=experiment.suite.has_consent)
        hosts = {agent: LocalHost(AGENTS.get(agent), setup) for agent in FIVE}
        runner = Runner(
            experiment.suite,
            hosts,
            services.look_up_truth,
            scorer=LocalScorer(evaluator, at_once=1),
            pace=pace,
            model_call_limit=8,
            calls=services.calls,
        )
        await runner.run(sink)
        for host in hosts.values():
            await host.close()
    answers, _ = experiment.in_order(sink.answers)
    return Scores(tuple(answers), evaluator.metrics)


@pytest.fixture(scope="module")
def cells(result: Scores) -> Cells:
    return {(row.scenario, cell.agent): cell for row in quirk_matrix(result) for cell in row.cells}


def outcomes(cells: Cells, scenario: str) -> list[str | None]:
    """In the order of FIVE."""
    return [cells[scenario, agent].worst for agent in FIVE]


def answer(result: Scores, scenario: str, agent: str) -> Answer:
    """The turn with the quirk."""
    return next(one for one in result.answers if (one.scenario, one.agent, one.turn) == (scenario, agent, 0))


@pytest.mark.parametrize("scenario", DIFFERENCES)
def test_the_five_differ_in_the_matrix(cells: Cells, scenario: str) -> None:
    assert outcomes(cells, scenario) == [*DIFFERENCES[scenario]]


@pytest.mark.parametrize("scenario", ["length", "content-filter", "stream-ends-in-text"])
def test_an_answer_that_is_cut_off_is_passed_on_by_all_five(result: Scores, cells: Cells, scenario: str) -> None:
    assert outcomes(cells, scenario) == [SILENT] * 5
    assert all(answer(result, scenario, agent).response for agent in FIVE)


def test_calls_without_an_id_break_the_next_turn_of_two(cells: Cells) -> None:
    assert {agent for agent in FIVE if cells["missing-call-id", agent].is_broken} == {MAF, LANGGRAPH}
    broken = {scenario for scenario in DIFFERENCES for agent in FIVE if cells[scenario, agent].is_broken}
    assert broken == {"missing-call-id", "empty-call-id"}


def test_arguments_as_an_object_pass_in_two_and_raise_in_three(result: Scores, cells: Cells) -> None:
    expected = ["failed_clearly", "recovered", "failed_clearly", "failed_clearly", "recovered"]
    assert outcomes(cells, "arguments-object") == expected
    raised = [cells["arguments-object", agent].did[-1] for agent in (ADK, OPENAI, LANGGRAPH)]
    assert raised == ["raised TypeError", "raised TypeError", "raised ValidationError"]


def test_cut_off_arguments_are_repaired_and_run_by_one(result: Scores, cells: Cells) -> None:
    assert outcomes(cells, "arguments-cut-off") == [*["recovered"] * 3, "failed_silently", "recovered"]
    assert cells["arguments-cut-off", LANGGRAPH].did == ("ran get_current_weather with city='Porto'",)
    assert "Porto Alegre" not in answer(result, "arguments-cut-off", LANGGRAPH).response
    for agent in set(FIVE) - {LANGGRAPH}:
        assert cells["arguments-cut-off", agent].did == ("told the model that 1 call failed",)


def test_arguments_that_are_not_json_end_the_turn_of_one_silently(cells: Cells) -> None:
    assert outcomes(cells, "arguments-not-json") == [*["recovered"] * 3, "failed_silently", "recovered"]
    assert cells["arguments-not-json", LANGGRAPH].did == ("gave an empty answer",)


def test_model_that_ignores_stream_gives_three_empty_answers_and_two_errors(cells: Cells) -> None:
    expected = [*["failed_silently"] * 3, "failed_clearly", "failed_clearly"]
    assert outcomes(cells, "ignores-stream") == expected
    assert all(cells["ignores-stream", agent].did == ("gave an empty answer",) for agent in (ADK, MAF, OPENAI))


def test_empty_call_id_fails_one_and_breaks_the_next_turn_of_another(cells: Cells) -> None:
    expected = ["recovered", "recovered", "failed_clearly", "recovered", "recovered"]
    assert outcomes(cells, "empty-call-id") == expected
    assert [agent for agent in FIVE if cells["empty-call-id", agent].is_broken] == [MAF]
    assert any("must answer a preceding message" in reason for reason in cells["empty-call-id", MAF].reasons)


def test_refusal_is_shown_by_one_raised_by_two_and_lost_by_two(cells: Cells) -> None:
    expected = ["failed_silently", "degraded", "failed_clearly", "failed_silently", "failed_clearly"]
    assert outcomes(cells, "refusal") == expected


def test_one_asks_again_after_an_empty_answer(cells: Cells) -> None:
    assert outcomes(cells, "empty-answer-once") == [*["failed_silently"] * 4, "recovered"]


def test_every_assistant_reports_an_exception_in_a_tool_to_its_model(cells: Cells) -> None:
    assert outcomes(cells, "tool-exception") == ["degraded"] * 5
    assert all(cells["tool-exception", agent].did == ("told the model that 1 call failed",) for agent in FIVE)


def test_turns_have_their_spans_and_requests(result: Scores) -> None:
    for agent in FIVE:
        record = answer(result, "tool-exception", agent).record
        assert record is not None
        assert record.requests == record.model_calls == 2
        assert any(span.failed for span in record.spans) or agent == ADK  # ADK's span of a told failure succeeds
        assert sum(span.name.startswith("execute_tool get_current_weather") for span in record.spans) == 1


def test_counts_in_every_chunk_are_added_up_by_two_and_the_wire_shows_it(result: Scores, cells: Cells) -> None:
    assert outcomes(cells, "usage-in-every-chunk") == ["recovered"] * 5
    for agent in FIVE:
        record = answer(result, "usage-in-every-chunk", agent).record
        assert record is not None
        assert record.wire_tokens is not None
        told = (record.input_tokens or 0) + (record.output_tokens or 0)
        if agent in (LANGGRAPH, PYDANTIC):
            assert told > 5 * record.wire_tokens
            assert any(did.startswith("counted") for did in record.did)
        else:
            assert told == record.wire_tokens


# --- a user who hangs up or has to approve a tool ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def results() -> dict[str, Scores]:
    return {suite: asyncio.run(played(suite, scenarios)) for suite, scenarios in INTERRUPTED.items()}


@pytest.fixture(scope="module")
def interrupted(results: dict[str, Scores]) -> Interrupted:
    rows = [row for scores in results.values() for row in interruption_matrix(scores)]
    return {(row.scenario, cell.agent): cell for row in rows for cell in row.cells}


def who(interrupted: Interrupted, scenario: str, fact: str) -> set[str]:
    """The agents of which something is true in a scenario."""
    return {agent for agent in FIVE if getattr(interrupted[scenario, agent], fact)}


def last(scores: Scores, scenario: str, agent: str) -> Answer:
    return [one for one in scores.answers if (one.scenario, one.agent) == (scenario, agent)][-1]


@pytest.mark.parametrize("scenario", INTERRUPTED["cancellation"])
def test_model_and_tools_stop_in_all_five(interrupted: Interrupted, scenario: str) -> None:
    assert who(interrupted, scenario, "is_kept") == set(FIVE)
    held = {agent for agent in FIVE if interrupted[scenario, agent].stopped_ms is not None}
    assert held == (set() if "between" in scenario else set(FIVE))


@pytest.mark.parametrize("scenario", INTERRUPTED["cancellation"])
def test_two_forget_the_message_that_was_interrupted(interrupted: Interrupted, scenario: str) -> None:
    assert who(interrupted, scenario, "keeps_message") == {ADK, OPENAI, LANGGRAPH}


def test_langgraph_keeps_a_call_without_a_result_and_the_endpoint_refuses_every_later_turn(
    interrupted: Interrupted, results: dict[str, Scores]
) -> None:
    assert who(interrupted, "hang-up-tool-first", "is_broken") == {LANGGRAPH}
    assert (
        who(interrupted, "hang-up-text-first", "is_broken")
        == who(interrupted, "hang-up-between-first", "is_broken")
        == set()
    )
    failed = last(results["cancellation"], "hang-up-tool-first", LANGGRAPH).record
    assert failed is not None
    assert "did not have response messages" in failed.reason
    assert failed.history_flaws == ["2 calls without a result"]


@pytest.mark.parametrize("scenario", INTERRUPTED["consent"])
def test_all_five_ask_and_keep_the_decision(interrupted: Interrupted, scenario: str) -> None:
    assert who(interrupted, scenario, "is_kept") == set(FIVE)


def test_two_do_not_go_on_if_the_user_never_answers(interrupted: Interrupted, results: dict[str, Scores]) -> None:
    assert who(interrupted, "consent-unanswered", "is_broken") == {LANGGRAPH, PYDANTIC}
    assert (
        who(interrupted, "consent-refused", "is_broken")
        == who(interrupted, "consent-approved-later", "is_broken")
        == set()
    )
    failed = last(results["consent"], "consent-unanswered", PYDANTIC).record
    assert failed is not None
    assert "unprocessed tool calls" in failed.reason
