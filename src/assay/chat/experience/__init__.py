"""Measures developer experience: an assistant's source code, installation and failures in its framework.

The metrics implementation_effort, integration_simplicity and debuggability take characteristics such as low setup. Here
these are derived from figures, and each figure has a description of its method. What could not be measured is listed
in `absent` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from assay.chat.agents import AGENTS, AgentKind
from assay.chat.experience import levels
from assay.chat.metrics._characteristics import CLAIMED
from assay.errors import AssayError
from assay.redaction import redacted, redacted_value

if TYPE_CHECKING:
    from assay.chat.experience.fault_injection import ServerUrls
    from assay.chat.experience.source import AssistantSource

_CLAIMS = {"google-adk": "GADK", "agent-framework": "MS"}
"""Agents by the abbreviations in the table of claimed characteristics."""

_CLIENT = "openai.AsyncOpenAI"
"""The client with which every assistant calls its model, directly or inside its framework."""

PROGRAM_SECONDS = 60.0
"""Timeout of one process: importing a framework on a busy machine takes seconds."""


def _limits(thresholds: Mapping[str, tuple[float, float]]) -> str:
    """Thresholds as text: 'packages low up to 32, medium up to 64; …'."""
    return "; ".join(f"{name} low up to {low:g}, medium up to {most:g}" for name, (low, most) in thresholds.items())


METHOD: Mapping[str, str] = {
    "files": "Python files of the assistant's folder with at least one line of code",
    "lines": "lines of code, without blank lines, comments, docstrings and account_lines",
    "functions": "functions and methods, without those of account_lines",
    "branches": (
        "if, elif, conditional expressions, loops, comprehensions and their conditions, except, case other than _, and "
        "each further operand of and/or; with, assert and if TYPE_CHECKING do not count"
    ),
    "worst_complexity": "McCabe complexity of the most complex function: its branches plus one",
    "account_lines": "lines of the functions that return Reply or ToolCall, which exist only to report to assay",
    "tool_files": "files that name a tool, for the tool named in most files: the places to edit to add another tool",
    "framework_names": "names that the source imports from the framework's packages, except packages that assay needs",
    "memory": (
        "built-in if the class declared as the conversation's memory belongs to one of the framework's packages, and "
        "the source imports it or uses something that creates it; otherwise manual"
    ),
    "packages": (
        "installed distributions that the framework requires, including itself, by their metadata with markers and "
        "extras evaluated"
    ),
    "megabytes": "sizes of all files that these distributions record, in 1,000,000 bytes, without bytecode",
    "beyond_smallest": "packages that the agent with the fewest packages does not need",
    "own_packages": "packages that none of the other agents needs",
    "import_seconds": (
        "processor time of importing what the source imports and the model's client, in a fresh interpreter, without "
        "the interpreter's own start; the median of three"
    ),
    "import_modules": "modules that these imports load",
    "documented_share": (
        "share of the framework's names used in the source, and of their methods as far as the code shows the class, "
        "that have a docstring of their own in the installed package"
    ),
    "expected_fault": "a turn in a fresh process in which the weather service answers with status 500",
    "unexpected_fault": "a turn in a fresh process in which the weather client raises ZeroDivisionError",
    "setup": f"median of three: {_limits(levels.SETUP)}",
    "complexity": f"median of three: {_limits(levels.COMPLEXITY)}",
    "errors": (
        "framework if it caught even the unexpected exception and the turn had an answer; manual if the turn survives "
        "only with code of the assistant; none if the turn also fails on the expected failure"
    ),
    "logging": (
        "framework if a log record of the framework names the unexpected exception; basic if only a traceback or "
        "printed output does, or a record says that the tool failed but not why; otherwise none"
    ),
    "documentation": (
        f"comprehensive from a documented_share of {levels.COMPREHENSIVE:g}, moderate from {levels.MODERATE:g}, "
        "otherwise none"
    ),
}
"""How each figure and each characteristic is obtained."""


@dataclass(frozen=True, slots=True)
class Experience:
    """The developer experience of one agent's framework, as measured on its assistant."""

    agent: str
    measured: Mapping[str, Any] = field(default_factory=dict)
    """Figures by name; `METHOD` describes each of them."""
    characteristics: Mapping[str, Any] = field(default_factory=dict)
    """The input of the three metrics. A metric is not measured if a characteristic that it needs is missing."""
    claimed: Mapping[str, Any] | None = None
    """Characteristics that were once claimed for the framework, without a measurement."""
    method: Mapping[str, str] = field(default_factory=dict)
    """How each figure and characteristic in this object was obtained."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Parts that could not be measured, each with the reason."""

    def to_json(self) -> dict[str, Any]:
        """The measurement as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experience:
        """The inverse of `to_json`."""
        return cls(**data)


def measure_experience(
    kind: AgentKind,
    *,
    name: str | None = None,
    beside: Iterable[AgentKind] | None = None,
    world: ServerUrls | None = None,
    timeout: float = PROGRAM_SECONDS,
) -> Experience:
    """Measure an agent: its source code, its installation, and what can be seen if its tool fails.

    `name` is the agent's name in the result, by default that of its kind. `beside` are the agents to compare its
    packages with, by default all registered ones. `world` is a running embedded world; without it, one is started.
    `timeout` applies to each process that is started, in seconds.
    """
    measured: dict[str, Any] = {}
    absent: dict[str, str] = {}

    def attempt(part: str, of: Callable[[], Mapping[str, Any]]) -> None:
        try:
            measured.update(of())
        except AssayError as error:
            absent[part] = redacted(str(error))

    source = _read_source(kind, absent)
    if source is not None:
        measured.update(_source_figures(source))
    attempt("installation", lambda: _installation_figures(kind, beside))
    if "installation" not in absent:
        attempt("framework", lambda: _framework_figures(kind, source, timeout))
    if _keeps_no_memory(kind) and measured.pop("memory", None) is not None:
        measured = {name: value for name, value in measured.items() if not name.startswith("memory_")}
        absent["memory"] = "what keeps the conversations of an agent object is up to whatever runs it, here assay"
    attempt("fault", lambda: _fault_figures(kind, world, timeout))
    characteristics = _characteristics(measured)
    return Experience(
        agent=name or kind.name,
        measured=redacted_value(measured),
        characteristics=characteristics,
        claimed=CLAIMED.get(_CLAIMS.get(kind.extra, "")) if kind.uses_setup else None,
        method={name: how for name, how in METHOD.items() if name in measured or name in characteristics},
        absent=absent,
    )


def _keeps_no_memory(kind: AgentKind) -> bool:
    """Whether an agent is an object of the user's own, which is given its memory by the program that runs it."""
    return bool(kind.uses_model) and not kind.uses_setup


def _read_source(kind: AgentKind, absent: dict[str, str]) -> AssistantSource | None:
    from assay.chat.experience.source import read_source

    if kind.source is None:
        absent["source"] = "the agent's source is not available"
        return None
    try:
        return read_source(kind.source)
    except AssayError as error:
        absent["source"] = redacted(str(error))
        return None


def _source_figures(source: AssistantSource) -> dict[str, Any]:
    return {
        "files": source.files,
        "lines": source.lines,
        "functions": source.functions,
        "branches": source.branches,
        "worst_complexity": source.worst_complexity,
        "worst_function": source.worst_function,
        "account_lines": source.account_lines,
        "tool_files": source.tool_files,
    }


def _installation_figures(kind: AgentKind, beside: Iterable[AgentKind] | None) -> dict[str, Any]:
    from assay.chat.experience.installation import beyond_smallest, read_installation

    if not kind.distributions:
        raise AssayError("the agent names no package that it is built on")
    found = read_installation(kind)
    if found.absent:
        raise AssayError(f"not installed: {', '.join(sorted(found.absent))}")
    return {
        "packages": len(found.packages),
        "megabytes": round(found.megabytes, 1),
        **beyond_smallest(kind, _registered_kinds() if beside is None else [*beside]),
    }


def _framework_figures(kind: AgentKind, source: AssistantSource | None, timeout: float) -> dict[str, Any]:
    """The cost of importing the framework, and what is found in it about the names that the source uses."""
    from assay.chat.experience.installation import read_installation, time_imports

    packages = read_installation(kind).packages
    request = _inspection_request(kind, source, packages) if source is not None else None
    found = time_imports(_names_to_import(kind, source, packages), timeout=timeout, request=request)
    figures = {"import_seconds": round(found.seconds, 2), "import_modules": found.modules}
    if request is None:
        return figures
    documented = found.findings["documented"]
    return {
        **figures,
        "framework_names": len(request["names"]),
        "memory": "built-in" if found.findings["memory"] else "manual",
        "memory_class": kind.memory,
        "memory_through": found.findings["memory"],
        "documented_names": sum(documented.values()),
        "public_names": len(documented),
        "documented_share": round(sum(documented.values()) / len(documented), 3) if documented else None,
        "undocumented": [name for name, has in documented.items() if not has],
    }


def _names_to_import(kind: AgentKind, source: AssistantSource | None, packages: frozenset[str]) -> list[str]:
    """Full names of what is imported before the assistant answers."""
    from assay.chat.experience.installation import owner_of, owners

    known = owners(packages)
    used = [name for name in source.names if name not in source.typing_names] if source else []
    # Some frameworks import the model's client immediately, others on first use; here it counts for all of them.
    return [*kind.modules, *(name for name in (*used, _CLIENT) if owner_of(name, known))]


def _inspection_request(kind: AgentKind, source: AssistantSource, packages: frozenset[str]) -> dict[str, Any]:
    """What to inspect in the framework: names of its packages, except those that assay itself needs."""
    from assay.chat.experience.installation import needed_by_assay, owner_of, owners

    known = owners(packages - needed_by_assay())
    return {
        "names": [name for name in source.names if owner_of(name, known)],
        "members": [member for member in source.members if owner_of(member[0], known)],
        "memory": kind.memory if kind.memory and owner_of(kind.memory, known) else None,
        "attributes": source.attributes,
    }


def _fault_figures(kind: AgentKind, world: ServerUrls | None, timeout: float) -> dict[str, Any]:
    from assay.chat.experience.fault_injection import inject_faults

    findings = inject_faults(kind, world, timeout=timeout)
    return {"expected_fault": findings["expected"], "unexpected_fault": findings["unexpected"]}


def _characteristics(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The input of the metrics, as far as it was measured."""
    found = {
        "files": measured.get("files"),
        "setup": levels.setup(measured),
        "complexity": levels.complexity(measured),
        "tool_files": measured.get("tool_files"),
        "memory": measured.get("memory"),
        "documentation": levels.documentation(measured),
    }
    if "unexpected_fault" in measured:
        found["errors"] = levels.errors(measured["expected_fault"], measured["unexpected_fault"])
        found["logging"] = levels.logging(measured["unexpected_fault"])
    return {name: value for name, value in found.items() if value is not None}


def _registered_kinds() -> Sequence[AgentKind]:
    """Every registered agent, except those that cannot be loaded."""
    found = []
    for name in AGENTS.names():
        try:
            found.append(AGENTS.get(name))
        except AssayError:
            continue
    return found
