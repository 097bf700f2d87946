"""Copies of a process that has imported a framework: workers like any other, which are ready at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.chat.agents import Setup
from assay.chat.agents.spec import AgentSpec, parse_agents
from assay.chat.running.conversation import Job
from assay.chat.running.hosts import template
from assay.chat.running.hosts.host import Child, ProcessHost, launched
from assay.chat.running.hosts.template import Copy, Template, template_of, use_templates
from assay.chat.running.processes.child import ChildProcess
from assay.chat.world.embedded import World
from assay.chat.world.situation import Situation

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lets a process be copied"),
    pytest.mark.frameworks,
    pytest.mark.slow(seconds=2),
]
SPEC = AgentSpec(name="mine", agent="pydantic-ai")
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def copied(spec: AgentSpec = SPEC) -> Copy:
    found = template_of(spec)
    assert found is not None
    copy = found.copy()
    assert copy is not None
    copy.stdin.write(json.dumps({"agent": spec.to_json()}).encode() + b"\n")
    assert json.loads(copy.stdout.readline()) == {"uses_setup": True, "uses_model": True}
    return copy


def closed(copy: Copy) -> int:
    assert copy.stderr is not None
    copy.stdin.close()
    code = copy.wait(10)
    copy.stdout.close()
    copy.stderr.close()
    return code


def test_a_copy_has_a_session_streams_and_files_of_its_own_and_ends_with_its_input() -> None:
    copy = copied()
    assert os.getsid(copy.pid) == copy.pid
    assert {os.readlink(f"/proc/{copy.pid}/fd/{number}").partition(":")[0] for number in range(3)} == {"pipe"}
    assert copy.poll() is None
    assert closed(copy) == 0
    assert copy.poll() == 0
    assert not is_running(copy.pid)


def test_a_copy_that_is_killed_says_so_and_the_next_one_plays() -> None:
    first = copied()
    first.kill()
    assert first.wait(10) == -signal.SIGKILL
    closed(first)
    assert closed(copied()) == 0


def test_a_copy_has_folder_and_environment_of_the_moment_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied_before = copied()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_STORE", "elsewhere")
    copy = copied()
    assert os.readlink(f"/proc/{copy.pid}/cwd") == str(tmp_path)
    assert os.readlink(f"/proc/{copied_before.pid}/cwd") != str(tmp_path)
    closed(copy)
    closed(copied_before)


def test_another_environment_is_another_template(monkeypatch: pytest.MonkeyPatch) -> None:
    first = template_of(SPEC)
    monkeypatch.setenv("ASSAY_STORE", "elsewhere")
    assert template_of(SPEC) is first
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    with use_templates():
        assert template_of(SPEC) is not first


@pytest.mark.parametrize(
    "spec", ["mine=bot:answer", "mine=http://127.0.0.1:1/v1", "google-adk==2.12.0"], ids=["function", "http", "version"]
)
def test_other_agents_have_no_template(spec: str) -> None:
    assert template_of(parse_agents(spec)[0]) is None


def test_ones_own_agent_object_is_played_by_a_copy_that_has_imported_its_framework() -> None:
    bundled, own = template_of(SPEC), template_of(parse_agents("mine=pydantic-ai:my_package:agent")[0])
    assert bundled is not None
    assert own is bundled


def test_a_template_whose_framework_cannot_be_imported_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pydantic_ai.py").write_text("raise ImportError('broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    broken = Template("pydantic-ai")
    assert broken.copy() is None
    assert broken.copy() is None
    broken.close()


def test_a_framework_whose_import_never_ends_delays_neither_the_worker_nor_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pydantic_ai.py").write_text("import time; time.sleep(600)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(template, "_SECONDS_TO_IMPORT", 0.2)
    slow = Template("pydantic-ai")
    assert slow.copy() is None
    slow.close()
    assert not is_running(slow._process.pid)


def test_an_environment_of_any_size_reaches_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):  # together more than a socket takes at once
        monkeypatch.setenv(f"ASSAY_LARGE_{number}", "x" * 100_000)
    assert closed(copied()) == 0


def test_a_template_that_was_killed_is_not_used_and_its_copies_are_gone() -> None:
    killed = Template("pydantic-ai")
    copy = killed.copy()
    assert copy is not None
    killed._process.kill()
    assert copy.wait(10) == -signal.SIGKILL
    assert killed.copy() is None
    closed(copy)
    killed.close()


async def turn_of(setup: Setup, child: ChildProcess) -> dict[str, Any]:
    """A turn, without its times."""

    async def launch(spec: AgentSpec) -> Child:
        return child

    host = ProcessHost(SPEC, setup, launch=launch)
    job = Job("mine", "session", "ada", ("What's the weather in Paris?",), (Situation("s", 1, 0),), 60.0)
    (played,) = [turn async for turn in host.play(job)]
    await host.close()
    record = played.record.model_dump(exclude={"wall", "first_text", "model", "tools", "overhead"})
    for call in record["tool_calls"]:
        del call["duration"]
    return {"response": played.text, **record}


def test_a_copy_plays_like_a_process_that_was_started() -> None:
    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        with World(clock=lambda: NOW) as world:
            setup = Setup(model="assay-scripted", model_url=world.model_url, weather_url=world.weather_url)
            from_template = await launched(SPEC)
            afresh = await ChildProcess.started("assay.chat.running.hosts.worker")
            try:
                return await turn_of(setup, from_template), await turn_of(setup, afresh)
            finally:
                await setup.aclose()

    copied_turn, started_turn = asyncio.run(both())
    assert copied_turn == started_turn
    assert copied_turn["status"] == "scored"
    assert copied_turn["tool_calls"]


_KILLED = """
import os, signal
from assay.chat.agents.spec import AgentSpec
from assay.chat.running.hosts.template import template_of, use_templates
with use_templates():
    template = template_of(AgentSpec(name="mine", agent="pydantic-ai"))
    print(template._process.pid, template.copy().pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_templates_and_copies_end_with_a_process_that_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while any(is_running(int(pid)) for pid in done.stdout.split()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
