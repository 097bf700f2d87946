"""Figures of an assistant's source code: its size, its branches, and the names that it uses from its framework.

The code is parsed, never run. Comments and blank lines change none of the figures.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assay.errors import SourceError

ASSISTANT_TOOLS = (
    "get_current_weather",
    "get_weather_forecast",
    "get_user_preferences",
    "update_user_preferences_from_insight",
)
"""The tools of every assistant. The files that name them are the places to edit to add a fifth tool."""

_Sortable = TypeVar("_Sortable", str, tuple[str, str])

# Return types of functions whose only purpose is to report a turn to assay (`assay.chat.agents.Reply`).
_REPORT_TYPES = ("Reply", "ToolCall")

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
class AssistantSource:
    """Figures of the source code of one assistant."""

    files: int
    """Python files with at least one line of code."""
    lines: int
    """Lines of code, without blank lines, comments and docstrings. This and the next three figures leave out the
    functions that report to assay."""
    functions: int
    """Functions and methods, including nested ones."""
    branches: int
    """Branches, as `_branches` defines them."""
    worst_complexity: int
    """McCabe complexity of the most complex function: its branches plus one."""
    worst_function: str
    """Its file and name; '' if there is no function."""
    account_lines: int
    """Lines of the functions that report to assay, which a user's own program would not have."""
    account_branches: int
    tool_files: int | None
    """Files that name a tool, for the tool named in most files; None if no tool is named."""
    names: tuple[str, ...] = ()
    """Full names of imported names: 'google.adk.runners.Runner'."""
    typing_names: tuple[str, ...] = ()
    """Those of them that are imported for type checkers only."""
    members: tuple[tuple[str, str], ...] = ()
    """Attributes used of those names, as far as the code shows it: ('google.adk.runners.Runner', 'run_async')."""
    attributes: tuple[str, ...] = ()
    """Names of all attributes used."""


# Spans that assay needs and the framework does not record, tools for some scenarios only, and what runs agents of the
# user's own: a user's own program would not have these files.
_NOT_COUNTED = ("_spans.py", "consent.py", "own.py", "shop.py")


def read_source(where: Path) -> AssistantSource:
    """The figures of a folder of Python files, or of one file."""
    return count_source({str(path.relative_to(_root(where))): _text(path) for path in python_files(where)})


def python_files(where: Path) -> list[Path]:
    """The Python files of an assistant, sorted by name."""
    if where.is_file():
        return [where]
    found = sorted(path for path in where.rglob("*.py") if path.is_file() and path.name not in _NOT_COUNTED)
    if not found:
        raise SourceError("contains no Python file", where=str(where), hint="Name the folder of the assistant's source")
    return found


def count_source(texts: Mapping[str, str]) -> AssistantSource:
    """The figures of files, given their text by file name."""
    files = [_File.read(name, text) for name, text in texts.items()]
    files = [file for file in files if file.lines]
    functions = [function for file in files for function in file.functions if not function.reports_to_assay]
    accounts = [function for file in files for function in file.functions if function.reports_to_assay]
    # Ties are broken by name, so that the order of files does not matter.
    worst = min(functions, key=lambda function: (-function.complexity, function.name), default=None)
    naming = [sum(tool in file.words for file in files) for tool in ASSISTANT_TOOLS]
    account_lines = sum(function.lines for function in accounts)
    account_branches = sum(function.complexity - 1 for function in accounts)
    loaded = {name for file in files for name in file.imports.values()}
    return AssistantSource(
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
    reports_to_assay: bool


@dataclass(frozen=True, slots=True)
class _File:
    """The figures of one file."""

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
            raise SourceError(f"is not valid Python: {error}", where=name) from error
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
                _Function(
                    f"{name}:{full}", 1 + branches[full], len(lines.intersection(_span(node))), _reports_to_assay(node)
                )
                for node, full in _functions(tree)
            ),
            imports,
            typing_imports,
            frozenset(_members(tree, {**imports, **typing_imports})),
            frozenset(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)),
        )


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that are statements of their own: docstrings of modules, classes, functions and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def _code_lines(text: str, docstrings: Iterable[ast.Constant]) -> Iterator[int]:
    """Numbers of the lines with a token of code. A multi-line string counts as that many lines of code."""
    starts = {(string.lineno, string.col_offset): string for string in docstrings}
    ends = {start: (string.end_lineno or 0, string.end_col_offset or 0) for start, string in starts.items()}
    until = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            continue
        # The parser counts columns in bytes, the tokenizer in characters; only white space precedes a docstring.
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


def _reports_to_assay(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function only builds the report that assay asks of an agent besides its answer."""
    if node.name == "answer" or node.returns is None:
        return False
    return any(isinstance(part, ast.Name) and part.id in _REPORT_TYPES for part in ast.walk(node.returns))


def _branches(tree: ast.Module) -> Iterator[str]:
    """For every branch, the name of the function that contains it, or '' outside of functions.

    A branch is an `if`, an `elif` or a conditional expression, a loop, a comprehension and each condition in it, an
    `except`, a `case` other than `_`, and each further operand of an `and` or `or`. A `with`, an `assert` and
    `if TYPE_CHECKING`, which never runs, do not count.
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
    """Every node below, with the name of the definition that contains it, or of the innermost function only."""
    for child in ast.iter_child_nodes(node):
        yield child, inside if functions_only else place
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{place}.{child.name}".lstrip(".")
            function = inside if isinstance(child, ast.ClassDef) else name
            yield from _walk(child, name, function, functions_only=functions_only)
        else:
            yield from _walk(child, place, inside, functions_only=functions_only)


def _words(tree: ast.Module, docstrings: set[ast.Constant]) -> Iterator[str]:
    """Every word in the code, including strings: a tool may be registered as an object or by its name."""
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
    """Local names and their full names; relative imports are left out."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    # `import a.b` binds `a`, but `a.b` is how the code refers to the module.
                    yield (name.asname or name.name, name.name)
            case ast.ImportFrom(module=str(module), names=names, level=0) if module != "__future__":
                for name in names:
                    yield (name.asname or name.name, f"{module}.{name.name}")


def _members(tree: ast.Module, imports: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Attributes of imported names, and of variables that are known to be instances of one.

    An instance is known by its annotation, or because it was created by calling the name. A variable that is bound to
    two different types in one file is ignored.
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
    """The imported class of each variable and attribute that is known to be an instance of one."""
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
    # `self.runner = runner` has the type of the argument.
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
