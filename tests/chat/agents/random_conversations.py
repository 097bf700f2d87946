"""The law that the spans agree with the framework's reply, over random conversations.

A seeded model makes single and parallel, valid and invalid tool calls, with and without text before them, for several
turns.
"""

from __future__ import annotations

import asyncio
import random

import pytest
from tests.chat.agents.laws import Answer, check_laws, talk
from tests.chat.agents.scripted_model import calling, model, saying

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


class RandomConversations:
    """The test; each framework's test class sets `name`."""

    name: str
    accepted_bad_calls: Calls = BAD
    """Invalid calls that do not end the turn."""

    @pytest.mark.parametrize("seed", range(8))
    def test_spans_agree_with_the_reply_whatever_the_model_does(
        self, world: World, tracing: Tracing, seed: int
    ) -> None:
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
            check_laws(answer)

    def _turn(self, draw: random.Random) -> tuple[list[bytes], list[str]]:
        """The model's responses in a turn, and the tools that they call."""
        moves, calls = [], []
        for _ in range(draw.randint(0, MOST_ROUNDS)):
            chosen = draw.choices([*GOOD, *self.accepted_bad_calls], k=draw.randint(1, 3))
            calls += [name for name, _ in chosen]
            moves.append(saying(draw.choice(("", "Let me look. ")), *(calling(*call) for call in chosen)))
        moves.append(saying("Done."))
        return [_with_tokens(move, draw) for move in moves], calls


def _with_tokens(move: bytes, draw: random.Random) -> bytes:
    """The same response with random token counts."""
    assert b'"prompt_tokens": 10,' in move
    priced = move.replace(b'"prompt_tokens": 10,', b'"prompt_tokens": %d,' % draw.randint(1, 900))
    return priced.replace(b'"completion_tokens": 5,', b'"completion_tokens": %d,' % draw.randint(1, 90))
