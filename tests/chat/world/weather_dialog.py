"""Messages, tools and tool results for tests of the scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay.chat.world.scripted import ScriptedModel
from assay.chat.world.situation import Situation

NOW = {
    "city": "Helsinki",
    "country": "FI",
    "date": "2026-01-15",
    "weekday": "Thursday",
    "time": "10:00",
    "temperature": -4.2,
    "feels_like": -9.0,
    "condition": "light snow",
    "humidity": 86,
    "wind_speed": 4.1,
    "units": "metric",
}
FORECAST = {
    "city": "Helsinki",
    "country": "FI",
    "today": "2026-01-15",
    "units": "metric",
    "forecast": [
        {"date": "2026-01-16", "weekday": "Friday", "high": -2.0, "low": -7.5, "condition": "snow", "rain_chance": 70},
        {"date": "2026-01-17", "weekday": "Saturday", "high": 1.0, "low": -3.0, "condition": "mist", "rain_chance": 10},
        {"date": "2026-01-18", "weekday": "Sunday", "high": 2.0, "low": -1.0, "condition": "fog", "rain_chance": 0},
    ],
}


def tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties}},
    }


TOOLS = [
    tool("get_current_weather", "city"),
    tool("get_weather_forecast", "city", "days"),
    tool("get_user_preferences"),
    tool("update_user_preferences_from_insight", "insight"),
]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(*calls: tuple[str, dict[str, Any], object]) -> list[dict[str, Any]]:
    """A message with tool calls and one message for each result; a result that is a string is not encoded again."""
    asked = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments, _) in enumerate(calls)
    ]
    results = [
        {
            "role": "tool",
            "tool_call_id": f"call_{at}",
            "content": result if isinstance(result, str) else json.dumps(result),
        }
        for at, (_, _, result) in enumerate(calls)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": asked}, *results]


def calls_for(model: ScriptedModel, *messages: dict[str, Any], **options: Any) -> list[tuple[str, dict[str, Any]]]:
    move = model.respond(messages, TOOLS, Situation(), **options)
    return [(call.name, dict(call.arguments)) for call in move.calls]


def answer(model: ScriptedModel, *messages: dict[str, Any], tools: Sequence[dict[str, Any]] = TOOLS) -> str:
    text = model.respond(messages, tools, Situation()).text
    assert text is not None
    return text
