"""The `assay` command in this process: what `python -m assay.cli` prints and returns, without starting an interpreter.

For facts about the command's words, files and exit code. Facts about signals, pipes, sockets or imports need a process.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.cli import main


def assay_command(
    *words: object, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command as `main` does. An `environment` that is given takes the place of the current one."""
    given = ["assay", *map(str, words)]
    code: object = 0
    with _surroundings(given, cwd, environment), _captured() as (out, err):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
    status = code if isinstance(code, int) else int(code is not None)
    return subprocess.CompletedProcess(given, status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _surroundings(words: list[str], cwd: Path | None, environment: Mapping[str, str] | None) -> Iterator[None]:
    before, arguments, stdin = dict(os.environ), sys.argv, sys.stdin
    folder = contextlib.chdir(cwd) if cwd is not None else contextlib.nullcontext()
    with folder:
        try:
            sys.argv, sys.stdin = words, io.StringIO()
            if environment is not None:
                _set_environment(environment)
            yield
        finally:
            sys.argv, sys.stdin = arguments, stdin
            _set_environment(before)


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def _set_environment(wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)
