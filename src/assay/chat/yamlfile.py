"""YAML files written by people: plain data with the line of every node.

Knows nothing about suites and agents. `no`, `on`, `12:30` and `2026-01-15` are text, and so are `007` and `0x1F`; only
`true`, `false`, `null` and decimal numbers are not. Keys are always text. Aliases, tags, duplicate keys and a second
document are refused, because each of them can make a file mean something other than it seems to.
"""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from assay.errors import AssayError, SourceError, missing_extra

if TYPE_CHECKING:
    import yaml

Steps = tuple[str | int, ...]
"""The path of a node: keys and indices from the root."""
Model = TypeVar("Model", bound=BaseModel)

_LARGEST = 4 * 2**20
_DEEPEST = 40
# A node takes up to a kilobyte; a suite of a thousand scenarios has fewer than a hundred thousand.
_MOST_NODES = 400_000
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# No leading zeros, so that 007 stays text, and no more digits than every JSON reader preserves.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(_INTEGER.pattern + r"(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?")
# What YAML does not allow. Listing what it does would take a hundred times as long to compile.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAB_INDENT = re.compile(r"^ *\t")

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table of keys and values",
    "mapping_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
}
"""What a value must be, by pydantic's error type."""


@dataclass(frozen=True)
class Document:
    """The content of a file, with the line of every node."""

    name: str
    """The file, as errors name it."""
    data: Any
    order: Sequence[int]
    """Lines of the nodes, in the order of `_nodes`."""

    @cached_property
    def lines(self) -> Mapping[Steps, int]:
        """The line of every node, by its path; found only for errors."""
        return {path: line for (path, _), line in zip(_nodes(self.data), self.order, strict=False)}

    def line(self, path: Steps) -> int:
        """The line of a node, counted from 1; of the nearest node around it if it does not exist."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def where(self, path: Steps) -> str:
        """File and line of a node."""
        return f"{self.name}:{self.line(path)}"


def load_yaml(path: Path | str) -> Document:
    """Read a file."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot be read: {getattr(error, 'strerror', error)}", where=str(path)) from error
    if len(raw) > _LARGEST:
        raise SourceError(f"is larger than {_LARGEST // 2**20} MB", where=str(path), hint="Split it into several files")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SourceError("is not UTF-8 text", where=f"{path}:{line}", hint="Save it as UTF-8") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Document:
    """Read a text; errors call the file `name`."""
    try:
        import yaml
    except ImportError as error:
        raise missing_extra("pyyaml", "agents", "read YAML") from error
    odd = _CONTROL.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        raise SourceError(
            f"has the character U+{ord(odd.group()):04X}, which is not allowed in text",
            where=f"{name}:{line}",
            hint="Delete it, or save the file as UTF-8",
        )
    # The parser in C, if it is installed, is ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(name)
    try:
        parser = loader(text)
        try:
            reader.read(parser)
        finally:
            parser.dispose()
        return Document(name, reader.data, reader.order)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, name) from None
    # The parser in Python lets escapes beyond Unicode ("\\UFFFFFFFF") through to the interpreter.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise SourceError(f"is not valid YAML: {_one_line(str(error))}", where=name) from None


def validated(document: Document, model: type[Model]) -> Model:
    """Validate a document as `model`; the first problem raises SourceError with its line."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        found = [(_steps(one), one) for one in error.errors(include_url=False)]
        # An unknown key explains the missing one next to it.
        odd = {steps[:-1] for steps, one in found if one["type"] == "extra_forbidden"}
        path, first = min(
            found,
            key=lambda pair: (pair[1]["type"] == "missing" and pair[0][:-1] in odd, document.line(pair[0])),
        )
        what, hint = sentence_of(path, first, model)
        others = len({steps for steps, _ in found}) - 1
        more = f"{others} more {'problem' if others == 1 else 'problems'} in the file" if others else None
        raise SourceError(
            f"{dotted(path) or 'the file'}: {what}",
            where=document.where(path),
            hint=". ".join(filter(None, (hint, more))) or None,
        ) from None


def refusal(what: str, *, hint: str | None = None, at: Steps = ()) -> PydanticCustomError:
    """The error for a validator to raise: `validated` adds the hint and the line of the node at the path `at`."""
    return PydanticCustomError("refused", "{what}", {"what": what, "hint": hint or "", "at": list(at)})


def refused(error: AssayError, *, at: Steps = ()) -> PydanticCustomError:
    """One of assay's own errors in the form that a validator raises."""
    return refusal(error.what, hint=error.hint, at=at)


def dotted(path: Steps) -> str:
    """A path as people write it: `turns[0].user`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


# --- reading ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Turns the parser's events into plain data, and notes the line of each node.

    It neither composes nodes nor calls itself: an alias can stand for billions of nodes, and nesting can be deep.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.data: Any = None
        self.order: list[int] = []
        """The line of each node, in the order of `_nodes`; a value with a key has the key's line."""
        self._nodes = self._documents = 0
        self._open: list[Any] = []
        """What is around the table or list to which the next node belongs, outermost first."""

    def read(self, parser: Any) -> None:
        """Read a whole file."""
        import yaml

        # Compared by exact type, which is faster than isinstance: a suite has very many nodes, none of a subtype.
        scalar, table, sequence = yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent
        ends = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
        next_event, order = parser.get_event, self.order
        # The table or list that the next node belongs to, and its key in a table; None if the key comes next.
        around: Any = None
        key: str | None = None
        while (event := next_event()) is not None:
            kind = type(event)
            if kind in ends:
                around = self._open.pop()
                continue
            if kind is not scalar and kind is not table and kind is not sequence:
                self._refuse_event(event)
                continue
            line = event.start_mark.line + 1
            self._nodes += 1
            if event.anchor is not None or event.tag is not None or self._nodes > _MOST_NODES:
                self._refuse_surprises(event, line)
            value: Any
            if kind is scalar:
                value = event.value
                if not value.isascii() and _SURROGATE.search(value):
                    raise _error(self.name, line, "has an escape for half a character", "Write the character itself")
                if key is None and type(around) is dict:
                    self._check_key(value, around, is_plain=not event.style, line=line)
                    key = value
                    order.append(line)
                    continue
                if not event.style:
                    value = _plain(value)
            else:
                if key is None and type(around) is dict:
                    raise _error(self.name, line, "has a list or a table for a key", "Keys are text")
                value = {} if kind is table else []
            if key is not None:
                around[key] = value
                key = None
            else:
                order.append(line)
                if around is None:
                    self.data = value
                else:
                    around.append(value)
            if kind is not scalar:
                self._open.append(around)
                around = value
                if len(self._open) > _DEEPEST:
                    raise _error(self.name, line, f"is nested more than {_DEEPEST} deep", None)

    def _refuse_event(self, event: yaml.Event) -> None:
        """Raise SourceError for an alias and for a second document; other events mean nothing."""
        import yaml

        if isinstance(event, yaml.AliasEvent):
            self._refuse_surprises(event, _line_of(event))
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                line = _line_of(event)
                raise _error(self.name, line, "starts a second document", "Use one document per file, without '---'")

    def _refuse_surprises(self, event: Any, line: int) -> None:
        """Raise SourceError for aliases, tags and too many nodes."""
        if self._nodes > _MOST_NODES:
            raise _error(self.name, line, f"has more than {_MOST_NODES:,} values", "Split it into several files")
        if event.anchor is not None:  # an alias has one too
            raise _error(self.name, line, "uses an alias (& or *)", "Write the value out, or put the text in quotes")
        raise _error(self.name, line, f"uses the tag {event.tag}", "Leave tags out; only plain data is read")

    def _check_key(self, text: str, around: Mapping[str, Any], *, is_plain: bool, line: int) -> None:
        """Raise SourceError for a key that a table has already, or that merges another."""
        if text in around:
            steps = next(path for path, value in _nodes(self.data) if value is around)
            first = Document(self.name, self.data, self.order).lines[(*steps, text)]
            raise _error(self.name, line, f"'{text:.60}' is given twice", f"The first is on line {first}")
        if text == "<<" and is_plain:
            raise _error(self.name, line, "uses a merge key (<<)", "Write it out")


def _nodes(data: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every node with its path, in the order of the file."""
    yield path, data
    if isinstance(data, dict | list):
        for step, inner in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _nodes(inner, (*path, step))


def _line_of(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _error(name: str, line: int, what: str, hint: str | None) -> SourceError:
    return SourceError(what, where=f"{name}:{line}", hint=hint)


def _plain(text: str) -> Any:
    """The value of a text without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _syntax_error(error: yaml.MarkedYAMLError, text: str, name: str) -> SourceError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    # A mark at the end of the file may point past the last line.
    line = min(line, max(1, len(lines)))
    shown = lines[line - 1] if lines else ""
    problem = _one_line(error.problem or "it cannot be read")
    if _TAB_INDENT.match(shown):
        return SourceError("a tab is used where spaces are needed", where=f"{name}:{line}", hint="Indent with spaces")
    hint = None
    if "mapping values are not allowed" in problem:
        hint = "Put text that contains ': ' in quotes, and indent all keys of a table equally"
    elif "cannot start any token" in problem:
        hint = "Put text that starts with @, `, % or a tab in quotes"
    elif "quoted scalar" in str(error.context) and "end of stream" in problem:
        hint = "A quotation mark is not closed"
        line = error.context_mark.line + 1 if error.context_mark else line
    elif error.context_mark is not None and error.context:
        hint = f"It started {error.context} on line {error.context_mark.line + 1}"
    return SourceError(f"is not valid YAML: {problem}", where=f"{name}:{line}", hint=hint)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


# --- errors of a model -----------------------------------------------------------------------------------------------


def _steps(error: ErrorDetails) -> Steps:
    return (*error["loc"], *error.get("ctx", {}).get("at", ()))


def sentence_of(path: Steps, error: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """What is wrong with a node, and what to do about it."""
    kind = error["type"]
    if kind == "refused":
        return error["ctx"]["what"], error["ctx"]["hint"] or None
    if kind == "missing":
        return "must be given", None
    if kind in ("too_short", "string_too_short"):
        return "must not be empty", None
    if kind == "extra_forbidden":
        return "there is no such key", _near(str(path[-1]), _fields(model, path[:-1]))
    if kind in _WANTED:
        found = error["input"]
        hint = "Put it in quotes" if kind == "string_type" and isinstance(found, bool | int | float) else None
        return f"must be {_WANTED[kind]}, got {_called(found)}", hint
    if kind == "literal_error":
        allowed = str(error.get("ctx", {}).get("expected", ""))
        return f"must be {allowed}, got {_called(error['input'])}", _near(
            str(error["input"]), re.findall(r"'([^']*)'", allowed), known_too=False
        )
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{message[:1].lower()}{message[1:]}".rstrip("."), None


def unknown_key_hint(model: type[BaseModel], path: Steps) -> str | None:
    """What to write instead of the last key of a path, which the model does not have."""
    return _near(str(path[-1]), _fields(model, path[:-1]))


def _near(name: str, known: list[str], *, known_too: bool = True) -> str | None:
    near = difflib.get_close_matches(name, known, n=1)
    parts = [f"Did you mean '{near[0]}'?"] if near else []
    if known_too and known:
        parts.append(f"Known: {', '.join(sorted(known))}")
    return " ".join(parts) or None


def _called(value: Any) -> str:
    """A value as errors describe it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a table"
    return f"'{value:.60}'" if isinstance(value, str) else f"the number {value}"


def _fields(model: type[BaseModel], path: Steps) -> list[str]:
    """The keys that a table at a path may have."""
    models = [model]
    for step in path:
        if isinstance(step, str):
            annotations = [
                field.annotation
                for one in models
                for name, field in one.model_fields.items()
                if step in (name, field.alias)
            ]
            models = [inner for annotation in annotations for inner in _models_in(annotation)]
    return sorted({field.alias or name for one in models for name, field in one.model_fields.items()})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Every model that an annotation names, at any depth: `list[Turn] | None`."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [inner for argument in typing.get_args(annotation) for inner in _models_in(argument)]
