"""The law that ties spans to the framework's own account, over conversations that nobody wrote down.

A seeded model calls tools one by one and at once, rightly and wrongly, with text before and without, turn after turn.
"""

from __future__ import annotations

import asyncio
import random

import pytest
from tests.chat.agents.assistant import calling, lawful, model, saying
from tests.chat.agents.laws import Answer, talk

from assay.chat.agents import Limits
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World

Calls = tuple[tuple[str, object], ...]

GOOD: Calls = (
    ("get_current_weather", {"city": "Oslo"}),
    ("get_current_weather", {"city": "São Paulo"}),
    ("get_current_weather", {"city": "Xyzzyville"}),
    ("get_weather_forecast", {"city": "Rome"}),
    ("get_weather_forecast", {"city": "Rome", "days": 2}),
    ("get_weather_forecast", {"city": ""}),
    ("get_user_preferences", {}),
    ("update_user_preferences_from_insight", {"insight": "hates the “cold”\nand rain"}),
)
BAD: Calls = (
    ("send_email", {"to": "x"}),
    ("get_weather_forecast", {"city": "Rome", "days": "many"}),
    ("get_current_weather", {}),
    ("get_current_weather", "{broken"),
)
TURNS = 3
MOST_ROUNDS = 3


class ManyConversations:
    """The law; a framework's test class says its name."""

    name: str
    bears: Calls = BAD
    """Wrong calls that do not end the turn."""

    @pytest.mark.parametrize("seed", range(8))
    def test_spans_and_account_agree_whatever_the_model_does(self, world: World, tracing: Tracing, seed: int) -> None:
        draw = random.Random(seed)
        turns = [self._turn(draw) for _ in range(TURNS)]

        async def play(url: str) -> list[Answer]:
            limits = Limits(model_calls=MOST_ROUNDS + 1, retries=0)
            async with talk(self.name, world, tracing, limits=limits, model_url=url) as to:
                return [await to.say(f"Turn {at}") for at in range(TURNS)]

        with model([move for moves, _ in turns for move in moves]) as server:
            answers = asyncio.run(play(f"{server.url}/v1"))
        for answer, (moves, calls) in zip(answers, turns, strict=True):
            assert answer.text == "Done."
            assert sorted(answer.calls) == sorted(calls)
            assert answer.trace.model_calls == len(moves)
            lawful(answer)

    def _turn(self, draw: random.Random) -> tuple[list[bytes], list[str]]:
        """The moves of a turn, and the tools that they call."""
        moves, calls = [], []
        for _ in range(draw.randint(0, MOST_ROUNDS)):
            chosen = draw.choices([*GOOD, *self.bears], k=draw.randint(1, 3))
            calls += [name for name, _ in chosen]
            moves.append(saying(draw.choice(("", "Let me look. ")), *(calling(*call) for call in chosen)))
        moves.append(saying("Done."))
        return [_with_tokens(move, draw) for move in moves], calls


def _with_tokens(move: bytes, draw: random.Random) -> bytes:
    """The same move, at a price of its own."""
    assert b'"prompt_tokens": 10,' in move
    priced = move.replace(b'"prompt_tokens": 10,', b'"prompt_tokens": %d,' % draw.randint(1, 900))
    return priced.replace(b'"completion_tokens": 5,', b'"completion_tokens": %d,' % draw.randint(1, 90))
