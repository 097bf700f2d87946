"""How things are timed, and how a result is kept and shown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    ours: str
    theirs: str
    ratio: float
    wanted: str
    """What the ratio should be, e.g. '≥ 250'."""
    reached: bool


def at_least(what: str, ours: str, theirs: str, ratio: float, limit: float) -> Result:
    """A ratio that should be large."""
    return Result(what, ours, theirs, ratio, f"≥ {limit:g}", ratio >= limit)


def at_most(what: str, ours: str, theirs: str, ratio: float, limit: float) -> Result:
    """A ratio that should be small."""
    return Result(what, ours, theirs, ratio, f"≤ {limit:g}", ratio <= limit)


def best(function: Callable[[], object], *, repeats: int = 5) -> float:
    """Seconds of the fastest of several runs, which other processes disturbed least."""
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def seconds_of_python(code: str, *, repeats: int = 7) -> float:
    """Seconds that a fresh interpreter takes for `code`, the fastest of several runs."""
    return best(lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True), repeats=repeats)


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    cpu_seconds: float
    peak_memory: int
    """Resident, in bytes."""


def peak_memory_of(arguments: Sequence[str]) -> int:
    """Peak resident memory in bytes of a fresh interpreter that runs `-m arguments`."""
    return cost_of(arguments).peak_memory


def cost_of(arguments: Sequence[str]) -> Cost:
    """CPU time of all threads, and peak memory, of a fresh interpreter that runs `-m arguments`."""
    code = (
        "import re, time, runpy, sys; sys.argv = sys.argv[1:];\n"
        "try: runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]\n"
        "print(time.process_time(), peak, file=sys.stderr)"
    )
    # As a user runs it: a shell that forbids bytecode would compile every imported module again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    # The kernel's own high-water mark, in KiB; getrusage includes the parent's memory at the fork.
    seconds, kibibytes = done.stderr.split()[-2:]
    return Cost(float(seconds), int(kibibytes) * 1024)


def show(title: str, results: Sequence[Result]) -> None:
    """Print a table, and keep it in benchmarks/results/."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("what", "ours", "theirs", "ratio", "wanted", ""):
        table.add_column(column, justify="left" if column in ("what", "") else "right")
    for result in results:
        ratio = f"{result.ratio:,.0f}×" if result.ratio >= 20 else f"{result.ratio:.2f}×"
        table.add_row(result.what, result.ours, result.theirs, ratio, result.wanted, "" if result.reached else "MISSED")
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    machine = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}
    content = {"title": title, **machine, "results": [asdict(result) for result in results]}
    name = title.lower().replace(" ", "-")
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
