"""A conversation in progress: its turns so far, each scored and kept while the agent continues.

Each turn ends scored, skipped with a reason, or failed with its error. Knows neither how agents run nor how they are
scheduled.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.reception import describe_error
from assay.chat.running.scoring_process import describe_scoring_error
from assay.chat.running.trials import Trial
from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.passing import interrupted_checks
from assay.chat.scoring.quirk_turns import broken_turn, with_reactions
from assay.chat.scoring.robustness import Breakdown
from assay.chat.suites import ScenarioTurn
from assay.chat.transcript import Transcript, Turn
from assay.chat.world.shop import ORDERS, SHOP_DOMAIN
from assay.chat.world.situation import Situation
from assay.errors import AssayError
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.running.runner import Runner, Sink


class _Step:
    """How far a turn has come."""

    def __init__(self) -> None:
        self.in_transcript = asyncio.Event()
        self.kept: asyncio.Task[None] | None = None


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
        self._last: _Step | None = None
        """The last turn, which is kept after those before it."""

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

    def add(self, played: PlayedTurn) -> None:
        """Score a turn and keep it, while the agent continues."""
        step, before = _Step(), self._last
        step.kept = asyncio.create_task(self._add(played, step, before))
        self._last = step

    async def scored(self) -> list[Answer]:
        """Wait until every turn so far is scored and kept; the answers."""
        if self._last is not None and self._last.kept is not None:
            await self._last.kept
        return self.answers

    async def _add(self, played: PlayedTurn, step: _Step, before: _Step | None) -> None:
        """Score a turn and keep it; if the turn or its scoring failed, the turns after it are skipped.

        Turns are scored at the same time, once those before them are in the transcript, and kept in their order.
        """
        record = played.record.model_copy(
            update={
                "kind": self._trial.scenario.kind,
                "attempts": self._attempt,
                "cost": self._runner.cost_of(self.agent, played.record),
                "user_cost": self._runner.user_cost_of(played.record),
            }
        )
        outcome: Answer | Exception | None = None
        try:
            if before is not None:
                await before.in_transcript.wait()
            if record.status != "failed":
                asked = self._trial.scenario.turns[played.turn]
                if played.message:
                    asked = asked.model_copy(update={"user": played.message})
                self._turns.append(await self._turn(asked, played))
            elif self._trial.scenario.goes_on:  # the conversation continues: does the next turn work?
                self._turns.append(Turn(user=self._trial.scenario.turns[played.turn].user, assistant=played.text))
            transcript = self._transcript(played)
            step.in_transcript.set()
            if record.status != "failed":
                outcome = await self._answer(transcript, played, record)
        except Exception as error:  # a truth that cannot be looked up, or a third-party metric that raises
            outcome = error
        finally:
            step.in_transcript.set()
        if before is not None and before.kept is not None:
            await before.kept
        if played.turn >= len(self.answers):  # otherwise the conversation has ended
            self._keep_outcome(played, record, outcome)

    def _keep_outcome(self, played: PlayedTurn, record: Record, outcome: Answer | Exception | None) -> None:
        """Keep a turn: its answer, why it could not be scored, or, with neither, its failure."""
        if isinstance(outcome, Answer):
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

    async def _answer(self, transcript: Transcript, played: PlayedTurn, record: Record) -> Answer:
        agent, scenario, repetition = self._trial.key
        asked = self._trial.scenario.turns[played.turn]
        if record.hang_up is not None or record.consent is not None:
            failures = interrupted_checks(transcript.turns[-1], record)
            return Answer(
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
        record = with_reactions(record, played.text, asked.calls, self._runner.model_call_limit)
        return await self._runner.scorer.score(transcript, played.turn, record=record, worst=asked.outcome)

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

    async def _turn(self, asked: ScenarioTurn, played: PlayedTurn) -> Turn:
        record = played.record
        return Turn(
            user=asked.user,
            assistant=played.text,
            truth=await self._runner.truth_of(self._trial.agent, self._trial.scenario, asked),
            tool_calls=record.tool_calls if record.knows_tool_calls else None,
            tool_call_count=len(record.tool_calls) if record.knows_tool_calls else None,
            expected_calls=asked.calls,
            response_time=record.wall,
            checks=asked.checks,
            says=asked.says,
            never_says=asked.never_says,
            state=asked.state,
            lost_messages=None if record.user_messages is None else played.turn + 1 - record.user_messages,
            history_flaws=record.history_flaws or [],
            stored=dict(played.preferences) if self._knows_stored(played) else None,
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
