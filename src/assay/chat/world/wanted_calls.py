"""The tool calls that a turn of a suite expects, on their way to the scripted model, which makes them.

They are sent only if one of them is of a tool that the bundled assistants do not have: which of their tools a question
needs, the scripted model decides itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.chat.transcript import ToolCall

CURRENT, FORECAST = "get_current_weather", "get_weather_forecast"
PREFERENCES, LEARN = "get_user_preferences", "update_user_preferences_from_insight"
DELETE = "delete_user_preferences"
SEARCH, ORDER, CANCEL, LIST = "search_products", "place_order", "cancel_order", "list_orders"
BUNDLED_TOOLS = frozenset({CURRENT, FORECAST, PREFERENCES, LEARN, DELETE, SEARCH, ORDER, CANCEL, LIST})
"""The tools of the bundled assistants, of the weather and of the shop."""


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call that a turn expects. Arguments that are not given may have any value."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)


def wanted_calls(expected: Iterable[ToolCall] | None) -> tuple[WantedCall, ...]:
    """The calls of a turn, if one of them is of a tool that the bundled assistants do not have; otherwise none."""
    calls = tuple(WantedCall(call.name, call.arguments) for call in expected or ())
    is_own = any(call.name not in BUNDLED_TOOLS for call in calls)
    return calls if is_own else ()


def written_calls(calls: Iterable[WantedCall]) -> str:
    """Calls as text."""
    pairs = [[call.name, dict(call.arguments)] for call in calls]
    return json.dumps(pairs, ensure_ascii=False, separators=(",", ":"), default=str)


def read_calls(text: str) -> tuple[WantedCall, ...]:
    """The inverse of `written_calls`; raises ValueError if the text is anything else."""
    try:
        return tuple(WantedCall(str(name), dict(arguments)) for name, arguments in json.loads(text))
    except (TypeError, RecursionError) as error:
        raise ValueError("these are not calls") from error
