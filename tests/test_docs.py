"""What README and docs show is true: every Python block runs, and every `assay` command exists with its options."""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from assay.chat.domains import DOMAINS
from assay.cli import app
from tests.events.training.frameworks import needed

ROOT = Path(__file__).parents[1]
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))] if page.exists()]

# What `make test` does not install; `make test-train` does, and runs these pages.
NEEDED = {"docs/guides/training.md": ("torch", "torchmetrics", "transformers", "accelerate")}

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)(?P<rest>[^\n]*)\n(?P<body>.*?)^(?P=indent)```", re.M | re.S)
_SHELLS = ("console", "bash", "sh", "shell", "text")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    body: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        indent = match["indent"]
        body = "".join(line.removeprefix(indent) for line in match["body"].splitlines(keepends=True))
        yield Block(match["language"], body, text.count("\n", 0, match.start()) + 2)


def commands(text: str) -> Iterator[tuple[int, list[str]]]:
    """Every `assay …` line in the shell blocks of a page, as words."""
    for block in blocks(text):
        if block.language not in _SHELLS[:-1]:
            continue
        joined = block.body.replace("\\\n", " ")
        for at, line in enumerate(joined.splitlines()):
            bare = line.strip().removeprefix("$ ").strip()
            bare = re.split(r"\s(?:\||>|>>|2>|&&|;)\s?", bare)[0]
            if re.match(r"assay(\s|$)", bare):
                yield block.line + at, shlex.split(bare, comments=True)


def identify(page: Path) -> str:
    return str(page.relative_to(ROOT))


# Tutorials are followed as a whole, files and commands: test_tutorials.py.
@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "tutorials"], ids=identify)
@pytest.mark.slow
def test_every_python_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one page share their names and run in an empty folder, as a reader would type them."""
    for package in NEEDED.get(identify(page), ()):
        needed(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(DOMAINS, "_here", {})
    names: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python":
            # Empty lines before it, so that a traceback names the page's own line.
            code = compile("\n" * (block.line - 1) + block.body, str(page), "exec")
            exec(code, names)


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_every_command_exists(page: Path) -> None:
    for line, words in commands(page.read_text(encoding="utf-8")):
        check(words, f"{identify(page)}:{line}")


@cache
def whole_command() -> Any:
    return typer.main.get_command(app)


def check(words: list[str], where: str) -> None:
    """Walk down to the subcommand that the words name, and see that it knows the options that follow."""
    command = whole_command()
    rest = words[1:]
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"{where}: there is no '{' '.join(words[:2])}' with '{rest[0]}'"
        command, rest = command.commands[rest[0]], rest[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    for word in rest:
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{where}: '{' '.join(words)}' has no option {word}"


def _names(tables: dict[str, Any]) -> Iterator[str]:
    """Every table and key of a domain's file, as the guide writes it."""
    for name, value in tables.items():
        if name == "lists":
            yield from (f"[lists.{key}{'.states' if key == 'if_absent' else ''}]" for key in value)
        elif name in ("roles", "units", "changes"):
            yield f"[{name}.KIND]"
        elif name in ("foreign", "counted", "quantities"):
            yield f"[{name}.KIND]"
            yield from (f"`{key}`" for kind in value.values() for key in kind)
        elif name == "preferences":
            yield "[preferences.NAME]"
        elif name == "arguments":
            yield "`arguments`"
        elif name == "fields":
            yield from (f"`fields.{key}`" for key in value)
        else:
            yield f"[{name}]" if isinstance(value, dict) else f"`{name}`"


def test_the_guide_explains_every_table_of_the_shop() -> None:
    guide = (ROOT / "docs" / "guides" / "domains.md").read_text(encoding="utf-8")
    shop = ROOT / "src" / "assay" / "chat" / "domains" / "shop"
    known = {name for file in ("domain.toml", "en.toml") for name in _names(tomllib.loads((shop / file).read_text()))}
    assert {"[lists.aside]", "[counted.KIND]", "`heads`", "`by_day`"} <= known
    assert sorted(name for name in known if name.replace("`units`", "`units.") not in guide) == []


# --- the check itself ------------------------------------------------------------------------------------------------

SAMPLE = """
Words.

```python
x = 1
```

1. indented

   ```console
   $ assay events eval a.jsonl b.jsonl \\
       --json - | jq .
   assay demo --out somewhere  # comment
   $ pip install assay-agents
   ```

```python
assert x == 1
```
"""


@pytest.mark.slow
def test_the_generated_reference_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    assert len(made) == 6
    reference = ROOT / "docs" / "reference"
    stale = [name for name, text in made.items() if (reference / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/generate.py"


def test_blocks_are_found() -> None:
    assert [block.language for block in blocks(SAMPLE)] == ["python", "console", "python"]
    assert [words for _, words in commands(SAMPLE)] == [
        ["assay", "events", "eval", "a.jsonl", "b.jsonl", "--json", "-"],
        ["assay", "demo", "--out", "somewhere"],
    ]


@pytest.mark.parametrize("line", ["assay evnets eval a b", "assay events eval a b --jsn -", "assay --nonsense"])
def test_a_wrong_command_would_be_seen(line: str) -> None:
    with pytest.raises(AssertionError):
        check(line.split(), "here")


@pytest.mark.parametrize("line", ["assay events eval a b --json - --full", "assay demo", "assay --version", "assay -h"])
def test_a_right_command_passes(line: str) -> None:
    check(line.split(), "here")
