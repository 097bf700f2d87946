"""A public name means one thing in the project: each is defined in one module."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay

SOURCE = Path(assay.__file__).parent

CONTRACTS = {
    "chat/agents/*/assistant.py": None,  # one idiomatic program for each framework, all with the same four tools
    "chat/agents/*/consent.py": None,  # each framework's own way to ask before a tool runs
    "chat/agents/*/shop.py": ("open_assistant",),  # the assistant of the shop, opened like the other
    "chat/agents/*/own.py": None,  # how each framework's own agent objects are run
    "chat/domains/*/__init__.py": ("read_truth",),  # the one function of a domain
    "cli/*.py": None,  # commands and options, named as on the command line; nothing imports them
    "events/protocols/*.py": ("score", "finish", "cautions"),  # the functions of a protocol
    "report/__init__.py": ("page", "tables", "summary"),  # for any result; they call those of the result's module
    "report/html/*.py": (
        "content",
        "page",
        "render",
        "write",
        "summary",
    ),  # each page is made, rendered and written alike
    "report/html/agents/__init__.py": ("content", "page"),
    "report/html/events/__init__.py": ("content", "page", "render", "write"),
    "report/terminal/*.py": ("tables",),  # each result is printed as its tables
    "runs/loading.py": ("compare",),  # as compare.compare, of stored runs by reference
    "stats/by_*.py": ("replicates",),  # one for each unit of resampling
}
"""Definitions that are meant to have the same name, by pattern of path; None stands for every name of the module."""


def definitions(path: Path) -> Iterator[str]:
    """Classes, functions and type aliases at the top level of a module; constants are not looked at."""
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not is_command(node):
                    yield name
            case ast.Assign(targets=targets):
                yield from (one.id for one in targets if isinstance(one, ast.Name) and not one.id.isupper())
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.isupper():
                yield name


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a command of the command line: those are named after the command."""
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "command"
        for call in function.decorator_list
    )


def is_contract(path: Path, name: str) -> bool:
    return any(path.match(pattern) and (names is None or name in names) for pattern, names in CONTRACTS.items())


def modules() -> list[Path]:
    """Public modules: neither they nor a package around them start with an underscore."""
    paths = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py"))]
    return [path for path in paths if not any(part.startswith("_") and part != "__init__.py" for part in path.parts)]


@pytest.mark.slow
def test_a_public_name_is_defined_in_one_module() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for name in set(definitions(SOURCE / path)):
            if not name.startswith("_") and not is_contract(path, name):
                found[name].append(path.as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("pattern", CONTRACTS)
def test_a_contract_is_used(pattern: str) -> None:
    """An exception that nothing needs any more is removed from the list."""
    names = CONTRACTS[pattern]
    paths = [path for path in modules() if path.match(pattern)]
    defined = {name for path in paths for name in definitions(SOURCE / path)}
    assert defined
    assert set(names or ()) <= defined


def test_two_definitions_of_a_name_are_seen(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "from somewhere import Imported\n"
        "class Thing: ...\n"
        "def make(): ...\n"
        "Alias = dict[str, int]\n"
        "LIMIT: int = 3\n"
        "Other: TypeAlias = int\n"
        "@app.command('list')\n"
        "def shown(): ...\n"
    )
    assert set(definitions(module)) == {"Thing", "make", "Alias", "Other"}
