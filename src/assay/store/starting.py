"""Starts the process of `process.py`, whose modules it does not import."""

from __future__ import annotations

import subprocess
import sys


def start_store_process() -> subprocess.Popen[bytes]:
    """The process, which imports the database's packages and waits for the address of a store."""
    # In a new session, Ctrl-C at the terminal does not reach it: what was kept is still written.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "assay.store.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
