"""Agents × scenarios × repetitions: every agent plays the same conversations, and each turn is scored.

Conversations come in randomised blocks: the order of scenarios is drawn by seed, and so is the order of agents within
each, so that whatever drifts during a run (a warm cache, a busy machine) affects all agents alike. Each turn ends
scored, skipped with a reason, or failed with its error. It does not use the store: finished turns go to a `Sink` at
once.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Container, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.prices import ModelPrice
from assay.chat.running.budget import Budget
from assay.chat.running.conversation import warm_up_job
from assay.chat.running.failures import unusable_endpoint
from assay.chat.running.hosts.baseline_host import BaselineHost
from assay.chat.running.hosts.host import CrashedError, Host, QueueingHost, RefusedError
from assay.chat.running.scored_conversation import ScoredConversation, Unscored
from assay.chat.running.scoring_process import LocalScorer, Scorer
from assay.chat.running.sinks import Progress, Sink
from assay.chat.running.spending import OutOfBudgetError, Spending
from assay.chat.running.trials import Pace, Trial, plan
from assay.chat.running.watching import watched
from assay.chat.scoring.answers import Answer, AnswerKey
from assay.chat.suites import Scenario, ScenarioTurn, Suite
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.chat.world.calls import CallLog

LookUpTruth = Callable[[str, int, datetime | None], Awaitable[Any]]
"""Gives the true weather of a city, now and for some days, at a time (None for the present)."""

# A conversation that lost its machine this often fails; usually the next machine stays.
_MAX_LOSSES = 10
# Conversations that are sent to an agent together, so that it does not wait for its runner between short ones.
_LONGEST_ROW = 32
# Conversations with baselines that are played before the event loop does anything else.
_PLAYED_BEFORE_OTHERS = 16
# An agent whose process ends this many times in a row is not started again.
_MAX_CRASHES = 3

_Tried = Literal["ended", "again", "lost"]
"""How an attempt at a conversation went: unless it ended it, another follows, which is not counted if it was lost."""


class Runner:
    """Plays a suite on the agents of `hosts`."""

    def __init__(
        self,
        suite: Suite,
        hosts: Mapping[str, Host],
        look_up_truth: LookUpTruth,
        *,
        scorer: Scorer | None = None,
        seed: int = 42,
        repeat: int = 1,
        pace: Pace | None = None,
        characteristics: Mapping[str, Mapping[str, Any]] | None = None,
        skip: Callable[[Host, Scenario], str | None] = lambda host, scenario: None,
        is_made_up: bool = False,
        model_call_limit: int | None = None,
        prices: Mapping[str, ModelPrice] | None = None,
        budget: Budget | None = None,
        calls: Callable[[], CallLog | None] = lambda: None,
        user_model: Mapping[str, str] | None = None,
        user_price: ModelPrice | None = None,
    ) -> None:
        """`scorer` scores the turns; by default in this process, with every metric. `characteristics` are the measured
        ones of developer experience, by agent. `skip` is called with whether the agent uses our setup and with a
        scenario, and gives the reason why it cannot be played, or None. `is_made_up` says that the weather is: agents
        with their own tools cannot know it, so it is not used as their truth. `model_call_limit` is the most model
        calls that a turn may have. `prices` are those of the agents' models, by agent. `budget` ends the run before
        more is spent. `calls` gives what the embedded servers were asked, once they run. `user_model` is the `name` and
        `url` of a model that plays simulated users, and `user_price` what its tokens cost; None for users by rules.
        """
        self.suite = suite
        self.hosts = hosts
        self.seed = seed
        self.repeat = repeat
        self.pace = pace or Pace()
        self.scorer = scorer or LocalScorer(
            ChatbotEvaluator(domain=suite.domain, language=suite.language, names=suite.names), at_once=self.pace.jobs
        )
        self._queueing = {agent: host for agent, host in hosts.items() if isinstance(host, QueueingHost)}
        self._look_up_truth = look_up_truth
        self._characteristics = characteristics or {}
        self._skip = skip
        self._is_made_up = is_made_up
        self.model_call_limit = model_call_limit
        self.spending = Spending(prices or {}, budget, user_price=user_price, has_user_model=user_model is not None)
        self._calls = calls
        self.user_model = user_model
        self._refused: dict[str, RefusedError] = {}
        self._crashes: dict[str, set[int]] = {}
        """Processes of an agent that crashed, without a finished conversation between them."""
        self._alone: dict[str, asyncio.Lock] = {}
        """Agents whose process crashed during several conversations: from then on they play one at a time."""
        self._cold = {agent: host.processes for agent, host in hosts.items()}
        """How many processes of each agent have to be warmed up."""

    async def run(
        self,
        sink: Sink,
        *,
        done: Container[AnswerKey] = (),
        progress: Callable[[Progress], None] | None = None,
    ) -> Progress:
        """Play every trial that is not `done`. Cancelling it stops cleanly: finished turns are kept."""
        report = progress or (lambda state: None)
        trials = plan(list(self.hosts), self.suite, repeat=self.repeat, seed=self.seed)
        before = sum(trial.key in done for trial in trials)
        state = Progress(len(trials), before, before=before)
        report(state)
        to_do = [trial for trial in trials if trial.key not in done]
        # One after the other, before anything is timed: importing a framework keeps a core busy for seconds.
        for agent in dict.fromkeys(trial.agent for trial in to_do):
            state.starting = agent
            report(state)
            try:
                await self._open(agent)
            except OutOfBudgetError:
                break
        state.starting = ""
        report(state)
        try:
            await self._play_all(to_do, sink, state, report)
        finally:
            sink.flush()
        return state

    async def _play_all(
        self, trials: Sequence[Trial], sink: Sink, state: Progress, report: Callable[[Progress], None]
    ) -> None:
        """Play trials in the order of the plan, as many at a time as the pace allows."""

        def begin(trial: Trial) -> None:
            state.agent, state.scenario = trial.agent, trial.scenario.id

        async def play(trial: Trial) -> None:
            begin(trial)
            try:
                unscored.add(await self._play(trial, sink))
            except OutOfBudgetError:
                if self.spending.is_postponed(trial):
                    waiting.appendleft(trial)
            finally:
                self.spending.release(trial.key)

        async def play_row(trials: Sequence[Trial]) -> Sequence[Trial]:
            return await self._play_row(trials, sink, unscored, begin)

        def count(answers: Sequence[Answer]) -> None:
            for answer in answers:
                state.counts[answer.status] += 1
            state.done += 1
            report(state)

        unscored = Unscored(self.scorer.at_once, count)
        waiting = deque(trials)
        try:
            if self.pace.jobs == 1:
                await self._one_by_one(waiting, play, play_row, unscored)
            else:
                await self._at_once(waiting, play, unscored)
            await unscored.none_left()
        finally:
            unscored.abandon()
        state.stopped = self.spending.shortfall

    async def _one_by_one(
        self,
        waiting: deque[Trial],
        play: Callable[[Trial], Coroutine[Any, Any, None]],
        play_row: Callable[[Sequence[Trial]], Awaitable[Sequence[Trial]]],
        unscored: Unscored,
    ) -> None:
        """Without tasks, which would cost as much as a short turn; the next trials of an agent are sent together."""
        none_busy: Counter[str] = Counter()
        while waiting and (trial := self._next(waiting, none_busy)) is not None:
            await unscored.has_room()
            row = self._row(trial, waiting)
            if len(row) > 1:
                waiting.extendleft(reversed(await play_row(row)))
            else:
                await play(trial)
            if len(waiting) % _PLAYED_BEFORE_OTHERS == 0:
                await asyncio.sleep(0)  # baselines never wait for anything, and scores have to be received

    async def _at_once(
        self, waiting: deque[Trial], play: Callable[[Trial], Coroutine[Any, Any, None]], unscored: Unscored
    ) -> None:
        """A trial whose agent is at its limit waits until that agent is free."""
        running: dict[asyncio.Task[None], str] = {}
        busy: Counter[str] = Counter()
        # Not asyncio.wait, which checks every task whenever one has ended.
        ended: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()
        try:
            while waiting or running:
                while waiting and len(running) < self.pace.jobs:
                    await unscored.has_room()
                    trial = self._next(waiting, busy)
                    if trial is None:
                        break
                    task = asyncio.create_task(play(trial))
                    task.add_done_callback(ended.put_nowait)
                    running[task] = trial.agent
                    busy[trial.agent] += 1
                if not running:
                    break  # the budget does not cover the next scenario
                task = await ended.get()
                busy[running.pop(task)] -= 1
                task.result()
                if self.spending.shortfall is not None:
                    waiting.clear()
        finally:
            for left in running:
                left.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _row(self, first: Trial, waiting: deque[Trial]) -> list[Trial]:
        """A trial and those that follow it, if nothing has to be done between them; they are taken from `waiting`."""
        row = [first]
        if not self.spending.is_limited and self._can_queue(first):
            while waiting and len(row) < _LONGEST_ROW and waiting[0].agent == first.agent:
                if not self._can_queue(waiting[0]):
                    break
                row.append(waiting.popleft())
        return row

    def _can_queue(self, trial: Trial) -> bool:
        """Whether an agent can be told of a trial before it has ended the one before."""
        scenario = trial.scenario
        return (
            trial.agent in self._queueing
            and trial.agent not in self._refused
            and not (scenario.goes_on or scenario.has_restarts)
            and self._skip(self.hosts[trial.agent], scenario) is None
        )

    def _next(self, waiting: deque[Trial], busy: Counter[str]) -> Trial | None:
        """Take the first trial whose agent is not at its limit; None if all are, or if the budget does not cover it."""
        for at, trial in enumerate(waiting):
            if not self.spending.covers(trial, waiting, is_idle=not busy.total()):
                return None
            if busy[trial.agent] < (1 if trial.agent in self._alone else self.pace.concurrency):
                del waiting[at]
                return trial
        return None

    async def _open(self, agent: str) -> None:
        try:
            await self.hosts[agent].open()
            await self._warm_up(agent)
        except RefusedError as error:
            if error.unknown:
                raise UsageError(f"the agent '{agent}' cannot be found, so nothing was played: {error}") from None
            if error.unfit:
                raise UsageError(f"the agent '{agent}' cannot be used, so nothing was played: {error}") from None
            self._refused[agent] = error
        except CrashedError:
            pass  # the first scenario tries again and reports any crash

    async def _warm_up(self, agent: str) -> None:
        processes = self._cold.pop(agent, 0) if self.pace.warm_up else 0
        await asyncio.gather(*(self._warm_up_process(agent, number) for number in range(processes)))

    async def _warm_up_process(self, agent: str, number: int) -> None:
        job = warm_up_job(agent, self.pace.turn_timeout)
        key = (agent, "warm-up", number)
        self.spending.reserve_again(key, len(job.messages))
        async for played in self.hosts[agent].play(job):
            self.spending.charge_warm_up(key, played)
            if played.endpoint_failure:
                raise unusable_endpoint(agent, played.record.reason)
        self.spending.release(key)

    async def _play(self, trial: Trial, sink: Sink) -> ScoredConversation:
        """One trial, started again after an infrastructure failure. Its last turns may not be scored yet."""
        host = self.hosts[trial.agent]
        refused = self._refused.get(trial.agent)
        if refused is not None and refused.missing:
            reason: str | None = str(refused)
        else:
            reason = self._skip(host, trial.scenario)
        conversation = ScoredConversation(self, trial, sink)
        if reason is not None:
            await conversation.end("skipped", reason)
        elif refused is not None:
            await conversation.end("failed", str(refused))
        elif isinstance(host, BaselineHost):
            for played in host.turns(conversation.job()):
                await conversation.add(played)
        else:
            await self._attempt(conversation, trial, sink)
        return conversation

    async def _attempt(
        self, conversation: ScoredConversation, trial: Trial, sink: Sink, attempt: int = 1, losses: int = 0
    ) -> None:
        """Play a conversation until it has ended; `attempt` is the first one here, and `losses` those before it."""
        try:
            while attempt <= self.pace.retries + 1:
                await conversation.start(attempt, losses)
                if attempt > 1 or losses:
                    self.spending.reserve_again(trial.key, len(trial.scenario.turns))
                async with self._alone.get(trial.agent) or nullcontext():
                    tried = await self._try(conversation, trial, attempt <= self.pace.retries, losses < _MAX_LOSSES)
                if tried == "ended":
                    return
                attempt, losses = (attempt, losses + 1) if tried == "lost" else (attempt + 1, losses)
        except OutOfBudgetError:
            # Half a conversation is no trial: it is played again, from its start, if the run goes on.
            await conversation.scored()
            sink.drop(*trial.key)
            raise
        raise AssertionError("the last attempt ends the conversation")

    async def _try(self, conversation: ScoredConversation, trial: Trial, may_retry: bool, may_lose: bool) -> _Tried:
        """Play a conversation; it has to be started again unless it is ended, as if nothing was if it was lost."""
        agent = conversation.agent
        try:
            await self._warm_up(agent)
            whole = conversation.job()
            with watched(self._calls, whole, is_own=self._is_own(agent)) as watching:
                for job in whole.parts():
                    async with aclosing(self.hosts[agent].play(job)) as turns:
                        async for played in turns:
                            if played.infrastructure_failure and may_retry:
                                self.spending.charge(trial, played, is_last=True)
                                return "again"
                            await conversation.add(await watching.completed(played))
                            self.spending.charge(trial, played, is_last=played.record.status == "failed")
            self._crashes.pop(agent, None)
        except (RefusedError, CrashedError) as error:
            return await self._broken_off(conversation, error, may_retry, may_lose)
        return "ended"

    async def _broken_off(
        self, conversation: ScoredConversation, error: RefusedError | CrashedError, may_retry: bool, may_lose: bool
    ) -> _Tried:
        """End a conversation because of its agent's process, or say that it has to be started again."""
        agent = conversation.agent
        if isinstance(error, RefusedError):
            self._refused[agent] = error
            await conversation.end("failed", str(error))
            return "ended"
        if error.lost and may_lose:
            self._cold[agent] = 1
            return "lost"
        self._crashed(agent, error)
        if error.shared and may_retry and agent not in self._refused:
            # Any of the conversations in the process may have crashed it: each is tried again, one at a time.
            self._alone.setdefault(agent, asyncio.Lock())
            return "again"
        await conversation.end("failed", str(error), breakdown="timeout" if error.stuck else "crash")
        return "ended"

    async def _play_row(
        self, trials: Sequence[Trial], sink: Sink, unscored: Unscored, begin: Callable[[Trial], None]
    ) -> Sequence[Trial]:
        """Play trials of one agent that are sent to it together. Returns those that are not played.

        A trial that has to be started again is played alone, after the others.
        """
        agent = trials[0].agent
        host = self._queueing[agent]
        conversations = [ScoredConversation(self, trial, sink) for trial in trials]
        repeated: dict[int, _Tried] = {}
        may_retry = self.pace.retries > 0
        ended = 0
        begin(trials[0])
        try:
            await self._warm_up(agent)
            jobs = [conversation.job() for conversation in conversations]
            async with AsyncExitStack() as stack:
                watching = [stack.enter_context(watched(self._calls, one, is_own=self._is_own(agent))) for one in jobs]
                turns = await stack.enter_async_context(aclosing(host.play_all(jobs)))
                async for at, played in turns:
                    if played is None:
                        ended = at + 1
                        self._crashes.pop(agent, None)
                        if at not in repeated:
                            unscored.add(conversations[at])
                        if ended < len(trials):
                            begin(trials[ended])
                    elif played.infrastructure_failure and may_retry:
                        repeated[at] = "again"
                    else:
                        await conversations[at].add(await watching[at].completed(played))
        except (RefusedError, CrashedError) as error:
            tried = await self._broken_off(conversations[ended], error, may_retry, True)
            if tried == "ended":
                unscored.add(conversations[ended])
            else:
                repeated[ended] = tried
            ended += 1
        for at, tried in repeated.items():
            begin(trials[at])
            attempt, losses = (1, 1) if tried == "lost" else (2, 0)
            await self._attempt(conversations[at], trials[at], sink, attempt, losses)
            unscored.add(conversations[at])
        return trials[ended:]

    def _is_own(self, agent: str) -> bool:
        """Whether an agent is an object of the user's own: the model is the run's, the tools are not."""
        return self.hosts[agent].uses_model and not self.hosts[agent].uses_setup

    def characteristics_of(self, agent: str) -> dict[str, Any] | None:
        """The measured characteristics of an agent's developer experience, or None."""
        found = self._characteristics.get(agent)
        return None if found is None else dict(found)

    async def truth_of(self, agent: str, scenario: Scenario, turn: ScenarioTurn) -> Any:
        """What is true in a turn, looked up or as the suite says; None if the agent cannot know it."""
        if turn.weather is None:
            return turn.truth
        if self._is_made_up and not self.hosts[agent].uses_setup:
            return None
        return await self._look_up_truth(turn.weather.city, turn.weather.days, self.suite.clock_of(scenario))

    def _crashed(self, agent: str, error: CrashedError) -> None:
        self._cold[agent] = 1
        # A process crashes once, however many conversations it was playing.
        self._crashes.setdefault(agent, set()).add(error.worker)
        if len(self._crashes[agent]) >= _MAX_CRASHES:
            often = f"crashed {_MAX_CRASHES} times in a row and was not started again; the last crash: {error}"
            self._refused[agent] = RefusedError(often)
