"""The machine and the packages that a run was made with, and the command that made it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution

from assay import __version__

# Packages whose version can change a number.
_PACKAGES = (
    "numpy", "numba", "pyarrow", "mcap", "fsspec", "PyStemmer",
    "openai", "google-adk", "agent-framework-core", "openai-agents", "langgraph", "pydantic-ai-slim",
)  # fmt: skip
_GIT_SECONDS = 5
_GIT_OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_STATED = re.compile(r"^Version: *(\S+) *$", re.MULTILINE)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def environment() -> dict[str, str]:
    """Package versions, Python, machine, and the git revision of the current folder."""
    found = {
        "assay": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count() or ""),
    }
    for package in _PACKAGES:
        try:
            found[package] = _version(package)
        except PackageNotFoundError:
            continue
    revision = _revision()
    return found | ({"revision": revision} if revision else {})


def _version(package: str) -> str:
    """The version of a package, without parsing its description, which may be long."""
    about = distribution(package)
    stated = _STATED.search(about.read_text("METADATA") or "")
    return stated.group(1) if stated else about.version


def _revision() -> str | None:
    """The commit of the current folder; None outside a checkout.

    The folder may be an unpacked dataset whose `.git/config` makes many commands of git run a program
    (`core.fsmonitor`, filters, hooks, a promisor remote). `rev-parse` of a name reads one reference and runs nothing.
    """
    try:
        head = subprocess.run(
            ["git", *_GIT_OPTIONS, "rev-parse", "--verify", "--quiet", "HEAD"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
            env=os.environ | {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    found = head.stdout.strip()
    return found if head.returncode == 0 and _COMMIT.fullmatch(found) else None


def command_line() -> list[str]:
    """The command that this process runs, with the program's name in place of its path."""
    return ["assay", *sys.argv[1:]]
