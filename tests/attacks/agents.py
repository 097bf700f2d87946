"""Agents that end, hang, flood or fake their process: each failure has its true reason, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from assay.chat.agents import Setup
from assay.chat.agents.spec import AgentSpec
from assay.chat.running.conversation import Job
from assay.chat.running.hosts import host as hosts
from assay.chat.running.reception import LONGEST_ANSWER
from assay.chat.world.situation import Situation
from tests.attacks import Attack, Outcomes

NOWHERE = Setup(model="none", model_url="http://127.0.0.1:9/v1", weather_url="http://127.0.0.1:9")

AGENTS = """
import asyncio, ctypes, os, signal, subprocess, sys

class Odd(BaseException):
    pass

def base_exception(message): raise Odd("odd one")
def interrupted(message): raise KeyboardInterrupt("not by you")
def exits(message): sys.exit(3)
async def cancelled(message): raise asyncio.CancelledError("my own")
async def generator_exit(message): raise GeneratorExit("odd end")
def leaves(message): os._exit(7)
def aborts(message): os.abort()
def recursion(message): return recursion(message)
def stop_iteration(message): raise StopIteration("over")
def memory(message): raise MemoryError("none left")
def wrong_type(message): return {"not": "text"}
def nothing(message): return None

def stray(message):
    for handle in range(3, 40):
        try:
            os.write(handle, b"not a message")
        except OSError:
            pass
    return "fine"


def huge(message): return "x" * 5_000_000

def forks_and_dies(message):
    if os.fork() == 0:
        import time
        time.sleep(600)
        os._exit(0)
    os._exit(9)

def long_stderr(message):
    sys.stderr.write("e" * 3_000_000)
    sys.stderr.flush()
    os._exit(4)

def leaves_children(message):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    return f"child {child.pid}"

def leaves_daemons(message):
    code = "import os, sys, time\\nif os.fork(): sys.exit()\\nos.setsid()\\n"
    code += "print(os.getpid(), flush=True)\\ntime.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    number = int(child.stdout.readline())
    child.wait()
    return f"child {number}"

def surrogate(message): return "half \\ud83d"
def killed(message): os.kill(os.getpid(), signal.SIGKILL)
def no_streams(message): os.closerange(0, 3); return "fine"

def talks_much(message):
    for _ in range(500):
        print("x" * 10_000)
    return "fine"
"""

# What the reason, or the answer, must contain; those that were once taken for slowness come first.
KINDS = {
    "base_exception": "Odd: odd one",
    "cancelled": "CancelledError",
    "stray": "not a message",
    "forks_and_dies": "exit code 9",
    "interrupted": "KeyboardInterrupt",
    "exits": "SystemExit",
    "generator_exit": "GeneratorExit",
    "leaves": "exit code 7",
    "aborts": "SIGABRT",
    "recursion": "RecursionError",
    "stop_iteration": "StopIteration",
    "memory": "MemoryError: none left",
    "wrong_type": "",
    "nothing": "",
    "huge": "cut: an answer may have",
    "long_stderr": "exit code 4",
    "surrogate": "half \ufffd",
    "killed": "SIGKILL",
    "no_streams": "fine",
    "talks_much": "fine",
}


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """The folder on the path of worker processes, with the agents in it."""
    (folder / "hostile_agents.py").write_text(AGENTS)
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(paths)), patch.object(hosts, "_GRACE", 1.0):
        yield


async def _said(function: str) -> str:
    """The answer of an agent, or why it failed."""
    host = hosts.ProcessHost(AgentSpec(name="a", function=f"hostile_agents:{function}"), NOWHERE)
    job = Job("a", "one", "ada", ("now",), (Situation("attack", 0, 0),), 15.0)
    try:
        played = [one async for one in host.play(job)]
        return "; ".join(one.record.reason or one.text for one in played)
    except hosts.CrashedError as error:
        return f"{error}{' (stuck)' if error.stuck else ''}"
    finally:
        await host.close()


def hostile_agents(times: int, folder: Path) -> Outcomes:
    """Twenty ways for an agent to fail or to be odd: the reason is the true one, and none is taken for slowness."""
    with importable(folder):
        names = list(KINDS)
        for number in range(times):
            name = names[number % len(names)]
            said = asyncio.run(_said(name))
            held = KINDS[name] in said and "did not answer" not in said and len(said) < LONGEST_ANSWER + 100
            yield None if held else f"{name}: {said[:200]}"


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def _gone(process: int) -> bool:
    deadline = time.monotonic() + 10
    while _alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not _alive(process)


def children_left_behind(times: int, folder: Path) -> Outcomes:
    """What an agent has started ends with its worker, in whatever session it is."""
    with importable(folder):
        for number in range(times):
            said = asyncio.run(_said(("leaves_daemons", "leaves_children")[number % 2]))
            child = int(said.removeprefix("child "))
            yield None if _gone(child) else f"process {child} is still there"


_LOCKED = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
from assay.chat.running.processes.pipe import end_with_parent
end_with_parent()
print(os.getpid(), flush=True)
ctypes.PyDLL(None).sleep(60)  # holds the interpreter's lock: no thread of Python runs
"""


def killed_runners(times: int, folder: Path) -> Outcomes:
    """A worker whose agent holds the interpreter's lock ends when its runner is killed."""
    file = folder / "locked.py"
    file.write_text(_LOCKED)
    runner = "import subprocess, sys, time; subprocess.Popen([sys.executable, *sys.argv[1:]]); time.sleep(60)"
    for _ in range(times):
        words = [sys.executable, "-c", runner, str(file), str(Path(hosts.__file__).parents[3])]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            worker = int(process.stdout.readline())
            time.sleep(0.2)
            process.kill()
            gone = _gone(worker)
        yield None if gone else f"worker {worker} outlived its runner"
        if not gone:
            os.kill(worker, 9)


ATTACKS = [
    Attack("hostile agents", hostile_agents, 4, 3 * len(KINDS), seconds=6),
    Attack("children that agents leave behind", children_left_behind, 1, 20),
    Attack("runners killed while an agent holds the lock", killed_runners, 1, 20),
]
