"""Persisting scored cases to SQLite and PostgreSQL, loading them again, and the room they take."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.store import postgres

from assay.store import open_store
from assay.store.runs import StoredAnswer, new_id
from assay.types import Case, Distribution, Run, State
from benchmarks.measuring import Result, at_least, at_most, show

WANTED = 1000  # scored cases a second
CASES, AT_ONCE, SINGLE = 10_000, 100, 500
LOADED, LOAD_SECONDS = 100_000, 5.0
METRICS = tuple(f"metric_{n}" for n in range(15))


def main() -> None:
    with _addresses() as addresses:
        results = [result for name, address in addresses.items() for result in _measured(name, address)]
    show("Store", results)


@contextmanager
def _addresses() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        addresses = {"SQLite": str(Path(folder) / "runs.db")}
        if postgres.programs() is None:
            print("PostgreSQL is not installed: measured on SQLite only", file=sys.stderr)
            yield addresses
            return
        with postgres.running(durable=True) as server:
            yield addresses | {"PostgreSQL": server.address()}


def _measured(name: str, address: str) -> list[Result]:
    with open_store(address) as store:
        before = store.size()
        results = []
        for n, at_once in ((CASES, AT_ONCE), (SINGLE, 1)):
            run = _run()
            tallies, answers = _tallies(n), _answers(n)
            start = time.perf_counter()
            store.begin(run)
            cases = list(tallies)
            for at in range(0, n, at_once):
                some = cases[at : at + at_once]
                store.add_cases(
                    run.id, {"agent": {case: tallies[case] for case in some}}, answers=answers[at : at + at_once]
                )
            store.finish(run.id)
            speed = n / (time.perf_counter() - start)
            what = f"{name}: answers with {len(METRICS)} metrics and their evidence"
            if at_once == 1:
                print(f"{what}, each in a transaction of its own: {speed:,.0f}/s")
            else:
                what = f"{what}, {at_once} in a transaction"
                results.append(at_least(what, f"{speed:,.0f}/s", f"{WANTED:,}/s", speed / WANTED, 1))
                size = store.size() - before
                print(
                    f"{name}: {size / n:,.0f} bytes for a scored case with query, answer, and evidence of each metric"
                )
        before = store.size()
        whole = replace(_run(), tallies={"agent": _tallies(LOADED)})
        start = time.perf_counter()
        store.save(whole)
        saved = time.perf_counter() - start
        print(f"{name}: {(store.size() - before) / LOADED:,.0f} bytes for a case with its tally alone")
        start = time.perf_counter()
        store.load(whole.id)
        loaded = time.perf_counter() - start
        speed = LOADED / saved
        what = f"{name}: a run of {LOADED:,} cases saved in one transaction"
        results.append(at_least(what, f"{speed:,.0f}/s", f"{WANTED:,}/s", speed / WANTED, 1))
        what = f"{name}: the same run loaded"
        results.append(at_most(what, f"{loaded:.1f} s", f"{LOAD_SECONDS / 2} s", loaded / (LOAD_SECONDS / 2), 1))
        return results


def _run() -> Run:
    return Run(new_id(), "chat", "", "2026-01-01T00:00:00+00:00", "", {}, 42, {}, {}, {}, {})


def _scores(at: int) -> dict[str, float]:
    """Scores of two places, as the metrics give them."""
    return {metric: (at * 7 + number * 13) % 101 / 100 for number, metric in enumerate(METRICS)}


def _tallies(n: int) -> dict[Case, dict[str, State]]:
    single = {step / 100: Distribution.of([step / 100]) for step in range(101)}
    return {
        Case(f"scenario-{at:06d}"): {metric: single[score] for metric, score in _scores(at).items()} for at in range(n)
    }


def _answers(n: int) -> list[StoredAnswer]:
    query = "What is the weather in Paris?"
    said = "It is 21 °C in Paris with light rain; take an umbrella if you go out in the afternoon."
    return [
        StoredAnswer(
            "agent", f"scenario-{at:06d}", 0, 0, query, said, {m: _entry(s) for m, s in _scores(at).items()}, True
        )
        for at in range(n)
    ]


def _entry(score: float) -> dict[str, object]:
    return {
        "score": score,
        "measured": True,
        "band": "good",
        "details": "Named the temperature and the condition.",
        "base": 0.5,
        "evidence": [{"id": "temperature", "points": 0.2, "words": "21 °C", "start": 14, "end": 19}],
    }
