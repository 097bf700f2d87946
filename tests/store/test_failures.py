"""Full disks, files that may only be read, damaged files, servers that are not there: a sentence, and nothing lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.store import postgres
from tests.store.runs import some_run

from assay.errors import StoreError, UsageError
from assay.store import open_store
from assay.store.contents import StoredTallies
from assay.store.searching import Search
from assay.types import Case, InOrder, Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small_disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk of some megabytes, which other users may enter: pytest's folders are closed by each new session."""
    folder = Path(tempfile.mkdtemp(prefix="assay-disk-"))
    mounted = (
        os.getuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={request.param}m", "tmpfs", folder], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        folder.rmdir()
        pytest.skip("needs the right to mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
    folder.rmdir()


def big(megabytes: int) -> StoredTallies:
    """States that no packing makes smaller."""
    chance = np.random.default_rng(1)
    return {"owa": {Case(f"big {n}"): {"x": InOrder(chance.random(1 << 17))} for n in range(megabytes)}}


@pytest.mark.parametrize("small_disk", [4], indirect=True)
@pytest.mark.slow(seconds=2)
def test_a_full_disk_is_reported_and_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "runs.db"
    with open_store(path) as store:
        kept = store.save(some_run("kept", cases=20))
        pending = some_run("pending")
        store.begin(pending)
        store.add_cases(pending.id, pending.tallies)
        much = big(5)
        for _ in range(2):
            with pytest.raises(StoreError, match="full"):
                store.save(_with(much))
            with pytest.raises(StoreError, match="full"):
                store.add_cases(pending.id, much)
        assert [entry.run.name for entry in store.list()] == ["pending", "kept"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with open_store(path) as store:
        assert len(store.load(kept).tallies["owa"]) == 20
        assert len(store.done(pending.id)) == 6
        store.save(some_run("after"))
        store.finish(pending.id)


@pytest.mark.parametrize("small_disk", [16], indirect=True)  # an empty database takes half of it
@pytest.mark.postgres
@pytest.mark.slow(seconds=5)
def test_a_full_disk_of_postgresql_is_reported_and_loses_nothing(small_disk: Path, server: postgres.Server) -> None:
    shutil.chown(small_disk, server.folder.owner(), server.folder.group())
    server.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    try:
        server.execute("CREATE DATABASE crowded TABLESPACE small")
        with open_store(server.address("crowded")) as store:
            kept = store.save(some_run("kept"))
            with pytest.raises(StoreError, match="full"):
                store.save(_with(big(20)))
            assert [entry.run.name for entry in store.list()] == ["kept"]
            assert store.load(kept).name == "kept"
        server.execute("DROP DATABASE crowded WITH (FORCE)")
    finally:
        server.execute("DROP TABLESPACE IF EXISTS small")


def _with(tallies: StoredTallies) -> Run:
    return replace(some_run("big"), tallies=tallies)


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    """What a quota does: the system refuses to let the file grow."""
    path = tmp_path / "runs.db"
    code = """if True:
        import resource, signal, sys
        from assay.store import open_store
        from tests.store.runs import some_run
        from tests.store.test_failures import _with, big
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open_store(sys.argv[1]) as store:
            store.save(some_run("kept"))
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
            try:
                store.save(_with(big(10)))
            except Exception as error:
                print(type(error).__name__, error)
    """
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("StoreError"), done.stdout + done.stderr
    assert "full" in done.stdout
    with open_store(path) as store:
        assert [entry.run.name for entry in store.list()] == ["kept"]
        store.save(some_run("after"))


@pytest.mark.slow
def test_an_interrupt_while_a_store_is_closed_prints_nothing(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from sqlalchemy.engine.default import DefaultDialect
        from assay.store import open_store
        store = open_store(sys.argv[1])
        def interrupted(self, connection):
            raise KeyboardInterrupt
        DefaultDialect.do_close = interrupted
        try:
            store.close()
        except KeyboardInterrupt:
            print("raised")
    """
    command = [sys.executable, "-c", code, str(tmp_path / "runs.db")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("raised\n", "")


@pytest.mark.parametrize("folder_too", [False, True])
@pytest.mark.slow
def test_a_read_only_file_is_read_and_not_written(tmp_path: Path, folder_too: bool) -> None:
    path = tmp_path / "there" / "runs.db"
    with open_store(path) as store:
        store.save(some_run("kept"))
    path.chmod(0o444)
    path.parent.chmod(0o555 if folder_too else 0o777)
    before = path.read_bytes()
    code = """if True:
        import os, sys
        from assay.store import open_store
        from tests.store.runs import some_run
        path, scratch = sys.argv[1:]
        with open_store(scratch) as store:  # imports whatever another user may not read
            store.load(store.save(some_run()))
        if os.getuid() == 0:  # whom no permission stops
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        with open_store(path) as store:
            print(store.load("kept").name)
            for write in (store.save, store.delete, store.tag):
                try:
                    write(*([some_run("no")] if write == store.save else ["kept", "t"][: 1 + (write == store.tag)]))
                except Exception as error:
                    print(type(error).__name__, error)
    """
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "scratch.db")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    path.parent.chmod(0o755)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "kept"
    assert len(lines) == 4
    for line in lines[1:]:
        assert line.startswith("StoreError"), line
        assert "the store is read-only" in line
    assert path.read_bytes() == before


@pytest.mark.postgres
def test_a_read_only_postgresql_database_is_reported(server: postgres.Server) -> None:
    address = server.new_schema()
    with open_store(address) as store:
        store.save(some_run("kept"))
    limited = address.replace("options=", f"options={'-cdefault_transaction_read_only%3Don%20'}")
    with open_store(limited) as store:
        assert store.load("kept").name == "kept"
        with pytest.raises(StoreError, match="the store is read-only"):
            store.save(some_run("no"))


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_not_a_database_is_rejected_and_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"not a SQLite database|damaged"):
        open_store(path)
    assert path.read_bytes() == content


def test_a_damaged_store_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        store.save(some_run(cases=400))
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xa5" * (len(raw) - 4096)
    path.write_bytes(raw)
    with pytest.raises(StoreError, match=r"damaged|another program"):
        open_store(path).load("@last")


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the path is a folder"):
        open_store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="folder cannot be created"):
        open_store(tmp_path / "file" / "runs.db")


def test_addresses_that_cannot_be_stores_are_refused() -> None:
    with pytest.raises(UsageError, match="mysql"):
        open_store("mysql://localhost/x")


def test_an_unreachable_server_is_reported_without_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://me:hunter2@127.0.0.1:1/runs")
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1:1/runs" in str(caught.value)


def test_a_busy_store_is_waited_for_and_then_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    open_store(path).close()
    monkeypatch.setattr("assay.store.database.BUSY_SECONDS", 0.1)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with open_store(path) as store:
        assert store.list() == []
        with pytest.raises(StoreError, match="another process has been writing for too long"):
            store.save(some_run())
        holder.execute("ROLLBACK")
        store.save(some_run())
    holder.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_that_is_deleted_while_it_is_open_says_so(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        store.save(some_run("first"))
        path.rename(tmp_path / "old.db")
        if replaced:
            path.touch()
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.save(some_run("second"))


@pytest.mark.parametrize("column", ["runs.name", "runs.kind", "cases.name", "tags.tag"])
def test_bytes_in_place_of_text_are_damage_and_no_crash(tmp_path: Path, column: str) -> None:
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        run = some_run("spoiled", cases=2)
        store.save(run)
    table, name = column.split(".")
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE OR IGNORE {table} SET {name} = CAST('x' || {name} AS BLOB)")
    connection.close()
    with open_store(path) as store:
        store.list()
        with suppress(StoreError):
            store.load(run.id)


@pytest.mark.parametrize("column", ["runs.name", "runs.kind", "runs.settings", "runs.environment", "tags.tag"])
def test_text_that_is_not_utf_8_in_one_run_does_not_hide_the_others(tmp_path: Path, column: str) -> None:
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        spoiled, whole = some_run("spoiled"), some_run("whole")
        for run in (spoiled, whole):
            store.save(run)
    table, name = column.split(".")
    key = "number" if table == "runs" else "run"
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {name} = CAST(X'C328FF' AS TEXT) WHERE {key} = 1")
    connection.close()
    with open_store(path) as store:
        assert {entry.run.id for entry in store.list()} == {spoiled.id, whole.id}
        assert store.search(Search(), limit=10).total == 2
        assert store.load(whole.id).tallies.keys() == whole.tallies.keys()


def test_an_odd_address_of_a_server_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError, match="not valid"):
        open_store("postgresql:///x?host=/nowhere&port=abc")
    for password in ("s3cret pw", "s3cret/pw", "s3cret#pw"):
        with pytest.raises(StoreError) as caught:
            open_store(f"postgresql://u:{password}@127.0.0.1:1/x")
        assert "s3cret" not in str(caught.value)
