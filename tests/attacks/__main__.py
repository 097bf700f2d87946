"""`python -m tests.attacks`: every attack many times, and one table: tried, held, broke, memory and seconds.

Each attack runs in a separate process, so that its peak of memory is its own. A word selects a part (codecs, files,
stores, agents, …) or attacks by their titles. A line on standard error tells how far an attack is.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.attacks.test_attacks import EVERY, PARTS

_SHOWN = 5
_SECONDS_BETWEEN, _TRIES_BETWEEN = 10, 20


def main() -> int:
    """Run the attacks that the command line selects; the exit code is 1 if anything broke."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        return _one(int(sys.argv[2]))
    words = sys.argv[1:]
    chosen = [
        at
        for at, (part, attack) in enumerate(EVERY)
        if not words or any(part == word if word in PARTS else word in attack.title for word in words)
    ]
    if not chosen:
        print(f"no attack is called '{' '.join(words)}'; the parts are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(f"{'attack':<46}{'tried':>12}{'held':>12}{'broke':>6}{'MB':>7}{'s':>7}")
    sums = [0, 0]
    for at in chosen:
        done = subprocess.run(
            [sys.executable, "-m", "tests.attacks", "--one", str(at)], stdout=subprocess.PIPE, check=False
        )
        last = done.stdout.splitlines()[-1:] or [b"{}"]
        try:
            found = json.loads(last[0])
        except ValueError:
            found = {}
        title = EVERY[at][1].title
        tried, fell = found.get("tried", 1), found.get("fell", 1)
        sums = [sums[0] + tried, sums[1] + fell]
        row = f"{title:<46}{tried:>12,}{tried - fell:>12,}{fell:>6,}"
        print(f"{row}{found.get('megabytes', 0):>7,}{found.get('seconds', 0):>7,}", flush=True)
        for sentence in found.get("sentences", [f"its process ended with {done.returncode}"]):
            print(f"    {sentence[:200]!r}")
    print(f"{'all':<46}{sums[0]:>12,}{sums[0] - sums[1]:>12,}{sums[1]:>6,}")
    return 1 if sums[1] else 0


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
                if now - said > _SECONDS_BETWEEN:
                    said = now
                    print(f"  {attack.title}: {tried:,} tried, {len(fell):,} broke", file=sys.stderr, flush=True)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
    result = {"tried": tried, "fell": len(fell), "sentences": fell[:_SHOWN]}
    print(json.dumps(result | {"megabytes": peak, "seconds": round(time.monotonic() - begun)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
