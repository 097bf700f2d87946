"""A user's own agent object, by import path: `mine=adk:my_pkg.agent:root_agent`.

Its model is redirected to the endpoint of the run by the framework's own means; its instructions, tools and sub-agents
stay as they are. If a part of an agent would still call another service, the agent is refused, and the error names the
part. What a tool creates while it runs is not seen.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from assay.chat.agents import AGENTS, Agent, AgentKind, Setup
from assay.chat.agents.function import UnfitObjectError, load_attribute, module_source
from assay.errors import UsageError, missing_extra


@dataclass(frozen=True, slots=True)
class OwnFramework:
    """A framework whose agent objects can be run."""

    agent: str
    """The bundled assistant in the same framework: its name in the registry."""
    takes: str
    """What the object is."""
    redirects: str
    """How its model is redirected; completes 'its model is redirected …'."""


FRAMEWORKS = {
    "adk": OwnFramework(
        "google-adk",
        "an agent, Workflow or App of Google ADK",
        "by setting `model` of every LlmAgent of its process",
    ),
    "maf": OwnFramework(
        "agent-framework",
        "an Agent of Microsoft Agent Framework",
        "by setting `client` of every Agent of its process, without the middleware of the client it had",
    ),
    "openai-agents": OwnFramework(
        "openai-agents",
        "an Agent of the OpenAI Agents SDK",
        "by the `model` of RunConfig and of every Agent of its process",
    ),
    "langgraph": OwnFramework(
        "langgraph",
        "a compiled graph or an @entrypoint",
        "by replacing the client of every ChatOpenAI model of the process",
    ),
    "pydantic-ai": OwnFramework(
        "pydantic-ai", "an Agent of Pydantic AI", "by setting `model` of every Agent of its process"
    ),
}
"""Frameworks by the word that stands before the import path."""


def own_agent_kind(framework: str, pointer: str, name: str, deps: str | None = None) -> AgentKind:
    """The agent object at `module:attribute` as an `AgentKind`; the module is imported when it is opened.

    `deps` locates what the agent's tools are given, in the frameworks that have such dependencies.
    """
    bundled = AGENTS.get(FRAMEWORKS[framework].agent)

    def opened(setup: Setup) -> AbstractAsyncContextManager[Agent]:
        return _opened(framework, pointer, setup, deps)

    return AgentKind(
        name,
        name,
        opened,
        extra=bundled.extra,
        distributions=bundled.distributions,
        modules=bundled.modules,
        source=module_source(pointer.partition(":")[0]),
        uses_setup=False,
        uses_model=True,
    )


def own_agents_note(agents: Mapping[str, str]) -> str:
    """What readers of the results need to know about agent objects, given as frameworks by name; empty if none."""
    if not agents:
        return ""
    ways: dict[str, list[str]] = {}
    for name, framework in agents.items():
        ways.setdefault(FRAMEWORKS[framework].redirects, []).append(name)
    if len(agents) == 1:
        who, [how] = f"{next(iter(agents))} is your own agent object: the model is redirected", ways
    else:
        who = f"{', '.join(agents)} are your own agent objects: the model is redirected"
        how = "; ".join(f"{way} ({', '.join(names)})" for way, names in ways.items())
    if len(agents) == 1:
        module, whose, them, lacking = "the module is", "Its tools are its own", "it", "it does"
    else:
        module, whose, them, lacking = "their modules are", "Their tools are their own", "them", "they do"
    return (
        f"{who} {how}. This reaches what exists once {module} imported, and no agent or "
        f"client that a tool creates later with an address of its own. {whose}, so faults of the weather service and "
        f"known preferences do not reach {them}, the results of these tools are not compared with the embedded "
        f"weather, and calls of tools that {lacking} not have are not expected."
    )


class Dependencies:
    """What the tools of an agent are given in each turn: a value, or what a function or a class returns."""

    def __init__(self, found: Any) -> None:
        self._found = found
        self._is_called = inspect.isroutine(found) or inspect.isclass(found)
        self._takes_user = self._is_called and bool(_required(found))

    async def of(self, user: str) -> Any:
        """The dependencies for a turn of a user; a function that takes an argument is given the user's name."""
        if not self._is_called:
            return self._found
        made = self._found(user) if self._takes_user else self._found()
        return await made if inspect.isawaitable(made) else made


def without_arguments(wanted: type, word: str) -> Dependencies:
    """Dependencies of a type that can be created without arguments, or the user's name where they are a text.

    Raises UnfitObjectError if the type needs arguments.
    """
    if _required(wanted):
        raise UnfitObjectError(
            f"the agent needs {word} of type {wanted.__name__}, which cannot be created without arguments",
            hint="Name a function that creates it in a file of agents: deps: module:function",
        )
    # A text says who the user is, as in the quick start of Pydantic AI; an empty one would say nothing.
    return Dependencies(_name_of if wanted is str else wanted)


def _name_of(user: str) -> str:
    return user


def _required(made_by: Any) -> list[str]:
    """The parameters of a function or class without a default."""
    try:
        parameters = inspect.signature(made_by).parameters.values()
    except (TypeError, ValueError):  # a type of Python's own, such as str
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in parameters if one.kind in plain and one.default is inspect.Parameter.empty]


@asynccontextmanager
async def _opened(framework: str, pointer: str, setup: Setup, deps: str | None) -> AsyncIterator[Agent]:
    _set_environment(setup)
    bundled = AGENTS.get(FRAMEWORKS[framework].agent)
    folder = str(bundled.open.__module__)
    try:
        own: Any = importlib.import_module(f"{folder}.own")
    except ModuleNotFoundError as error:
        raise missing_extra(bundled.distributions[0], bundled.extra, f"run an agent of {bundled.title}") from error
    if hasattr(own, "before_import"):
        own.before_import()
    found = await _loaded(pointer)
    if not isinstance(found, own.TYPES):
        raise UnfitObjectError(
            f"'{pointer}' is of type {type(found).__name__}, not {FRAMEWORKS[framework].takes}",
            hint=_what_to_write(found, framework, pointer),
        )
    given = {} if deps is None else {"deps": Dependencies(await _loaded(deps))}
    async with own.open_own(setup, found, **given) as agent:
        yield agent


def _what_to_write(found: Any, framework: str, pointer: str) -> str:
    """What to do about an object of another type."""
    if inspect.isroutine(found):
        return f"Write NAME={pointer} for a plain function, without the framework"
    if not isinstance(found, type) and callable(getattr(found, "compile", None)):
        return f"Compile it and name what that gives: graph = {pointer.rpartition(':')[2]}.compile()"
    return f"Write NAME={framework}:module:attribute, where attribute is {FRAMEWORKS[framework].takes}"


def _set_environment(setup: Setup) -> None:
    """Set variables for clients that the user's module creates: they must neither fail because a key or a model's name
    is missing nor reach the real service.
    """
    os.environ["OPENAI_BASE_URL"] = setup.model_url
    os.environ["OPENAI_API_KEY"] = setup.model_key
    os.environ.setdefault("OPENAI_MODEL", setup.model)
    os.environ.setdefault("ANTHROPIC_API_KEY", "none")
    if "GEMINI_API_KEY" not in os.environ:
        os.environ.setdefault("GOOGLE_API_KEY", "none")


async def _loaded(pointer: str) -> Any:
    """The object at `module:attribute`.

    A module as in a quick start may run its agent when it is imported. The frameworks refuse that while an event loop
    is running, so such a module is imported again in a thread without one.
    """
    try:
        return load_attribute(pointer)
    except UsageError as error:
        if not (isinstance(error.__cause__, RuntimeError) and "event loop" in str(error.__cause__)):
            raise
    try:
        return await asyncio.to_thread(load_attribute, pointer)
    except UsageError as error:
        hint = "The module calls its agent when it is imported: put the call under if __name__ == '__main__':"
        raise UsageError(error.what, hint=hint) from error


def instances_of(wanted: type) -> list[Any]:
    """The objects of a type, or of one derived from it, in this process, in which only the user's agent runs.

    By type: `isinstance` asks objects of other packages for their class, and some warn of that.
    """
    return [one for one in gc.get_objects() if issubclass(type(one), wanted)]


def cannot_redirect(what: str) -> UnfitObjectError:
    """The error if a part of an agent would call a service that is not the run's."""
    return UnfitObjectError(
        f"the model of {what} cannot be redirected to the endpoint of this run",
        hint="Replace it for the evaluation, or name the agent as module:function and run it with its own model",
    )
