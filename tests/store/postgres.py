"""A PostgreSQL server of our own for tests and benchmarks: started from the machine's packages, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

_START_SECONDS = 60


def programs() -> Path | None:
    """The folder of PostgreSQL's server programs, or None. Debian keeps them out of the search path."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    candidates = [*([Path(found).parent] if found else []), *folders]
    return next(
        (folder for folder in candidates if (folder / "initdb").exists() and (folder / "postgres").exists()), None
    )


@dataclass
class Server:
    """A running server that listens on a socket in its own folder and nowhere else."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://assay@/{database}?host={quote(str(self.folder))}"

    def new_schema(self) -> str:
        """The address of an empty schema: as good as a database of its own, and made in a tenth of the time."""
        name = f"assay_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.address()}&options={quote(f'-csearch_path={name}')}"

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running(*, durable: bool = False) -> Iterator[Server]:
    """Start a server, and stop it at the end. One that is not `durable` skips what only a power cut would show."""
    found = programs()
    if found is None:
        raise FileNotFoundError("PostgreSQL's server programs are not installed")
    # A socket's path may have 107 letters, so not in a test's own long folder.
    folder = Path(tempfile.mkdtemp(prefix="assay-pg-"))
    server: subprocess.Popen[bytes] | None = None
    try:
        as_user = _unprivileged(folder)
        initdb = [str(found / "initdb"), "-D", str(folder / "data"), "-U", "assay", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([*initdb, "--locale=C"], check=True, capture_output=True, cwd=folder, **as_user)
        settings = {"listen_addresses": "", "unix_socket_directories": str(folder), "max_connections": "40"}
        if not durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [str(found / "postgres"), "-D", str(folder / "data"), *options],
                stdout=log,
                stderr=log,
                cwd=folder,
                **as_user,
            )
        _wait(found, folder, server)
        yield Server(folder)
    finally:
        if server is not None:
            # At once, without waiting for clients or writing back what is thrown away next.
            server.send_signal(signal.SIGQUIT)
            server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """The server refuses to run as root, so root hands its folder to another user."""
    if os.getuid() != 0:
        return {}
    names = {user.pw_name: user for user in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o755)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _wait(found: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(Server(folder).address()).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "log").read_text(errors="replace")[-2000:]) from None
            time.sleep(0.05)
