"""The MCP server: what an assistant can ask, through the SDK's own client over standard input and output."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from assay.errors import UsageError
from assay.mcp.bounds import bounded_json
from assay.mcp.files import NamedFiles
from assay.mcp.tools import RunTools
from assay.runs.loading import compare, record
from assay.store import open_store
from tests.report.agent_scores import scores

if TYPE_CHECKING:  # imported by the tests that use it: collecting imports this module in every worker
    from mcp import StdioServerParameters

READING = {"list_runs", "show_run", "list_cases", "read_evidence", "compare_runs", "follow_trend"}


@dataclass(frozen=True)
class Told:
    """What the server said in one session."""

    tools: dict[str, Any]
    answers: dict[str, Any]
    refusals: dict[str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs of one name, a folder with two logs, and a log outside of it."""
    made = tmp_path_factory.mktemp("mcp")
    with open_store(made / "runs.db") as store:
        for seed in (1, 2):
            record(scores(("bot",), seed=seed, scenarios=6), store=store, name="nightly")
    (made / "logs").mkdir()
    for name, low in (("logs/before.csv", 0), ("logs/after.csv", 1), ("outside.csv", 0)):
        rows = "".join(f"{case},{max(case % 2, low)}\n" for case in range(20))
        (made / name).write_text(f"case,score\n{rows}", "utf-8")
    (made / "logs" / "link.csv").symlink_to(made / "outside.csv")
    return made


@pytest.fixture(scope="module")
def told(folder: Path) -> Told:
    """One process, asked everything."""
    from mcp import StdioServerParameters

    words = [
        "-m",
        "assay",
        "mcp",
        "--store",
        "runs.db",
        "--folder",
        "logs",
        "--allow-run",
        "--agents",
        "bot=http://127.0.0.1:9/v1",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_STORE"}
    server = StdioServerParameters(command=sys.executable, args=words, cwd=folder, env=environment)
    return anyio.run(_talk, server, str(folder / "outside.csv"))


async def _talk(server: StdioServerParameters, outside: str) -> Told:
    from mcp import Client

    answers, refusals = {}, {}
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

        async def ask(key: str, tool: str, **arguments: Any) -> Any:
            result = await client.call_tool(tool, arguments)
            text = "".join(getattr(part, "text", "") for part in result.content)
            if result.is_error:
                refusals[key] = text
                return None
            answers[key] = json.loads(text)
            return answers[key]

        await ask("runs", "list_runs")
        await ask("run", "show_run", run="nightly")
        cases = await ask("cases", "list_cases", run="nightly", limit=2)
        await ask("evidence", "read_evidence", run="nightly", case=cases["cases"][0]["case"])
        await ask("comparison", "compare_runs", baseline="@last~1", candidate="@last")
        await ask("logs", "compare_runs", baseline="file:logs/before.csv", candidate="file:logs/after.csv")
        await ask("trend", "follow_trend", name="nightly", metric="trials_passed")
        await ask("files", "list_files")
        await ask("unknown run", "show_run", run="nothing")
        await ask("path", "compare_runs", baseline=outside, candidate="@last")
        await ask("file outside", "compare_runs", baseline=f"file:{outside}", candidate="@last")
        await ask("link outside", "compare_runs", baseline="file:logs/link.csv", candidate="@last")
        await ask("agents", "list_agents")
        await ask("code", "start_run", agents=["bot=os:system"])
        await ask("suite", "start_run", agents=["bot"], suite=outside)
        await ask("range", "list_runs", limit=10**6)
        started = await ask("started", "start_run", agents=["bot"], limit=1, name="asked for")
        while not (await ask("failed", "show_run", run=started["run"]))["failure"]:
            await anyio.sleep(0.05)
    return Told(tools, answers, refusals)


@pytest.mark.slow
def test_an_assistant_reads_runs_scores_and_evidence(told: Told, folder: Path) -> None:
    listed = told.answers["runs"]
    assert listed["total"] == 2
    assert listed["runs"][0]["headlines"][0]["key"] == "pass_rate"
    assert told.answers["run"]["id"] == listed["runs"][0]["id"]
    assert "pass_rate" in {figure["key"] for figure in told.answers["run"]["figures"]}
    assert told.answers["cases"]["total"] == 6
    answer = told.answers["evidence"]["answers"][0]
    assert answer["query"]
    assert any(entry["evidence"] for entry in answer["metrics"].values())
    assert [point["run"] for point in told.answers["trend"]["points"]] == [run["id"] for run in listed["runs"][::-1]]


@pytest.mark.slow
def test_verdicts_are_those_of_the_library(told: Told, folder: Path) -> None:
    (ours,) = compare("@last~1", "@last", store=folder / "runs.db")
    assert told.answers["comparison"]["comparisons"][0]["verdicts"] == json.loads(
        json.dumps(ours.to_json()["verdicts"])
    )
    verdicts = {one["metric"]: one for one in told.answers["logs"]["comparisons"][0]["verdicts"]}
    # Every second case changes from 0 to 1.
    assert verdicts["score"]["difference"] == 0.5
    assert verdicts["score"]["call"] == "better"


@pytest.mark.slow
def test_what_a_client_sends_becomes_no_path_and_no_code(told: Told) -> None:
    assert told.answers["files"] == {"logs": ["file:logs/after.csv", "file:logs/before.csv"], "suites": []}
    assert "there is no run" in told.refusals["unknown run"]
    assert "there is no run" in told.refusals["path"]
    for key in ("file outside", "link outside"):
        assert "there is no log in the named folders" in told.refusals[key]
    assert "there is no agent called 'bot=os:system'" in told.refusals["code"]
    assert "there is no suite called" in told.refusals["suite"]
    assert "less than or equal to 100" in told.refusals["range"]
    assert not any("Traceback" in text for text in told.refusals.values())


@pytest.mark.slow
def test_a_run_is_started_with_agents_that_were_named_and_tells_why_it_ended(told: Told) -> None:
    assert "bot" in told.answers["agents"]["agents"]
    assert told.answers["started"]["trials_planned"] == 1
    shown = told.answers["failed"]
    assert shown["name"] == "asked for"
    assert not shown["complete"]
    # Nothing listens at the address of this agent.
    assert "127.0.0.1:9" in shown["failure"]


def test_without_permission_nothing_can_be_changed(folder: Path) -> None:
    from assay.mcp.server import make_server

    async def offered() -> dict[str, Any]:
        with open_store(folder / "runs.db") as store:
            tools = await make_server(RunTools(store)).list_tools()
        return {tool.name: tool for tool in tools}

    tools = anyio.run(offered)
    assert set(tools) == READING
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools.values())


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        record(scores(("bot",), seed=1, scenarios=2), store=store, name="nightly")
        before = _contents(path)
        tools = RunTools(store, NamedFiles())
        tools.list_runs()
        tools.show_run("nightly")
        tools.follow_trend("nightly")
        assert _contents(path) == before


def _contents(path: Path) -> list[str]:
    import sqlite3

    with sqlite3.connect(path) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(
    "content",
    [
        {"answer": "x" * 100_000},
        {"answers": [{"text": "x" * 1000}] * 500},
        {str(number): "x" for number in range(20_000)},
    ],
)
def test_answers_are_bounded_and_say_what_was_left_off(content: Any) -> None:
    text = bounded_json(content)
    assert len(text) <= 30_000
    assert json.loads(text)
    assert "more characters" in text or "left_off" in text


def test_an_answer_that_cannot_be_cut_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 300 characters"):
        bounded_json([["x" * 60] * 3] * 3, most=300)
