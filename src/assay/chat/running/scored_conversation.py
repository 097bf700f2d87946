"""A conversation in progress: its turns so far, each scored and kept while the agent continues.

Each turn ends scored, skipped with a reason, or failed with its error. Knows neither how agents run nor how they are
scheduled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.chat.domains import DOMAINS
from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.reception import describe_error
from assay.chat.running.scoring_worker import describe_scoring_error
from assay.chat.running.trials import Trial
from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.applicability import expectations_of, unmeasured_checks
from assay.chat.scoring.outcomes.quirk_turns import broken_turn, with_reactions, without_quirk
from assay.chat.scoring.outcomes.robustness import Breakdown, did_not_occur
from assay.chat.scoring.passing import interrupted_checks
from assay.chat.suites import ScenarioTurn
from assay.chat.transcript import Transcript, Turn
from assay.chat.world.shop import ORDERS, SHOP_DOMAIN
from assay.chat.world.situation import Situation
from assay.chat.world.wanted_calls import wanted_calls
from assay.errors import AssayError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.running.runner import Runner
    from assay.chat.running.sinks import Sink


class _Step(NamedTuple):
    """A turn that was played: its outcome is an answer, or an error; with neither, it failed."""

    played: PlayedTurn
    record: Record
    outcome: asyncio.Future[Answer] | Exception | None

    @property
    def is_settled(self) -> bool:
        return not isinstance(self.outcome, asyncio.Future) or self.outcome.done()


class ScoredConversation:
    """A conversation in progress: its turns so far, each scored as it ends."""

    def __init__(self, runner: Runner, trial: Trial, sink: Sink) -> None:
        self._runner = runner
        self._trial = trial
        self._sink = sink
        self._attempt, self._losses = 1, 0
        self.agent = trial.agent
        self._turns: list[Turn] = []
        self.answers: list[Answer] = []
        self._steps: deque[_Step] = deque()
        """Turns that are not kept yet: they are scored at the same time, and kept in their order."""
        self._settled: asyncio.Future[None] | None = None
        """What waits until every turn is kept."""
        self._tell: Callable[[], None] | None = None
        """What is called once every turn is kept."""
        self._failure: BaseException | None = None
        """Why a turn could not be kept: the store itself fails, for every turn."""

    async def start(self, attempt: int, losses: int = 0) -> None:
        """Start, or start over; `losses` is how often its machine was lost, which does not count as an attempt."""
        await self.scored()
        if self.answers:
            self._sink.drop(*self._trial.key)
        self._attempt, self._losses, self._turns, self.answers = attempt, losses, [], []

    def job(self) -> Job:
        trial, suite = self._trial, self._runner.suite
        # A unique name: a conversation that is started again must not find what the first attempt left behind.
        session = f"{trial.agent}-{trial.scenario.id}-{trial.repetition}-{self._attempt}"
        session += f"-{self._losses}" if self._losses else ""
        situations = tuple(
            Situation(
                trial.scenario.id,
                trial.repetition,
                at,
                trial.scenario.fault_of(at),
                suite.clock_of(trial.scenario),
                session=session,
                quirk=trial.scenario.quirk_of(at),
                hang_up=trial.scenario.turns[at].hang_up,
                consent=trial.scenario.turns[at].consent,
                calls=wanted_calls(trial.scenario.turns[at].calls),
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
            persona=self._persona(),
            has_shop=self._runner.suite.domain == SHOP_DOMAIN,
            restarts=tuple(turn.restart for turn in trial.scenario.turns) if trial.scenario.has_restarts else (),
            is_disturbed=trial.scenario.has_hang_ups or trial.scenario.has_consent,
        )

    def _persona(self) -> dict[str, Any] | None:
        """The simulated user, the same for every agent in one repetition of a scenario."""
        scenario = self._trial.scenario
        if scenario.persona is None:
            return None
        key = f"{scenario.id} {self._trial.repetition}"
        told = scenario.persona.model_dump(exclude={"patience"})
        return {**told, "seed": self._runner.seed, "key": key, "model": self._runner.user_model}

    async def add(self, played: PlayedTurn) -> None:
        """Score a turn and keep it, while the agent continues.

        If the turn or its scoring failed, the turns after it are skipped.
        """
        record = played.record.model_copy(
            update={
                "kind": self._trial.scenario.kind,
                "attempts": self._attempt,
                "cost": self._runner.spending.cost_of(self.agent, played.record),
                "user_cost": self._runner.spending.user_cost_of(played.record),
            }
        )
        outcome: asyncio.Future[Answer] | Exception | None = None
        try:
            if record.status != "failed" and did_not_occur(record):
                record = without_quirk(record)
                self._turns.append(Turn(user=self._trial.scenario.turns[played.turn].user, assistant=played.text))
            elif record.status != "failed":
                asked = self._trial.scenario.turns[played.turn]
                if played.message:
                    asked = asked.model_copy(update={"user": played.message})
                turn, left_out = await self._turn(asked, played)
                self._turns.append(turn)
                if left_out:
                    record = record.model_copy(update={"not_applicable": left_out})
                outcome = self._scoring(self._transcript(played), played, record)
            elif self._trial.scenario.goes_on:  # the conversation continues: does the next turn work?
                self._turns.append(Turn(user=self._trial.scenario.turns[played.turn].user, assistant=played.text))
        except Exception as error:  # a truth that cannot be looked up
            outcome = error
        self._steps.append(_Step(played, record, outcome))
        if isinstance(outcome, asyncio.Future):
            outcome.add_done_callback(self._settle)
        else:
            self._settle()

    def _settle(self, _: object = None) -> None:
        """Keep the turns whose outcome is known, up to the first that is still being scored."""
        try:
            while self._steps and self._steps[0].is_settled:
                step = self._steps.popleft()
                # Otherwise the conversation has ended.
                if self._failure is None and step.played.turn >= len(self.answers):
                    self._keep_outcome(step.played, step.record, _result_of(step))
        except BaseException as error:
            self._failure = error
        if self._steps:
            return
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(None)
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def when_scored(self, tell: Callable[[], None]) -> None:
        """Call a function once every turn so far is scored and kept, now if they are; to be called once."""
        if self._steps:
            self._tell = tell
        else:
            tell()

    async def scored(self) -> list[Answer]:
        """Wait until every turn so far is scored and kept; the answers. Raises if one could not be kept."""
        if self._steps:
            await asyncio.shield(self._waiting())
        return self.kept()

    def kept(self) -> list[Answer]:
        """The answers that are kept; raises if one could not be."""
        if self._failure is not None:
            raise self._failure
        return self.answers

    def abandon(self) -> None:
        """Do not wait for scores any more."""
        for step in self._steps:
            if isinstance(step.outcome, asyncio.Future):
                step.outcome.cancel()

    def _waiting(self) -> asyncio.Future[None]:
        if self._settled is None or self._settled.done():
            self._settled = asyncio.get_running_loop().create_future()
        return self._settled

    def _keep_outcome(self, played: PlayedTurn, record: Record, outcome: Answer | Exception | None) -> None:
        """Keep a turn: its answer, why it could not be scored, or, with neither, its failure."""
        if isinstance(outcome, Answer):
            checks = self._turns[played.turn].checks if played.turn < len(self._turns) else []
            left_out = unmeasured_checks(checks, outcome.entries)
            if left_out and outcome.record is not None:
                known = {"not_applicable": [*outcome.record.not_applicable, *left_out]}
                outcome = replace(outcome, record=outcome.record.model_copy(update=known))
            if not self._keep(outcome):
                self._end("skipped", f"turn {played.turn + 1} could not be stored")
        elif outcome is None:
            self._keep(self._unscored(played.turn, record, played.text, said=played.message))
            if not self._trial.scenario.goes_on:
                self._end("skipped", f"turn {played.turn + 1} failed")
        else:
            reason = f"could not be scored: {describe_scoring_error(outcome)}"
            failed = record.model_copy(update={"status": "failed", "reason": reason})
            self._keep(self._unscored(played.turn, failed, played.text, said=played.message))
            self._end("skipped", f"turn {played.turn + 1} could not be scored")

    async def end(self, status: str, reason: str, *, breakdown: Breakdown | None = None) -> None:
        """End the remaining turns, once those that were played are scored."""
        await self.scored()
        self._end(status, reason, breakdown=breakdown)

    def _end(self, status: str, reason: str, *, breakdown: Breakdown | None = None) -> None:
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

    def _unscored(self, at: int, record: Record, response: str = "", said: str = "") -> Answer:
        agent, scenario, repetition = self._trial.key
        asked = self._trial.scenario.turns[at]
        limit = self._runner.model_call_limit
        record, failures = broken_turn(record, response, expected=asked.calls, limit=limit, worst=asked.outcome)
        return Answer(
            agent=agent,
            scenario=scenario,
            repetition=repetition,
            turn=at,
            query=said or asked.user,
            response=response,
            entries={},
            passed=record.outcome is not None and not failures,
            failures=failures,
            record=record,
        )

    def _transcript(self, played: PlayedTurn) -> Transcript:
        """The conversation so far."""
        agent, scenario, repetition = self._trial.key
        return Transcript(
            agent=agent,
            scenario=scenario,
            repetition=repetition,
            domain=self._runner.suite.domain,
            language=self._runner.suite.language,
            preferences=self._preferences(played) or None,
            characteristics=self._runner.characteristics_of(agent),
            turns=self._turns,
        )

    def _scoring(self, transcript: Transcript, played: PlayedTurn, record: Record) -> asyncio.Future[Answer]:
        agent, scenario, repetition = self._trial.key
        asked = self._trial.scenario.turns[played.turn]
        if record.hang_up is not None or record.consent is not None:
            failures = interrupted_checks(transcript.turns[-1], record)
            interrupted: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            interrupted.set_result(
                Answer(
                    agent=agent,
                    scenario=scenario,
                    repetition=repetition,
                    turn=played.turn,
                    query=asked.user,
                    response=played.text,
                    entries={},
                    passed=not failures,
                    failures=failures,
                    record=record,
                )
            )
            return interrupted
        record = with_reactions(record, played.text, asked.calls, self._runner.model_call_limit)
        score = self._runner.scorer.score(transcript, played.turn, record=record, worst=asked.outcome)
        return asyncio.ensure_future(score)

    def _preferences(self, played: PlayedTurn) -> dict[str, Any]:
        """What is known about the user by now: as the suite says, otherwise as the agent stored it."""
        stated = [turn.preferences for turn in self._trial.scenario.turns[: played.turn + 1]]
        known = dict(played.preferences)
        for table in (self._trial.scenario.preferences, *stated):
            known |= table or {}
        return known

    def _knows_stored(self, played: PlayedTurn) -> bool:
        """Whether what the agent has stored is seen: by its setup, or because it used the tools of the shop."""
        return self._runner.hosts[self._trial.agent].uses_setup or ORDERS in played.preferences

    async def _turn(self, asked: ScenarioTurn, played: PlayedTurn) -> tuple[Turn, list[str]]:
        """The turn to be scored, and what is not expected of an agent with tools of its own."""
        record = played.record
        truth = await self._runner.truth_of(self._trial.agent, self._trial.scenario, asked)
        calls, checks = asked.calls, asked.checks
        left_out: list[str] = []
        if (calls or checks) and not self._runner.hosts[self._trial.agent].uses_setup:
            expected = expectations_of(
                calls,
                checks,
                record=record,
                bundled_tools=DOMAINS.get(self._runner.suite.domain).tools,
                knows_truth=asked.weather is None or truth is not None,
            )
            calls, checks, left_out = expected.calls, expected.checks, expected.not_applicable
        turn = Turn(
            user=asked.user,
            assistant=played.text,
            truth=truth,
            tool_calls=record.tool_calls if record.knows_tool_calls else None,
            tool_call_count=len(record.tool_calls) if record.knows_tool_calls else None,
            expected_calls=calls,
            response_time=record.wall,
            checks=checks,
            says=asked.says,
            never_says=asked.never_says,
            state=asked.state,
            lost_messages=None if record.user_messages is None else played.turn + 1 - record.user_messages,
            history_flaws=record.history_flaws or [],
            stored=dict(played.preferences) if self._knows_stored(played) else None,
        )
        if played.turn == len(self._trial.scenario.turns) - 1:
            turn.never_ordered = self._never_ordered(turn)
        return turn, left_out

    def _never_ordered(self, last: Turn) -> list[str]:
        """The products that a persona changes their mind about and that were on order after no turn."""
        persona = self._trial.scenario.persona
        if persona is None or last.stored is None:
            return []
        ordered = {product for turn in (*self._turns, last) for product in (turn.stored or {}).get(ORDERS) or ()}
        return [product for product in persona.changes_mind if product not in ordered]


class Unscored:
    """Conversations that were played and wait for their scores."""

    def __init__(self, most: int, count: Callable[[Sequence[Answer]], None]) -> None:
        """`most` may wait before no further one is started; `count` is called with the answers of each."""
        self._most = most
        self._count = count
        self._waiting: set[ScoredConversation] = set()
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None

    def add(self, conversation: ScoredConversation) -> None:
        self._waiting.add(conversation)
        conversation.when_scored(lambda: self._scored(conversation))

    def _scored(self, conversation: ScoredConversation) -> None:
        self._waiting.discard(conversation)
        try:
            self._count(conversation.kept())
        except BaseException as error:  # in a callback nobody would see it
            self._failure = self._failure or error
        self._changed.set()

    async def has_room(self) -> None:
        """Wait until another conversation may be started; raises if a turn could not be kept."""
        await self._at_most(self._most - 1)

    async def none_left(self) -> None:
        """Wait until all are scored; raises if a turn could not be kept."""
        await self._at_most(0)

    async def _at_most(self, number: int) -> None:
        while len(self._waiting) > number and self._failure is None:
            self._changed.clear()
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure

    def abandon(self) -> None:
        """Do not wait for scores any more."""
        for conversation in self._waiting:
            conversation.abandon()


def _result_of(step: _Step) -> Answer | Exception | None:
    """The answer of a turn whose outcome is known, why it could not be scored, or None if it failed."""
    if not isinstance(step.outcome, asyncio.Future):
        return step.outcome
    try:
        return step.outcome.result()
    except Exception as error:  # a metric of another package that raises
        return error


def _text(value: object) -> str | None:
    return None if value is None else str(value)
