"""Runs the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "statistics",
    "events",
    "recordings",
    "training",
    "chat",
    "transcripts",
    "memory",
    "everything",
    "startup",
    "store",
    "serve",
    "timeline",
    "compare",
    "frameworks",
    "runner",
    "load",
    "cluster",
    "honesty",
    "judge",
)


def main() -> None:
    chosen = sys.argv[1:] or NAMES
    for name in chosen:
        if name not in NAMES:
            sys.exit(f"there is no benchmark '{name}'; known: {', '.join(NAMES)}")
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
