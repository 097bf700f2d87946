"""An agent's process may end in any way: its own conversation fails with the reason, and everything else continues."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from assay.chat.agents import Setup
from assay.chat.agents.spec import AgentSpec
from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.hosts import host as hosts_module
from assay.chat.running.hosts.host import CrashedError, ProcessHost, RefusedError
from assay.chat.running.processes.child import ChildProcess
from assay.chat.running.runner import Runner
from assay.chat.running.sinks import MemorySink
from assay.chat.running.trials import Pace
from assay.chat.suites import Suite
from assay.chat.world.situation import Situation

ROOT = Path(__file__).parents[3]
NOWHERE = Setup(model="none", model_url="http://127.0.0.1:9/v1", weather_url="http://127.0.0.1:9")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker finds the agents of these tests from any folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests" / "chat"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(hosts_module, "_GRACE", 0.5)


def spec(function: str) -> AgentSpec:
    return AgentSpec(name=function, function=f"misbehaving:{function}")


def job(*messages: str, timeout: float = 5.0) -> Job:
    situations = tuple(Situation("a test", 0, at) for at in range(len(messages)))
    return Job("a", "one", "ada", messages, situations, timeout)


def talk(function: str, *jobs: Job) -> list[list[PlayedTurn] | str]:
    """What each job brought, one after the other, on one host: its turns, or the error."""

    async def main() -> list[list[PlayedTurn] | str]:
        host = ProcessHost(spec(function), NOWHERE)
        found: list[list[PlayedTurn] | str] = []
        try:
            for one in jobs:
                try:
                    found.append([played async for played in host.play(one)])
                except CrashedError as error:
                    found.append(str(error))
        finally:
            await host.close()
        return found

    return asyncio.run(main())


@pytest.mark.slow
def test_an_exit_is_reported_with_its_code_and_last_words_and_the_next_conversation_is_played() -> None:
    first, second, third = talk("exits", job("hello"), job("hello", "now"), job("hello"))
    assert isinstance(first, list)
    assert "umbrella" in first[0].text
    assert second == "its process ended with exit code 7; its last line was: I am leaving"
    assert isinstance(third, list)
    assert "umbrella" in third[0].text


def test_a_crash_is_reported_with_its_signal() -> None:
    [told] = talk("crashes", job("now"))
    assert isinstance(told, str)
    assert told.startswith("its process ended by SIGSEGV")


@pytest.mark.slow
def test_an_agent_that_holds_up_its_loop_is_stopped() -> None:
    started = time.monotonic()
    told, after = talk("blocks", job("now", timeout=0.5), job("hello"))
    assert told == "did not answer for 1 s and was stopped"
    assert isinstance(after, list)
    assert time.monotonic() - started < 60


@pytest.mark.slow
def test_an_agent_that_only_waits_is_timed_out() -> None:
    [turns] = talk("sleeps", job("hello", timeout=0.3))
    assert isinstance(turns, list)
    assert turns[0].record.reason == "TimeoutError: the turn took longer than 0.3 s"


def test_what_an_agent_prints_does_not_come_between() -> None:
    [turns] = talk("prints", job("hello", "again"))
    assert isinstance(turns, list)
    assert [played.turn for played in turns] == [0, 1]
    assert all("umbrella" in played.text for played in turns)


@pytest.mark.slow
def test_two_megabytes_of_answer_arrive() -> None:
    [turns] = talk("says_much", job("hello"))
    assert isinstance(turns, list)
    assert len(turns[0].text) == 2_000_000


@pytest.mark.parametrize(
    ("function", "words"),
    [("misbehaving:nobody", "nobody"), ("no_such_module:answer", "no_such_module")],
)
@pytest.mark.slow
def test_an_agent_that_cannot_be_built_is_refused(function: str, words: str) -> None:
    async def main() -> None:
        host = ProcessHost(AgentSpec(name="a", function=function), NOWHERE)
        with pytest.raises(RefusedError, match=words):
            await host.open()
        await host.close()

    asyncio.run(main())


@pytest.mark.slow
def test_a_worker_does_not_outlive_its_runner() -> None:
    async def main() -> int:
        host = ProcessHost(spec("sleeps"), NOWHERE)
        await host.open()
        assert host._worker is not None
        assert isinstance(host._worker._child, ChildProcess)
        pid = host._worker._child.pid
        await host.close()
        return pid

    pid = asyncio.run(main())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def run(functions: Mapping[str, str], messages: list[str], **pace: int) -> MemorySink:
    async def truth(city: str, days: int, now: datetime | None) -> Any:
        return None

    scenarios = [{"id": f"s{at}", "kind": "any", "turns": [{"user": text}]} for at, text in enumerate(messages)]
    suite = Suite.model_validate({"name": "small", "version": 1, "scenarios": scenarios})
    sink = MemorySink()

    async def main() -> None:
        hosts = {name: ProcessHost(spec(function), NOWHERE) for name, function in functions.items()}
        try:
            await Runner(suite, hosts, truth, pace=Pace(warm_up=False, turn_timeout=5, **pace)).run(sink)
        finally:
            for host in hosts.values():
                await host.close()

    asyncio.run(main())
    return sink


@pytest.mark.slow
def test_a_crash_of_one_agent_never_takes_down_the_others() -> None:
    answers = run({"bad": "crashes", "good": "prints"}, ["hello", "now", "hello again"]).answers
    ended = {(one.agent, one.query): one.record.status for one in answers if one.record}
    assert ended == {
        ("bad", "hello"): "scored",
        ("bad", "now"): "failed",
        ("bad", "hello again"): "scored",
        **{("good", text): "scored" for text in ("hello", "now", "hello again")},
    }


@pytest.mark.slow
@pytest.mark.parametrize(("function", "breakdown"), [("exits", "crash"), ("blocks", "timeout")])
def test_of_conversations_sent_together_only_the_one_that_breaks_the_process_fails(
    function: str, breakdown: str
) -> None:
    answers = run({"bad": function}, [*["hello"] * 20, "now", *["hello"] * 20]).answers
    ended = Counter((one.query, one.record.status, one.record.attempts, one.record.breakdown) for one in answers)  # type: ignore[union-attr]
    assert ended == {("hello", "scored", 1, None): 40, ("now", "failed", 1, breakdown): 1}
    assert len({one.scenario for one in answers}) == 41


@pytest.mark.slow
def test_one_crash_among_several_conversations_is_one_crash() -> None:
    """All conversations of the process end with it; those that did nothing are held again."""
    answers = run({"bad": "exits_late"}, ["now", *["hello"] * 7], jobs=4, concurrency=4).answers
    ended = Counter((one.query, one.record.status) for one in answers if one.record)
    assert ended == {("now", "failed"): 1, ("hello", "scored"): 7}


@pytest.mark.slow
def test_a_worker_that_is_busy_ends_when_its_runner_is_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from assay.chat.agents.spec import AgentSpec\n"
        "from assay.chat.running.hosts.host import ProcessHost\n"
        "sys.path.append('tests/chat/running')\n"
        "from test_host import NOWHERE, job\n"
        "async def main():\n"
        "    host = ProcessHost(AgentSpec(name='a', function='misbehaving:spins'), NOWHERE)\n"
        "    await host.open()\n"
        "    print(host._worker._child.pid, flush=True)\n"
        "    async for _ in host.play(job('now', timeout=600)): pass\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        worker = int(runner.stdout.readline())
        time.sleep(1)
        runner.kill()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()


@pytest.mark.slow
def test_an_agent_kind_that_is_pointed_at_says_what_it_uses() -> None:
    async def main() -> list[bool]:
        told = []
        for attribute in ("KIND", "exits"):
            host = ProcessHost(AgentSpec(name="a", function=f"misbehaving:{attribute}"), NOWHERE)
            await host.open()
            told.append(host.uses_setup)
            await host.close()
        return told

    assert asyncio.run(main()) == [True, False]


@pytest.mark.slow
def test_an_agent_that_always_crashes_is_not_started_for_ever() -> None:
    answers = run({"bad": "exits"}, [f"now {at}" for at in range(6)]).answers
    reasons = [one.record.reason for one in answers if one.record]
    assert [one.record.status for one in answers if one.record] == ["failed"] * 6
    assert sum("its process ended with exit code 7" in reason for reason in reasons[:3]) == 3
    assert all(reason.startswith("crashed 3 times in a row") for reason in reasons[3:])
