"""The fields of a suite's file and the short forms that they accept: names, clocks, faults, expected calls, checks."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from assay.chat.checks import NUMBER, OPERATORS, Check
from assay.chat.domains import DOMAINS
from assay.chat.transcript import ToolCall
from assay.chat.world.faults import FAULTS, Fault
from assay.chat.world.quirks import QUIRKS, Quirk
from assay.chat.yamlfile import refusal, refused
from assay.errors import AssayError, unknown_name

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?")


def is_suite_name(text: str) -> bool:
    """Whether a suite or a scenario can have this name."""
    return _NAME.fullmatch(text) is not None


def _name(value: str) -> str:
    if not is_suite_name(value):
        raise refusal(f"'{value:.60}' is not a valid name", hint="Use up to 80 letters, digits, '.', '_' and '-'")
    return value


def _clock(value: Any) -> Any:
    if isinstance(value, datetime):
        time = value
    elif isinstance(value, str) and _CLOCK.fullmatch(value):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            raise refusal(f"'{value}' is not a valid date and time") from None
    else:
        raise refusal(f"'{value!s:.60}' is not a date and time", hint="Write 2026-01-15T10:00Z")
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def _fault(value: str) -> str:
    try:
        return str(Fault.parse(value))
    except AssayError as error:
        raise refused(error) from None


def _quirk(value: str) -> str:
    try:
        return str(Quirk.parse(value))
    except AssayError as error:
        raise refused(error) from None


def _domain(value: str) -> str:
    if value in DOMAINS.names():
        return value
    path = PurePath(value)
    if path.suffix or "/" in value or "\\" in value:
        # A domain's folder has Python code in it, and a suite may come from somebody else.
        raise refusal(
            f"'{value:.60}' is a path, and a suite names its domain",
            hint=f"Write domain: {path.stem or 'NAME'}, and give --domain {value:.60} on the command line",
        )
    error = unknown_name("domain", value, DOMAINS.names())
    raise refusal(error.what, hint=f"{error.hint}. For a domain of your own, give its folder: --domain ./{value:.60}")


def _call(value: Any) -> Any:
    if isinstance(value, ToolCall):
        return value
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        return value
    if "name" not in value:
        if len(value) != 1:
            hint = "Write 'get_current_weather: {city: Helsinki}', or name and arguments"
            raise refusal("is not a tool call", hint=hint)
        [(tool, arguments)] = value.items()
        if arguments is not None and not isinstance(arguments, dict):
            raise refusal(f"the arguments of {tool} must be a table", hint=f"Write '{tool}: {{city: Helsinki}}'")
        return {"name": tool, "arguments": arguments or {}}
    for key, known in value.items():
        if key not in ("name", "arguments") and known is not None:
            raise refusal("there is no such key", hint="An expected call has a name and arguments", at=(key,))
    return value


def _score(check: Check) -> Check:
    problem = check.problem_of_value()
    if problem is not None:
        raise refused(problem)
    return check


def _not_blank(value: str) -> str:
    if not value.strip():
        raise refusal("must not be empty")
    return value


DomainName = Annotated[str, AfterValidator(_domain)]
Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})]
Text = Annotated[str, AfterValidator(_not_blank), WithJsonSchema({"type": "string", "pattern": r"\S"})]
ScenarioClock = Annotated[
    datetime,
    BeforeValidator(_clock),
    WithJsonSchema({"type": "string", "pattern": f"^{_CLOCK.pattern}$", "examples": ["2026-01-15T10:00Z"]}),
]
FaultText = Annotated[
    str,
    AfterValidator(_fault),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^({'|'.join(FAULTS)})(\*[1-9][0-9]*)?$",
            "description": "; ".join(f"{name}: {does}" for name, does in FAULTS.items())
            + ". With *1 at its end it affects only the first request of a turn, with *2 the first two.",
        }
    ),
]
QuirkText = Annotated[
    str,
    AfterValidator(_quirk),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^({'|'.join(QUIRKS)})(\*[1-9][0-9]*)?$",
            "description": "; ".join(f"{name}: {does}" for name, does in QUIRKS.items())
            + ". With *1 at its end only the first response of the turn has it, with *2 the first two.",
        }
    ),
]
ExpectedCall = Annotated[
    ToolCall,
    BeforeValidator(_call),
    WithJsonSchema(
        {
            "description": "A tool and its arguments; arguments that are not named here may have any value.",
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "propertyNames": {"not": {"const": "name"}},
                    "additionalProperties": {"type": ["object", "null"]},
                },
            ],
            "examples": [{"get_current_weather": {"city": "Helsinki"}}],
        }
    ),
]
RequiredScore = Annotated[
    Check,
    AfterValidator(_score),
    WithJsonSchema(
        {
            "description": "The value that a metric of the answer must have.",
            "anyOf": [
                {"type": "string", "pattern": rf"^\s*\w+\s*((==|>=|<=|>|<)\s*{NUMBER}|\s(not\s+)?measured)\s*$"},
                {
                    "type": "object",
                    "required": ["metric", "is"],
                    "properties": {
                        "metric": {"type": "string"},
                        "is": {"enum": [*OPERATORS, "measured"]},
                        "value": {"type": "number", "minimum": 0, "maximum": 1},
                    },
                    "additionalProperties": False,
                },
            ],
            "examples": ["accuracy >= 0.9", "ambiguity_handling measured"],
        }
    ),
]
