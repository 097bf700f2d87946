"""Plays an experiment: starts what scores, the services and the agents, and plays agents and baselines.

It does not use the store: finished turns go to a `Sink`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from assay.chat.agents.function import FunctionAgent
from assay.chat.agents.spec import AgentSpec
from assay.chat.baselines import BASELINES, baselines_of
from assay.chat.domains import DOMAINS
from assay.chat.domains._own import own_domain_path
from assay.chat.running.budget import Budget
from assay.chat.running.environment import Reach
from assay.chat.running.hosts.baseline_host import BaselineHost
from assay.chat.running.hosts.host import Host, LocalHost, ProcessHost
from assay.chat.running.hosts.template import use_templates
from assay.chat.running.processes.ahead import Ahead
from assay.chat.running.runner import Runner
from assay.chat.running.scoring_process import FEWEST_TURNS, LocalScorer, ProcessScorer, Scorer
from assay.chat.running.sinks import AgentsFirst, Progress, Sink
from assay.chat.running.streamed_times import StreamedTimes, is_measured, measure_streamed_times
from assay.chat.running.trials import Pace
from assay.chat.scoring.metric import METRICS
from assay.chat.world.shop import SHOP_DOMAIN

if TYPE_CHECKING:
    from assay.chat.agents import Setup
    from assay.chat.running.environment import Services
    from assay.chat.running.experiment import Experiences, Experiment
    from assay.chat.scoring.answers import Answer, AnswerKey
    from assay.engines.ray import RayEngine


class Playing:
    """An experiment while it is played; `async with` closes what was started."""

    def __init__(
        self,
        experiment: Experiment,
        cluster: RayEngine | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        """On a `cluster`, agents that have a process of their own run on its nodes, in as many processes as they may
        have conversations at a time. `ahead` are processes that were started ahead.
        """
        self._experiment = experiment
        self._cluster = cluster
        self._ahead = ahead or Ahead()
        self._open = AsyncExitStack()
        self._scorer: Scorer | None = None
        self._hosts: dict[str, Host] = {}
        self._services: Services | None = None
        self._ordered = AgentsFirst(experiment.baseline_names)
        self._budget: Budget | None = None
        self._meanwhile: asyncio.Task[None] | None = None
        """Plays the baselines while agents are played."""

    @property
    def spent(self) -> float | None:
        """US dollars that a run with a budget has spent so far, with what was played before anything was measured."""
        return None if self._budget is None else self._budget.spent

    async def __aenter__(self) -> Self:
        cluster = self._cluster
        reach = None if cluster is None else Reach.to(cluster.driver_host())
        opening = self._experiment.environment.opened(reach=reach)
        self._services = await self._open.enter_async_context(opening)
        if self._experiment.suite.has_restarts:
            self._open.enter_context(use_templates())
        for agent in self._experiment.agents:
            if isinstance(agent, FunctionAgent):
                self._hosts[agent.name] = LocalHost(agent.kind(), self._services.setup)
            elif cluster is not None and agent.http is None:
                self._hosts[agent.name] = self._on_nodes(agent, self._services, cluster)
            else:
                is_function = agent.function is not None and agent.version is None
                started = self._ahead.take_worker() if is_function else None
                self._hosts[agent.name] = ProcessHost(agent, self._setup_of(agent, self._services), started=started)
            self._open.push_async_callback(self._hosts[agent.name].close)
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._open.aclose()

    async def prepare(self, done: Container[AnswerKey] = ()) -> None:
        """Start the processes, which then import what they need while this one opens the store. No agent is built."""
        if self._scorer is None:
            self._scorer = await self._chosen_scorer(done)
            self._open.push_async_callback(self._scorer.close)
        await asyncio.gather(*(host.prepare() for host in self._hosts.values() if isinstance(host, ProcessHost)))

    async def play(
        self,
        sink: Sink,
        *,
        done: Container[AnswerKey] = (),
        experience: Experiences | None = None,
        progress: Callable[[Progress], None] | None = None,
        spent: float = 0.0,
        played: Iterable[Answer] = (),
    ) -> Progress:
        """Play every conversation that is not `done`; each finished turn goes to `sink` at once.

        If a run with a budget is continued, `spent` is what was spent before, and `played` are its answers, by which is
        known what a turn may cost.
        """
        await self.prepare(done)
        assert self._scorer is not None
        assert self._services is not None
        experiment = self._experiment
        if experiment.budget is not None:
            self._budget = self._budget_after(experiment.budget, spent, played)
        runner = self._runner(self._services, experience or {})
        self.begin_baselines(done)
        meanwhile = self._meanwhile
        if meanwhile is not None:
            begun = [
                one.id
                for one in experiment.suite.scenarios
                if any((name, one.id, 0) in done for name in experiment.agent_names)
            ]
            self._ordered.pass_on_to(sink, begun)
            sink = self._ordered
        try:
            ended = await runner.run(sink, done=done, progress=progress)
            ended.spent = self.spent
            if is_measured(experiment) and ended.stopped is None and not ended.is_all_skipped:
                ended.streamed_times = await self._streamed_times()
            # Processes take a while to end: meanwhile baselines are played, and then the results are put together.
            closing = asyncio.gather(*(host.close() for host in self._hosts.values()))
            try:
                if meanwhile is not None:
                    await meanwhile
                    self._ordered.release_all()
                elif experiment.baselines and ended.stopped is None and not ended.is_all_skipped:
                    await self._play_baselines(sink, done)
            finally:
                await closing
        finally:
            await self._end_baselines()
        self._scorer.release()
        await asyncio.sleep(0)
        return ended

    def _budget_after(self, budget: float, spent: float, played: Iterable[Answer]) -> Budget:
        """A budget that knows what was spent, and from the answers that were played what a turn may cost."""
        experiment = self._experiment
        found = Budget(budget, spent=spent, price_of=experiment.agent_prices.get, limits=experiment.environment.limits)
        for answer in played:
            cost = None if answer.record is None else answer.record.cost_with_user
            if cost is not None:
                found.learn(answer.agent, answer.turn, cost)
        return found

    def _runner(self, services: Services, experience: Experiences) -> Runner:
        """Plays the agents; baselines have their own."""
        experiment = self._experiment
        environment = experiment.environment
        return Runner(
            experiment.suite,
            self._hosts,
            services.look_up_truth,
            scorer=self._scorer,
            seed=experiment.seed,
            repeat=experiment.repeat,
            pace=experiment.pace,
            characteristics={agent: one.characteristics for agent, one in experience.items()},
            skip=environment.unplayable,
            is_made_up=environment.is_made_up,
            model_call_limit=environment.limits.model_calls,
            prices=experiment.agent_prices,
            budget=self._budget,
            calls=services.calls,
            user_model=environment.model_of_user,
            user_price=experiment.prices.get(environment.user_model or ""),
        )

    def begin_baselines(self, done: Container[AnswerKey] = ()) -> None:
        """Start to play baselines if they can be played with the agents; their turns wait for `play` and its sink.

        To be called after `prepare`. It has no effect if they were begun.
        """
        if self._meanwhile is None and self._can_play_both:
            self._meanwhile = asyncio.create_task(self._play_baselines(self._ordered, done))
            self._open.push_async_callback(self._end_baselines)

    async def _end_baselines(self) -> None:
        if self._meanwhile is not None and not self._meanwhile.done():
            self._meanwhile.cancel()
            await asyncio.gather(self._meanwhile, return_exceptions=True)

    @property
    def _can_play_both(self) -> bool:
        """Whether baselines can be played with the agents, which need nothing of this process while they are timed.

        Agents that use the embedded services do, and a run with a budget may end before its baselines.
        """
        experiment = self._experiment
        are_functions = all(isinstance(agent, AgentSpec) and agent.function is not None for agent in experiment.agents)
        return (
            experiment.baselines
            and experiment.budget is None
            and are_functions
            and isinstance(self._scorer, ProcessScorer)
        )

    async def _streamed_times(self) -> dict[str, StreamedTimes]:
        """The time to the first text of each agent that uses the scripted model, one agent after the other."""
        found = {}
        for name, host in self._hosts.items():
            if isinstance(host, ProcessHost) and host.uses_model:
                times = await measure_streamed_times(name, host, self._experiment.pace.turn_timeout)
                if times is not None:
                    found[name] = times
        return found

    def _on_nodes(self, agent: AgentSpec, services: Services, cluster: RayEngine) -> Host:
        """An agent on the nodes of a cluster; each process has a core to itself if there are enough."""
        from assay.chat.running.hosts.on_nodes import NodeHost

        experiment = self._experiment
        processes = min(experiment.pace.concurrency, experiment.pace.jobs)
        setups = [self._setup_of(agent, services) for _ in range(processes)]
        return NodeHost(agent, setups, cluster, whole_cores=len(experiment.agents) * processes <= cluster.slots())

    async def _chosen_scorer(self, done: Container[AnswerKey]) -> Scorer:
        """What scores the turns: another process if there are many, and every metric can be found by its name."""
        experiment = self._experiment
        turns = sum(
            len(scenario.turns) * (experiment.repeat if agent in experiment.agent_names else 1)
            for agent in (*experiment.agent_names, *experiment.baseline_names)
            for scenario in experiment.suite.scenarios
            if (agent, scenario.id, 0) not in done
        )
        known = METRICS.names()
        is_known = all(
            metric.name in known and METRICS.get(metric.name) is metric for metric in experiment.chosen_metrics
        )
        if not is_known or (turns < FEWEST_TURNS and self._ahead.scoring is None):
            return LocalScorer(experiment.evaluator(), at_once=experiment.pace.jobs)
        settings = {
            "domain": experiment.suite.domain,
            "language": experiment.suite.language,
            "names": list(experiment.suite.names),
            "metrics": [metric.name for metric in experiment.chosen_metrics],
        }
        scorer = ProcessScorer(settings, self._ahead.scoring, own_domain=own_domain_path(experiment.suite.domain))
        await scorer.start()
        return scorer

    def _setup_of(self, agent: AgentSpec, services: Services) -> Callable[[bool], Setup]:
        """What an agent is built with: its model, its own folder if its process is to be killed, and a tool that
        deletes something if its user is to be asked, or the shop's tools.
        """
        suite = self._experiment.suite
        own: dict[str, Any] = {}
        if agent.model is not None and agent.http is None:
            own["model"] = agent.model
        if suite.has_restarts:
            own["storage"] = self._open.enter_context(TemporaryDirectory(prefix="assay-restart-"))
        if suite.has_consent:
            own["has_deletion"] = True
        if suite.domain == SHOP_DOMAIN:
            own["has_shop"] = True
        return lambda is_used: replace(services.setup(is_used), **own) if own else services.setup(is_used)

    async def _play_baselines(self, sink: Sink, done: Container[AnswerKey]) -> None:
        """Play the baselines, once: they give the same answer each time, and take no time from the agents."""
        experiment = self._experiment
        assert self._services is not None
        answering = baselines_of(DOMAINS.get(experiment.suite.domain), experiment.suite.language)
        uses = experiment.used_by_baselines
        names = zip(BASELINES, experiment.baseline_names, strict=True)
        runner = Runner(
            experiment.suite,
            {name: BaselineHost(answering[one], uses=uses) for one, name in names},
            self._services.look_up_truth,
            scorer=self._scorer,
            seed=experiment.seed,
            pace=Pace(retries=0, warm_up=False),
            skip=experiment.environment.unplayable,
            is_made_up=experiment.environment.is_made_up,
        )
        await runner.run(sink, done=done)
