"""Scoring large files of transcripts: answers a second on one core and on all, and the memory that it takes.

Each file is scored by a fresh interpreter. ASSAY_BENCH_TRANSCRIPTS=1000000 scores a million; by default the files are
smaller, and the table that holds a million results is measured by itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.chat import answers
from benchmarks.measuring import Result, at_least, at_most, show

SMALL = 1_000
LARGE = int(os.environ.get("ASSAY_BENCH_TRANSCRIPTS", "5000"))
MILLION = 1_000_000
_MB = 1_000_000

_SCORE = """
import json, re, resource, sys, time
from pathlib import Path
from assay.chat.scoring.streaming import score_stream
if __name__ == "__main__":
    start = time.perf_counter()
    scores = score_stream(Path(sys.argv[1]), workers=int(sys.argv[2]))
    scores.lines()
    seconds = time.perf_counter() - start
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
    print(json.dumps([len(scores.table), seconds, cpu, peak, used[1].ru_maxrss * 1024]))
"""

_TABLE = """
import re, sys
from assay.chat.scoring.table import ScoreTable
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
table = ScoreTable([f"metric_{n}" for n in range(15)])
before = peak()
for n in range(int(sys.argv[1])):
    table.add("agent", f"scenario {n}", 0, passed=n % 3 > 0, codes=bytes([n % 101]) * 15)
table.sums_and_counts("agent", "metric_3")
print(peak() - before)
"""


def write_transcripts(path: Path, number: int) -> None:
    """Write a file of conversations of one turn, all different."""
    with path.open("w", encoding="utf-8") as file:
        for at, case in enumerate(answers(number)):
            turn = {
                "user": case["user_query"],
                "assistant": case["response"],
                "truth": case["weather_data_used"],
                "response_time": case["response_time"],
                "tool_call_count": case["tool_call_count"],
            }
            whole = {"agent": "bot", "scenario": f"scenario {at}", "preferences": {"dislikes_cold": True}}
            file.write(json.dumps({**whole, "turns": [turn]}) + "\n")


def _run(code: str, *words: object) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:  # workers import the script of their parent
        script.write(code)
        script.flush()
        command = [sys.executable, script.name, *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> list[Result]:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.jsonl"), Path(folder, "large.jsonl")
        write_transcripts(small, SMALL)
        write_transcripts(large, LARGE)
        n, seconds, cpu, peak, _ = json.loads(_run(_SCORE, large, 1))
        _, many_seconds, many_cpu, many_peak, worker = json.loads(_run(_SCORE, large, cores))
        _, _, _, small_peak, _ = json.loads(_run(_SCORE, small, 1))
    table = int(_run(_TABLE, MILLION))
    results = [
        at_least(
            f"{n:,} transcripts scored by {cores} processes, against one",
            f"{n / many_seconds:,.0f} a second ({many_cpu:.1f} s of CPU)",
            f"{n / seconds:,.0f} a second ({cpu:.1f} s of CPU)",
            seconds / many_seconds,
            1 if cores < 2 else 1.5,
        ),
        at_most(
            f"peak memory of one process with {n:,} transcripts, against {SMALL:,}",
            f"{peak / _MB:,.0f} MB",
            f"{small_peak / _MB:,.0f} MB",
            peak / small_peak,
            1.5,
        ),
        at_most(
            f"peak memory of the parent of {cores} workers ({worker / _MB:,.0f} MB each), against one process",
            f"{many_peak / _MB:,.0f} MB",
            f"{peak / _MB:,.0f} MB",
            many_peak / peak,
            1.5,
        ),
        at_most(
            "memory for the scores of a million scenarios, against 500 bytes each",
            f"{table / _MB:,.0f} MB",
            "500 MB",
            table / (500 * MILLION),
            1,
        ),
    ]
    show("Transcripts", results)
    return results
