"""What an assistant's own source tells: how much of it there is, how it branches, what it takes from its framework.

It is read, never run: the figures hold for any Python file, and a comment or a blank line changes none of them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assay.errors import SourceError

TOOLS = (
    "get_current_weather",
    "get_weather_forecast",
    "get_user_preferences",
    "update_user_preferences_from_insight",
)
"""The tools that every assistant has: where their names stand is where a fifth would have to be written."""

_Sortable = TypeVar("_Sortable", str, tuple[str, str])

# What a function gives whose whole purpose is assay's account of a turn (`assay.chat.agents.Reply`).
_ACCOUNTS = ("Reply", "ToolCall")

_LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)


@dataclass(frozen=True, slots=True)
class Source:
    """What was counted in the source of one assistant."""

    files: int
    """Python files with at least one line of code."""
    lines: int
    """Lines of code: neither blank, nor comment, nor docstring. The account is counted apart, here and below."""
    functions: int
    """Functions and methods, those inside others too."""
    branches: int
    """Places where the code may go one way or another."""
    worst_complexity: int
    """McCabe's number of the function that branches most: its branches and one."""
    worst_function: str
    """Its file and name; '' where there is no function."""
    account_lines: int
    """Lines of the functions that tell assay what happened, which a program of one's own would not have."""
    account_branches: int
    tool_files: int | None
    """Files that name the tool that is named in most files; None where no tool is named."""
    names: tuple[str, ...] = ()
    """What is imported from elsewhere, by its full name: 'google.adk.runners.Runner'."""
    typing_names: tuple[str, ...] = ()
    """Those among them that are imported for type checkers only."""
    members: tuple[tuple[str, str], ...] = ()
    """What is used of those names where the code tells: ('google.adk.runners.Runner', 'run_async')."""
    attributes: tuple[str, ...] = ()
    """Every attribute that is used of anything."""


# Spans that assay needs and the framework does not write: a program of one's own would not have this file.
_INSTRUMENTATION = "_spans.py"


def read_source(where: Path, *, tools: Sequence[str] = TOOLS) -> Source:
    """Count what a folder of Python files, or one file, holds."""
    return count({str(path.relative_to(_root(where))): _text(path) for path in python_files(where)}, tools=tools)


def python_files(where: Path) -> list[Path]:
    """The Python files of an assistant, in order of their names."""
    if where.is_file():
        return [where]
    found = sorted(path for path in where.rglob("*.py") if path.is_file() and path.name != _INSTRUMENTATION)
    if not found:
        raise SourceError("holds no Python file", where=str(where), hint="Name the folder of the assistant's source")
    return found


def count(texts: Mapping[str, str], *, tools: Sequence[str] = TOOLS) -> Source:
    """Count what files hold, given their text by name."""
    files = [_File.read(name, text) for name, text in texts.items()]
    files = [file for file in files if file.lines]
    functions = [function for file in files for function in file.functions if not function.account]
    accounts = [function for file in files for function in file.functions if function.account]
    # The first by name among equals, so that the order of files decides nothing.
    worst = min(functions, key=lambda function: (-function.complexity, function.name), default=None)
    naming = [sum(tool in file.words for file in files) for tool in tools]
    account_lines = sum(function.lines for function in accounts)
    account_branches = sum(function.complexity - 1 for function in accounts)
    loaded = {name for file in files for name in file.imports.values()}
    return Source(
        files=len(files),
        lines=sum(len(file.lines) for file in files) - account_lines,
        functions=len(functions),
        branches=sum(file.branches for file in files) - account_branches,
        worst_complexity=worst.complexity if worst else 0,
        worst_function=worst.name if worst else "",
        account_lines=account_lines,
        account_branches=account_branches,
        tool_files=max(naming, default=0) or None,
        names=_sorted({*loaded, *(name for file in files for name in file.typing_imports.values())}),
        typing_names=_sorted({name for file in files for name in file.typing_imports.values()} - loaded),
        members=_sorted(member for file in files for member in file.members),
        attributes=_sorted(attribute for file in files for attribute in file.attributes),
    )


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    complexity: int
    lines: int
    account: bool


@dataclass(frozen=True, slots=True)
class _File:
    """One file, taken apart."""

    lines: frozenset[int]
    words: frozenset[str]
    """Identifiers, and the words of strings that are not docstrings."""
    branches: int
    functions: tuple[_Function, ...]
    imports: Mapping[str, str] = field(default_factory=dict)
    """Full names by the name they have in the file."""
    typing_imports: Mapping[str, str] = field(default_factory=dict)
    members: frozenset[tuple[str, str]] = frozenset()
    attributes: frozenset[str] = frozenset()

    @classmethod
    def read(cls, name: str, text: str) -> _File:
        try:
            tree = ast.parse(text, filename=name)
        except (SyntaxError, ValueError) as error:
            raise SourceError(f"is no Python: {error}", where=name) from error
        docstrings = set(_docstrings(tree))
        branches = Counter(_branches(tree))
        typing = {node for block in ast.walk(tree) if _is_for_typing(block) for node in ast.walk(block)}
        imports = dict(_imports(node for node in ast.walk(tree) if node not in typing))
        typing_imports = dict(_imports(typing))
        lines = frozenset(_code_lines(text, docstrings))
        return cls(
            lines,
            frozenset(_words(tree, docstrings)),
            sum(branches.values()),
            tuple(
                _Function(f"{name}:{full}", 1 + branches[full], len(lines.intersection(_span(node))), _is_account(node))
                for node, full in _functions(tree)
            ),
            imports,
            typing_imports,
            frozenset(_members(tree, {**imports, **typing_imports})),
            frozenset(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)),
        )


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that stand alone as a statement: docstrings, and what describes a field under it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def _code_lines(text: str, docstrings: Iterable[ast.Constant]) -> Iterator[int]:
    """Numbers of the lines that hold a token of code. A string over several lines is as many lines of code."""
    starts = {(string.lineno, string.col_offset): string for string in docstrings}
    ends = {start: (string.end_lineno or 0, string.end_col_offset or 0) for start, string in starts.items()}
    until = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            continue
        # Columns are counted in bytes by the parser and in characters here; a docstring starts behind white space only.
        until = max(until, ends.get(token.start, until))
        if token.start >= until:
            yield from range(token.start[0], token.end[0] + 1)


def _functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Every function with its full name."""
    for node, inside in _walk(tree, "", ""):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, f"{inside}.{node.name}".lstrip(".")


def _span(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def _is_account(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether all that a function does is to put together what assay asks of an agent beyond its answer."""
    if node.name == "answer" or node.returns is None:
        return False
    return any(isinstance(part, ast.Name) and part.id in _ACCOUNTS for part in ast.walk(node.returns))


def _branches(tree: ast.Module) -> Iterator[str]:
    """For every branch, the name of the function it stands in, or '' outside of any.

    A branch is an `if`, an `elif` or a conditional expression, a loop, a comprehension and each condition in it, an
    `except`, a `case` other than `_`, and each further part of an `and` or `or`. A `with` and an `assert` are none, nor
    is `if TYPE_CHECKING`, which never runs.
    """
    for node, inside in _walk(tree, "", "", functions_only=True):
        yield from [inside] * _branches_of(node)


def _branches_of(node: ast.AST) -> int:
    match node:
        case ast.If() if _is_for_typing(node):
            return 0
        case ast.If() | ast.IfExp() | ast.For() | ast.AsyncFor() | ast.While() | ast.ExceptHandler():
            return 1
        case ast.comprehension(ifs=conditions):
            return 1 + len(conditions)
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.match_case(pattern=pattern, guard=guard):
            anything = isinstance(pattern, ast.MatchAs) and pattern.pattern is None and guard is None
            return 0 if anything else 1
    return 0


def _is_for_typing(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
    return False


def _walk(node: ast.AST, place: str, inside: str, *, functions_only: bool = False) -> Iterator[tuple[ast.AST, str]]:
    """Every node below, with the name of what it stands in: any definition, or the innermost function only."""
    for child in ast.iter_child_nodes(node):
        yield child, inside if functions_only else place
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{place}.{child.name}".lstrip(".")
            function = inside if isinstance(child, ast.ClassDef) else name
            yield from _walk(child, name, function, functions_only=functions_only)
        else:
            yield from _walk(child, place, inside, functions_only=functions_only)


def _words(tree: ast.Module, docstrings: set[ast.Constant]) -> Iterator[str]:
    """Everything that is named in the code: a tool may be registered by itself or by a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if node not in docstrings:
                yield from re.findall(r"\w+", text)


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Local names and the full names they stand for; imports relative to the file are its own and left out."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    # `import a.b` binds a; what is then used of it says how far down.
                    yield (name.asname or name.name, name.name)
            case ast.ImportFrom(module=str(module), names=names, level=0) if module != "__future__":
                for name in names:
                    yield (name.asname or name.name, f"{module}.{name.name}")


def _members(tree: ast.Module, imports: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Attributes of imported names, and of what is known to be an instance of one.

    An instance is known by its annotation, or by having been made by calling the name. A name that is bound to two
    different things in one file is not followed.
    """
    kinds = _instances(tree, imports)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = _full_name(node.value, imports) or kinds.get(ast.unparse(node.value))
            if owner is None and isinstance(node.value, ast.Call):
                owner = _full_name(node.value.func, imports)
            if owner is not None:
                yield owner, node.attr


def _instances(tree: ast.Module, imports: Mapping[str, str]) -> dict[str, str]:
    """Variables and attributes, as they are written, by the imported class they are an instance of."""
    bound: dict[str, set[str | None]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name, annotation=annotation) if annotation is not None:
                bound.setdefault(name, set()).add(_class_of(annotation, imports))
            case ast.AnnAssign(target=target, annotation=annotation):
                bound.setdefault(ast.unparse(target), set()).add(_class_of(annotation, imports))
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                bound.setdefault(ast.unparse(target), set()).add(_made_by(value, imports))
            case ast.withitem(context_expr=value, optional_vars=ast.Name() as target):
                bound.setdefault(target.id, set()).add(_made_by(value, imports))
    # `self.runner = runner` passes on what the argument is known to be.
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=ast.Name(id=name)) if name in bound:
                bound[ast.unparse(target)] = bound[ast.unparse(target)] - {None} | bound[name]
    return {name: kind for name, kinds in bound.items() if len(kinds) == 1 for kind in kinds if kind is not None}


def _class_of(annotation: ast.expr, imports: Mapping[str, str]) -> str | None:
    """The imported class that an annotation names: `A`, `A[B]`, `A | None`, or any of these as a string."""
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return _class_of(ast.parse(text, mode="eval").body, imports)
            except SyntaxError:
                return None
        case ast.Subscript(value=value):
            return _class_of(value, imports)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _class_of(left, imports)
    return _full_name(annotation, imports)


def _made_by(value: ast.expr, imports: Mapping[str, str]) -> str | None:
    return _full_name(value.func, imports) if isinstance(value, ast.Call) else None


def _full_name(node: ast.expr, imports: Mapping[str, str]) -> str | None:
    """The full name of an expression that begins with an imported name: `types.Part` for `google.genai.types.Part`."""
    written = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    if written in imports:
        return imports[written]
    if isinstance(node, ast.Attribute):
        owner = _full_name(node.value, imports)
        return f"{owner}.{node.attr}" if owner else None
    if isinstance(node, ast.Subscript):
        return _full_name(node.value, imports)
    return None


def _sorted(found: Iterable[_Sortable]) -> tuple[_Sortable, ...]:
    return tuple(sorted(set(found)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", where=str(path)) from error


def _root(where: Path) -> Path:
    return where.parent if where.is_file() else where
