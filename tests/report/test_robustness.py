"""The matrix of quirks in every medium: in 80 columns, escaped, and left out of runs without quirks."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console
from tests.report import agent_pages

from assay.chat.scoring.answers import Answer, Record, SpanLine
from assay.chat.scoring.outcomes.robustness import QuirkOutcome, is_acceptable
from assay.chat.scoring.scores import Scores
from assay.report.export.junit import trials_junit
from assay.report.export.markdown import trials_markdown
from assay.report.terminal.robustness import quirk_tables

NASTY = "<script>alert(1)</script>"
AGENTS = ("google-adk", "agent-framework-of-a-long-name", "openai-agents", NASTY, "pydantic-ai")


def trial(agent: str, scenario: str, outcome: QuirkOutcome, **fields: Any) -> list[Answer]:
    record = Record(
        quirk="refusal",
        outcome=outcome,
        kind="answer",
        did=[f"raised {NASTY}"],
        spans=[SpanLine(name=NASTY, start=0.0, length=1.5, failed="no")],
        log=[f"ERROR {NASTY}"],
        **fields,
    )
    common: dict[str, Any] = {"agent": agent, "scenario": scenario, "repetition": 0, "entries": {}, "query": "?"}
    return [
        Answer(**common, turn=0, response=NASTY, passed=is_acceptable(outcome), record=record),
        Answer(**common, turn=1, response="Yes.", passed=agent != NASTY, record=Record(kind="answer")),
    ]


SCORES = Scores(
    tuple(
        answer
        for scenario, outcome in (("calls-without-finish-reason", "failed_silently"), ("html", "recovered"))
        for agent in AGENTS
        for answer in trial(agent, scenario, outcome)  # type: ignore[arg-type]
    ),
    (),
)


def printed(scores: Scores) -> str:
    console = Console(width=80, record=True, file=io.StringIO())
    for table in quirk_tables(scores, 80):
        console.print(table)
    return console.export_text()


def test_five_agents_fit_into_80_columns() -> None:
    shown = printed(SCORES)
    assert max(map(len, shown.splitlines())) <= 80
    [line] = [line.split() for line in shown.splitlines() if line.startswith("calls-without-finish-reason")]
    assert line[1:] == ["SILENT", "SILENT", "SILENT", "SILENT", "!", "SILENT"]
    assert "the next turn works" in shown


def test_page_escapes_what_agents_said_and_leads_to_spans_and_log() -> None:
    text = agent_pages.render(SCORES)
    assert NASTY not in text
    assert 'href="#s0-a3"' in text
    assert 'id="s0-a3"' in text
    assert "1 span" in text
    assert "1 line of log" in text
    assert "the model refuses, in the field that the protocol has for it" in text


def test_markdown_and_junit_name_the_outcome() -> None:
    text = trials_markdown(SCORES)
    assert "0 more scenarios" not in text
    assert "| calls-without-finish-reason | silent | silent | silent | silent ! | silent |" in text
    assert "| html | recovered | recovered | recovered | recovered ! | recovered |" in text
    assert trials_junit(SCORES).count("<failure") == 6  # five silent failures, and a next turn


def test_a_quirk_that_did_not_occur_is_shown_as_such() -> None:
    first, then = trial("google-adk", "html", "recovered", quirk_occurred=False)
    assert first.record is not None
    record = first.record.model_copy(update={"outcome": None, "status": "skipped", "reason": "it did not occur"})
    silent = trial("pydantic-ai", "absent", "failed_silently")  # it occurred for another agent
    absent = (*SCORES.answers[2:], replace(first, scenario="absent", record=record), then)
    scores = Scores((*absent, *silent), ())
    shown = printed(scores)
    assert max(map(len, shown.splitlines())) <= 80
    [line] = [line.split() for line in shown.splitlines() if line.startswith("absent")]
    assert "n/a" in line
    assert "n/a: did not occur" in shown
    assert "n/a" not in printed(SCORES)
    assert "did not occur</a>" in agent_pages.render(scores)
    assert "did not occur" in next(line for line in trials_markdown(scores).splitlines() if line.startswith("| absent"))
    assert 'skipped message="it did not occur"' in trials_junit(scores)
    # Rows that say nothing about any agent are counted and folded.
    scores = Scores(absent, ())
    words = "1 scenario whose quirk occurred for no agent"
    for text in (printed(scores), trials_markdown(scores)):
        assert "Not shown: " in text
        assert words in " ".join(text.split())
        assert "| absent" not in text
        assert "\nabsent" not in text
    assert f"<summary>{words}" in agent_pages.render(scores)


def test_runs_without_quirks_have_no_matrix() -> None:
    plain = Scores(tuple(answer for answer in SCORES.answers if answer.turn == 1), ())
    assert printed(plain) == ""
    assert 'id="robustness"' not in agent_pages.render(plain)
    assert "Robustness" not in trials_markdown(plain)
