"""From recorded messages to events: takes topic and JSON fields, returns events in the form of the golden files.

Shared by the JSON encoding and by OWAMcap recordings, which contain the same messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

RAW_MOUSE = "mouse/raw"
ABSOLUTE_MOUSE = "mouse"
ABSOLUTE_FLAGGED = "mouse/raw events with absolute coordinates, left out"

_BUTTONS = {"left": 0x1, "right": 0x4, "middle": 0x10, "x1": 0x40, "x2": 0x100}
_WHEEL, _HORIZONTAL_WHEEL = 0x400, 0x800
_NOTCH = 120

Event = dict[str, Any]


class MessageReader:
    """Turns messages into events, in order. Remembers the pointer's position, since `mouse` events are absolute."""

    def __init__(self) -> None:
        self.notes: Counter[str] = Counter()
        """What was left out, and how often."""
        self.place: tuple[int, int] | None = None
        """The pointer's last known position, if any."""

    def read(self, topic: str, message: object, time_ns: object) -> list[Event | None]:
        """The events of one message: usually one; none if it is left out; [None] if it is invalid."""
        if not isinstance(message, Mapping):
            return [None]
        if topic == "keyboard":
            return [_keyboard(message, time_ns)]
        if topic == "screen":
            return [{"kind": "screen", "ts": time_ns}]
        if topic == RAW_MOUSE:
            return self._raw(message, time_ns)
        if topic == ABSOLUTE_MOUSE:
            return self._absolute(message, time_ns)
        return []

    def _raw(self, message: Mapping[str, Any], time_ns: object) -> list[Event | None]:
        if message.get("us_flags", 0) != 0:
            self.notes[ABSOLUTE_FLAGGED] += 1
            return []
        data = message.get("button_data", 0)
        return [
            {
                "kind": "mouse",
                "ts": time_ns,
                "dx": message.get("last_x", message.get("dx", 0)),
                "dy": message.get("last_y", message.get("dy", 0)),
                "flags": message.get("button_flags", 0),
                # Unsigned 16 bits in the recording: 65416 is one notch down.
                "data": data - 65536 if isinstance(data, int) and 32767 < data < 65536 else data,
            }
        ]

    def _absolute(self, message: Mapping[str, Any], time_ns: object) -> list[Event | None]:
        x, y, what = message.get("x"), message.get("y"), message.get("event_type")
        if not isinstance(x, int) or not isinstance(y, int):
            return [None]
        before = self.place or (x, y)
        self.place = (x, y)
        event = {"kind": "mouse", "ts": time_ns, "dx": x - before[0], "dy": y - before[1], "flags": 0, "data": 0}
        if what == "move":
            return [event]
        if what == "click":
            down = _BUTTONS.get(str(message.get("button")))
            if down is None:
                return [None]
            return [event | {"flags": down if message.get("pressed") else down << 1}]
        if what == "scroll":
            return _scrolls(event, message.get("dx", 0), message.get("dy", 0))
        return [None]


def _scrolls(event: Event, across: object, along: object) -> list[Event | None]:
    """A scroll as one wheel event per axis that turned; only the first has the movement."""
    if not isinstance(across, int | float) or not isinstance(along, int | float):
        return [None]
    turned = [(_WHEEL, along), (_HORIZONTAL_WHEEL, across)]
    events: list[Event | None] = []
    for flag, notches in turned:
        if notches:
            events.append(event | {"flags": flag, "data": round(notches * _NOTCH)})
            event = event | {"dx": 0, "dy": 0}
    return events or [event]


def _keyboard(message: Mapping[str, Any], time_ns: object) -> Event | None:
    action = message.get("event_type")
    if action not in ("press", "release"):
        return None
    return {"kind": "keyboard", "ts": time_ns, "vk": message.get("vk"), "press": action == "press"}


def frame_pts_ns(message: object) -> int | None:
    """A frame's presentation time in its video: `media_ref.pts_ns`, or `pts` in older recordings."""
    if not isinstance(message, Mapping):
        return None
    reference = message.get("media_ref")
    pts = reference.get("pts_ns") if isinstance(reference, Mapping) else message.get("pts_ns", message.get("pts"))
    return pts if isinstance(pts, int) else None
