"""The store's process is started before anything else is imported, only by a command that needs it, and never stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import _early

RUN = ["chat", "run", "--suite", "weather"]
SUITE = "name: tiny\nversion: 1\nscenarios:\n  - {id: a, kind: plain, turns: [{user: Hi!, says: [Hello]}]}\n"


@pytest.mark.parametrize("program", ["-m", "/usr/bin/assay", "/lib/assay/__main__.py", "/lib/assay/cli/__main__.py"])
def test_a_command_that_stores_a_new_run_starts_it(program: str) -> None:
    assert _early.is_wanted([program, *RUN])


@pytest.mark.parametrize(
    "words",
    [
        ["/usr/bin/pytest", *RUN],
        ["/lib/pytest/__main__.py", *RUN],
        ["-c", *RUN],
        ["-m"],
        ["-m", "chat", "score", "run"],
        ["-m", *RUN, "--no-store"],
        ["-m", *RUN, "--resume", "@unfinished"],
        ["-m", *RUN, "--resume=@unfinished"],
        ["-m", *RUN, "--help"],
        ["-m", *RUN, "-h"],
    ],
)
def test_no_other_program_and_no_other_command_does(words: list[str]) -> None:
    assert not _early.is_wanted(words)


def test_this_process_has_started_none() -> None:
    assert _early.take() is None


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay.cli", *words],
        cwd=folder,
        env=os.environ | {"ASSAY_TEST_MARK": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def left_behind(folder: Path) -> list[str]:
    """Commands of processes that were started by commands in a folder and still run (Linux)."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"ASSAY_TEST_MARK={folder}\0".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_it_is_gone_when_the_command_is_whether_it_was_used_or_not(tmp_path: Path) -> None:
    failed = command(tmp_path, *RUN, "--store", "runs.db", "--suite", "missing.yaml")
    assert (failed.returncode, left_behind(tmp_path)) == (2, [])
    assert not (tmp_path / "runs.db").exists()
    (tmp_path / "tiny.yaml").write_text(SUITE)
    (tmp_path / "bot.py").write_text("def answer(message):\n    return 'Hello'\n")
    words = [*RUN, "--suite", "tiny.yaml", "--agents", "mine=bot:answer", "--no-experience", "--store", "runs.db"]
    stored = command(tmp_path, *words)
    assert (stored.returncode, left_behind(tmp_path)) == (0, []), stored.stderr
    assert (tmp_path / "runs.db").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="closes a stream as a shell does")
def test_with_a_closed_stream_none_is_started_ahead_and_the_run_is_stored(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(SUITE)
    (tmp_path / "bot.py").write_text("def answer(message):\n    return 'Hello'\n")
    words = f"chat run --suite tiny.yaml --agents mine=bot:answer --no-experience --store {tmp_path / 'runs.db'}"
    done = subprocess.run(
        f"{sys.executable} -m assay.cli {words} <&- >&-", shell=True, cwd=tmp_path, stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, b"Stored as run" in done.stderr) == (0, True), done.stderr
