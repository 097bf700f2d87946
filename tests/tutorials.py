"""Follows the tutorials word for word in an empty folder, as a newcomer would.

A titled block is saved as a file, `export` sets a variable, and every command must succeed, or fail where the page says
so. Each line of a `text` block must be in the output of the commands since the heading. `make test` calls the commands
in its own process and leaves out blocks under a comment; `python -m tests.tutorials` starts processes and runs all but
those that serve.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
SERVES = "until Ctrl-C"
"""In the comment above a block: the command does not end by itself."""
FAILS = "exits with 1"
"""In the comment above a block: its last command fails, and the page says why."""

_BLOCK = re.compile(
    r'^(?:<!-- (?P<comment>.*?) -->\n)?```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```',
    re.M | re.S,
)

Run = Callable[[list[str], Mapping[str, str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Step:
    """One block of a tutorial."""

    language: str
    body: str
    title: str
    comment: str
    line: int


def steps(text: str) -> Iterator[Step]:
    """The blocks of a page, in order."""
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("body")) + 1
        yield Step(match["language"], match["body"], match["title"] or "", match["comment"] or "", line)


def follow(page: Path, folder: Path, run: Run, leave_out: Callable[[Step], bool]) -> int:
    """Do what the page says in `folder`; gives the number of commands that ran."""
    variables: dict[str, str] = {}
    output, done = "", 0
    for step in steps(page.read_text(encoding="utf-8")):
        where = f"{page.name}:{step.line}"
        if leave_out(step):
            output = ""
        elif step.title:
            (folder / step.title).write_text(step.body, encoding="utf-8")
        elif step.language == "text":
            for line in filter(None, map(_plain, step.body.splitlines())):
                assert not done or not output or line in _plain(output), f"{where}: no '{line}' in\n{output}"
        elif step.language == "console":
            output = ""
            lines = step.body.replace("\\\n", " ").splitlines()
            for at, words in enumerate(shlex.split(line, comments=True) for line in lines):
                if words[:1] == ["export"]:
                    name, value = words[1].split("=", 1)
                    variables[name] = value
                elif words and words[0] != "pip":
                    found = run(words, variables)
                    output += found.stdout + found.stderr
                    wanted = int(step.comment == FAILS and at == len(lines) - 1)
                    assert found.returncode == wanted, f"{where}: {words} exits with {found.returncode}\n{output}"
                    done += 1
    return done


def _plain(text: str) -> str:
    """Words alone: tables are laid out by the width of the terminal."""
    return " ".join(text.split())


def main() -> None:
    """Follow every tutorial with processes, and print what was done."""
    for page in PAGES:
        with tempfile.TemporaryDirectory(prefix="assay-tutorial-") as folder:

            def started(
                words: list[str], variables: Mapping[str, str], folder: str = folder
            ) -> subprocess.CompletedProcess[str]:
                print(f"  {shlex.join(words)}", flush=True)
                program = {"assay": [sys.executable, "-m", "assay"], "python": [sys.executable]}[words[0]]
                given = [*program, *words[1:]]
                return subprocess.run(
                    given, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
                )

            print(page.name, flush=True)
            done = follow(page, Path(folder), started, lambda step: step.comment.endswith(SERVES))
            print(f"  arrived after {done} commands", flush=True)


if __name__ == "__main__":
    main()
