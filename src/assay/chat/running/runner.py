"""Agents × scenarios × repetitions: every agent is led through the same conversations, and each turn is scored.

Conversations come in randomised blocks: the order of scenarios is drawn by seed, and within each the order of agents,
so that whatever drifts while a run goes on (a warm cache, a busy machine) falls on all agents alike. Each cell ends
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
from assay.chat.running.conversation import Job, Played, describe
from assay.chat.running.host import CrashedError, Host, RefusedError
from assay.chat.scoring.metric import Metric
from assay.chat.scoring.record import Record
from assay.chat.scoring.scores import Answer, answer_of
from assay.chat.suites import Scenario, ScenarioTurn, Suite
from assay.chat.transcript import Transcript, Turn
from assay.chat.world.situation import Situation, chance
from assay.errors import AssayError
from assay.redaction import redacted

Truth = Callable[[str, int, datetime | None], Awaitable[Any]]
"""The true weather of a city, now and for some days, at a time (None for this moment)."""
Key = tuple[str, str, int]
"""Which conversation: agent, scenario, repetition."""

# Played before anything counts: connections are made, caches filled, modules imported that a framework imports late.
_WARM_UP = ("Hello!", "What's the weather in Paris?")
# An agent that ends its process this often in a row is not started again.
_MOST_CRASHES = 3


class Sink(Protocol):
    """Where finished turns go."""

    def keep(self, answer: Answer) -> None:
        """Keep a turn; it must not be lost after this."""

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        """Forget the turns of a conversation that is begun again."""


class InMemory:
    """A sink for those who have no store."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def keep(self, answer: Answer) -> None:
        self.answers.append(answer)

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        dropped = (agent, scenario, repetition)
        self.answers = [one for one in self.answers if (one.agent, one.scenario, one.repetition) != dropped]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a run goes and how patient it is. Nothing here changes what is asked."""

    jobs: int = 1
    """Conversations at a time in all. More than one disturbs the times of all, and all alike."""
    concurrency: int = 1
    """Conversations at a time for each agent."""
    turn_timeout: float = 60.0
    retries: int = 2
    """How often a conversation is begun again after something that is not the agent's fault."""
    warm_up: bool = True


@dataclass(slots=True)
class Progress:
    """How far a run is, in conversations."""

    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Turns by how they ended."""
    starting: str = ""
    """The agent that is being started, before anything is played."""
    agent: str = ""
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One conversation of a run."""

    agent: str
    scenario: Scenario
    repetition: int

    @property
    def key(self) -> Key:
        return self.agent, self.scenario.id, self.repetition


def plan(agents: Sequence[str], suite: Suite, *, repeat: int, seed: int) -> list[Cell]:
    """Every conversation, in the order in which they are held."""
    blocks = [(scenario, repetition) for repetition in range(repeat) for scenario in suite.scenarios]
    chance(seed, "order of scenarios").shuffle(blocks)
    cells = []
    for scenario, repetition in blocks:
        order = list(agents)
        chance(seed, "order of agents", scenario.id, repetition).shuffle(order)
        cells += [Cell(agent, scenario, repetition) for agent in order]
    return cells


class Runner:
    """Plays a suite on agents that live in `hosts`."""

    def __init__(
        self,
        suite: Suite,
        hosts: Mapping[str, Host],
        truth: Truth,
        *,
        seed: int = 42,
        repeat: int = 1,
        pace: Pace | None = None,
        characteristics: Mapping[str, Mapping[str, Any]] | None = None,
        skip: Callable[[bool, Scenario], str | None] = lambda uses_setup, scenario: None,
        is_made_up: bool = False,
        metrics: Sequence[str | Metric] | None = None,
    ) -> None:
        """`characteristics` are the measured ones of developer experience, by agent; `skip` gives the reason for which
        a scenario cannot be played on an agent that has its model and tools from us, or its own; None where it can.
        `is_made_up` says that the weather is: agents with tools of their own cannot know it, and are not held to it.
        """
        self.suite = suite
        self.hosts = hosts
        self.seed = seed
        self.repeat = repeat
        self.pace = pace or Pace()
        self.evaluator = ChatbotEvaluator(
            domain=suite.domain, language=suite.language, names=suite.names, metrics=metrics
        )
        self._truth = truth
        self._characteristics = characteristics or {}
        self._skip = skip
        self._is_made_up = is_made_up
        self._refused: dict[str, RefusedError] = {}
        self._crashes: dict[str, set[int]] = {}
        """Processes of an agent that ended in a row."""
        self._alone: dict[str, asyncio.Lock] = {}
        """Agents whose process ended under several conversations: they hold one at a time."""
        self._cold: set[str] = set(hosts)

    async def run(
        self,
        sink: Sink,
        *,
        done: Container[Key] = (),
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Progress:
        """Hold every conversation that is not `done`. Cancelling it stops cleanly: what was finished was kept."""
        cells = plan(list(self.hosts), self.suite, repeat=self.repeat, seed=self.seed)
        told = Progress(len(cells), sum(cell.key in done for cell in cells))
        progress(told)
        to_do = [cell for cell in cells if cell.key not in done]
        # One after the other, before any clock runs: importing a framework keeps a core busy for seconds.
        for agent in dict.fromkeys(cell.agent for cell in to_do):
            told.starting = agent
            progress(told)
            await self._open(agent)
        told.starting = ""
        progress(told)
        await self._hold_all(to_do, sink, told, progress)
        return told

    async def _hold_all(
        self, cells: Sequence[Cell], sink: Sink, told: Progress, progress: Callable[[Progress], None]
    ) -> None:
        """Hold conversations in the order of the plan, as many at a time as the pace allows.

        One whose agent is at its limit is passed by until that agent is free.
        """

        async def hold(cell: Cell) -> None:
            told.agent, told.scenario = cell.agent, cell.scenario.id
            for answer in await self._hold(cell, sink):
                told.counts[answer.record.status if answer.record else "scored"] += 1
            told.done += 1
            progress(told)

        waiting = list(cells)
        held: dict[asyncio.Task[None], str] = {}
        try:
            while waiting or held:
                for cell in list(waiting) if len(held) < self.pace.jobs else ():
                    limit = 1 if cell.agent in self._alone else self.pace.concurrency
                    if Counter(held.values())[cell.agent] < limit:
                        waiting.remove(cell)
                        held[asyncio.create_task(hold(cell))] = cell.agent
                    if len(held) == self.pace.jobs:
                        break
                ended, _ = await asyncio.wait(held, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    del held[task]
                    task.result()
        finally:
            for task in held:
                task.cancel()
            await asyncio.gather(*held, return_exceptions=True)

    async def _open(self, agent: str) -> None:
        try:
            await self.hosts[agent].open()
            await self._warm_up(agent)
        except RefusedError as error:
            self._refused[agent] = error
        except CrashedError:
            pass  # it may do better on a real scenario, and if not, that one tells

    async def _warm_up(self, agent: str) -> None:
        if not self.pace.warm_up or agent not in self._cold:
            return
        self._cold.discard(agent)
        situations = tuple(Situation("warm-up", 0, at, session=f"{agent} warm-up") for at in range(len(_WARM_UP)))
        job = Job(agent, f"{agent}-warm-up", f"{agent} warm-up", _WARM_UP, situations, self.pace.turn_timeout)
        async for _ in self.hosts[agent].play(job):
            pass

    async def _hold(self, cell: Cell, sink: Sink) -> list[Answer]:
        """One conversation, begun again where that is fair."""
        refused = self._refused.get(cell.agent)
        if refused is not None and refused.missing:
            reason: str | None = str(refused)
        else:
            reason = self._skip(self.hosts[cell.agent].uses_setup, cell.scenario)
        conversation = _Conversation(self, cell, sink)
        if reason is not None:
            return conversation.end("skipped", reason)
        if refused is not None:
            return conversation.end("failed", str(refused))
        for attempt in range(1, self.pace.retries + 2):
            conversation.begin(attempt)
            async with self._alone.get(cell.agent) or nullcontext():
                if await self._try(conversation, may_retry=attempt <= self.pace.retries):
                    return conversation.answers
        raise AssertionError("the last attempt ends the conversation")

    async def _try(self, conversation: _Conversation, *, may_retry: bool) -> bool:
        """Hold a conversation; False where it is to be begun again."""
        agent = conversation.agent
        try:
            await self._warm_up(agent)
            async with aclosing(self.hosts[agent].play(conversation.job())) as turns:
                async for played in turns:
                    if played.blameless and may_retry:
                        return False
                    await conversation.add(played)
            self._crashes.pop(agent, None)
        except RefusedError as error:
            self._refused[agent] = error
            conversation.end("failed", str(error))
        except CrashedError as error:
            self._crashed(agent, error)
            if error.shared and may_retry and agent not in self._refused:
                # Any of those that shared the process may have ended it: each gets another try, from now on alone.
                self._alone.setdefault(agent, asyncio.Lock())
                return False
            conversation.end("failed", str(error))
        return True

    def characteristics_of(self, agent: str) -> dict[str, Any] | None:
        """What was measured of an agent's developer experience, if anything was."""
        found = self._characteristics.get(agent)
        return None if found is None else dict(found)

    async def truth_of(self, agent: str, scenario: Scenario, turn: ScenarioTurn) -> Any:
        """What is true in a turn: looked up in the world, or as the suite says; None where the agent cannot know it."""
        if turn.weather is None:
            return turn.truth
        if self._is_made_up and not self.hosts[agent].uses_setup:
            return None
        return await self._truth(turn.weather.city, turn.weather.days, self.suite.clock_of(scenario))

    def _crashed(self, agent: str, error: CrashedError) -> None:
        self._cold.add(agent)
        # A process ends once, however many conversations it held.
        self._crashes.setdefault(agent, set()).add(error.worker)
        if len(self._crashes[agent]) >= _MOST_CRASHES:
            often = f"it ended {_MOST_CRASHES} times in a row and was not started again; the last time: {error}"
            self._refused[agent] = RefusedError(often)


class _Conversation:
    """A conversation that is being held: what was said so far, scored turn by turn."""

    def __init__(self, runner: Runner, cell: Cell, sink: Sink) -> None:
        self._runner = runner
        self._cell = cell
        self._sink = sink
        self._attempt = 1
        self.agent = cell.agent
        self._turns: list[Turn] = []
        self.answers: list[Answer] = []

    def begin(self, attempt: int) -> None:
        """Start, or start over."""
        if self.answers:
            self._sink.drop(*self._cell.key)
        self._attempt, self._turns, self.answers = attempt, [], []

    def job(self) -> Job:
        cell, suite = self._cell, self._runner.suite
        # Names nobody else has: a conversation begun again must not find what the first one left behind.
        session = f"{cell.agent}-{cell.scenario.id}-{cell.repetition}-{self._attempt}"
        situations = tuple(
            Situation(
                cell.scenario.id,
                cell.repetition,
                at,
                cell.scenario.fault_of(at),
                suite.clock_of(cell.scenario),
                session=session,
            )
            for at in range(len(cell.scenario.turns))
        )
        return Job(
            agent=cell.agent,
            session=session,
            user=session,
            messages=tuple(turn.user for turn in cell.scenario.turns),
            situations=situations,
            timeout=self._runner.pace.turn_timeout,
            preferences=cell.scenario.preferences,
        )

    async def add(self, played: Played) -> None:
        """Score a turn and keep it; where that fails, or the turn did, what follows is skipped."""
        if played.turn < len(self.answers):
            return  # it was ended already
        record = played.record.model_copy(update={"kind": self._cell.scenario.kind, "attempts": self._attempt})
        if record.status == "failed":
            self._keep(self._unscored(played.turn, record, played.text))
            self.end("skipped", f"turn {played.turn + 1} failed")
            return
        asked = self._cell.scenario.turns[played.turn]
        try:
            self._turns.append(await self._turn(asked, played))
            answer = self._scored(played, record)
        except Exception as error:  # a truth that cannot be looked up, or a metric of another package that breaks
            told = redacted(str(error)) if isinstance(error, AssayError) else describe(error)
            failed = record.model_copy(update={"status": "failed", "reason": f"it could not be scored: {told}"})
            self._keep(self._unscored(played.turn, failed, played.text))
            self.end("skipped", f"turn {played.turn + 1} could not be scored")
        else:
            if not self._keep(answer):
                self.end("skipped", f"turn {played.turn + 1} could not be stored")

    def end(self, status: str, reason: str) -> list[Answer]:
        """Every turn that is not there yet ends like this; where it fails, only the first one does."""
        for at in range(len(self.answers), len(self._cell.scenario.turns)):
            record = Record(
                status="skipped" if status == "skipped" else "failed",
                reason=redacted(reason),
                kind=self._cell.scenario.kind,
                fault=_text(self._cell.scenario.fault_of(at)),
                attempts=self._attempt,
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
            raise  # the store itself fails, for all turns alike
        except Exception as error:
            reason = f"it could not be stored: {describe(error)}"
            given = answer.record or Record()
            record = Record(status="failed", reason=reason, kind=given.kind, fault=given.fault, attempts=given.attempts)
            failed = self._unscored(answer.turn, record)
            self._sink.keep(failed)
            self.answers.append(failed)
            return False
        self.answers.append(answer)
        return True

    def _unscored(self, at: int, record: Record, said: str = "") -> Answer:
        agent, scenario, repetition = self._cell.key
        asked = self._cell.scenario.turns[at]
        return Answer(agent, scenario, repetition, at, asked.user, said, {}, passed=False, record=record)

    def _scored(self, played: Played, record: Record) -> Answer:
        agent, scenario, repetition = self._cell.key
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
        return answer_of(transcript, played.turn, self._runner.evaluator, record=record)

    def _preferences(self, played: Played) -> dict[str, Any]:
        """What is known of the user by now: as the suite says, and where it says nothing, as the agent noted it."""
        stated = [turn.preferences for turn in self._cell.scenario.turns[: played.turn + 1]]
        known = dict(played.preferences)
        for table in (self._cell.scenario.preferences, *stated):
            known |= table or {}
        return known

    async def _turn(self, asked: ScenarioTurn, played: Played) -> Turn:
        record = played.record
        # An agent without spans that tells nothing may have called any number of tools.
        is_known = record.model is not None or record.own_tool_calls is not None
        return Turn(
            user=asked.user,
            assistant=played.text,
            truth=await self._runner.truth_of(self._cell.agent, self._cell.scenario, asked),
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
