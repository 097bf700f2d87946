"""Starts processes of a run before anything else: the one that scores turns, if the suite is large, and those of agents
that are functions. Imports are inside functions, so that a new interpreter is started without waiting for them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.chat.running.processes.forking import Forked, can_fork, fork

# Bytes of a suite that has more than enough turns for a process of their own, with baselines; most have fewer.
_LARGE_SUITE = 16_000
# A line of a suite's file with one of the two names that decide which words are read.
_NAMED = re.compile(r"^(domain|language):[ \t]*['\"]?([a-z][a-z_-]*)['\"]?[ \t]*(?:#.*)?$", re.MULTILINE)
# Agents for which a copy of this process is made before it is needed; the others start a new interpreter.
_MOST_WORKERS = 4


class Ahead:
    """Processes that wait for what they are to do."""

    def __init__(self) -> None:
        self.scoring: subprocess.Popen[bytes] | Forked | None = None
        """The process that scores turns; None if it was not started."""
        self._workers: list[Forked] = []
        self._free: list[Forked] = []

    def start_scoring(self, suite: Path, domain: str | None = None) -> None:
        """Start the process that scores, and let it load what a suite needs, with the folder of its domain if given."""
        expected = _named_in(suite)
        if expected is not None and domain is not None and Path(domain).exists():
            expected["own_domain"] = domain
        self.scoring = start_scoring(expected)

    def start_workers(self, agents: str) -> None:
        """Start processes for agents that are named as functions, NAME=module:function."""
        functions = sum(":" in one and "://" not in one for one in agents.split(","))
        if functions and can_fork():
            from assay.chat.running.hosts.worker import load_for_copies, play_conversations

            load_for_copies()  # for all of them: this process needs most of it too
            self._workers = [fork(play_conversations) for _ in range(min(functions, _MOST_WORKERS))]
            self._free = self._workers[:]

    def take_worker(self) -> Forked | None:
        """A waiting process for an agent that is a function; None if all are taken."""
        return self._free.pop() if self._free else None

    def end(self) -> None:
        """End what still runs."""
        for process in (self.scoring, *self._workers):
            if process is not None:
                process.kill()
                for pipe in (process.stdin, process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()
                process.wait()


def start_scoring(expected: dict[str, str] | None = None) -> subprocess.Popen[bytes] | Forked:
    """The process that scores, which loads what its settings are `expected` to name and then waits for them."""
    if can_fork():
        from assay.chat.running.scoring_worker import score_turns
        from assay.chat.scoring.metric import METRICS

        METRICS.names()  # asks every installed package, for both
        return fork(score_turns, expected, has_stderr=False)
    # -P keeps the current folder off the path. In a new session, Ctrl-C at the terminal does not reach it.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "assay.chat.running.scoring_worker", *(expected or {}).values()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _named_in(suite: Path) -> dict[str, str] | None:
    """Domain and language that a suite names, or those of a suite that names none; None if it cannot be read."""
    try:
        text = suite.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = dict(reversed(_NAMED.findall(text)))
    return {"domain": found.get("domain", "weather"), "language": found.get("language", "en")}


@contextmanager
def started_ahead(suite: str, agents: str, domain: str | None = None) -> Iterator[Ahead]:
    """Processes for as long as a `with` block runs; the one that scores only if the suite is a large file."""
    path = Path(suite)
    ahead = Ahead()
    try:
        if path.is_file() and path.stat().st_size >= _LARGE_SUITE:
            ahead.start_scoring(path, domain)
        ahead.start_workers(agents)
        yield ahead
    finally:
        ahead.end()
