"""Stores with a byte changed: each run is whole, or an error names it; nothing is another number."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from assay.chat.scoring.scores import score
from assay.chat.transcript import Transcript
from assay.errors import AssayError
from assay.runs import record
from assay.store import open_store
from tests.attacks import Attack, Outcomes
from tests.attacks.names import TURNS
from tests.command import assay_command


def _a_store(path: Path) -> list[str]:
    """A store of three runs with answers and tallies; gives their ids."""
    ids = []
    for name in "abc":
        transcripts = [
            Transcript.model_validate({"agent": agent, "scenario": f"s{at}", "turns": TURNS})
            for at in range(6)
            for agent in ("x", "y")
        ]
        ids.append(record(score(transcripts, metrics=["accuracy", "response_time"]), store=str(path), name=name))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return ids


def _known(path: Path, ids: list[str]) -> dict[str, Any]:
    """Everything of each run that the store gives; an error in place of one that it refuses."""
    found: dict[str, Any] = {}
    with open_store(path) as store:
        for one in ids:
            try:
                run = store.load(one)
                found[one] = repr((run.settings, run.inputs, run.versions, run.seed, run.tallies, store.answers(one)))
            except AssayError as error:
                found[one] = error
        found["list"] = len(store.list())
    return found


def changed_bytes(times: int, folder: Path) -> Outcomes:
    """A byte anywhere in the file: the same numbers, or an error; never other numbers, never a traceback."""
    whole = folder / "whole.db"
    ids = _a_store(whole)
    before = _known(whole, ids)
    chance, copy = random.Random(5), folder / "copy.db"
    for number in range(times):
        shutil.copy(whole, copy)
        at = chance.randrange(100, whole.stat().st_size)
        with copy.open("r+b") as file:
            file.seek(at)
            old = file.read(1)[0]
            file.seek(at)
            file.write(bytes([old ^ (1 << chance.randrange(8))]))
        try:
            after = _known(copy, ids)
        except AssayError:
            yield None
            continue
        except Exception as error:
            yield f"byte {at} (try {number}) ended in {type(error).__name__}: {str(error)[:80]}"
            continue
        other = [one for one in ids if after[one] != before[one] and not isinstance(after[one], AssayError)]
        yield f"byte {at}: run {other[0]} has other contents" if other else None


_STATEMENTS = (
    "UPDATE runs SET settings = '{' WHERE id = :id",
    "UPDATE turns SET response = 'other' WHERE run = :run AND number = 1",
    "DELETE FROM tallies WHERE run = :run AND case_number = 2",
    "UPDATE runs SET seed = 'x' WHERE id = :id",
    "UPDATE runs SET group_names = '[]' WHERE id = :id",
    "UPDATE runs SET inputs = x'ff' WHERE id = :id",
    "UPDATE tallies SET states = x'00' WHERE run = :run",
    "UPDATE tallies SET case_number = case_number + 100 WHERE run = :run",
    "DELETE FROM cases WHERE run = :run AND number = 1",
    "UPDATE turns SET entries = '{}' WHERE run = :run AND number = 1",
    "UPDATE turns SET entries = 'x' WHERE run = :run AND number = 1",
    "DELETE FROM turns WHERE run = :run AND number = 3",
)


def changed_rows(times: int, folder: Path) -> Outcomes:
    """A row changed behind our back: its run is named, the others are listed, shown and saved by a repair."""
    whole = folder / "whole.db"
    ids = _a_store(whole)
    for number, statement in enumerate(_STATEMENTS[:times]):
        copy, saved = folder / f"{number}.db", folder / f"saved-{number}.db"
        shutil.copy(whole, copy)
        connection = sqlite3.connect(copy)
        (run,) = connection.execute("SELECT number FROM runs WHERE id = ?", (ids[1],)).fetchone()
        connection.execute(statement, {"id": ids[1], "run": run} if ":run" in statement else {"id": ids[1]})
        connection.commit()
        connection.close()
        after = _known(copy, ids)
        damaged = assay_command("runs", "export", ids[1], "-", "--store", copy)
        checked = assay_command("runs", "verify", "--store", copy)
        assay_command("runs", "repair", saved, "--store", copy)
        listed = assay_command("runs", "list", "--store", copy)
        held = (
            isinstance(after[ids[1]], AssayError)
            and ids[1] in str(after[ids[1]])
            and after["list"] == 3
            and damaged.returncode == 2
            and "Traceback" not in damaged.stderr
            and checked.returncode == 1
            and ids[1] in checked.stdout
            and all(one in listed.stdout for one in ids)
            and {key: value for key, value in _known(saved, [ids[0], ids[2]]).items() if key != "list"}
            == {one: after[one] for one in (ids[0], ids[2])}
            and assay_command("runs", "verify", "--store", saved).returncode == 0
        )
        yield None if held else f"{statement}: {after[ids[1]]!r:.90}; {damaged.stderr[-90:]}; {checked.stdout[:90]}"


def deleted_space(times: int, folder: Path) -> Outcomes:
    """A run that is deleted with --compact gives its space back; nothing of its text stays in the file."""
    path = folder / "runs.db"
    turns = [{"user": "q", "assistant": "unforgettable " * 20_000}]
    long = Transcript.model_validate({"agent": "x", "scenario": "s", "turns": turns})
    run = record(score([long], metrics=["response_time"]), store=str(path), name="long")
    before = path.stat().st_size
    done = assay_command("runs", "delete", run, "--yes", "--compact", "--store", path)
    after = sum(file.stat().st_size for file in folder.iterdir())
    gone = all(b"unforgettable" not in file.read_bytes() for file in folder.iterdir())
    yield None if gone and after < before else f"{before:,} bytes became {after:,}: {done.stderr[:100]}"


def _kills(address: str, times: int) -> Outcomes:
    command = [sys.executable, "-m", "tests.store.killed", address, str(times)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"after a kill: {done.stderr[-200:]}"
        return
    found = json.loads(done.stdout)
    yield from [None] * (times - 1)
    yield None if found["while_writing"] >= times // 2 else f"too few kills hit a write: {found}"


def kills_on_sqlite(times: int, folder: Path) -> Outcomes:
    """Killed writers, at least half of them in the middle of a write: nothing is lost, doubled or half true."""
    yield from _kills(str(folder / "runs.db"), times)


def kills_on_postgresql(times: int, folder: Path) -> Outcomes:
    """The same on a PostgreSQL server, if its programs are installed."""
    from tests.store import postgres

    if postgres.programs() is None:
        return
    with postgres.running(durable=True) as server:
        yield from _kills(server.new_schema(), times)


ATTACKS = [
    Attack("a byte of a store changed", changed_bytes, 40, 1_500, seconds=2),
    Attack("rows of a store changed", changed_rows, 3, len(_STATEMENTS), seconds=3),
    Attack("deleted runs leave nothing behind", deleted_space, 1, 1),
    # Tried in `make test` by tests/store/test_store.py.
    Attack("writers killed while writing, SQLite", kills_on_sqlite, 0, 100),
    Attack("writers killed while writing, PostgreSQL", kills_on_postgresql, 0, 100),
]
