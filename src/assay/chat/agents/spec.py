"""Specifications of the agents of a run: what `--agents` takes, as a list or in a YAML file, as serializable data.

A specification contains no secrets, only the names of the environment variables that have them.
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
from assay.chat.agents.function import function_agent_kind, load_attribute
from assay.chat.agents.http import (
    Endpoint,
    EndpointUrl,
    EnvironmentVariable,
    HeaderName,
    RequestTemplate,
    ToolCallsPath,
    http_agent_kind,
)
from assay.chat.agents.own import FRAMEWORKS, own_agent_kind
from assay.chat.prices import ModelPrice
from assay.chat.yamlfile import load_yaml, refusal, refused, validated
from assay.errors import UsageError, unknown_name

_FILES = (".yaml", ".yml")
_KINDS = ("agent", "function", "http", "object")
_WITH_DEPS = ("openai-agents", "langgraph", "pydantic-ai")


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._@+-]{0,63}", name):
        raise refusal(
            f"'{name:.80}' is not a valid agent name",
            hint="Begin with a letter or digit; then also . _ @ + - and spaces",
        )
    return name


def _check_registered(name: str) -> str:
    if name not in AGENTS.names():
        error = unknown_name("agent", name, AGENTS.names())
        if "Did you mean" not in (error.hint or ""):
            error = UsageError(error.what, hint=f"{error.hint}. For a function of your own write NAME=module:function")
        raise refused(error)
    return name


def _check_pointer(spec: str) -> str:
    module, mark, attribute = spec.partition(":")
    if not mark or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise refusal(
            f"'{spec:.80}' is not of the form module:attribute", hint="Write module:attribute, such as my_bot:answer"
        )
    return spec


def _check_version(version: str) -> str:
    # A version begins with a digit, a path has a slash, and neither begins with a dash, as options of pip do.
    if not re.fullmatch(r"v?[0-9][A-Za-z0-9._+!-]{0,80}|(?=.*/)[\w.~/][^\x00-\x1f]{0,400}", version):
        raise refusal(
            f"'{version:.80}' is neither a version nor a path",
            hint="Write google-adk==2.12.0, or google-adk==./adk-python for a checkout",
        )
    return version


class AgentSpec(BaseModel):
    """One agent of a run: a registered agent, a function, an HTTP endpoint, or the user's own agent object."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_check_name)]
    """The agent's name in the run."""
    agent: Annotated[str, AfterValidator(_check_registered)] | None = None
    """Its name in the registry."""
    version: Annotated[str, AfterValidator(_check_version)] | None = None
    """The version of its framework, or the path of a checkout of it; it then runs in a separate environment."""
    function: Annotated[str, AfterValidator(_check_pointer)] | None = None
    """Location of a callable, an `AgentKind` or an agent: `module:attribute`."""
    http: EndpointUrl | None = None
    """The URL of its endpoint."""
    object: Annotated[str, AfterValidator(_check_pointer)] | None = None
    """Location of the user's own agent object, `module:attribute`, in the framework that `framework` names."""
    framework: Literal["adk", "maf", "openai-agents", "langgraph", "pydantic-ai"] | None = None
    deps: Annotated[str, AfterValidator(_check_pointer)] | None = None
    """Location of what the object's tools are given in each turn, a value or a function that returns it: dependencies
    of Pydantic AI, the context of LangGraph and the OpenAI Agents SDK."""
    form: Literal["openai", "json"] = "openai"
    model: str | None = None
    """The model in requests to an endpoint; of any other agent, the model that it calls in place of the run's."""
    key_env: EnvironmentVariable | None = None
    headers_env: dict[HeaderName, EnvironmentVariable] = Field(default_factory=dict)
    request: RequestTemplate | None = None
    answer: str | None = None
    tool_calls: ToolCallsPath | None = None
    stream: bool = False
    timeout: float | None = Field(default=None, gt=0, le=3600)

    @field_validator("tool_calls", mode="before")
    @classmethod
    def _path_to_table(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _check_kind(self) -> AgentSpec:
        made = [kind_name for kind_name in _KINDS if getattr(self, kind_name) is not None]
        if len(made) != 1:
            raise refusal(
                f"has {' and '.join(made)}, which exclude each other"
                if made
                else "has none of agent, function, http and object",
                hint="Give one of agent, function, http and object",
            )
        if self.version is not None and self.agent is None:
            raise refusal("'version' can be used only with agent", at=("version",))
        if (self.object is None) != (self.framework is None):
            raise refusal("'object' and 'framework' go together", hint=f"framework is one of {', '.join(FRAMEWORKS)}")
        if self.deps is not None and self.framework not in _WITH_DEPS:
            raise refusal("'deps' can be used only with object", hint=f"In {', '.join(_WITH_DEPS)}", at=("deps",))
        if self.http is None:
            known = {"name", "framework", "model", "version", "deps", *_KINDS}
            for option in sorted(self.model_fields_set - known):
                raise refusal(f"'{option}' can be used only with http", at=(option,))
        else:
            self._endpoint()
        return self

    def _endpoint(self) -> Endpoint:
        given = self.model_dump(exclude_defaults=True, exclude={"name", "framework", "version", "deps", *_KINDS})
        try:
            return Endpoint(url=self.http or "", **given)
        except ValidationError as error:
            first = error.errors()[0]
            context = first.get("ctx", {})
            raise refusal(
                context.get("what", first["msg"]), hint=context.get("hint"), at=context.get("at", ())
            ) from None

    def kind(self) -> AgentKind:
        """The agent as an `AgentKind`; nothing heavy is imported until it is opened."""
        if self.function is not None:
            return function_agent_kind(self.function, self.name)
        if self.http is not None:
            return http_agent_kind(self._endpoint(), self.name)
        if self.object is not None:
            return own_agent_kind(self.framework or "", self.object, self.name, self.deps)
        found = AGENTS.get(self.agent or "")
        return found if self.name == found.name else replace(found, name=self.name, title=self.name)

    def loaded(self) -> AgentKind:
        """Like `kind`, but imports a function's module, because the object may be an `AgentKind` with more details."""
        if self.function is not None:
            found = load_attribute(self.function)
            if isinstance(found, AgentKind):
                return replace(found, name=self.name)
        return self.kind()

    def to_json(self) -> dict[str, Any]:
        """The specification as JSON data."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AgentSpec:
        """The inverse of `to_json`."""
        return cls.model_validate(dict(data))


class _File(BaseModel):
    """A file of agents."""

    model_config = ConfigDict(defer_build=True, extra="forbid")

    agents: list[AgentSpec]
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    """US dollars for a million tokens by the name of a model; they override the price list."""

    @model_validator(mode="after")
    def _check_names(self) -> _File:
        if not self.agents:
            raise refusal("the list is empty", hint="Name at least one agent", at=("agents",))
        twice = _first_duplicate(self.agents)
        if twice is not None:
            raise refusal(f"two agents are called '{self.agents[twice].name}'", at=("agents", twice, "name"))
        return self


def parse_agents(text: str) -> list[AgentSpec]:
    """Read the value of `--agents`: the path of a YAML file, or a comma-separated list.

    An item is the name of a registered agent, `NAME=module:attribute`, `NAME=http://…/v1`, `NAME=REGISTERED_NAME`,
    `NAME=FRAMEWORK:module:attribute` for one's own agent object, or `REGISTERED_NAME==VERSION`.
    """
    if text.strip().endswith(_FILES):
        return load_agents(text.strip())
    if not text.strip():
        raise UsageError("no agent was named: the list is empty", hint=f"Name some of: {', '.join(AGENTS.names())}")
    specs = [_item(item.strip()) for item in text.split(",")]
    twice = _first_duplicate(specs)
    if twice is not None:
        raise UsageError(f"two agents are called '{specs[twice].name}'", hint="Write NAME=… to tell them apart")
    return specs


def load_agents(path: Path | str) -> list[AgentSpec]:
    """The agents of a YAML file."""
    return validated(load_yaml(path), _File).agents


def stated_prices(text: str) -> dict[str, ModelPrice]:
    """The prices that a YAML file of agents states; none if `text` is a list of agents."""
    return validated(load_yaml(text.strip()), _File).prices if text.strip().endswith(_FILES) else {}


def _item(text: str) -> AgentSpec:
    """Read one item of a comma-separated list."""
    if not text:
        raise UsageError("an agent's name is missing", hint=f"Known: {', '.join(AGENTS.names())}")
    given: dict[str, str] = {}
    is_address = "://" in text.partition("==")[0]
    pinned = None if is_address else re.fullmatch(r"(?:([^=]+)=)?([^=]+)==([^=]+)", text)
    if pinned is not None:
        name, agent, version = (part.strip() if part else "" for part in pinned.groups())
        given["version"] = version
        text = f"{name or _name_of_version(agent, version)}={agent}"
    elif "==" in text and not is_address:
        agent, _, version = (part.strip() for part in text.partition("=="))
        agent = agent.rpartition("=")[2]
        what = (
            f"the version of '{agent}' is missing" if agent and not version else f"'{text:.80}' is not AGENT==VERSION"
        )
        raise UsageError(what, hint="Write AGENT==VERSION, such as google-adk==2.12.0")
    name, mark, what = (part.strip() for part in text.partition("="))
    if not mark:
        if ":" in name:
            # The text is not repeated, because a URL may contain a password.
            raise UsageError(
                "a function or an endpoint needs a name", hint="Write NAME=module:attribute or NAME=http://…"
            )
        what = name
    elif not name or not what:
        missing = "the name" if not name else f"what '{name:.60}' stands for"
        raise UsageError(
            f"{missing} is missing", hint="Write NAME=module:function, NAME=http://…, or the name of an agent alone"
        )
    if "://" in what:
        kind_name = "http"
    elif what.count(":") == 2:
        kind_name = "object"
        given["framework"], _, what = what.partition(":")
        if given["framework"] not in FRAMEWORKS:
            raise unknown_name("framework", given["framework"], FRAMEWORKS)
    elif ":" in what:
        kind_name = "function"
        first, _, module = what.partition(":")
        if first in FRAMEWORKS and not _is_in_current_folder(first):
            told = f"the module '{module}' and no attribute of it" if module else "no module"
            raise UsageError(
                f"'{what}' names {told}",
                hint=f"Write NAME={first}:{module or 'module'}:attribute, where attribute is {FRAMEWORKS[first].takes}",
            )
    else:
        kind_name = "agent"
    return _checked(name, kind_name, what, given)


def _is_in_current_folder(module: str) -> bool:
    """Whether a module that is called like a framework is the user's own."""
    return Path(f"{module}.py").is_file() or Path(module, "__init__.py").is_file()


def agent_at(name: str, url: str, *, form: str = "openai") -> AgentSpec:
    """The agent at an address that a user typed, without keys or headers; raises UsageError if it cannot be one."""
    return _checked(name.strip(), "http", url.strip(), {"form": form})


def _checked(name: str, kind_name: str, what: str, given: Mapping[str, str]) -> AgentSpec:
    try:
        return AgentSpec.model_validate({"name": name, kind_name: what, **given})
    except ValidationError as error:
        first = error.errors()[0]
        context = first.get("ctx", {})
        words = str(context.get("what", first["msg"]))
        # A message about a URL is a predicate without a subject.
        sentence = words if kind_name != "http" or first["loc"] != ("http",) else f"the URL of '{name}' {words}"
        raise UsageError(sentence, hint=context.get("hint") or None) from None


def _name_of_version(agent: str, version: str) -> str:
    """The name of an agent at a version, if it was given none: 'google-adk 2.12.0'."""
    return re.sub(r"[^A-Za-z0-9 ._@+-]", "-", f"{agent} {version.rstrip('/').rpartition('/')[2]}")[:64]


def _first_duplicate(specs: Iterable[AgentSpec]) -> int | None:
    """The index of the first agent whose name is already in use."""
    seen: Counter[str] = Counter()
    for place, spec in enumerate(specs):
        seen[spec.name] += 1
        if seen[spec.name] > 1:
            return place
    return None
