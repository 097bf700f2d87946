"""`python -m tests.attacks`: every attack many times, and one table: tried, held, broke, memory, CPU and seconds.

Each attack runs in a separate process, so that its peak of memory is its own; more than a gigabyte counts as broken. An
attack that takes far too long is stopped, which counts as broken too. A word selects a part (codecs, files, stores,
agents, …) or attacks by their titles; `--jobs N` runs so many at a time, as many as there are cores if it is not
given. A line on standard error tells how far an attack is.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.attacks.test_attacks import EVERY, PARTS

_SHOWN = 5
_SECONDS_BETWEEN, _TRIES_BETWEEN = 10, 20
_MOST_MEGABYTES = 1000
# The slowest attack takes about two minutes of CPU; on a busy machine that may be many minutes.
_MOST_CPU_SECONDS = 600
_MOST_SECONDS = 3600


def main() -> int:
    """Run the attacks that the command line selects; the exit code is 1 if anything broke."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        return _one(int(sys.argv[2]))
    words = sys.argv[1:]
    jobs = os.cpu_count() or 1
    if "--jobs" in words:
        at = words.index("--jobs")
        jobs = int(words[at + 1])
        del words[at : at + 2]
    begun = time.monotonic()
    chosen = [
        at
        for at, (part, attack) in enumerate(EVERY)
        if not words or any(part == word if word in PARTS else word in attack.title for word in words)
    ]
    if not chosen:
        print(f"no attack is called '{' '.join(words)}'; the parts are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(f"{'attack':<46}{'tried':>12}{'held':>12}{'broke':>6}{'MB':>7}{'CPU s':>7}{'s':>7}", flush=True)
    sums = dict.fromkeys(("tried", "fell", "cpu"), 0)
    with ThreadPoolExecutor(jobs) as pool:
        for at, found in zip(chosen, pool.map(_result_of, chosen), strict=True):
            for name in sums:
                sums[name] += found[name]
            print(_row(EVERY[at][1].title, found), flush=True)
            for sentence in found["sentences"]:
                print(f"    {sentence[:200]!r}", flush=True)
    print(_row("all", sums | {"seconds": round(time.monotonic() - begun)}))
    return 1 if sums["fell"] else 0


def _row(title: str, found: dict[str, Any]) -> str:
    held = found["tried"] - found["fell"]
    numbers = f"{found['tried']:>12,}{held:>12,}{found['fell']:>6,}{found.get('megabytes', ''):>7}"
    return f"{title:<46}{numbers}{found['cpu']:>7,}{found['seconds']:>7,}"


def _result_of(at: int) -> dict[str, Any]:
    """What an attack in a process of its own reports; a process that ends otherwise, or does not end, is broken."""
    words = [sys.executable, "-m", "tests.attacks", "--one", str(at)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=_MOST_SECONDS)
            how = f"its process ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            said, how = b"", f"it did not end in {_MOST_SECONDS:,} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    try:
        found: dict[str, Any] = json.loads((said.splitlines() or [b""])[-1])
    except ValueError:
        found = {"tried": 1, "fell": 1, "cpu": 0, "seconds": 0, "sentences": [how]}
    return found


def _one(at: int) -> int:
    attack = EVERY[at][1]
    begun, tried, fell = time.monotonic(), 0, list[str]()
    said = begun
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        os.environ["ASSAY_STORE"] = str(Path(folder) / "own" / "runs.db")
        inside = Path(folder) / "files"
        inside.mkdir()
        for outcome in attack.run(attack.many, inside):
            tried += 1
            if outcome:
                fell.append(outcome)
            if not tried % _TRIES_BETWEEN:
                now = time.monotonic()
                if _cpu_seconds() > _MOST_CPU_SECONDS:
                    fell.append(f"stopped after {_MOST_CPU_SECONDS} s of CPU")
                    break
                if now - said > _SECONDS_BETWEEN:
                    said = now
                    print(f"  {attack.title}: {tried:,} tried, {len(fell):,} broke", file=sys.stderr, flush=True)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
    if peak > _MOST_MEGABYTES:
        fell.append(f"it took {peak:,} MB")
    result = {"tried": tried, "fell": len(fell), "sentences": fell[:_SHOWN], "cpu": round(_cpu_seconds())}
    print(json.dumps(result | {"megabytes": peak, "seconds": round(time.monotonic() - begun)}))
    return 0


def _cpu_seconds() -> float:
    """What this process and those of its children that have ended took."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    sys.exit(main())
