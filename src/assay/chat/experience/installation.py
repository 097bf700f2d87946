"""What an assistant's framework puts on a machine: packages, megabytes, and the time and modules of importing it.

Packages are followed as pip follows them, by the metadata of what is installed here; nothing is fetched.
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
from assay.chat.experience.process import run
from assay.errors import missing_extra

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_OURSELVES = "assay-agents"
_RUNNING = "agents"
"""The extra of ours that every agent needs."""

IMPORTS = 3
"""How often the imports are timed: the median of three is untouched by one disturbance, and five take too long."""

# As `from module import name` does, for each full name: some frameworks load a part only when its name is asked for.
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
if given["look"]:
    from assay.chat.experience.inspection import look
    result["seen"] = look(given["look"])
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """The packages that a framework needs, itself among them."""

    packages: frozenset[str]
    """Canonical names of what is installed."""
    absent: frozenset[str]
    """What is asked for and not installed here."""
    megabytes: float
    """Of all files that the packages list, as installed; bytecode is not among them. A megabyte is 1,000,000 bytes."""


@dataclass(frozen=True, slots=True)
class Imports:
    """What importing a framework costs a program that starts."""

    seconds: float
    """Of the processor, so that other work on the machine does not count: the median of several fresh interpreters,
    without their own start."""
    modules: int
    """How many modules are loaded, the standard library's among them."""
    seen: Mapping[str, Any] = field(default_factory=dict)
    """What was seen in the framework, where it was to be looked at."""


def read_installation(kind: AgentKind) -> Installation:
    """What the agent's framework needs, of what is installed here."""
    packages, absent = closure(_requirements(kind))
    return Installation(packages, absent, sum(map(_megabytes, packages)))


def closure(requirements: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Everything that `requirements` bring with them, and what of it is not installed.

    A requirement counts where its marker holds on this machine, for the extras that it was asked for with.
    """
    try:
        from packaging.requirements import Requirement
        from packaging.utils import canonicalize_name
    except ImportError as error:
        raise missing_extra("packaging", "agents", "follow what a framework needs") from error

    asked: dict[str, set[str]] = {}
    absent = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        # The empty extra stands for what is needed in any case.
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
    """How the agent's packages stand to those of the agents beside it.

    'beyond' are the packages that the smallest of all agents does without; 'own' those that no other agent needs.
    """
    # The same framework under another name is no other.
    different = [other for other in beside if other.distributions and other.distributions != kind.distributions]
    others = {other.name: found for other in different if not (found := read_installation(other)).absent}
    ours = read_installation(kind).packages
    sizes = {kind.name: ours, **{name: installation.packages for name, installation in others.items()}}
    # By size, then by name: the smallest is the same whatever the order of agents.
    smallest = min(sizes, key=lambda name: (len(sizes[name]), name))
    elsewhere = frozenset[str]().union(*(installation.packages for installation in others.values()))
    return {
        "smallest": smallest,
        "beyond_smallest": len(ours - sizes[smallest]),
        "own_packages": len(ours - elsewhere),
        "beside": sorted(others),
    }


def time_imports(
    names: Sequence[str], *, timeout: float, times: int = IMPORTS, look: Mapping[str, object] | None = None
) -> Imports:
    """Import modules and names of modules, by their full names, in fresh interpreters, one after another.

    What is to be looked at in the framework is looked at in the first of them, after its time was taken.
    """
    runs = [
        run(_TIME_IMPORTS, json.dumps({"names": [*names], "look": None if number else look}), timeout=timeout)
        for number in range(times)
    ]
    return Imports(
        median(float(found["seconds"]) for found in runs),
        max(int(found["modules"]) for found in runs),
        runs[0].get("seen", {}),
    )


def owners(packages: Iterable[str]) -> Mapping[str, str]:
    """Which package each importable module of `packages` comes from."""
    return {module: package for package in sorted(packages) for module in _modules(_distribution(package))}


def owner_of(name: str, known: Mapping[str, str]) -> str | None:
    """The package that a full name comes from, by its longest part that is a module in `known`."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return known.get(name)


def folders(packages: Iterable[str]) -> set[Path]:
    """Where the code of packages lies: the folder or the file at the top that is theirs."""
    return {
        Path(str(found.locate_file(file.parts[0])))
        for found in map(_distribution, packages)
        for file in found.files or ()
        if file.suffix == ".py" and file.parts[0] != ".."
    }


def needed_by_assay() -> frozenset[str]:
    """Packages that are there to run agents of any kind: a model's client, HTTP, spans."""
    return closure([f"{_OURSELVES}[{_RUNNING}]"])[0]


def _requirements(kind: AgentKind) -> Iterator[str]:
    """What is installed for an agent: its distributions, with the extras that our own extra asks for them."""
    from packaging.requirements import Requirement

    yield from kind.distributions
    try:
        ours = [Requirement(text) for text in _distribution(_OURSELVES).requires or ()]
    except PackageNotFoundError:
        return
    # What runs agents of any kind is listed under every extra, and is no framework's.
    everyones = {requirement.name for requirement in ours if _asked_by(requirement, _RUNNING)}
    for requirement in ours:
        if kind.extra and _asked_by(requirement, kind.extra) and requirement.name not in everyones:
            requirement.marker = None
            yield str(requirement)


def _asked_by(requirement: Requirement, extra: str) -> bool:
    """Whether a requirement of ours is for an extra and not for all."""
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
