"""Imports point one way: cli → web, mcp → report → runs → compare, store, logs → events, chat → stats → types."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import assay

SOURCE = Path(assay.__file__).parent

# Height of each part: a module may import from its own part and from lower ones. Parts of one height are strangers.
HEIGHTS = {
    "errors": 0,
    "json_safe": 0,
    "outputs": 1,
    "extras": 1,
    "loopback": 0,
    "plural": 0,
    "shown": 0,
    "redaction": 1,
    "registry": 1,
    "_lazy": 2,
    "recorded": 0,
    "_integers": 0,
    "_secret_names": 0,
    "_secret_signs": 0,
    "result": 1,
    "types": 1,
    "stats": 2,
    "engines": 2,
    "events": 3,
    "chat": 3,
    "logs": 4,
    "compare": 4,
    "store": 4,
    "runs": 5,
    "report": 6,
    "web": 7,
    "mcp": 7,
    "cli": 8,
    "pytest_plugin": 8,
    "__main__": 9,
}

# Where an import points up: results show themselves, a convenience for people at a prompt; and `assay.chat.run` is the
# public name of what `assay.runs` does. What the tallies of a run are is said by an annotation only.
EXCEPTIONS = {
    ("assay.recorded", "", "assay.types"),
    ("assay.chat", "", "assay.runs.starting"),
    ("assay.result", "Result.drawn", "assay.report"),
    ("assay.result", "Result.html", "assay.report"),
    ("assay.result", "Result._repr_html_", "assay.report"),
}

HEAVY_FOR_IMPORT = ("numpy", "pydantic", "numba", "pyarrow", "scipy", "rich")
HEAVY_FOR_HELP = ("numpy", "numba", "pyarrow", "pydantic", "scipy", "sqlalchemy")


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("assay", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@cache
def imports(path: Path) -> tuple[tuple[str, str], ...]:
    """Every module of ours that a file imports, with the name of the function that does so, or ''."""

    def walk(node: ast.AST, inside: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((inside, name.name) for name in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: imports are absolute"
                for name in child.names:
                    whole = f"{child.module}.{name.name}"
                    yield inside, whole if whole in modules() else str(child.module)
            elif isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from walk(child, f"{inside}.{child.name}".lstrip("."))
            elif not isinstance(child, ast.expr):  # which has no statements
                yield from walk(child, inside)

    found = walk(ast.parse(path.read_text(encoding="utf-8")), "")
    return tuple((inside, name) for inside, name in found if name.split(".")[0] == "assay")


def test_every_part_has_its_height() -> None:
    assert {part(module) for module in modules()} - {""} <= set(HEIGHTS)


def points_up(module: str, imported: str) -> bool:
    """Whether a module imports from a part that is not below its own."""
    ours, theirs = part(module), part(imported)
    return bool(ours and theirs) and theirs != ours and HEIGHTS[theirs] >= HEIGHTS[ours]


@pytest.mark.parametrize("ours", HEIGHTS)
def test_imports_point_down(ours: str) -> None:
    wrong = [
        f"{module} imports {imported} in '{inside or 'the module'}'"
        for module, path in modules().items()
        if part(module) == ours
        for inside, imported in imports(path)
        if points_up(module, imported) and (module, inside, imported) not in EXCEPTIONS
    ]
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_still_needed() -> None:
    found = {(name, inside, imported) for name, path in modules().items() for inside, imported in imports(path)}
    assert found >= EXCEPTIONS


def test_the_store_knows_neither_half() -> None:
    for module, path in modules().items():
        if part(module) == "store":
            assert {part(imported) for _, imported in imports(path)}.isdisjoint({"events", "chat", "compare"}), module


def test_statistics_know_numbers_only() -> None:
    for module, path in modules().items():
        if part(module) == "stats":
            assert {part(imported) for _, imported in imports(path)} <= {"stats", "types", "errors", "_integers", ""}


def test_the_rule_would_see_a_wrong_import(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from assay.report import terminal\nclass A:\n    import assay.cli\n")
    assert set(imports(wrong)) == {("f", "assay.report.terminal"), ("A", "assay.cli")}
    assert points_up("assay.store.wrong", "assay.cli")
    assert points_up("assay.events.wrong", "assay.chat")
    assert not points_up("assay.cli.right", "assay.store")


def loaded_by(code: str) -> set[str]:
    """Names of all top-level packages that a fresh interpreter has after running `code`."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join({{m.split('.')[0] for m in sys.modules}}))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(run.stdout.split())


def test_importing_assay_costs_next_to_nothing() -> None:
    assert loaded_by("import assay").isdisjoint(HEAVY_FOR_IMPORT)


@pytest.mark.slow
def test_help_needs_nothing_heavy() -> None:
    assert loaded_by("import assay.cli").isdisjoint(HEAVY_FOR_HELP)
    shown = "import contextlib, io\nimport assay.cli\nwith contextlib.redirect_stdout(io.StringIO()):\n"
    for arguments in ([], ["events"], ["events", "eval"], ["demo"]):
        body = f"    assay.cli.app([*{arguments}, '--help'], standalone_mode=False)"
        # Newer typers themselves load pydantic for the help of a subcommand.
        heavy = set(HEAVY_FOR_HELP) - ({"pydantic"} if arguments else set())
        assert loaded_by(shown + body).isdisjoint(heavy)


def test_completing_needs_nothing_heavy() -> None:
    asked = {"_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": "assay runs sh", "COMP_CWORD": "2"}
    code = f"import contextlib, os, sys\nimport assay.cli\nos.environ |= {asked}\nsys.argv = ['assay']\n"
    found = loaded_by(f"{code}with contextlib.suppress(SystemExit):\n    assay.cli.main()")
    assert "show" in found  # what it printed: the completed word
    assert found.isdisjoint({*HEAVY_FOR_HELP, "rich"} - {"pydantic"})  # newer typers load pydantic for it


def test_the_probe_would_see_a_heavy_import() -> None:
    assert "numpy" in loaded_by("import assay; assay.stats")


def test_public_names_are_there_and_others_are_not() -> None:
    assert set(dir(assay)) == set(assay.__all__)
    assert assay.stats.iqm([1, 2, 3]) == 2.0
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        assay.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        assay.events.nonsense  # noqa: B018
    for name in assay.events.__all__:
        assert getattr(assay.events, name) is not None
