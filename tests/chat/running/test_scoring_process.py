"""Turns scored in another process have the same scores as turns scored here, and none is lost if it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from assay.chat import ChatbotEvaluator, Transcript, Turn
from assay.chat.running.scoring_process import LocalScorer, ProcessScorer
from assay.chat.scoring.answers import Answer
from assay.errors import AssayError

SETTINGS = {"domain": "weather", "language": "en", "names": ["Atlantis"], "metrics": ["task_completion", "accuracy"]}
TALK = Transcript(
    agent="bot",
    scenario="rome",
    turns=[
        Turn(user="What's the weather in Rome?", assistant="It is sunny in Rome, 21 °C.", says=["21"]),
        Turn(user="And in Atlantis?", assistant="I do not know."),
    ],
)
BROKEN = Transcript(agent="bot", scenario="odd", turns=[Turn(user="Hi", assistant="Hi", truth={"current": 7})])


def scored(work: Callable[[ProcessScorer], Awaitable[list[Answer]]]) -> list[Answer]:
    async def main() -> list[Answer]:
        scorer = ProcessScorer(SETTINGS)
        await scorer.start()
        try:
            return await work(scorer)
        finally:
            await scorer.close()

    return asyncio.run(main())


async def here() -> list[Answer]:
    scorer = LocalScorer(ChatbotEvaluator(**SETTINGS))  # type: ignore[arg-type]
    return [await scorer.score(TALK, at) for at in range(2)]


@pytest.mark.slow
def test_another_process_gives_the_same_answers_and_survives_what_it_cannot_score() -> None:
    async def work(scorer: ProcessScorer) -> list[Answer]:
        first, broken, second = await asyncio.gather(
            scorer.score(TALK, 0), scorer.score(BROKEN, 0), scorer.score(TALK, 1), return_exceptions=True
        )
        with pytest.raises(AssayError, match="current"):
            await LocalScorer(ChatbotEvaluator()).score(BROKEN, 0)
        assert isinstance(broken, AssayError)
        assert "current" in str(broken)
        assert isinstance(first, Answer)
        assert isinstance(second, Answer)
        return [first, second]

    assert scored(work) == asyncio.run(here())


def test_if_the_process_ends_the_rest_is_scored_here() -> None:
    async def work(scorer: ProcessScorer) -> list[Answer]:
        assert scorer._process is not None
        scorer._process.kill()
        scorer._process.wait()
        return [await scorer.score(TALK, at) for at in range(2)]

    assert scored(work) == asyncio.run(here())
