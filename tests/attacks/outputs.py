"""Outputs on full disks, over inputs, stores and other files, with text that no encoding can write."""

from __future__ import annotations

import json
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from assay.errors import UsageError
from assay.outputs import replacing, write_bytes
from tests.attacks import Attack, Outcomes
from tests.attacks.names import transcript
from tests.command import assay_command


@contextmanager
def _disk_of(size: int) -> Iterator[None]:
    """No file can grow beyond `size` bytes, as on a disk that is full."""
    import signal

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def full_disks(times: int, folder: Path) -> Outcomes:
    """A disk that is full after any number of bytes leaves the old file as it was, and nothing beside it."""
    target = folder / "report.json"
    content = json.dumps({"new": "x" * 5000}).encode()
    for size in range(0, 5000, max(1, 5000 // times)):
        target.write_text('{"old": 1}')
        with _disk_of(size), pytest.raises(OSError, match="too large"):
            write_bytes(target, content)
        whole = target.read_text() == '{"old": 1}' and os.listdir(folder) == ["report.json"]
        yield None if whole else f"a disk full after {size} bytes leaves {target.read_bytes()[:20]!r}"


def overwritten_files(times: int, folder: Path) -> Outcomes:
    """Inputs, stores and files of another kind stay as they are; new files are their owner's only."""
    file, store = folder / "t.jsonl", folder / "runs.db"
    file.write_text(transcript(agent="half \ud83d").replace("\ufffd", ""), "utf-8")
    link, source = folder / "link.json", folder / "code.py"
    link.symlink_to(file)
    source.write_text("print('mine')\n")
    assert assay_command("chat", "score", file, "--store", store).returncode == 0
    (folder / "data.parquet").write_bytes(b"PAR1 and so on")
    for option in ("--json", "--html", "--junit", "--markdown"):
        for target in (file, link, store, source, folder / "data.parquet"):
            yield _unchanged(target, "chat", "score", file, option, target, "--no-store")
    for form in ("json", "html", "parquet", "markdown"):
        for target in (store, source):
            yield _unchanged(target, "runs", "export", "@last", target, "--format", form, "--store", store)
    for option in ("--json", "--html", "--junit", "--markdown"):
        new = folder / f"new{option}"
        done = assay_command("chat", "score", file, option, new, "--no-store")
        mode = stat.S_IMODE(new.stat().st_mode) if new.exists() else None
        yield None if mode == 0o600 and done.returncode == 0 else f"{option} made {mode}: {done.stderr[:200]}"
    yield None if stat.S_IMODE(store.stat().st_mode) == 0o600 else "the store can be read by others"
    inner = folder / "made" / "runs.db"
    assay_command("chat", "score", file, "--store", inner)
    yield None if stat.S_IMODE(inner.parent.stat().st_mode) == 0o700 else "the store's folder can be entered by others"


def _unchanged(target: Path, *words: object) -> str | None:
    before = target.read_bytes()
    assay_command(*words)
    return None if target.read_bytes() == before else f"{target.name} was overwritten"


def interrupted_writers(times: int, folder: Path) -> Outcomes:
    """A writer that fails midway leaves neither half a file nor a file beside it; a link stays a link."""
    real, link = folder / "real.html", folder / "link.html"
    real.write_text("<!doctype html>old")
    link.symlink_to(real)
    for _ in range(times):
        with suppress(UsageError), replacing(link) as path:
            path.write_text("<!doctype html>ne")
            raise UsageError("stopped")
        whole = real.read_text() == "<!doctype html>old" and len(os.listdir(folder)) == 2
        yield None if whole else "a stopped writer left something"
    write_bytes(link, b"<!doctype html>new")
    yield None if link.is_symlink() and real.read_text() == "<!doctype html>new" else "a link was replaced"


ATTACKS = [
    Attack("full disks", full_disks, 20, 1000),
    Attack("outputs over inputs, stores, other files", overwritten_files, 1, 1, seconds=3),
    Attack("writers that stop midway", interrupted_writers, 5, 500),
]
