"""Conversations with a quirk go on after a turn that failed, unless the agent's process is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from assay.chat.agents import Reply
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.running.conversation import Job, PlayedTurn, play
from assay.chat.running.hosts.host import CrashedError
from assay.chat.running.runner import Runner
from assay.chat.running.scoring_process import LocalScorer
from assay.chat.running.sinks import MemorySink
from assay.chat.running.tracing import Tracing
from assay.chat.running.trials import Pace
from assay.chat.scoring.answers import Answer, Record
from assay.chat.suites import Suite
from assay.chat.world.preferences import Preferences
from assay.chat.world.quirks import Quirk
from assay.chat.world.situation import Situation

SUITE = Suite.model_validate(
    {
        "name": "s",
        "version": 1,
        "scenarios": [
            {
                "id": "a",
                "kind": "k",
                "turns": [
                    {"user": "One?", "quirk": "html"},
                    {"user": "Two?", "says": ["two"], "checks": ["task_completion >= 0"]},
                ],
            }
        ],
    }
)


def failed(reason: str) -> Record:
    return Record(status="failed", reason=reason, quirk="html", breakdown="exception", model_calls=1, requests=2)


class FakeHost:
    """Plays what it is told to."""

    uses_setup = True
    uses_model = True
    processes = 1

    def __init__(self, *turns: PlayedTurn | CrashedError) -> None:
        self.turns = turns

    async def open(self) -> None: ...

    async def play(self, job: Job) -> AsyncGenerator[PlayedTurn]:
        for turn in self.turns:
            if isinstance(turn, CrashedError):
                raise turn
            yield turn

    async def close(self) -> None: ...


def answers_of(*turns: PlayedTurn | CrashedError) -> list[Answer]:
    async def no_truth(*_: Any) -> None: ...

    sink = MemorySink()
    runner = Runner(
        SUITE,
        {"bot": FakeHost(*turns)},
        no_truth,
        scorer=LocalScorer(ChatbotEvaluator(metrics=["task_completion"])),
        pace=Pace(warm_up=False),
        model_call_limit=8,
    )
    asyncio.run(runner.run(sink))
    return sink.answers


def test_conversation_continues_after_a_failed_turn() -> None:
    first, second = answers_of(
        PlayedTurn(0, "", failed("ServerError: 500"), {}), PlayedTurn(1, "Here are two.", Record(), {})
    )
    assert first.record is not None
    assert (first.status, first.record.outcome, first.passed) == ("failed", "failed_clearly", True)
    assert first.record.did == ["repeated 1 request", "raised ServerError"]
    assert (second.status, second.passed) == ("scored", True)


@pytest.mark.parametrize(("stuck", "outcome"), [(False, "crashed"), (True, "hung")])
def test_crash_and_endless_loop_are_distinguished(stuck: bool, outcome: str) -> None:
    first, second = answers_of(CrashedError("its process ended by SIGKILL", stuck=stuck))
    assert first.record is not None
    assert (first.record.outcome, first.passed) == (outcome, False)
    assert first.failures[0].says == f"{outcome}: its process ended by SIGKILL"
    assert second.status == "skipped"


class Bot:
    """Does something else in each turn."""

    def __init__(self, *acts: Callable[[], Any]) -> None:
        self.acts = list(acts)

    async def answer(self, *, session: str, user: str, message: str) -> AsyncGenerator[str | Reply]:
        act = self.acts.pop(0)()
        yield Reply(await act if asyncio.iscoroutine(act) else act)


def test_errors_and_timeouts_are_recorded_and_the_next_turn_is_played() -> None:
    def fail() -> str:
        raise ConnectionError("reset")

    async def played(first: Callable[[], Any]) -> list[PlayedTurn]:
        situations = (Situation("a", 0, 0, quirk=Quirk("html")), Situation("a", 0, 1))
        job = Job("bot", "s", "u", ("One?", "Two?"), situations, timeout=0.5)
        bot = Bot(first, lambda: "two")
        return [turn async for turn in play(bot, job, tracing=Tracing(), preferences=Preferences())]

    for act, breakdown in ((fail, "exception"), (lambda: asyncio.sleep(5), "timeout")):
        first, second = asyncio.run(played(act))
        assert (first.record.breakdown, first.record.quirk, first.record.requests) == (breakdown, "html", 0)
        # Though the connection failed, nothing is started again: that was the point.
        assert first.infrastructure_failure is False
        assert first.record.spans[0].name == "turn bot"
        assert (second.text, second.record.status, second.record.quirk) == ("two", "scored", None)
