"""Which agents a run has: what `--agents` takes, on the command line or in a YAML file, as data that can be sent on.

A specification holds no secrets, only the names of the environment variables that do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from assay.chat.agents import AGENTS, AgentKind
from assay.chat.agents.function import kind_of as kind_of_function
from assay.chat.agents.function import load as load_function
from assay.chat.agents.http import Address, CallsPath, Endpoint, HeaderName, Template, Variable
from assay.chat.agents.http import kind_of as kind_of_endpoint
from assay.chat.yamlfile import load, refusal, refused, validated
from assay.errors import UsageError, unknown_name

_FILES = (".yaml", ".yml")
_MAKINGS = ("agent", "function", "http")


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._@+-]{0,63}", name):
        raise refusal(
            f"'{name:.80}' is no name of an agent", hint="Begin with a letter or digit; then also . _ @ + - and spaces"
        )
    return name


def _known(name: str) -> str:
    if name not in AGENTS.names():
        raise refused(unknown_name("agent", name, AGENTS.names()))
    return name


def _pointer(spec: str) -> str:
    module, mark, attribute = spec.partition(":")
    if not mark or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise refusal(f"'{spec:.80}' points at nothing", hint="Write module:attribute, such as my_bot:answer")
    return spec


class AgentSpec(BaseModel):
    """One agent of a run: one that the registry knows, a function, or what answers at an address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_name)]
    """What it is called in the run."""
    agent: Annotated[str, AfterValidator(_known)] | None = None
    """Its name in the registry."""
    function: Annotated[str, AfterValidator(_pointer)] | None = None
    """Where a callable, an `AgentKind` or an agent is: `module:attribute`."""
    http: Address | None = None
    """The address that it answers at."""
    form: Literal["openai", "json"] = "openai"
    model: str | None = None
    key_env: Variable | None = None
    headers_env: dict[HeaderName, Variable] = Field(default_factory=dict)
    request: Template | None = None
    answer: str | None = None
    tool_calls: CallsPath | None = None
    stream: bool = False
    timeout: float | None = Field(default=None, gt=0, le=3600)

    @field_validator("tool_calls", mode="before")
    @classmethod
    def _path(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _is_one_thing(self) -> AgentSpec:
        made = [making for making in _MAKINGS if getattr(self, making) is not None]
        if len(made) != 1:
            raise refusal(
                f"is {' and '.join(made)} at once" if made else "does not say what it is",
                hint="Give one of agent, function and http",
            )
        if self.http is None:
            for option in sorted(self.model_fields_set - {"name", *_MAKINGS}):
                raise refusal(f"'{option}' has no meaning without http", at=(option,))
        else:
            self._endpoint()
        return self

    def _endpoint(self) -> Endpoint:
        given = self.model_dump(exclude_defaults=True, exclude={"name", "agent", "function", "http"})
        try:
            return Endpoint(url=self.http or "", **given)
        except ValidationError as error:
            first = error.errors()[0]
            context = first.get("ctx", {})
            raise refusal(
                context.get("what", first["msg"]), hint=context.get("hint"), at=context.get("at", ())
            ) from None

    def kind(self) -> AgentKind:
        """What can be opened; nothing heavy is imported before."""
        if self.function is not None:
            return kind_of_function(self.function, self.name)
        if self.http is not None:
            return kind_of_endpoint(self._endpoint(), self.name)
        found = AGENTS.get(self.agent or "")
        return found if self.name == found.name else replace(found, name=self.name, title=self.name)

    def loaded(self) -> AgentKind:
        """As `kind`, with a function's module imported: what it points at may be an `AgentKind` that says more."""
        if self.function is not None:
            found = load_function(self.function)
            if isinstance(found, AgentKind):
                return replace(found, name=self.name)
        return self.kind()

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AgentSpec:
        """The specification that `to_json` gave."""
        return cls.model_validate(dict(data))


class _File(BaseModel):
    """A file of agents."""

    model_config = ConfigDict(extra="forbid")

    agents: list[AgentSpec]

    @model_validator(mode="after")
    def _differ(self) -> _File:
        if not self.agents:
            raise refusal("there are none", at=("agents",))
        twice = _twice(self.agents)
        if twice is not None:
            raise refusal(f"two agents are called '{self.agents[twice].name}'", at=("agents", twice, "name"))
        return self


def parse_agents(text: str) -> list[AgentSpec]:
    """The agents that `--agents` names: the path of a YAML file, or a list with commas.

    An item is a name that the registry knows, `NAME=module:attribute`, `NAME=http://…/v1`, or `NAME=` a known name.
    """
    if text.strip().endswith(_FILES):
        return load_agents(text.strip())
    specs = [_item(item.strip()) for item in text.split(",")]
    twice = _twice(specs)
    if twice is not None:
        raise UsageError(f"two agents are called '{specs[twice].name}'", hint="Write NAME=… to tell them apart")
    return specs


def load_agents(path: Path | str) -> list[AgentSpec]:
    """The agents of a YAML file."""
    return validated(load(path), _File).agents


def _item(text: str) -> AgentSpec:
    """One item of a list with commas."""
    if not text:
        raise UsageError("an agent's name is missing", hint=f"Known: {', '.join(AGENTS.names())}")
    name, mark, what = (part.strip() for part in text.partition("="))
    if not mark:
        if ":" in name:
            # Not repeated: an address may have a password in it.
            raise UsageError(
                "a function or an address has no name", hint="Write NAME=module:attribute or NAME=http://…"
            )
        what = name
    if "://" in what:
        making = "http"
    elif ":" in what:
        making = "function"
    else:
        making = "agent"
    try:
        return AgentSpec.model_validate({"name": name, making: what})
    except ValidationError as error:
        first = error.errors()[0]
        context = first.get("ctx", {})
        words = str(context.get("what", first["msg"]))
        # A sentence about an address begins with what it is about.
        told = words if making != "http" or first["loc"] != ("http",) else f"the address of '{name}' {words}"
        raise UsageError(told, hint=context.get("hint") or None) from None


def _twice(specs: Iterable[AgentSpec]) -> int | None:
    """The first one whose name was there before."""
    seen: Counter[str] = Counter()
    for place, spec in enumerate(specs):
        seen[spec.name] += 1
        if seen[spec.name] > 1:
            return place
    return None
