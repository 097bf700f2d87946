"""Processes that are talked to in JSON lines: what they say, why they ended, and what they leave behind."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from assay.chat.running.processes.child import ChildProcess

MODULE = """
import os, signal, subprocess, sys
what = os.environ["CHILD_DOES"]
print('{"hello": 1}', flush=True)
if what == "rubbish":
    print("not a message", flush=True)
    print('{"after": 1}', flush=True)
    sys.stdin.read()
elif what == "number":
    print("3", flush=True)
    sys.stdin.read()
elif what == "exit":
    print("the disk is full", file=sys.stderr)
    sys.exit(3)
elif what == "signal":
    os.kill(os.getpid(), signal.SIGTERM)
elif what == "child":
    left = subprocess.Popen(["sleep", "300"])
    print('{"left": %d}' % left.pid, flush=True)
elif what == "echo":
    print(sys.stdin.readline(), flush=True)
"""


def spoken(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, send: dict[str, Any] | None = None
) -> tuple[list[dict[str, Any]], str]:
    """All messages of a process that does this, and why it ended."""
    (tmp_path / "spoken_child.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("CHILD_DOES", what)

    async def main() -> tuple[list[dict[str, Any]], str]:
        child = await ChildProcess.started("spoken_child")
        try:
            if send is not None:
                await child.send(send)
            return [message async for message in child.messages()], await child.ending()
        finally:
            await child.close()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("rubbish", "wrote a line into the runner's pipe that is not a message: b'not a message\\n'"),
        ("number", "wrote a line into the runner's pipe that is not a message: b'3\\n'"),
        ("exit", "its process ended with exit code 3; its last line was: the disk is full"),
        ("signal", "its process ended by SIGTERM"),
    ],
)
def test_the_reason_of_an_end_is_true(what: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spoken(what, tmp_path, monkeypatch) == ([{"hello": 1}], reason)


def test_a_message_arrives_and_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages, _ = spoken("echo", tmp_path, monkeypatch, send={"job": 7, "text": "grüß dich"})
    assert messages[1] == {"job": 7, "text": "grüß dich"}


def test_what_a_process_leaves_behind_is_ended_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The child that is left behind holds the pipe open, so that without its end this would wait for five minutes.
    messages, _ = spoken("child", tmp_path, monkeypatch)
    state = Path(f"/proc/{messages[1]['left']}/stat")
    for _ in range(100):
        # A killed process that nobody has waited for is still listed, as a zombie.
        if not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("it still runs")
