"""Suites: the scenarios that agents are tried with, as YAML files. What is asked, what is true, and what is demanded.

Knows nothing of agents and runs nothing. A file may use short forms; here everything has one shape.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from assay.chat.domains import DOMAINS
from assay.chat.scoring.metric import METRICS
from assay.chat.transcript import OPERATORS, Check, ToolCall
from assay.chat.world.situation import FAULTS, Fault
from assay.chat.yamlfile import Document, load, loads, refusal, refused, validated
from assay.errors import AssayError, UsageError, unknown_name

_FOLDER = files("assay.chat.suites")
SUITES: tuple[str, ...] = tuple(
    sorted(entry.name.removesuffix(".yaml") for entry in _FOLDER.iterdir() if entry.name.endswith(".yaml"))
)
"""The suites that come with assay."""

# As many days as the weather service tells ahead.
MOST_DAYS = 5
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?")
_NUMBER = r"(?:0|1|0?\.\d+|[01]\.\d+)"
_CHECK = re.compile(rf"(?P<metric>\w+)\s*(?:(?P<is>[<>=]=|[<>])\s*(?P<value>{_NUMBER})|\s(?P<not>not\s+)?measured)")
_CHECK_FORMS = "Write 'accuracy >= 0.9', 'ambiguity_handling measured' or 'accuracy not measured'"


# --- short forms -----------------------------------------------------------------------------------------------------


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise refusal(f"'{value:.60}' is no name", hint="Use up to 80 letters, digits, '.', '_' and '-'")
    return value


def _clock(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str) and _CLOCK.fullmatch(value):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise refusal(f"there is no moment '{value}'") from None
    else:
        raise refusal(f"'{value!s:.60}' is no date with a time", hint="Write 2026-01-15T10:00Z")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _fault(value: str) -> str:
    try:
        return str(Fault.parse(value))
    except AssayError as error:
        raise refused(error) from None


def _domain(value: str) -> str:
    if value not in DOMAINS.names():
        raise refused(unknown_name("domain", value, DOMAINS.names()))
    return value


def _weather(value: Any) -> Any:
    return {"city": value} if isinstance(value, str) else value


def _call(value: Any) -> Any:
    if isinstance(value, ToolCall):
        return value
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        return value
    if "name" not in value:
        if len(value) != 1:
            raise refusal("is no call", hint="Write 'get_current_weather: {city: Helsinki}', or name and arguments")
        [(tool, arguments)] = value.items()
        if arguments is not None and not isinstance(arguments, dict):
            raise refusal(f"the arguments of {tool} must be a table", hint=f"Write '{tool}: {{city: Helsinki}}'")
        return {"name": tool, "arguments": arguments or {}}
    for key, known in value.items():
        if key not in ("name", "arguments") and known is not None:
            raise refusal("there is no such key", hint="A call that is expected has a name and arguments", at=(key,))
    return value


def _check(value: Any) -> Any:
    if isinstance(value, str):
        found = _CHECK.fullmatch(value.strip())
        if found is None or (found["is"] is not None and found["is"] not in OPERATORS):
            raise refusal(f"'{value:.60}' is no check", hint=f"{_CHECK_FORMS}; scores lie between 0 and 1")
        if found["is"]:
            return {"metric": found["metric"], "is": found["is"], "value": float(found["value"])}
        return {"metric": found["metric"], "is": "measured", "value": 0.0 if found["not"] else 1.0}
    if isinstance(value, dict) and value.get("is") == "measured":
        return {"value": 1.0, **value}
    return value


def _score(check: Check) -> Check:
    if not 0 <= check.value <= 1:
        raise refusal(f"a score lies between 0 and 1, and {check.value:g} does not")
    return check


def _said(value: str) -> str:
    if not value.strip():
        raise refusal("must not be empty")
    return value


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})]
Text = Annotated[str, AfterValidator(_said), WithJsonSchema({"type": "string", "pattern": r"\S"})]
Clock = Annotated[
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
            + ". With *1 at its end it hits only the first request of a turn, with *2 the first two.",
        }
    ),
]
ExpectedCall = Annotated[
    ToolCall,
    BeforeValidator(_call),
    WithJsonSchema(
        {
            "description": "A tool and its arguments; those that are not named here may be anything.",
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
Demand = Annotated[
    Check,
    BeforeValidator(_check),
    AfterValidator(_score),
    WithJsonSchema(
        {
            "description": "What a metric of the answer has to be.",
            "anyOf": [
                {"type": "string", "pattern": rf"^\s*\w+\s*((==|>=|<=|>|<)\s*{_NUMBER}|\s(not\s+)?measured)\s*$"},
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


# --- the suite -------------------------------------------------------------------------------------------------------


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class Weather(_Model):
    """What weather an answer has to agree with. It is looked up in the world when the turn is played."""

    city: Text
    days: int = Field(default=0, ge=0, le=MOST_DAYS)
    """How many days of the forecast belong to it; 0 for the current weather alone."""


class ScenarioTurn(_Model):
    """What the user says, and what is known and demanded of the answer."""

    user: Text
    """What the user says."""
    weather: Annotated[Weather, BeforeValidator(_weather)] | None = None
    """The weather that is true, by its city: current, and with days the forecast too. A city alone will do."""
    truth: Any = None
    """A truth in the domain's own shape, written out; instead of weather."""
    preferences: dict[str, Any] | None = None
    """What the user has told about themselves in this turn; from here on it is held against the answers."""
    calls: list[ExpectedCall] | None = None
    """The tool calls that are expected, in order; an empty list where none is. Left out, any will do."""
    checks: list[Demand] = Field(default_factory=list)
    """What has to hold for the turn to pass; without any, accuracy and task_completion have to reach 0.7."""
    says: list[Text] = Field(default_factory=list)
    """Texts that the answer must contain, in upper or lower case."""
    never_says: list[Text] = Field(default_factory=list)
    """Texts that the answer must not contain, in upper or lower case."""
    fault: FaultText | None = None
    """What goes wrong in this turn, instead of what goes wrong in the whole scenario."""

    @model_validator(mode="after")
    def _one_truth(self) -> ScenarioTurn:
        if self.weather is not None and self.truth is not None:
            raise refusal("the turn has both weather and a truth", hint="Keep one of them", at=("truth",))
        return self


class Scenario(_Model):
    """A conversation that every agent is led into."""

    id: Name
    """What it is called in results; no other scenario of the suite is called so."""
    kind: Name
    """What it tries: current, forecast, advice, context, failure, … Any word will do; results are grouped by it."""
    about: str = ""
    """One sentence on why it is there."""
    clock: Clock | None = None
    """What time it is, with its offset or in UTC; the suite's clock where it is left out."""
    preferences: dict[str, Any] | None = None
    """What is known of the user before the conversation: `dislikes_cold: true`."""
    fault: FaultText | None = None
    """What goes wrong in every turn."""
    turns: list[ScenarioTurn] = Field(min_length=1)
    """What happens, in order."""

    def fault_of(self, turn: int) -> Fault | None:
        """What goes wrong in a turn, counted from 0."""
        text = self.turns[turn].fault or self.fault
        return None if text is None else Fault.parse(text)


class Suite(_Model):
    """Scenarios that belong together."""

    name: Name
    """What it is called in results."""
    version: int = Field(ge=1)
    """Goes up whenever results are no longer comparable with earlier ones."""
    domain: Annotated[str, AfterValidator(_domain)] = "weather"
    """What the conversations are about: a domain that is installed."""
    language: Name = "en"
    """The language of the conversations."""
    description: str = ""
    """What it is for."""
    clock: Clock | None = None
    """What time it is in scenarios that do not say; the time of the run where this is left out too."""
    names: list[Text] = Field(default_factory=list)
    """Cities or products that the conversations name and the gazetteer does not have."""
    scenarios: list[Scenario] = Field(min_length=1)
    """The conversations."""

    @model_validator(mode="after")
    def _ids_differ(self) -> Suite:
        first: dict[str, int] = {}
        for at, scenario in enumerate(self.scenarios):
            if scenario.id in first:
                raise refusal(
                    f"another scenario is called '{scenario.id}' too",
                    hint=f"It is scenario {first[scenario.id] + 1} of the suite",
                    at=("scenarios", at, "id"),
                )
            first[scenario.id] = at
        return self

    @model_validator(mode="after")
    def _metrics_exist(self) -> Suite:
        # Here and not at each check: asking which metrics other packages add takes a while.
        known = set(METRICS.names())
        for at, scenario in enumerate(self.scenarios):
            for number, turn in enumerate(scenario.turns):
                for place, check in enumerate(turn.checks):
                    if check.metric not in known:
                        where = ("scenarios", at, "turns", number, "checks", place)
                        raise refused(unknown_name("metric", check.metric, known), at=where)
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of what the suite says: comments, short forms and defaults that are written out do not change it."""
        content = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    @property
    def kinds(self) -> list[str]:
        """Kinds of scenario, in the order in which they first occur."""
        return list(dict.fromkeys(scenario.kind for scenario in self.scenarios))

    def clock_of(self, scenario: Scenario) -> datetime | None:
        """What time it is in a scenario; None for the time of the run."""
        return scenario.clock or self.clock

    def select(
        self, *, kinds: Iterable[str] | None = None, ids: Iterable[str] | None = None, limit: int | None = None
    ) -> Suite:
        """A part of the suite: scenarios of some kinds, with some ids (`failure-*` is a pattern), at most so many.

        A limit takes from each kind in turn, so that a small part still has something of everything; the order stays.
        """
        chosen = self.scenarios
        if kinds is not None:
            wanted = set(kinds)
            for kind in sorted(wanted - set(self.kinds)):
                raise unknown_name("kind of scenario", kind, self.kinds)
            chosen = [scenario for scenario in chosen if scenario.kind in wanted]
        if ids is not None:
            chosen = _named(chosen, list(ids))
        if limit is not None:
            if limit < 1:
                raise UsageError(f"{limit} scenarios are none", hint="Give a limit of 1 or more")
            chosen = _spread(chosen, limit)
        if not chosen:
            raise UsageError("no scenario of the suite is chosen", hint="The kinds and the ids have none in common")
        return self.model_copy(update={"scenarios": chosen})


def _named(scenarios: list[Scenario], patterns: list[str]) -> list[Scenario]:
    for pattern in patterns:
        if not any(fnmatchcase(scenario.id, pattern) for scenario in scenarios):
            raise unknown_name("scenario", pattern, [scenario.id for scenario in scenarios])
    return [scenario for scenario in scenarios if any(fnmatchcase(scenario.id, pattern) for pattern in patterns)]


def _spread(scenarios: list[Scenario], limit: int) -> list[Scenario]:
    """No more than `limit` of them, taken from each kind in turn."""
    rounds: dict[str, int] = {}
    ranked = []
    for at, scenario in enumerate(scenarios):
        rounds[scenario.kind] = rounds.get(scenario.kind, 0) + 1
        ranked.append((rounds[scenario.kind], at))
    return [scenarios[at] for at in sorted(at for _, at in sorted(ranked)[:limit])]


def load_suite(name_or_path: str | Path) -> Suite:
    """A suite that comes with assay, by its name, or any other by its path."""
    if isinstance(name_or_path, str):
        if name_or_path in SUITES:
            return _built_in(name_or_path)
        looks_like_path = name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path or "\\" in name_or_path
        if not looks_like_path and not Path(name_or_path).is_file():
            error = unknown_name("suite", name_or_path, SUITES)
            raise UsageError(error.what, hint=f"{error.hint}; or give the path of a YAML file")
    return read_suite(load(name_or_path))


@functools.cache
def _built_in(name: str) -> Suite:
    return read_suite(loads((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml"))


def read_suite(document: Document) -> Suite:
    """The suite that a document says."""
    return validated(document, Suite)


def schema() -> dict[str, Any]:
    """The JSON Schema of a suite's file, short forms included."""
    made = Suite.model_json_schema(by_alias=True)
    turn = made["$defs"]["ScenarioTurn"]
    weather = turn["properties"]["weather"]["anyOf"]
    weather.insert(0, {"type": "string", "pattern": r"\S"})
    turn["not"] = {
        "required": ["weather", "truth"],
        "properties": {"weather": {"not": {"type": "null"}}, "truth": {"not": {"type": "null"}}},
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "A suite of assay"}
