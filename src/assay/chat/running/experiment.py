"""A run of agents from its settings to its scored turns: everything that decides what happens, in one value.

Two trials with equal settings give equal transcripts and scores. Knows no store; the command line puts one behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.chat.agents import AGENTS
from assay.chat.agents.function import FunctionAgent
from assay.chat.agents.spec import AgentSpec, parse_agents
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.environment import Venue
from assay.chat.running.host import Host, LocalHost, ProcessHost
from assay.chat.running.runner import InMemory, Key, Pace, Progress, Runner, Sink
from assay.chat.scoring.metric import Metric
from assay.chat.scoring.scores import Answer, Scores
from assay.chat.suites import Suite, load_suite
from assay.chat.world.scripted import Skill
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
    agents: tuple[AgentSpec | FunctionAgent, ...]
    """Each lives in a process of its own, but for functions of this process, which cannot be sent to another."""
    venue: Venue = field(default_factory=Venue)
    repeat: int = 1
    seed: int = 42
    selection: Selection = field(default_factory=Selection)
    pace: Pace = field(default_factory=Pace)

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

    @property
    def notes(self) -> list[str]:
        """What a reader has to know before the numbers."""
        if self.pace.jobs == 1:
            return self.venue.notes
        held = f"Up to {self.pace.jobs} conversations were held at a time: times are longer than they need be, for all."
        return [*self.venue.notes, held]

    def settings(self) -> dict[str, Any]:
        """What a stored run keeps of it, ready for JSON."""
        chosen = self.selection
        specs = [agent for agent in self.agents if isinstance(agent, AgentSpec)]
        if len(specs) < len(self.agents):
            raise UsageError("a function of this process cannot be kept", hint="Name it as module:function")
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
            "agents": [spec.to_json() for spec in specs],
            "venue": self.venue.to_json(),
            "repeat": self.repeat,
            "pace": asdict(self.pace),
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
        venue, pace = Venue.from_json(settings["venue"]), Pace(**settings["pace"])
        return cls(suite, agents, venue, settings["repeat"], seed, selection, pace)

    async def carry_out(
        self,
        sink: Sink,
        *,
        done: Container[Key] = (),
        experience: Experiences | None = None,
        metrics: Sequence[str | Metric] | None = None,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Progress:
        """Play whatever is not `done`; finished turns go to `sink`."""
        async with AsyncExitStack() as stack:
            surroundings, truth = await stack.enter_async_context(self.venue.opened())
            hosts: dict[str, Host] = {}
            for agent in self.agents:
                if isinstance(agent, FunctionAgent):
                    hosts[agent.name] = LocalHost(agent.kind(), surroundings)
                else:
                    hosts[agent.name] = ProcessHost(agent, surroundings)
                stack.push_async_callback(hosts[agent.name].close)
            runner = Runner(
                self.suite,
                hosts,
                truth,
                seed=self.seed,
                repeat=self.repeat,
                pace=self.pace,
                characteristics={agent: one.characteristics for agent, one in (experience or {}).items()},
                skip=self.venue.unplayable,
                is_made_up=self.venue.is_made_up,
                metrics=metrics,
            )
            return await runner.run(sink, done=done, progress=progress)

    def in_order(self, answers: Iterable[Answer]) -> list[Answer]:
        """Turns as the suite and the agents were named, whatever order they were played in."""
        scenarios = {scenario.id: at for at, scenario in enumerate(self.suite.scenarios)}
        agents = {agent.name: at for at, agent in enumerate(self.agents)}
        return sorted(answers, key=lambda one: (scenarios[one.scenario], one.repetition, agents[one.agent], one.turn))


AnyAgent = str | Callable[..., Any]
"""An agent by its name, as `--agents` takes it, or a function of one's own."""


def run_suite(
    suite: str | Path | Suite = "weather",
    agents: Iterable[str] | Mapping[str, AnyAgent] = ("google-adk", "agent-framework"),
    *,
    repeat: int = 1,
    seed: int = 42,
    skill: str = "1",
    pace: Pace | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Scores:
    """Play a suite on agents and score every turn, in the embedded world, without a store.

    `agents` are names, or a dictionary of names to agents, in which an agent may also be a function, that answers in
    this process: `run_suite("weather", {"mine": my_function, "adk": "google-adk"})`. Inside a running event loop use
    `Trial.carry_out`.
    """
    loaded = suite if isinstance(suite, Suite) else load_suite(suite)
    venue = Venue(seed=seed, skill=Skill.parse(skill))
    trial = Trial(loaded, _named(agents), venue, repeat, seed, pace=pace or Pace())
    sink = InMemory()
    asyncio.run(trial.carry_out(sink, progress=progress))
    metrics = ChatbotEvaluator(domain=loaded.domain, language=loaded.language).metrics
    return Scores(tuple(trial.in_order(sink.answers)), metrics, seed)


def _named(agents: Iterable[str] | Mapping[str, AnyAgent]) -> tuple[AgentSpec | FunctionAgent, ...]:
    if not isinstance(agents, Mapping):
        return tuple(parse_agents(",".join(agents)))
    return tuple(
        AgentSpec(name=name, agent=agent) if isinstance(agent, str) else FunctionAgent(name, agent)
        for name, agent in agents.items()
    )


def _tuple(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)
