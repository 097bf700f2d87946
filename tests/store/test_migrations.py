"""A store of the first version opens, and what is not a store of ours is left alone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import select, text
from tests.store.forked import exit_codes, load_first
from tests.store.runs import some_run

from assay.errors import StoreError
from assay.events.evaluation import rebuilt_report
from assay.store import migrations, open_store, schema
from assay.store.database import Database
from assay.types import Case

HERE = Path(__file__).parent
TABLES = ("runs", "cases", "tallies", "turns", "scores", "artefacts")


@pytest.fixture
def first(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store as the first version left it: one complete run, one unfinished."""
    dump = (HERE / "version_1.sql").read_text(encoding="utf-8")
    if "://" not in address:
        file = sqlite3.connect(address)
        file.executescript(dump)
        file.close()
        return address
    old = sqlite3.connect(":memory:")
    old.executescript(dump)
    with monkeypatch.context() as patch:
        patch.setattr("assay.store.database.SCHEMA_VERSION", 0)
        database = Database(address)
    with database.writing() as connection:
        migrations.migrate(connection, to=1)
        for table in TABLES:
            cursor = old.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            for row in cursor:
                values = {n: bool(v) if n in ("passed", "measured") else v for n, v in zip(names, row, strict=True)}
                marks = ", ".join(f":{name}" for name in names)
                connection.execute(text(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"), values)
        connection.execute(text("SELECT setval(pg_get_serial_sequence('runs', 'number'), 2)"))
    database.close()
    old.close()
    return address


def version(address: str) -> int:
    database = Database(address)
    with database.reading() as connection:
        found = migrations.found_version(connection)
    database.close()
    return found


def test_the_first_version_opens_and_gives_the_numbers_it_gave(first: str) -> None:
    with open_store(first) as store:
        complete, unfinished = store.load("first"), store.describe("1m7gf000000002")
        assert (store.describe("first").cases, unfinished.cases) == (3, 1)
        assert not unfinished.complete
        found = rebuilt_report(complete).to_json()["protocols"]
        for label, figures in json.loads((HERE / "version_1.json").read_text()).items():
            # Figures that this version did not have yet cannot be computed from what it stored.
            rebuilt = found.pop(label)
            # Some sums of floats have become sums of integers, which are exact; intervals have got better methods.
            again = {key: rebuilt.pop(key) for key in figures}
            values = [key for key in figures if "_ci_" not in key]
            assert [again[key] for key in values] == pytest.approx([figures[key] for key in values], rel=1e-12)
            assert set(rebuilt.values()) <= {None}
        assert found == {}
        assert store.answers("first")[0]["metrics"]["accuracy"]["score"] == 0.8
        with store._database.reading() as connection:
            files = connection.execute(select(schema.artefacts.c.name, schema.artefacts.c.content)).all()
        assert [(name, bytes(content)) for name, content in files] == [("note.txt", b"hello")]
    assert version(first) == migrations.SCHEMA_VERSION


def test_new_features_work_on_an_old_store(first: str) -> None:
    with open_store(first) as store:
        assert store.tag("first", "baseline") == ("baseline",)
        store.add_cases("1m7gf000000002", {"owa": {Case("more"): {}}})
        store.finish("1m7gf000000002")
        assert store.describe("second").cases == 2
        store.save(some_run("third"))
        assert store.describe("@last~2").run.id == "1m7gf000000001"


@pytest.mark.slow(seconds=3)
def test_several_processes_that_open_an_old_store_migrate_it_once(first: str) -> None:
    assert exit_codes(load_first, [(first,)] * 3) == [0, 0, 0]
    assert version(first) == migrations.SCHEMA_VERSION


def test_a_migration_that_fails_leaves_the_old_store(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("CREATE TABLE more (x INTEGER)", "NONSENSE")))
        newer = migrations.SCHEMA_VERSION + 1
        patch.setattr(migrations, "SCHEMA_VERSION", newer)
        patch.setattr(migrations.migrate, "__kwdefaults__", {"to": newer})
        patch.setattr("assay.store.database.SCHEMA_VERSION", newer)
        with pytest.raises(StoreError):
            open_store(first)
    with open_store(first) as store:
        assert store.load("first").name == "first"
    assert version(first) == migrations.SCHEMA_VERSION


def test_a_store_of_a_newer_assay_is_rejected_and_unchanged(address: str) -> None:
    open_store(address).close()
    database = Database(address)
    with database.writing() as connection:
        connection.execute(text("UPDATE assay_schema SET version = 99"))
    database.close()
    for _ in range(2):
        with pytest.raises(StoreError, match=f"newer assay: its schema is 99, newer than {migrations.SCHEMA_VERSION}"):
            open_store(address)


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"belongs to another program: it has photos"):
        open_store(path)
    assert path.read_bytes() == before


def test_tables_of_our_names_that_are_not_ours_are_refused(address: str) -> None:
    if "://" in address:
        import psycopg

        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE runs (x INTEGER)")
    else:
        with sqlite3.connect(address) as file:
            file.execute("CREATE TABLE runs (x)")
        file.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        open_store(address)
