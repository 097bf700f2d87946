"""What others may start through a server: agents and suites by names that the server knows.

A page or an assistant sends names only. What it sends never becomes a path, an address or a module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from assay.chat.agents import AGENTS
from assay.chat.agents.spec import AgentSpec
from assay.chat.running.experiment import Experiment
from assay.chat.suites import SUITES
from assay.errors import UsageError, unknown_name
from assay.runs.planning import plan_experiment

MOST_REPETITIONS = 20
MOST_SCENARIOS = 1000


def known_agents(own: Sequence[AgentSpec] = ()) -> dict[str, AgentSpec]:
    """Agents that were named when the server started, then the bundled ones whose packages are installed."""
    found = {spec.name: spec for spec in own}
    for name in AGENTS.names():
        if name not in found and _is_installed(AGENTS.get(name).distributions):
            found[name] = AgentSpec(name=name, agent=name)
    return found


def known_suites(files: Mapping[str, Path]) -> dict[str, str]:
    """Suites that can be played: those of the package, and files by their names, as `file:NAME`."""
    return {name: name for name in SUITES} | {f"file:{name}": str(path) for name, path in files.items()}


def plan_by_names(
    suite: str,
    agents: Sequence[str],
    *,
    suites: Mapping[str, str],
    known: Mapping[str, AgentSpec],
    repeat: int,
    limit: int,
    seed: int = 42,
) -> Experiment:
    """The experiment that these names describe; raises UsageError if one is not known or a number is too large.

    Example:
        >>> spec = AgentSpec(name="bot", function="bot:answer")
        >>> plan_by_names("weather", ["bot"], suites=known_suites({}), known={"bot": spec}, repeat=2, limit=5).trials
        10

    """
    chosen = list(dict.fromkeys(agents))
    for name in chosen:
        if name not in known:
            raise unknown_name("agent", name, known)
    if not chosen:
        raise UsageError("no agent was chosen", hint=f"Choose some of: {', '.join(known) or 'none is installed'}")
    if suite not in suites:
        raise unknown_name("suite", suite, suites)
    for name_of, value, most in (("repeat", repeat, MOST_REPETITIONS), ("limit", limit, MOST_SCENARIOS)):
        if not 1 <= value <= most:
            raise UsageError(f"'{name_of}' must be a whole number between 1 and {most:,}, got {value}")
    plan = plan_experiment(suites[suite], [AGENTS.names()[0]], repeat=repeat, limit=limit, seed=seed)
    return replace(plan, agents=tuple(known[name] for name in chosen))


def _is_installed(distributions: Sequence[str]) -> bool:
    try:
        return bool([version(package) for package in distributions])
    except PackageNotFoundError:
        return False
