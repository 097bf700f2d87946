"""Programs run in a fresh interpreter with a timeout."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.chat.experience.process import TOLD_TO_STOP, MeasuringStoppedError, ProcessError, run_program


def test_printed_output_is_not_the_result() -> None:
    program = "import sys\nprint('{\"a\": 2}')\nresult = {'a': 1, 'given': sys.stdin.read()}"
    assert run_program(program, "x", timeout=30) == {"a": 1, "given": "x"}


def test_program_is_ended_at_the_timeout() -> None:
    start = time.monotonic()
    with pytest.raises(ProcessError, match=r"more than 0\.5 seconds"):
        run_program("import time\ntime.sleep(60)", "", timeout=0.5)
    assert time.monotonic() - start < 15


def test_error_contains_the_last_line_of_stderr() -> None:
    with pytest.raises(ProcessError, match="ValueError: no"):
        run_program("raise ValueError('no')", "", timeout=30)
    with pytest.raises(ProcessError, match="status 3"):
        run_program("import os\nos._exit(3)", "", timeout=30)


def test_environment_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "OPENAI_API_KEY" not in run_program("import os\nresult = dict(os.environ)", "", timeout=30)


def test_a_program_ends_when_its_thread_is_told_to_stop() -> None:
    told = threading.Event()

    def run() -> None:
        TOLD_TO_STOP.set(told)
        run_program("import time\ntime.sleep(60)", "x" * 200_000, timeout=50)

    started = time.monotonic()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        threading.Timer(0.3, told.set).start()
        with pytest.raises(MeasuringStoppedError):
            running.result()
    assert time.monotonic() - started < 30
