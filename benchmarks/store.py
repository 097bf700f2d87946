"""Writing scored cases to SQLite and PostgreSQL, loading them again, and the space they take."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import text
from tests.store import postgres

from assay.store import open_store
from assay.store.ids import new_id
from assay.store.store import Store
from assay.types import Case, Distribution, Run, State
from benchmarks.measuring import Result, at_least, at_most, best, show

WANTED = 1000  # scored cases a second
CASES, AT_ONCE, SINGLE = 4_000, 100, 300
REPEATS = 3
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
        before = _size(store)
        tallies, answers = _tallies(CASES), _answers(CASES)
        batched = CASES / best(lambda: _filled(store, tallies, answers, AT_ONCE), repeats=REPEATS)
        size = (_size(store) - before) / (CASES * REPEATS)
        few = dict(list(tallies.items())[:SINGLE])
        single = SINGLE / best(lambda: _filled(store, few, answers[:SINGLE], 1), repeats=1)
        before = _size(store)
        many = _tallies(LOADED)
        saved = LOADED / best(lambda: store.save(replace(_run(), tallies={"agent": many})), repeats=1)
        tally = (_size(store) - before) / LOADED
        loaded = best(lambda: store.load("@last"), repeats=REPEATS)
    print(
        f"{name}: {size:,.0f} bytes for a scored case with query, answer and evidence, {tally:,.0f} for its tally "
        f"alone; each case in a transaction of its own: {single:,.0f}/s"
    )
    scored = f"{name}: answers with {len(METRICS)} metrics and their evidence, {AT_ONCE} in a transaction"
    limit = LOAD_SECONDS / 2
    return [
        at_least(scored, f"{batched:,.0f}/s", f"{WANTED:,}/s", batched / WANTED, 1),
        at_least(f"{name}: a run of {LOADED:,} cases saved", f"{saved:,.0f}/s", f"{WANTED:,}/s", saved / WANTED, 1),
        at_most(f"{name}: the same run loaded", f"{loaded:.1f} s", f"{limit} s", loaded / limit, 1),
    ]


def _size(store: Store) -> int:
    """Bytes that the whole database takes."""
    with store._database.reading() as connection:
        if connection.dialect.name == "sqlite":
            pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            return int(connection.execute(text(pages)).scalar_one())
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def _filled(
    store: Store, tallies: Mapping[Case, Mapping[str, State]], answers: list[dict[str, Any]], size: int
) -> None:
    """A run written `size` cases at a time."""
    run, cases = store.begin(_run()), list(tallies)
    for at in range(0, len(cases), size):
        some = {case: tallies[case] for case in cases[at : at + size]}
        store.add_cases(run, {"agent": some}, answers=answers[at : at + size])
    store.finish(run)


def _run() -> Run:
    return Run(new_id(), "chat", "", "2026-01-01T00:00:00+00:00", "", {}, 42, {}, {}, {}, {})


def _scores(at: int) -> dict[str, float]:
    """Scores with two decimal places, as the metrics give them."""
    return {metric: (at * 7 + number * 13) % 101 / 100 for number, metric in enumerate(METRICS)}


def _tallies(n: int) -> dict[Case, dict[str, State]]:
    single = {step / 100: Distribution.of([step / 100]) for step in range(101)}
    return {
        Case(f"scenario-{at:06d}"): {metric: single[score] for metric, score in _scores(at).items()} for at in range(n)
    }


def _answers(n: int) -> list[dict[str, Any]]:
    query = "What is the weather in Paris?"
    said = "It is 21 °C in Paris with light rain; take an umbrella if you go out in the afternoon."
    return [
        {
            "agent": "agent",
            "scenario": f"scenario-{at:06d}",
            "repetition": 0,
            "turn": 0,
            "query": query,
            "response": said,
            "passed": True,
            "metrics": {metric: _entry(score) for metric, score in _scores(at).items()},
        }
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
