"""Load tests as results and as stored runs: play a plan, keep what was measured, and load it again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from assay.chat.agents.spec import AgentSpec
from assay.chat.load.plan import LoadPlan
from assay.chat.load.results import BUSY, FIGURES, KNEE_GAIN, AgentLoad, LoadStep, figure_of
from assay.chat.running.experiment import AgentChoice, agents_of
from assay.errors import UsageError
from assay.plural import counted
from assay.redaction import redacted_value
from assay.result import Result
from assay.runs.stored_agents import stored_agents
from assay.types import Case, Run, State

if TYPE_CHECKING:
    from assay.chat.load.driver import Report
    from assay.compare import Comparison

KIND = "load"
"""The kind of a stored run of a load test."""
_CLOSED_LOOP = (
    "Each user sends the next message as soon as the answer to the last one is there, so every agent is asked as much "
    "as it can take, and the time of a turn grows with the number of users once it can take no more."
)


@dataclass(frozen=True, kw_only=True)
class LoadResult(Result):
    """Agents under load: steps of more and more users, isolation, leaks, and the knee of each agent."""

    subject: ClassVar[str] = "load"

    loads: Sequence[AgentLoad]
    plan: LoadPlan
    specs: Sequence[Mapping[str, Any]] = ()
    """How each agent was named."""
    run: Run | None = field(default=None, repr=False)
    """The stored run; None if it was not stored."""

    @property
    def agents(self) -> list[str]:
        return [load.agent for load in self.loads]

    @property
    def notes(self) -> list[str]:
        """What readers need to know before the numbers."""
        return [*self.conditions, *self.cautions]

    @property
    def conditions(self) -> list[str]:
        """What holds for every load test."""
        return [
            "The model is assay's scripted stand-in and the weather is made up, both on loopback in one process: these "
            "results compare frameworks, not models.",
            _CLOSED_LOOP,
        ]

    @property
    def cautions(self) -> list[str]:
        """Steps whose times and throughput say little about the agent."""
        found = []
        for load in self.loads:
            if load.limited_by_services:
                *few, most = load.limited_by_services
                users = ", ".join([*map(str, few), counted(most, "user")])
                found.append(
                    f"{load.agent}: with {users} the embedded services used more than {BUSY:.0%} of a core, so "
                    "throughput there is limited by them and not by the agent."
                )
        starved = [
            f"{load.agent} with {', '.join(map(str, load.starved))} {'user' if load.starved == [1] else 'users'}"
            for load in self.loads
            if load.starved
        ]
        if starved:
            found.append(
                f"Something else kept the machine busy: neither the agent nor the services could use a core in full "
                f"although work was waiting ({'; '.join(starved)}). CPU time, memory and isolation hold; times, "
                "throughput and a knee found there look worse than they are. Repeat the test when the machine is idle."
            )
        return found

    def tallies(self) -> dict[str, dict[Case, dict[str, State]]]:
        """Every number by agent and step."""
        return {load.agent: {step.case: step.states for step in load.steps} for load in self.loads}

    def as_run(self) -> Run:
        """The run, to be stored or compared."""
        if self.run is not None:
            return replace(self.run, tallies=self.tallies())
        settings = {
            "plan": self.plan.to_json(),
            "agents": [dict(spec) for spec in self.specs],
            "details": redacted_value({load.agent: _details(load) for load in self.loads}),
            "notes": self.notes,
        }
        return Run.unstored(
            KIND, settings=settings, seed=self.plan.seed, versions={KIND: 1}, tallies=self.tallies(), name=""
        )

    def comparisons(self) -> list[Comparison]:
        """Every other agent compared with the one that was named first."""
        from assay.compare import compare, side_of

        run = self.as_run()
        sides = [side_of(run, load.agent) for load in self.loads if load.steps]
        return [compare(sides[0], side) for side in sides[1:]]

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"agent": load.agent, "users": step.users, "repetition": step.repetition, "turns": step.turns}
            | {name: figure_of(step, name) for name in FIGURES}
            for load in self.loads
            for step in load.steps
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "run": None if self.run is None else self.run.id,
            "plan": self.plan.to_json(),
            "notes": self.notes,
            "load": {
                load.agent: {
                    "knee": load.knee,
                    "knee_rule": f"throughput rises by less than {KNEE_GAIN:.0%} while p95 rises by more",
                    "idle_mb": load.idle_bytes / 2**20,
                    "breaches": load.breach_count if load.breach_count or load.answered else None,
                    "leak_kb_a_session": None if load.leak is None else load.leak.ends_json(),
                    "leaked_blocks_a_session": None if load.leaked_blocks is None else load.leaked_blocks.ends_json(),
                    "failure": load.failure or None,
                    "limited_by_services": load.limited_by_services,
                    "kept_waiting_by_the_machine": load.starved,
                    "steps": [
                        {"users": step.users, "repetition": step.repetition, "turns": step.turns}
                        | {"seconds": step.seconds, "asked": step.asked, "recalled": step.recalled}
                        | {name: figure_of(step, name) for name in FIGURES}
                        | {"services_busy": step.services_busy}
                        | step.details
                        for step in load.steps
                    ],
                }
                for load in self.loads
            },
        }


def load_test(
    agents: AgentChoice = ("google-adk", "agent-framework"),
    *,
    plan: LoadPlan | None = None,
    report: Report | None = None,
) -> LoadResult:
    """Play many conversations at once on each agent, against the embedded services.

    Agents run one after another, each in a separate process. The result is not stored; `record` stores it.

    Example:
        >>> LoadPlan(users=(1, 5), turns=3, least_turns=15).users
        (1, 5)

    """
    from assay.chat.load.driver import play_load

    specs = [spec for spec in agents_of(agents) if isinstance(spec, AgentSpec)]
    if len(specs) < len(agents_of(agents)):
        raise UsageError(
            "a load test runs every agent in a separate process, but this agent is a function of this process",
            hint="Name the function as module:function",
        )
    chosen = plan or LoadPlan()
    loads = asyncio.run(play_load(specs, chosen, report))
    return LoadResult(loads=loads, plan=chosen, specs=[spec.to_json() for spec in specs])


def rebuilt_load(run: Run) -> LoadResult:
    """The result of a stored load test."""
    loads = []
    for spec in stored_agents(run):
        details = run.settings["details"][spec["name"]]
        by_case = run.tallies.get(spec["name"], {})
        steps = [LoadStep.stored(states, details["steps"][case.name]) for case, states in by_case.items()]
        loads.append(
            AgentLoad(
                spec["name"],
                sorted(steps, key=lambda step: (step.repetition, step.users)),
                details["closes"],
                details["idle_bytes"],
                [(closed, rss, blocks) for closed, rss, blocks in details["rounds"]],
                details["failure"],
            )
        )
    return LoadResult(loads=loads, plan=LoadPlan.from_json(run.settings["plan"]), specs=run.settings["agents"], run=run)


def _details(load: AgentLoad) -> dict[str, Any]:
    return {
        "closes": load.closes,
        "idle_bytes": load.idle_bytes,
        "rounds": [list(one) for one in load.rounds],
        "failure": load.failure,
        "steps": {step.case.name: step.details for step in load.steps},
    }
