"""A fresh interpreter that is handed some data, runs a program of ours and hands some data back, within a time.

What it prints is the program's own: the data comes back by a file, so that nothing that a framework writes can be
mistaken for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.redaction import redacted

# Without these an interpreter does not start or does not find its packages. Everything else is left out: a key or a
# switch in somebody's environment must not change what is measured.
_KEPT = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "VIRTUAL_ENV")

_HAND_BACK = """
import json as _json
with open({path!r}, "w", encoding="utf-8") as _file:
    _json.dump(result, _file)
"""
_KEPT_CHARACTERS = 400


class ProcessError(AssayError):
    """A program that took too long, or ended without an answer."""


def run(program: str, given: str, *, timeout: float) -> dict[str, Any]:
    """Run a program that reads `given` from its input and leaves a dictionary in `result`."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        answer = Path(folder) / "answer.json"
        try:
            # Not the folder it is started in, but what is installed, is what it imports from.
            done = subprocess.run(
                [sys.executable, "-P", "-c", program + _HAND_BACK.format(path=str(answer))],
                input=given,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout,
                cwd=folder,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ProcessError(f"it took more than {timeout:g} seconds") from None
        if not answer.exists():
            last = redacted(done.stderr).strip().rpartition("\n")[2][:_KEPT_CHARACTERS]
            raise ProcessError(last or f"it ended with status {done.returncode} and no answer")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found
