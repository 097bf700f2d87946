"""Developer experience, measured: what an assistant's source, installation and failures are like in its framework.

The metrics implementation_effort, integration_simplicity and debuggability take words: few files, low setup. Here they
come from figures, and each figure says how it was obtained. What could not be measured is absent, with its reason.
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
    from assay.chat.experience.fault import Addresses
    from assay.chat.experience.source import Source

_CLAIMS = {"google-adk": "GADK", "agent-framework": "MS"}
"""Which of our agents stands for which of the frameworks that were once described."""

_CLIENT = "openai.AsyncOpenAI"
"""What every assistant reaches its model with, directly or inside its framework."""

PROGRAM_SECONDS = 60.0
"""What one process may take: importing a framework on a busy machine takes seconds."""


def _limits(thresholds: Mapping[str, tuple[float, float]]) -> str:
    """Thresholds in words: 'low up to 32, medium up to 64 packages; …'."""
    return "; ".join(f"{name} low up to {low:g}, medium up to {most:g}" for name, (low, most) in thresholds.items())


METHOD: Mapping[str, str] = {
    "files": "Python files of the assistant's folder with at least one line of code",
    "lines": "lines with code on them: no blank lines, comments or docstrings, nor the account (account_lines)",
    "functions": "functions and methods, without the account",
    "branches": (
        "if, elif, conditional expressions, loops, comprehensions and their conditions, except, case other than _, and "
        "each further part of and/or; with, assert and if TYPE_CHECKING are none"
    ),
    "worst_complexity": "branches of the function that has most of them, and one (McCabe)",
    "account_lines": "lines of the functions that return Reply or ToolCall, which tell assay what happened",
    "tool_files": "files whose code names the tool that is named in most files: where one more would have to be put",
    "framework_names": "names that the source imports from the framework's packages, those aside that assay needs",
    "memory": (
        "built-in where the class that is said to keep the conversation is in one of the framework's packages, and the "
        "source imports it or uses something that makes it; else manual"
    ),
    "packages": (
        "installed distributions that the framework brings, itself among them, by their metadata, with markers and "
        "extras evaluated"
    ),
    "megabytes": "sizes of all files that these distributions record, in 1,000,000 bytes, without bytecode",
    "beyond_smallest": "packages that the agent with the fewest packages does not need",
    "own_packages": "packages that none of the agents beside it needs",
    "import_seconds": (
        "processor time of importing what the source imports and the client of the model, in a fresh interpreter and "
        "without its own start; the median of three"
    ),
    "import_modules": "modules that are loaded by that",
    "documented_share": (
        "share of the framework's names that the source uses, and of their methods where the code tells, that have a "
        "docstring of their own in the installed package"
    ),
    "expected_fault": "a turn in a fresh process, in which the weather service answers with status 500",
    "unexpected_fault": "a turn in a fresh process, in which the weather client raises ZeroDivisionError",
    "setup": f"median of three: {_limits(levels.SETUP)}",
    "complexity": f"median of three: {_limits(levels.COMPLEXITY)}",
    "errors": (
        "framework where it caught even the unexpected failure and the turn had an answer; manual where only code that "
        "the assistant brings saves the turn; none where the turn dies of the expected failure too"
    ),
    "logging": (
        "framework where a log record of its own names the unexpected exception; basic, where only a traceback or "
        "something printed does, or a record says that the tool failed but not why; none where nothing does"
    ),
    "documentation": (
        f"comprehensive from a documented_share of {levels.COMPREHENSIVE:g}, moderate from {levels.MODERATE:g}, "
        "else none"
    ),
}
"""How each figure and each word is obtained."""


@dataclass(frozen=True, slots=True)
class Experience:
    """What it is like to build one agent's assistant in its framework."""

    agent: str
    measured: Mapping[str, Any] = field(default_factory=dict)
    """Figures by name; `METHOD` says what each is."""
    characteristics: Mapping[str, Any] = field(default_factory=dict)
    """What the three metrics take; one that could not be measured is missing, and so is its metric."""
    claimed: Mapping[str, Any] | None = None
    """What was once claimed for the framework without measuring."""
    method: Mapping[str, str] = field(default_factory=dict)
    """How each figure and each characteristic that is here was obtained."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Parts that could not be measured, each with the reason."""

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experience:
        """The experience that `to_json` gave."""
        return cls(**data)


def measure(
    kind: AgentKind,
    *,
    name: str | None = None,
    beside: Iterable[AgentKind] | None = None,
    world: Addresses | None = None,
    timeout: float = PROGRAM_SECONDS,
) -> Experience:
    """Measure an agent: its source, what it brings along, and what is seen when its tool fails.

    `name` is what it is called, if not as its kind. `beside` are the agents whose packages its own are compared with:
    all that the registry knows if not given. `world` is an embedded world that runs already. `timeout` holds for each
    process that is started, in seconds.
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
    attempt("fault", lambda: _fault_figures(kind, world, timeout))
    characteristics = _characteristics(measured)
    return Experience(
        agent=name or kind.name,
        measured=redacted_value(measured),
        characteristics=characteristics,
        claimed=CLAIMED.get(_CLAIMS.get(kind.extra, "")),
        method={name: how for name, how in METHOD.items() if name in measured or name in characteristics},
        absent=absent,
    )


def _read_source(kind: AgentKind, absent: dict[str, str]) -> Source | None:
    from assay.chat.experience.source import read_source

    if kind.source is None:
        absent["source"] = "the agent's source is not at hand"
        return None
    try:
        return read_source(kind.source)
    except AssayError as error:
        absent["source"] = redacted(str(error))
        return None


def _source_figures(source: Source) -> dict[str, Any]:
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
        raise AssayError("it is built on no package")
    found = read_installation(kind)
    if found.absent:
        raise AssayError(f"not installed: {', '.join(sorted(found.absent))}")
    return {
        "packages": len(found.packages),
        "megabytes": round(found.megabytes, 1),
        **beyond_smallest(kind, _registered() if beside is None else [*beside]),
    }


def _framework_figures(kind: AgentKind, source: Source | None, timeout: float) -> dict[str, Any]:
    """What importing the framework costs, and what it says of the names that the source uses."""
    from assay.chat.experience.installation import read_installation, time_imports

    packages = read_installation(kind).packages
    look = _questions(kind, source, packages) if source is not None else None
    found = time_imports(_imported(kind, source, packages), timeout=timeout, look=look)
    figures = {"import_seconds": round(found.seconds, 2), "import_modules": found.modules}
    if look is None:
        return figures
    documented = found.seen["documented"]
    return {
        **figures,
        "framework_names": len(look["names"]),
        "memory": "built-in" if found.seen["memory"] else "manual",
        "memory_class": kind.memory,
        "memory_through": found.seen["memory"],
        "documented_names": sum(documented.values()),
        "public_names": len(documented),
        "documented_share": round(sum(documented.values()) / len(documented), 3) if documented else None,
        "undocumented": [name for name, has in documented.items() if not has],
    }


def _imported(kind: AgentKind, source: Source | None, packages: frozenset[str]) -> list[str]:
    """What is imported before the assistant answers, by its full names."""
    from assay.chat.experience.installation import owner_of, owners

    known = owners(packages)
    used = [name for name in source.names if name not in source.typing_names] if source else []
    # Some frameworks import the client of the model at once, others when they are first used: here it counts for all.
    return [*kind.modules, *(name for name in (*used, _CLIENT) if owner_of(name, known))]


def _questions(kind: AgentKind, source: Source, packages: frozenset[str]) -> dict[str, Any]:
    """What the framework is asked: of names of its own packages, those aside that assay itself needs."""
    from assay.chat.experience.installation import needed_by_assay, owner_of, owners

    known = owners(packages - needed_by_assay())
    return {
        "names": [name for name in source.names if owner_of(name, known)],
        "members": [member for member in source.members if owner_of(member[0], known)],
        "memory": kind.memory if kind.memory and owner_of(kind.memory, known) else None,
        "attributes": source.attributes,
    }


def _fault_figures(kind: AgentKind, world: Addresses | None, timeout: float) -> dict[str, Any]:
    from assay.chat.experience.fault import inject_faults

    seen = inject_faults(kind, world, timeout=timeout)
    return {"expected_fault": seen["expected"], "unexpected_fault": seen["unexpected"]}


def _characteristics(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What the metrics take, as far as it is known."""
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


def _registered() -> Sequence[AgentKind]:
    """Every agent that the registry knows; one that cannot be loaded is nobody's neighbour."""
    found = []
    for name in AGENTS.names():
        try:
            found.append(AGENTS.get(name))
        except AssayError:
            continue
    return found
