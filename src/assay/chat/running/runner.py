"""Agents × scenarios × repetitions: every agent plays the same conversations, and each turn is scored.

Conversations come in randomised blocks: the order of scenarios is drawn by seed, and so is the order of agents within
each, so that whatever drifts during a run (a warm cache, a busy machine) affects all agents alike. Each turn ends
scored, skipped with a reason, or failed with its error. Knows no store: finished turns go to a `Sink` at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.conversation import Job, PlayedTurn, describe_error
from assay.chat.running.host import CrashedError, Host, RefusedError
from assay.chat.running.trials import Trial, plan
from assay.chat.scoring.answers import Answer, AnswerKey, Record
from assay.chat.scoring.quirk_turns import broken_turn, with_reactions
from assay.chat.scoring.robustness import Breakdown
from assay.chat.scoring.scores import answer_of
from assay.chat.suites import Scenario, ScenarioTurn, Suite
from assay.chat.transcript import Transcript, Turn
from assay.chat.world.situation import Situation
from assay.errors import AssayError
from assay.redaction import redacted

LookUpTruth = Callable[[str, int, datetime | None], Awaitable[Any]]
"""Gives the true weather of a city, now and for some days, at a time (None for the present)."""

# Played before anything is measured: it opens connections, fills caches, and imports what a framework imports late.
_WARM_UP = ("Hello!", "What's the weather in Paris?")
# An agent whose process ends this many times in a row is not started again.
_MAX_CRASHES = 3


class Sink(Protocol):
    """Where finished turns go."""

    def keep(self, answer: Answer) -> None:
        """Keep a turn; it must not be lost after this."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        """Delete the turns of a conversation that is started again."""


class MemorySink:
    """Keeps finished turns in memory, for runs without a store."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def keep(self, answer: Answer) -> None:
        self.answers.append(answer)

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self.answers = [answer for answer in self.answers if answer.key != (agent, scenario, repetition)]


@dataclass(frozen=True, slots=True)
class Pace:
    """Concurrency, timeouts and retries of a run. Nothing here changes what is asked."""

    jobs: int = 1
    """Conversations at a time in all. More than one makes every agent's times longer."""
    concurrency: int = 1
    """Conversations at a time for each agent."""
    turn_timeout: float = 60.0
    """Seconds that a turn may take."""
    retries: int = 2
    """How often a conversation is started again after an infrastructure failure."""
    warm_up: bool = True


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


class Runner:
    """Plays a suite on agents that live in `hosts`."""

    def __init__(
        self,
        suite: Suite,
        hosts: Mapping[str, Host],
        look_up_truth: LookUpTruth,
        *,
        evaluator: ChatbotEvaluator | None = None,
        seed: int = 42,
        repeat: int = 1,
        pace: Pace | None = None,
        characteristics: Mapping[str, Mapping[str, Any]] | None = None,
        skip: Callable[[Host, Scenario], str | None] = lambda host, scenario: None,
        is_made_up: bool = False,
        model_call_limit: int | None = None,
    ) -> None:
        """`characteristics` are the measured ones of developer experience, by agent. `skip` is called with whether the
        agent uses our setup and with a scenario, and gives the reason why it cannot be played, or None. `is_made_up`
        says that the weather is: agents with tools of their own cannot know it, so it is not used as their truth.
        `model_call_limit` is the most model calls that a turn may have.
        """
        self.suite = suite
        self.hosts = hosts
        self.seed = seed
        self.repeat = repeat
        self.pace = pace or Pace()
        self.evaluator = evaluator or ChatbotEvaluator(domain=suite.domain, language=suite.language, names=suite.names)
        self._look_up_truth = look_up_truth
        self._characteristics = characteristics or {}
        self._skip = skip
        self._is_made_up = is_made_up
        self.model_call_limit = model_call_limit
        self._refused: dict[str, RefusedError] = {}
        self._crashes: dict[str, set[int]] = {}
        """Processes of an agent that crashed, without a finished conversation between them."""
        self._alone: dict[str, asyncio.Lock] = {}
        """Agents whose process crashed with several conversations under way: from then on they have one at a time."""
        self._cold: set[str] = set(hosts)

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
            await self._open(agent)
        state.starting = ""
        report(state)
        await self._play_all(to_do, sink, state, report)
        return state

    async def _play_all(
        self, trials: Sequence[Trial], sink: Sink, state: Progress, report: Callable[[Progress], None]
    ) -> None:
        """Play trials in the order of the plan, as many at a time as the pace allows.

        A trial whose agent is at its limit waits until that agent is free.
        """

        async def play(trial: Trial) -> None:
            state.agent, state.scenario = trial.agent, trial.scenario.id
            for answer in await self._play(trial, sink):
                state.counts[answer.status] += 1
            state.done += 1
            report(state)

        waiting = list(trials)
        running: dict[asyncio.Task[None], str] = {}
        try:
            while waiting or running:
                for trial in list(waiting) if len(running) < self.pace.jobs else ():
                    limit = 1 if trial.agent in self._alone else self.pace.concurrency
                    if Counter(running.values())[trial.agent] < limit:
                        waiting.remove(trial)
                        running[asyncio.create_task(play(trial))] = trial.agent
                    if len(running) == self.pace.jobs:
                        break
                ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    del running[task]
                    task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _open(self, agent: str) -> None:
        try:
            await self.hosts[agent].open()
            await self._warm_up(agent)
        except RefusedError as error:
            self._refused[agent] = error
        except CrashedError:
            pass  # the first scenario tries again, and reports the crash if there is one

    async def _warm_up(self, agent: str) -> None:
        if not self.pace.warm_up or agent not in self._cold:
            return
        self._cold.discard(agent)
        situations = tuple(Situation("warm-up", 0, at, session=f"{agent} warm-up") for at in range(len(_WARM_UP)))
        job = Job(agent, f"{agent}-warm-up", f"{agent} warm-up", _WARM_UP, situations, self.pace.turn_timeout)
        async for _ in self.hosts[agent].play(job):
            pass

    async def _play(self, trial: Trial, sink: Sink) -> list[Answer]:
        """One trial, started again after an infrastructure failure."""
        refused = self._refused.get(trial.agent)
        if refused is not None and refused.missing:
            reason: str | None = str(refused)
        else:
            reason = self._skip(self.hosts[trial.agent], trial.scenario)
        conversation = _Conversation(self, trial, sink)
        if reason is not None:
            return conversation.end("skipped", reason)
        if refused is not None:
            return conversation.end("failed", str(refused))
        for attempt in range(1, self.pace.retries + 2):
            conversation.start(attempt)
            async with self._alone.get(trial.agent) or nullcontext():
                if await self._try(conversation, may_retry=attempt <= self.pace.retries):
                    return conversation.answers
        raise AssertionError("the last attempt ends the conversation")

    async def _try(self, conversation: _Conversation, *, may_retry: bool) -> bool:
        """Play a conversation; False if it has to be started again."""
        agent = conversation.agent
        try:
            await self._warm_up(agent)
            async with aclosing(self.hosts[agent].play(conversation.job())) as turns:
                async for played in turns:
                    if played.infrastructure_failure and may_retry:
                        return False
                    await conversation.add(played)
            self._crashes.pop(agent, None)
        except RefusedError as error:
            self._refused[agent] = error
            conversation.end("failed", str(error))
        except CrashedError as error:
            self._crashed(agent, error)
            if error.shared and may_retry and agent not in self._refused:
                # Any of the conversations in the process may have crashed it: each is tried again, one at a time.
                self._alone.setdefault(agent, asyncio.Lock())
                return False
            conversation.end("failed", str(error), breakdown="timeout" if error.stuck else "crash")
        return True

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
        self._cold.add(agent)
        # A process crashes once, however many conversations it had under way.
        self._crashes.setdefault(agent, set()).add(error.worker)
        if len(self._crashes[agent]) >= _MAX_CRASHES:
            often = f"crashed {_MAX_CRASHES} times in a row and was not started again; the last crash: {error}"
            self._refused[agent] = RefusedError(often)


class _Conversation:
    """A conversation under way: its turns so far, each scored as it ends."""

    def __init__(self, runner: Runner, trial: Trial, sink: Sink) -> None:
        self._runner = runner
        self._trial = trial
        self._sink = sink
        self._attempt = 1
        self.agent = trial.agent
        self._turns: list[Turn] = []
        self.answers: list[Answer] = []

    def start(self, attempt: int) -> None:
        """Start, or start over."""
        if self.answers:
            self._sink.drop(*self._trial.key)
        self._attempt, self._turns, self.answers = attempt, [], []

    def job(self) -> Job:
        trial, suite = self._trial, self._runner.suite
        # A unique name: a conversation that is started again must not find what the first attempt left behind.
        session = f"{trial.agent}-{trial.scenario.id}-{trial.repetition}-{self._attempt}"
        situations = tuple(
            Situation(
                trial.scenario.id,
                trial.repetition,
                at,
                trial.scenario.fault_of(at),
                suite.clock_of(trial.scenario),
                session=session,
                quirk=trial.scenario.quirk_of(at),
            )
            for at in range(len(trial.scenario.turns))
        )
        return Job(
            agent=trial.agent,
            session=session,
            user=session,
            messages=tuple(turn.user for turn in trial.scenario.turns),
            situations=situations,
            timeout=self._runner.pace.turn_timeout,
            preferences=trial.scenario.preferences,
        )

    async def add(self, played: PlayedTurn) -> None:
        """Score a turn and keep it; if the turn or its scoring failed, the turns after it are skipped."""
        if played.turn < len(self.answers):
            return  # the conversation has ended
        record = played.record.model_copy(update={"kind": self._trial.scenario.kind, "attempts": self._attempt})
        if record.status == "failed":
            self._keep(self._unscored(played.turn, record, played.text))
            if self._trial.scenario.has_quirks:  # the conversation goes on: does the next turn work?
                self._turns.append(Turn(user=self._trial.scenario.turns[played.turn].user, assistant=played.text))
            else:
                self.end("skipped", f"turn {played.turn + 1} failed")
            return
        asked = self._trial.scenario.turns[played.turn]
        try:
            self._turns.append(await self._turn(asked, played))
            answer = self._scored(played, record)
        except Exception as error:  # a truth that cannot be looked up, or a third-party metric that raises
            cause = redacted(str(error)) if isinstance(error, AssayError) else describe_error(error)
            failed = record.model_copy(update={"status": "failed", "reason": f"could not be scored: {cause}"})
            self._keep(self._unscored(played.turn, failed, played.text))
            self.end("skipped", f"turn {played.turn + 1} could not be scored")
        else:
            if not self._keep(answer):
                self.end("skipped", f"turn {played.turn + 1} could not be stored")

    def end(self, status: str, reason: str, *, breakdown: Breakdown | None = None) -> list[Answer]:
        """End the remaining turns with this status; if they fail, only the first does, and the others are skipped."""
        for at in range(len(self.answers), len(self._trial.scenario.turns)):
            record = Record(
                status="skipped" if status == "skipped" else "failed",
                reason=redacted(reason),
                kind=self._trial.scenario.kind,
                fault=_text(self._trial.scenario.fault_of(at)),
                attempts=self._attempt,
                quirk=_text(self._trial.scenario.quirk_of(at)),
                breakdown=breakdown if status == "failed" else None,
            )
            self._keep(self._unscored(at, record))
            if status == "failed":
                status, reason = "skipped", f"turn {at + 1} failed"
        return self.answers

    def _keep(self, answer: Answer) -> bool:
        """Keep a turn. One that cannot be stored, because of what is in it, fails alone; False then."""
        try:
            self._sink.keep(answer)
        except AssayError:
            raise  # the store itself fails, for every turn
        except Exception as error:
            reason = f"could not be stored: {describe_error(error)}"
            given = answer.record or Record()
            record = Record(status="failed", reason=reason, kind=given.kind, fault=given.fault, attempts=given.attempts)
            failed = self._unscored(answer.turn, record)
            self._sink.keep(failed)
            self.answers.append(failed)
            return False
        self.answers.append(answer)
        return True

    def _unscored(self, at: int, record: Record, response: str = "") -> Answer:
        agent, scenario, repetition = self._trial.key
        asked = self._trial.scenario.turns[at]
        limit = self._runner.model_call_limit
        record, failures = broken_turn(record, response, expected=asked.calls, limit=limit, worst=asked.outcome)
        return Answer(
            agent=agent,
            scenario=scenario,
            repetition=repetition,
            turn=at,
            query=asked.user,
            response=response,
            entries={},
            passed=record.outcome is not None and not failures,
            failures=failures,
            record=record,
        )

    def _scored(self, played: PlayedTurn, record: Record) -> Answer:
        agent, scenario, repetition = self._trial.key
        transcript = Transcript(
            agent=agent,
            scenario=scenario,
            repetition=repetition,
            domain=self._runner.suite.domain,
            language=self._runner.suite.language,
            preferences=self._preferences(played) or None,
            characteristics=self._runner.characteristics_of(agent),
            turns=self._turns,
        )
        asked = self._trial.scenario.turns[played.turn]
        record = with_reactions(record, played.text, asked.calls, self._runner.model_call_limit)
        return answer_of(transcript, played.turn, self._runner.evaluator, record=record, worst=asked.outcome)

    def _preferences(self, played: PlayedTurn) -> dict[str, Any]:
        """What is known of the user by now: as the suite says, else as the agent noted it."""
        stated = [turn.preferences for turn in self._trial.scenario.turns[: played.turn + 1]]
        known = dict(played.preferences)
        for table in (self._trial.scenario.preferences, *stated):
            known |= table or {}
        return known

    async def _turn(self, asked: ScenarioTurn, played: PlayedTurn) -> Turn:
        record = played.record
        # An agent with neither spans nor its own account of tool calls may have called any number of tools.
        is_known = record.model is not None or record.own_tool_calls is not None
        return Turn(
            user=asked.user,
            assistant=played.text,
            truth=await self._runner.truth_of(self._trial.agent, self._trial.scenario, asked),
            tool_calls=record.tool_calls if is_known else None,
            tool_call_count=len(record.tool_calls) if is_known else None,
            expected_calls=asked.calls,
            response_time=record.wall,
            checks=asked.checks,
            says=asked.says,
            never_says=asked.never_says,
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
