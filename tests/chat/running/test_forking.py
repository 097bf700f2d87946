"""A copy of the command as the process of a function: ready at once, and to the function like a new interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.chat.running.test_function_costs import HEAVY

from assay.chat.running.processes.forking import can_fork

_MODULE = """
import atexit, json, multiprocessing, os, sys, threading

def doubled(number):
    return 2 * number

@atexit.register
def leave():
    with open("left.txt", "a") as file:
        file.write("left\\n")

def bad(message):
    if "crash" in message:
        os._exit(3)
    if "exit" in message:
        sys.exit("I have had enough")
    return "Nothing happened."

def answer(message):
    print("what a function prints goes nowhere")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        twice = pool.apply(doubled, (21,))
    seen = {
        "twice": twice,
        "argv": [os.path.basename(word) for word in sys.argv],
        "path": sys.path,
        "modules": sorted({name.partition(".")[0] for name in sys.modules}),
        "threads": threading.main_thread() is not threading.current_thread(),
        "leads_session": os.getsid(0) == os.getpid(),
        "stdin": os.readlink("/proc/self/fd/0").partition(":")[0],
        "files": len(os.listdir("/proc/self/fd")),
        "kind": open("/proc/self/cmdline").read().split("\\0")[1:5],
    }
    return json.dumps(seen)
"""
_SUITE = """
name: three
version: 1
scenarios:
  - {id: seen, kind: all, turns: [{user: what do you see?}]}
  - {id: crash, kind: all, turns: [{user: crash now}]}
  - {id: exit, kind: all, turns: [{user: exit now}]}
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("copies")
    (folder / "my_function.py").write_text(_MODULE)
    (folder / "suite.yaml").write_text(_SUITE)
    command = [sys.executable, "-m", "assay.cli", "chat", "run", "--suite", "suite.yaml"]
    options = [
        "--agents",
        "mine=my_function:answer,bad=my_function:bad",
        "--no-experience",
        "--no-store",
        "--json",
        "-",
    ]
    done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    return folder, {f"{one['agent']} {one['scenario']}": one for one in answers}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are copied on Linux only")
@pytest.mark.slow(seconds=3)
def test_a_function_sees_a_process_of_its_own(played: tuple[Path, dict[str, Any]]) -> None:
    folder, answers = played
    seen = json.loads(answers["mine seen"]["response"])
    # A copy has the words of the command, and a new interpreter those of the worker.
    assert seen["kind"][:3] == ["-m", "assay.cli", "chat"]
    assert seen["twice"] == 42
    assert seen["argv"] == ["worker.py"]
    assert seen["path"][-1] == str(folder)
    assert seen["path"].count(str(folder)) == 1
    assert seen["leads_session"]
    assert seen["stdin"] == "pipe"
    assert not set(seen["modules"]) & HEAVY


@pytest.mark.slow(seconds=3)
def test_a_function_that_ends_its_process_fails_alone(played: tuple[Path, dict[str, Any]]) -> None:
    folder, answers = played
    assert answers["bad crash"]["record"]["status"] == "failed"
    assert "exit code 3" in answers["bad crash"]["record"]["reason"]
    assert answers["bad exit"]["record"]["reason"].startswith("SystemExit: I have had enough")
    assert answers["bad seen"]["record"]["status"] == "scored"
    # Once for each process that ended by itself: the copy or, after the crash, the one that took its place.
    assert "left" in (folder / "left.txt").read_text()


def test_other_programs_are_not_copied() -> None:
    assert not can_fork()
    code = "from assay.chat.running.processes.forking import can_fork; print(can_fork())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
