"""Agents × scenarios × repetitions: every agent plays the same conversations, and each turn is scored.

Conversations come in randomised blocks: the order of scenarios is drawn by seed, and so is the order of agents within
each, so that whatever drifts during a run (a warm cache, a busy machine) affects all agents alike. Each turn ends
scored, skipped with a reason, or failed with its error. It does not use the store: finished turns go to a `Sink` at
once.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.prices import ModelPrice
from assay.chat.running.budget import Budget, Shortfall
from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.host import CrashedError, Host, RefusedError
from assay.chat.running.scored_conversation import ScoredConversation, Unscored
from assay.chat.running.scoring_process import LocalScorer, Scorer
from assay.chat.running.trials import Pace, Trial, plan
from assay.chat.running.watching import watched
from assay.chat.scoring.answers import Answer, AnswerKey, Record
from assay.chat.suites import Scenario, ScenarioTurn, Suite
from assay.chat.world.situation import Situation
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.chat.running.streamed_times import StreamedTimes
    from assay.chat.world.calls import CallLog

LookUpTruth = Callable[[str, int, datetime | None], Awaitable[Any]]
"""Gives the true weather of a city, now and for some days, at a time (None for the present)."""

# Played before anything is measured: it opens connections, fills caches, and imports what a framework imports late.
_WARM_UP = ("Hello!", "What's the weather in Paris?")
# A conversation that lost its machine this often fails; usually the next machine stays.
_MAX_LOSSES = 10
# Conversations with baselines that are played before the event loop does anything else.
_PLAYED_BEFORE_OTHERS = 16
# An agent whose process ends this many times in a row is not started again.
_MAX_CRASHES = 3


class Sink(Protocol):
    """Where finished turns go."""

    def keep(self, answer: Answer) -> None:
        """Keep a turn; it must be stored within half a second."""

    def flush(self) -> None:
        """Store every turn that was kept now."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        """Delete the turns of a conversation that is started again."""


class MemorySink:
    """Keeps finished turns in memory, for runs without a store."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def keep(self, answer: Answer) -> None:
        self.answers.append(answer)

    def flush(self) -> None:
        """Nothing to do: memory is all there is."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self.answers = [answer for answer in self.answers if answer.key != (agent, scenario, repetition)]


@dataclass(slots=True)
class Progress:
    """How far a run has come, in conversations."""

    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Turns by status: scored, skipped, failed."""
    starting: str = ""
    """The agent that is being started, before the first conversation."""
    agent: str = ""
    scenario: str = ""
    stopped: Shortfall | None = None
    """Why the rest is not played; None if it is."""
    spent: float | None = None
    """US dollars that a run with a budget has spent, with what was played before anything was measured."""
    streamed_times: Mapping[str, StreamedTimes] = field(default_factory=dict)
    """The time to the first text with a model that streams like a real one, by agent, if it was measured."""


class _OutOfBudgetError(Exception):
    """A conversation must not go on; the shortfall says why."""


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
        self._look_up_truth = look_up_truth
        self._characteristics = characteristics or {}
        self._skip = skip
        self._is_made_up = is_made_up
        self.model_call_limit = model_call_limit
        self._prices = prices or {}
        self._budget = budget
        self._reserved_blocks: set[tuple[str, int]] = set()
        self._shortfall: Shortfall | None = None
        self._calls = calls
        self.user_model = user_model
        self._user_price = user_price
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
        state = Progress(len(trials), sum(trial.key in done for trial in trials))
        report(state)
        to_do = [trial for trial in trials if trial.key not in done]
        # One after the other, before anything is timed: importing a framework keeps a core busy for seconds.
        for agent in dict.fromkeys(trial.agent for trial in to_do):
            state.starting = agent
            report(state)
            try:
                await self._open(agent)
            except _OutOfBudgetError:
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

        async def play(trial: Trial) -> None:
            state.agent, state.scenario = trial.agent, trial.scenario.id
            try:
                unscored.add(await self._play(trial, sink))
            except _OutOfBudgetError:
                return
            finally:
                if self._budget is not None:
                    self._budget.release(trial.key)

        def count(answers: Sequence[Answer]) -> None:
            for answer in answers:
                state.counts[answer.status] += 1
            state.done += 1
            report(state)

        unscored = Unscored(self.scorer.at_once, count)
        try:
            await (self._one_by_one if self.pace.jobs == 1 else self._at_once)(deque(trials), play, unscored)
            await unscored.none_left()
        finally:
            unscored.abandon()
        state.stopped = self._shortfall

    async def _one_by_one(
        self, waiting: deque[Trial], play: Callable[[Trial], Coroutine[Any, Any, None]], unscored: Unscored
    ) -> None:
        """Without tasks, which would cost as much as a short turn."""
        none_busy: Counter[str] = Counter()
        while waiting and (trial := self._next(waiting, none_busy)) is not None:
            await unscored.has_room()
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
                if self._shortfall is not None:
                    waiting.clear()
        finally:
            for left in running:
                left.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _next(self, waiting: deque[Trial], busy: Counter[str]) -> Trial | None:
        """Take the first trial whose agent is not at its limit; None if all are, or if the budget does not cover it."""
        for at, trial in enumerate(waiting):
            if not self._is_covered(trial, waiting, is_idle=not busy.total()):
                return None
            if busy[trial.agent] < (1 if trial.agent in self._alone else self.pace.concurrency):
                del waiting[at]
                return trial
        return None

    def _is_covered(self, trial: Trial, waiting: Iterable[Trial], *, is_idle: bool) -> bool:
        """Whether the budget covers a trial. A scenario is reserved for all agents at once, so that all play the same.

        Money that conversations under way do not use may cover it later; if there are none, it is never covered.
        """
        block = (trial.scenario.id, trial.repetition)
        if self._budget is None or block in self._reserved_blocks:
            return True
        if self._shortfall is not None:
            return False
        trials = [one for one in waiting if (one.scenario.id, one.repetition) == block]
        shortfall = self._budget.reserve((one.key, len(one.scenario.turns)) for one in trials)
        if shortfall is None:
            self._reserved_blocks.add(block)
        elif is_idle:
            self._shortfall = shortfall
        return shortfall is None

    def cost_of(self, agent: str, record: Record) -> float | None:
        """What a turn cost; None if the price of the agent's model or the tokens are not known."""
        price = self._prices.get(agent)
        return None if price is None else price.cost_of_turn(record)

    def user_cost_of(self, record: Record) -> float | None:
        """What a model that plays the user cost in a turn; None if none does, or if price or tokens are unknown."""
        if self._user_price is None:
            return None
        return self._user_price.cost(record.user_input_tokens, record.user_output_tokens)

    def _cost_of_both(self, agent: str, record: Record) -> float | None:
        """What a turn cost with its user; None if a part of it is not known."""
        cost = self.cost_of(agent, record)
        if self.user_model is None or cost is None:
            return cost
        of_user = self.user_cost_of(record)
        return None if of_user is None else cost + of_user

    def _charge(self, trial: Trial, played: PlayedTurn, *, is_last: bool) -> None:
        """Count what a turn cost; raises _OutOfBudgetError if the conversation must not go on."""
        if self._budget is None:
            return
        self._budget.charge(trial.key, played.turn, self._cost_of_both(trial.agent, played.record))
        shortfall = None if is_last else self._budget.ends(trial.key, played.turn, len(trial.scenario.turns))
        if shortfall is not None:
            # The agent is in its next turn already, which is paid for and lost.
            self._budget.charge(trial.key, played.turn + 1, None)
            self._shortfall = self._shortfall or shortfall
            raise _OutOfBudgetError

    async def _open(self, agent: str) -> None:
        try:
            await self.hosts[agent].open()
            await self._warm_up(agent)
        except RefusedError as error:
            self._refused[agent] = error
        except CrashedError:
            pass  # the first scenario tries again and reports any crash

    async def _warm_up(self, agent: str) -> None:
        processes = self._cold.pop(agent, 0) if self.pace.warm_up else 0
        await asyncio.gather(*(self._warm_up_process(agent, number) for number in range(processes)))

    async def _warm_up_process(self, agent: str, number: int) -> None:
        situations = tuple(Situation("warm-up", 0, at, session=f"{agent} warm-up") for at in range(len(_WARM_UP)))
        job = Job(agent, f"{agent}-warm-up", f"{agent} warm-up", _WARM_UP, situations, self.pace.turn_timeout)
        key = (agent, "warm-up", number)
        self._reserve_again(key, len(_WARM_UP))
        async for played in self.hosts[agent].play(job):
            if self._budget is not None:
                self._budget.charge(key, played.turn, self.cost_of(agent, played.record))
            if played.endpoint_failure:
                raise UsageError(
                    f"the endpoint of '{agent}' cannot be used: {played.record.reason}",
                    hint="Check its address and its key; nothing was played",
                )
        if self._budget is not None:
            self._budget.release(key)

    def _reserve_again(self, key: AnswerKey, turns: int) -> None:
        """Reserve for a conversation alone; raises _OutOfBudgetError if that is not covered."""
        if self._budget is not None:
            self._budget.release(key)
            shortfall = self._budget.reserve([(key, turns)])
            if shortfall is not None:
                self._shortfall = self._shortfall or shortfall
                raise _OutOfBudgetError

    async def _play(self, trial: Trial, sink: Sink) -> ScoredConversation:
        """One trial, started again after an infrastructure failure. Its last turns may not be scored yet."""
        refused = self._refused.get(trial.agent)
        if refused is not None and refused.missing:
            reason: str | None = str(refused)
        else:
            reason = self._skip(self.hosts[trial.agent], trial.scenario)
        conversation = ScoredConversation(self, trial, sink)
        if reason is not None:
            await conversation.end("skipped", reason)
            return conversation
        if refused is not None:
            await conversation.end("failed", str(refused))
            return conversation
        try:
            attempt, losses = 1, 0
            while attempt <= self.pace.retries + 1:
                await conversation.start(attempt, losses)
                if attempt > 1 or losses:
                    self._reserve_again(trial.key, len(trial.scenario.turns))
                async with self._alone.get(trial.agent) or nullcontext():
                    tried = await self._try(conversation, trial, attempt <= self.pace.retries, losses < _MAX_LOSSES)
                if tried == "ended":
                    return conversation
                attempt, losses = (attempt, losses + 1) if tried == "lost" else (attempt + 1, losses)
        except _OutOfBudgetError:
            # Half a conversation is no trial: it is played again, from its start, if the run goes on.
            await conversation.scored()
            sink.drop(*trial.key)
            raise
        raise AssertionError("the last attempt ends the conversation")

    async def _try(
        self, conversation: ScoredConversation, trial: Trial, may_retry: bool, may_lose: bool
    ) -> Literal["ended", "again", "lost"]:
        """Play a conversation; it has to be started again unless it is ended, as if nothing was if it was lost."""
        agent = conversation.agent
        try:
            await self._warm_up(agent)
            whole = conversation.job()
            with watched(self._calls, whole) as watching:
                for job in whole.parts():
                    async with aclosing(self.hosts[agent].play(job)) as turns:
                        async for played in turns:
                            if played.infrastructure_failure and may_retry:
                                self._charge(trial, played, is_last=True)
                                return "again"
                            await conversation.add(await watching.completed(played))
                            self._charge(trial, played, is_last=played.record.status == "failed")
            self._crashes.pop(agent, None)
        except RefusedError as error:
            self._refused[agent] = error
            await conversation.end("failed", str(error))
        except CrashedError as error:
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
