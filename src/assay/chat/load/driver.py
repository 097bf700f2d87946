"""Runs a load test: starts the embedded services and one worker after another, and collects what they report.

The agents run one after another, so that none takes time from another. The services run in this process; their CPU time
is measured too, because a step in which they are busy all the time says nothing about an agent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.chat.agents import Limits, Setup
from assay.chat.load.canaries import Canaries
from assay.chat.load.plan import LoadPlan
from assay.chat.load.results import AgentLoad, LoadStep
from assay.chat.running.conversation import play, warm_up_job
from assay.chat.running.environment import Environment
from assay.chat.running.failures import unusable_endpoint
from assay.chat.running.processes.child import ChildProcess
from assay.chat.running.tracing import TracingIfImported
from assay.chat.running.versions import interpreter_of

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec

_SECONDS_TO_OPEN = 120.0
# Beyond the timeout of a step: time to collect garbage, close sessions and write the report.
_GRACE = 60.0
_MOST_BREACHES = 100


@dataclass(slots=True)
class LoadProgress:
    """How far a load test has come."""

    agent: str
    users: int = 0
    done: int = 0
    total: int = 0
    """Conversations of the step."""


Report = Callable[[LoadProgress], None]


async def play_load(agents: Sequence[AgentSpec], plan: LoadPlan, report: Report | None = None) -> list[AgentLoad]:
    """Play the plan on each agent. An agent that cannot be built, or whose process ends, has that as its failure.

    Raises UsageError, before anything is measured, if an endpoint cannot be reached or refuses its key.
    """
    requests = _Requests(plan.seed)
    # A busy agent is slow to read; that must not become a timeout of the model before it is one of the turn.
    limits = Limits(model_timeout=plan.turn_timeout, tool_timeout=plan.turn_timeout)
    async with Environment(seed=plan.seed, limits=limits).opened(requests.watch) as services:
        setup = services.setup()
        for spec in agents:
            if spec.http is not None:
                await _check_endpoint(spec, setup, plan.turn_timeout)
        return [await _agent(spec, setup, plan, requests, report or (lambda progress: None)) for spec in agents]


async def _check_endpoint(spec: AgentSpec, setup: Setup, timeout: float) -> None:
    """Ask an endpoint once, before any agent is measured; raises UsageError if it cannot be used."""
    first = warm_up_job(spec.name, timeout)
    job = replace(first, messages=first.messages[:1], situations=first.situations[:1])
    async with spec.kind().open(setup) as agent:
        async for played in play(agent, job, tracing=TracingIfImported(), preferences=None):
            if played.endpoint_failure:
                raise unusable_endpoint(spec.name, played.record.reason)


class _Requests:
    """Searches the requests to the model for canaries of other sessions: a mixed-up history shows here first."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.found: list[dict[str, Any]] = []
        self.count = 0

    def watch(self, session: str, body: bytes) -> None:
        foreign = Canaries.of(self._seed, session).foreign_in(body)
        self.count += len(foreign)
        for canary in sorted(foreign):
            if len(self.found) < _MOST_BREACHES:
                self.found.append({"session": session, "turn": None, "where": "model request", "canary": canary})

    def taken(self) -> tuple[list[dict[str, Any]], int]:
        """What was found since the last call."""
        found, count, self.found, self.count = self.found, self.count, [], 0
        return found, count


async def _agent(spec: AgentSpec, setup: Setup, plan: LoadPlan, requests: _Requests, report: Report) -> AgentLoad:
    found = AgentLoad(spec.name)
    python = await asyncio.to_thread(interpreter_of, spec)
    child = await ChildProcess.started("assay.chat.load.worker", python)
    try:
        await child.send({"agent": spec.to_json(), "setup": setup.to_json(), "plan": plan.to_json()})
        await _listen(child, found, plan, requests, report)
    finally:
        await child.close()
    return found


async def _listen(child: ChildProcess, found: AgentLoad, plan: LoadPlan, requests: _Requests, report: Report) -> None:
    """Add what the worker reports to `found`, until it is done or has ended."""
    report(LoadProgress(found.agent))
    patience = _SECONDS_TO_OPEN
    cpu = 0.0
    async with aclosing(child.messages()) as messages:
        while True:
            try:
                message = await asyncio.wait_for(anext(messages, None), patience)
            except TimeoutError:
                child.kill(f"its process did not report for {patience:g} s and was stopped")
                message = None
            if message is None:
                found.failure = await child.ending()
                return
            patience = plan.step_timeout + _GRACE
            if "progress" in message:
                report(LoadProgress(found.agent, message["users"], message["progress"], message["of"]))
            elif "ready" in message:
                found.closes, found.idle_bytes = message["closes"], message["rss"]
                requests.taken()
            elif "begins" in message:
                report(LoadProgress(found.agent, message["begins"]["users"]))
                cpu = time.process_time()
            elif "step" in message:
                breaches, count = requests.taken()
                told = message["step"]
                told["service_cpu_seconds"] = time.process_time() - cpu
                told["breaches"] += breaches
                told["breach_count"] += count
                found.steps.append(LoadStep.reported(told))
            elif "leaks" in message:
                found.rounds = [(one["closed"], one["rss"], one["blocks"]) for one in message["leaks"]["rounds"]]
            elif "done" in message:
                return
            else:
                found.failure = message["refused"]
                return
