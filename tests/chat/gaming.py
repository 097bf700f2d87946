"""Bots that try to please the rules without answering: none of them looks at what it is asked, or at what is true.

A bot gets the message, its own earlier answers and the truth, which only the one that copies a tool's result uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from assay.chat.baselines import baselines_of
from assay.chat.domains import DOMAINS
from assay.chat.suites import Suite
from assay.chat.transcript import Transcript, Turn
from assay.chat.world.embedded import World

Bot = Callable[[str, Sequence[str], Any], str]

_CITIES = (
    "Helsinki, Oslo, Paris, London, Cairo, Tokyo, Lisbon, Berlin, Madrid, Rome, Vienna, Prague, Chicago, Toronto, "
    "Mumbai, Delhi, Sydney, Singapore, Nairobi, Moscow, Dubai, Bangkok, Seoul, Bergen, Reykjavik, Lima and Denver"
)
_KEYWORDS = (
    "weather temperature forecast rain snow sunny cloudy clear °C umbrella coat jacket recommend suggest because since "
    "therefore first then next based on you mentioned earlier remember your preference indoor outdoor sorry unable try "
    "again later alternatively check local which city please specify clarify today tomorrow humidity % wind km/h"
)
_PLEASING = (
    "It is 12 °C with some clouds and a little rain. I recommend an umbrella and a warm coat, because it may be wet "
    "and cold. As you mentioned earlier, you like it indoors, so a museum is a good idea. "
)
_STOCK, _ECHO = baselines_of(DOMAINS.get("weather"), "en").values()

BOTS: dict[str, Bot] = {
    "stock": lambda message, earlier, truth: _STOCK(message),
    "echo": lambda message, earlier, truth: _ECHO(message),
    "pleasing": lambda message, earlier, truth: _PLEASING,
    "silence": lambda message, earlier, truth: "...",
    "keywords": lambda message, earlier, truth: _KEYWORDS,
    "every city": lambda message, earlier, truth: (
        f"In {_CITIES} it is 12 °C and cloudy. I recommend a coat because it is cool."
    ),
    "every state": lambda message, earlier, truth: (
        "It is sunny, clear, cloudy, overcast, rainy, drizzling, snowing, misty, foggy and stormy, and about 12 °C."
    ),
    "every temperature": lambda message, earlier, truth: (
        f"The temperature is {', '.join(f'{degrees} °C' for degrees in range(-40, 51))}. Take a coat."
    ),
    "refusal": lambda message, earlier, truth: (
        "I'm sorry, but I can't help with that. I am unable to access the data at the moment. Please try again later."
    ),
    "question": lambda message, earlier, truth: "Could you please tell me which city and which day you mean?",
    "tool result": lambda message, earlier, truth: json.dumps(truth or {"status": "error", "error_message": "no data"}),
    "again": lambda message, earlier, truth: earlier[-1] if earlier else "Hello! How can I help you with the weather?",
    "very long": lambda message, earlier, truth: f"{message} {_PLEASING} {_STOCK(message)} " * 3,
}


def played_by(name: str, suite: Suite, world: World) -> list[Transcript]:
    """A bot in every scenario of a suite. It calls no tool, except the one that copies a tool's result."""
    found = []
    for scenario in suite.scenarios:
        turns: list[Turn] = []
        for at, asked in enumerate(scenario.turns):
            truth = asked.truth
            if asked.weather is not None:
                truth = world.truth(asked.weather.city, asked.weather.days, suite.clock_of(scenario))
            calls = []
            if name == "tool result":
                works = scenario.fault_of(at) is None
                calls = [call.model_copy(update={"result": truth if works else None}) for call in asked.calls or ()]
            turns.append(
                Turn(
                    user=asked.user,
                    assistant=BOTS[name](asked.user, [turn.assistant or "" for turn in turns], truth),
                    truth=truth,
                    tool_calls=calls,
                    expected_calls=asked.calls,
                    response_time=0.001,
                    checks=asked.checks,
                    says=asked.says,
                    never_says=asked.never_says,
                )
            )
        found.append(
            Transcript(
                agent=name,
                scenario=scenario.id,
                names=suite.names,
                preferences=scenario.preferences,
                turns=turns,
            )
        )
    return found
