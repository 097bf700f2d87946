"""The installation of an assistant's framework: packages, megabytes, and the time and modules of importing it.

Requirements are resolved like pip does, from the metadata of installed packages; nothing is downloaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from assay.chat.agents import AgentKind
from assay.chat.experience.process import run_program
from assay.errors import missing_extra

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_ASSAY = "assay-agents"
_AGENTS_EXTRA = "agents"
"""The extra of assay that every agent needs."""

IMPORTS = 3
"""How often the imports are timed: the median of three is robust to one outlier, and five would take too long."""

# Imports each full name like `from module import name`: some frameworks load a part only when its name is accessed.
_TIME_IMPORTS = """
import importlib, json, sys, time
given = json.load(sys.stdin)
before = len(sys.modules)
start = time.process_time()
for name in given["names"]:
    module, rest = name, []
    while True:
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module or "." not in module:
                raise
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
        else:
            break
    for part in rest:
        thing = getattr(thing, part)
seconds = time.process_time() - start
result = {"seconds": seconds, "modules": len(sys.modules) - before}
if given["request"]:
    from assay.chat.experience.inspection import inspect_framework
    result["findings"] = inspect_framework(given["request"])
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """The packages that a framework requires, including itself."""

    packages: frozenset[str]
    """Canonical names of the installed packages."""
    absent: frozenset[str]
    """Required packages that are not installed."""
    megabytes: float
    """Size of all files that the packages record, without bytecode. A megabyte is 1,000,000 bytes."""


@dataclass(frozen=True, slots=True)
class Imports:
    """The cost of importing a framework in a new process."""

    seconds: float
    """Processor time, which other work on the machine does not affect: the median of several fresh interpreters,
    without their own start."""
    modules: int
    """How many modules are loaded, including the standard library's."""
    findings: Mapping[str, Any] = field(default_factory=dict)
    """Results of `inspect_framework`, if it was requested."""


def read_installation(kind: AgentKind) -> Installation:
    """The packages that the agent's framework requires, as installed here."""
    packages, absent = closure(_requirements(kind))
    return Installation(packages, absent, sum(map(_megabytes, packages)))


def closure(requirements: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """All packages that `requirements` require, directly and indirectly, and those of them that are not installed.

    A requirement counts if its marker holds on this machine for the requested extras.
    """
    try:
        from packaging.requirements import Requirement
        from packaging.utils import canonicalize_name
    except ImportError as error:
        raise missing_extra("packaging", "agents", "resolve a framework's requirements") from error

    asked: dict[str, set[str]] = {}
    absent = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        # The empty extra stands for the requirements without an extra.
        extras = {"", *requirement.extras} - asked.get(name, set())
        if not extras:
            continue
        try:
            found = _distribution(name)
        except PackageNotFoundError:
            absent.add(name)
            continue
        asked.setdefault(name, set()).update(extras)
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return frozenset(asked), frozenset(absent)


def beyond_smallest(kind: AgentKind, beside: Sequence[AgentKind]) -> dict[str, object]:
    """Compare the agent's packages with those of other agents.

    `beyond_smallest` counts the packages that the agent with the fewest does not need, `own_packages` those that no
    other agent needs.
    """
    # The same framework under another name does not count as another agent.
    different = [other for other in beside if other.distributions and other.distributions != kind.distributions]
    others = {other.name: found for other in different if not (found := read_installation(other)).absent}
    ours = read_installation(kind).packages
    sizes = {kind.name: ours, **{name: installation.packages for name, installation in others.items()}}
    # By size, then by name, so that the result does not depend on the order of agents.
    smallest = min(sizes, key=lambda name: (len(sizes[name]), name))
    elsewhere = frozenset[str]().union(*(installation.packages for installation in others.values()))
    return {
        "smallest": smallest,
        "beyond_smallest": len(ours - sizes[smallest]),
        "own_packages": len(ours - elsewhere),
        "beside": sorted(others),
    }


def time_imports(
    names: Sequence[str], *, timeout: float, times: int = IMPORTS, request: Mapping[str, object] | None = None
) -> Imports:
    """Time the import of modules and of names in modules, by full name, in fresh interpreters one after another.

    The first interpreter then handles the inspection request, if there is one.
    """
    runs = [
        run_program(
            _TIME_IMPORTS, json.dumps({"names": [*names], "request": None if number else request}), timeout=timeout
        )
        for number in range(times)
    ]
    return Imports(
        median(float(found["seconds"]) for found in runs),
        max(int(found["modules"]) for found in runs),
        runs[0].get("findings", {}),
    )


def owners(packages: Iterable[str]) -> Mapping[str, str]:
    """The package of each importable module of `packages`."""
    return {module: package for package in sorted(packages) for module in _modules(_distribution(package))}


def owner_of(name: str, known: Mapping[str, str]) -> str | None:
    """The package of a full name, by its longest prefix that is a module in `known`."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return known.get(name)


def folders(packages: Iterable[str]) -> set[Path]:
    """The top-level folders and files of packages' code."""
    return {
        Path(str(found.locate_file(file.parts[0])))
        for found in map(_distribution, packages)
        for file in found.files or ()
        if file.suffix == ".py" and file.parts[0] != ".."
    }


def needed_by_assay() -> frozenset[str]:
    """Packages that assay needs to run any agent: a model's client, HTTP, spans."""
    return closure([f"{_ASSAY}[{_AGENTS_EXTRA}]"])[0]


def _requirements(kind: AgentKind) -> Iterator[str]:
    """What is installed for an agent: its distributions, with the extras that assay's extra requests."""
    from packaging.requirements import Requirement

    yield from kind.distributions
    try:
        ours = [Requirement(text) for text in _distribution(_ASSAY).requires or ()]
    except PackageNotFoundError:
        return
    # What any agent needs is listed under every extra, and belongs to no framework.
    shared_by_all = {requirement.name for requirement in ours if _required_by_extra(requirement, _AGENTS_EXTRA)}
    for requirement in ours:
        if kind.extra and _required_by_extra(requirement, kind.extra) and requirement.name not in shared_by_all:
            requirement.marker = None
            yield str(requirement)


def _required_by_extra(requirement: Requirement, extra: str) -> bool:
    """Whether assay requires it for an extra, but not without one."""
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


@cache
def _distribution(name: str) -> Distribution:
    return distribution(name)


@cache
def _megabytes(package: str) -> float:
    return sum(file.size or 0 for file in _distribution(package).files or ()) / 1e6


def _modules(found: Distribution) -> Iterator[str]:
    for file in found.files or ():
        if file.suffix == ".py" and not str(file).startswith("."):
            parts = file.with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        elif file.suffix in (".so", ".pyd"):
            yield ".".join((*file.parts[:-1], file.name.partition(".")[0]))
