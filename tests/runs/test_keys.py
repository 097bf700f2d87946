"""Keys that agents let slip, in whatever shape, are neither in the store's file, nor in the page, nor in the export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.chat.running.test_runner import RIGHT, play, suite
from tests.report import agent_pages
from tests.test_redaction import BASIC, SHAPES, K

from assay.chat import score
from assay.chat.scoring.metric import METRICS
from assay.chat.scoring.scores import Scores
from assay.chat.transcript import ToolCall, Transcript, Turn
from assay.report.html import chat as chat_page
from assay.runs.from_results import recorded_run
from assay.store import open_store

SECRETS = (K, K[:8], K.upper()[:8], BASIC)


def raises(text: str) -> Any:
    def answer(message: str) -> str:
        raise RuntimeError(text)

    return answer


def replies(text: str) -> Any:
    def answer(message: str) -> dict[str, Any]:
        call = {"name": "get", "arguments": {"q": text, "url": [text]}, "result": {"body": text}, "error": text}
        return {"text": f"{RIGHT} {text}", "tool_calls": [call]}

    return answer


def assert_clean(content: str | bytes) -> None:
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    for secret in SECRETS:
        assert secret not in text, text[max(0, text.index(secret) - 80) : text.index(secret) + 40]


@pytest.fixture(scope="module")
def scores() -> Scores:
    agents = {f"raises {shape}": raises(text) for shape, text in SHAPES.items()}
    agents |= {f"replies {shape}": replies(text) for shape, text in SHAPES.items()}
    answers = play(suite(1), agents).answers
    assert {answer.record.status for answer in answers if answer.record} == {"scored", "failed"}
    return Scores(tuple(answers), tuple(METRICS.get(name) for name in METRICS.names()))


@pytest.mark.slow
def test_a_played_turn_is_stored_and_shown_without_keys(scores: Scores, tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        store.save(recorded_run(scores), answers=[answer.to_row() for answer in scores.answers])
    assert_clean((tmp_path / "runs.db").read_bytes())
    assert_clean(json.dumps([answer.to_json() for answer in scores.answers]))
    assert_clean(chat_page.render(scores))
    few = list(dict.fromkeys(answer.agent for answer in scores.answers))[::20]
    assert_clean(agent_pages.render(replace(scores, answers=tuple(one for one in scores.answers if one.agent in few))))


def test_a_transcript_is_scored_stored_and_shown_without_keys(tmp_path: Path) -> None:
    transcripts = [
        Transcript(
            agent="a",
            scenario=f"s{number}",
            turns=[
                Turn(
                    user=f"What does this mean: {text}",
                    assistant=f"{RIGHT} {text}",
                    tool_calls=[ToolCall(name="get", arguments={"q": text}, result=[text], error=text)],
                )
            ],
        )
        for number, text in enumerate(SHAPES.values())
    ]
    scores = score(transcripts)
    with open_store(tmp_path / "runs.db") as store:
        store.save(recorded_run(scores), answers=[answer.to_row() for answer in scores.answers])
    assert_clean((tmp_path / "runs.db").read_bytes())
    assert_clean(chat_page.render(scores))


def test_a_run_s_name_tags_and_command_hold_no_key(scores: Scores) -> None:
    shape = "sk-proj-" + K
    run = recorded_run(scores, command=["assay", "chat", "score", shape], name=f"nightly {shape}", tags=["ci", shape])
    assert_clean(json.dumps([run.command, run.name, run.tags]))


def test_evidence_quotes_the_answer_that_is_kept(scores: Scores) -> None:
    for answer in scores.answers:
        for entry in answer.entries.values():
            for line in entry["evidence"]:
                assert answer.response[line["start"] : line["end"]] == line["words"]
