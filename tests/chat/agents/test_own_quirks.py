"""What comes of quirks in agent objects of a user's own, whose tools and answers only they themselves know.

Played on the real packages. Each fact was seen with the versions in constraints.txt.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from assay import chat
from assay.chat.scoring.answers import Answer
from assay.chat.scoring.outcomes.quirk_matrix import QuirkCell, quirk_matrix
from assay.runs.results import ExperimentResult

pytestmark = [pytest.mark.frameworks, pytest.mark.slow(seconds=8)]
_FOLDER = Path(__file__).parent / "quickstarts"
AGENTS = {
    "graph": "langgraph:langgraph_quickstart:agent",
    "defaulting": "pydantic-ai:pydantic_weather:agent",
    "by-tool": "pydantic-ai:pydantic_weather:structured",
    "adk": "adk:adk_report:plain",
    "adk-by-tool": "adk:adk_report:structured",
}
SCENARIOS = [
    "arguments-cut-off",
    "arguments-missing",
    "arguments-wrong-type",
    "unknown-tool",
    "empty-answer",
    "empty-answer-once",
    "length",
    "no-finish-reason",
]
Turns = Mapping[tuple[str, str, int], Answer]


@pytest.fixture(scope="module")
def result() -> ExperimentResult:
    with pytest.MonkeyPatch.context() as patched:
        for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            patched.delenv(variable, raising=False)
        patched.chdir(_FOLDER)
        return chat.run("robustness", AGENTS, scenarios=SCENARIOS, baselines=False)


@pytest.fixture(scope="module")
def cells(result: ExperimentResult) -> Mapping[tuple[str, str], QuirkCell]:
    return {(row.scenario, cell.agent): cell for row in quirk_matrix(result.scores) for cell in row.cells}


@pytest.fixture(scope="module")
def turns(result: ExperimentResult) -> Turns:
    return {(one.scenario, one.agent, one.turn): one for one in result.answers}


@pytest.mark.parametrize(
    ("scenario", "agent", "outcome", "did"),
    [
        # It repairs what was cut off, and tells the weather of another city.
        ("arguments-cut-off", "graph", "failed_silently", "ran get_weather with city='Porto'"),
        # What was lost has a default.
        ("arguments-missing", "defaulting", "failed_silently", "ran get_weather without arguments"),
        # It checks no types.
        ("arguments-wrong-type", "adk", "failed_silently", "ran get_weather with city=42"),
        # The model hears of it, and makes the call again.
        ("arguments-cut-off", "defaulting", "recovered", "told the model that 1 call failed"),
        ("arguments-missing", "graph", "recovered", "told the model that 1 call failed"),
        ("unknown-tool", "graph", "recovered", "told the model that 1 call failed"),
        ("unknown-tool", "adk", "recovered", "told the model that 1 call failed"),
    ],
)
def test_what_ran_is_compared_with_what_was_meant(
    cells: Mapping[tuple[str, str], QuirkCell], scenario: str, agent: str, outcome: str, did: str
) -> None:
    assert cells[scenario, agent].worst == outcome
    assert cells[scenario, agent].did == (did,)


def test_a_silent_repair_says_what_was_meant(turns: Turns) -> None:
    answer = turns["arguments-cut-off", "graph", 0]
    assert not answer.passed
    assert "get_weather ran with city='Porto', and the model meant city='Porto Alegre'" in str(answer.failures[0])


def test_an_answer_that_is_given_to_a_tool_can_be_empty_and_cut_off(
    cells: Mapping[tuple[str, str], QuirkCell],
) -> None:
    assert cells["empty-answer", "by-tool"].worst == "failed_clearly"
    assert cells["empty-answer-once", "by-tool"].worst == "recovered"  # it asks again
    assert cells["length", "by-tool"].did == ("raised IncompleteToolCall",)
    assert cells["no-finish-reason", "by-tool"].worst == "recovered"
    assert cells["empty-answer-once", "adk-by-tool"].worst == "failed_silently"
    assert cells["no-finish-reason", "adk-by-tool"].worst == "recovered"


def test_the_call_that_is_the_answer_is_no_call_of_a_tool(turns: Turns) -> None:
    for agent in ("by-tool", "adk-by-tool"):
        for scenario in SCENARIOS:
            record = turns[scenario, agent, 1].record
            assert record is not None
            assert [call.name for call in record.tool_calls] == ["get_weather"]
            assert record.own_tool_calls == 1
