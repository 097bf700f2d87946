"""A run of agents from its settings to its scored turns: everything that decides what happens, in one value.

Two trials with equal settings give equal transcripts and scores. Knows no store; the command line puts one behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.chat.agent import AGENTS, AgentKind
from assay.chat.agents.config import AgentSpec
from assay.chat.agents.function import FunctionAgent
from assay.chat.host import Host, LocalHost, ProcessHost
from assay.chat.metric import Metric
from assay.chat.runner import InMemory, Key, Pace, Progress, Runner, Sink
from assay.chat.scoring import Scores
from assay.chat.suite import Scenario, Suite, load_suite
from assay.chat.venue import Venue
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.chat.experience import Experience

Experiences = Mapping[str, "Experience"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of which suite."""

    suite: str = "weather"
    """The name of a suite, or the path of a file."""
    kinds: tuple[str, ...] | None = None
    scenarios: tuple[str, ...] | None = None
    """Ids, or patterns of ids."""
    limit: int | None = None

    def load(self) -> Suite:
        return load_suite(self.suite).select(kinds=self.kinds, ids=self.scenarios, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is played, on whom, where."""

    suite: Suite
    agents: tuple[AgentSpec, ...]
    venue: Venue = field(default_factory=Venue)
    repeat: int = 1
    seed: int = 42
    selection: Selection = field(default_factory=Selection)

    def __post_init__(self) -> None:
        if not self.agents:
            raise UsageError("no agent is named", hint=f"Name some of: {', '.join(AGENTS.names())}")
        if self.repeat < 1:
            raise UsageError(f"{self.repeat} repetitions are none", hint="Give 1 or more")

    @property
    def turns(self) -> dict[str, int]:
        """How many turns each scenario has."""
        return {scenario.id: len(scenario.turns) for scenario in self.suite.scenarios}

    @property
    def cells(self) -> int:
        """How many conversations there are."""
        return len(self.agents) * len(self.suite.scenarios) * self.repeat

    def settings(self) -> dict[str, Any]:
        """What a stored run keeps of it, ready for JSON."""
        chosen = self.selection
        return {
            "suite": {
                "name": self.suite.name,
                "version": self.suite.version,
                "digest": self.suite.digest,
                "source": chosen.suite,
                "kinds": None if chosen.kinds is None else list(chosen.kinds),
                "chosen": None if chosen.scenarios is None else list(chosen.scenarios),
                "limit": chosen.limit,
                "scenarios": [scenario.id for scenario in self.suite.scenarios],
            },
            "agents": [spec.to_json() for spec in self.agents],
            "venue": self.venue.to_json(),
            "repeat": self.repeat,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], seed: int) -> Trial:
        """The trial of a stored run; refused where its suite has changed since."""
        kept = settings["suite"]
        selection = Selection(kept["source"], _tuple(kept["kinds"]), _tuple(kept["chosen"]), kept["limit"])
        suite = selection.load()
        if suite.digest != kept["digest"]:
            raise UsageError(
                f"the suite '{kept['source']}' has changed since the run was begun",
                hint="Bring back the suite as it was, or begin another run",
            )
        agents = tuple(AgentSpec.from_json(spec) for spec in settings["agents"])
        return cls(suite, agents, Venue.from_json(settings["venue"]), settings["repeat"], seed, selection)

    async def carry_out(
        self,
        sink: Sink,
        *,
        pace: Pace | None = None,
        done: Container[Key] = (),
        experience: Experiences | None = None,
        metrics: Sequence[str | Metric] | None = None,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Progress:
        """Play whatever is not `done`; finished turns go to `sink`. Every agent has a process of its own."""
        kinds = {spec.name: spec.kind() for spec in self.agents}
        async with AsyncExitStack() as stack:
            surroundings, truth = await stack.enter_async_context(self.venue.opened())
            hosts = {spec.name: ProcessHost(spec, surroundings) for spec in self.agents}
            for host in hosts.values():
                stack.push_async_callback(host.close)
            runner = self._runner(hosts, kinds, truth, pace, experience, metrics)
            return await runner.run(sink, done=done, progress=progress)

    def _runner(
        self,
        hosts: Mapping[str, Host],
        kinds: Mapping[str, AgentKind],
        truth: Any,
        pace: Pace | None,
        experience: Experiences | None,
        metrics: Sequence[str | Metric] | None,
    ) -> Runner:
        def skip(agent: str, scenario: Scenario) -> str | None:
            return self.venue.unplayable(kinds[agent], scenario)

        measured = {agent: one.characteristics for agent, one in (experience or {}).items()}
        return Runner(
            self.suite,
            hosts,
            truth,
            seed=self.seed,
            repeat=self.repeat,
            pace=pace,
            characteristics=measured,
            skip=skip,
            metrics=metrics,
        )


def _tuple(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)
