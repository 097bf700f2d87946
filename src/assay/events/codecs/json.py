"""Events as JSON between <EVENT_START> and <EVENT_END>: `{"topic":…,"timestamp":…,"message_type":…,"message":…}`.

Nothing is quantised, so encoding loses nothing. The framing rules are those of the token encodings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.errors import UsageError
from assay.events.messages import Event, MessageReader
from assay.events.stream import IGNORED_BYTES, EventStream, Problem

_START, _END = "<EVENT_START>", "<EVENT_END>"
_MARK = re.compile(f"{_START}|{_END}")
_TYPES = {"keyboard": "desktop/KeyboardEvent", "mouse/raw": "desktop/RawMouseEvent", "screen": "desktop/ScreenCaptured"}


@dataclass(frozen=True)
class JsonCodec:
    """The json encoding; it has no settings."""

    name: str = "json"
    wrap_ns: None = None

    def to_json(self) -> dict[str, Any]:
        """Its name; it has no settings."""
        return {"name": self.name}

    def decode(self, text: str | bytes) -> EventStream:
        """All events of one text; text between events is ignored and counted."""
        whole = _text(text)
        found = list(_framed(whole))
        stream = _stream([body for body, _, _ in found])
        outside = _between(whole, [(begin, end) for _, begin, end in found])
        if ignored := sum(len(part.encode("utf-8", "replace")) for part in outside):
            stream.notes[IGNORED_BYTES] += ignored
        return stream

    def decode_each(self, texts: list[str] | list[bytes]) -> EventStream:
        """One event from each text; a text that is not exactly one event is one invalid event."""
        bodies: list[str | Problem] = []
        for text in texts:
            whole = _text(text).strip()
            found = list(_framed(whole))
            alone = len(found) == 1 and found[0][1:] == (0, len(whole))
            bodies.append(found[0][0] if alone else Problem.UNFRAMED)
        return _stream(bodies)

    def encode_each(self, stream: EventStream) -> list[str]:
        """One text per event."""
        texts = []
        for at, event in enumerate(stream.to_events()):
            if event is None:
                raise UsageError("an invalid event cannot be encoded", where=f"event {at}", hint="Leave it out first")
            texts.append(_START + json.dumps(_message(event), separators=(",", ":")) + _END)
        return texts

    def quantise(self, stream: EventStream) -> EventStream:
        """The same events: JSON represents every value exactly."""
        return stream


def _framed(text: str) -> Iterator[tuple[str | Problem, int, int]]:
    """The text between each <EVENT_START> and its <EVENT_END>, or CUT_SHORT, and where the event begins and ends."""
    begin: int | None = None
    for mark in _MARK.finditer(text):
        if mark[0] == _START:
            if begin is not None:
                yield Problem.CUT_SHORT, begin, mark.start()
            begin = mark.start()
        elif begin is not None:
            yield text[begin + len(_START) : mark.start()], begin, mark.end()
            begin = None
    if begin is not None:
        yield Problem.CUT_SHORT, begin, len(text)


def _between(text: str, spans: list[tuple[int, int]]) -> Iterator[str]:
    """The parts of the text outside these spans."""
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), len(text)]
    return (text[end:begin] for end, begin in zip(ends, begins, strict=True))


def _stream(bodies: list[str | Problem]) -> EventStream:
    reader = MessageReader()
    stream = EventStream.allocate(len(bodies), quantised=None)
    for at, body in enumerate(bodies):
        if isinstance(body, Problem):
            stream.problem[at] = body
        else:
            stream.put(at, _event(body, reader))
    stream.notes.update(reader.notes)
    return stream


def _event(body: str, reader: MessageReader) -> Event | None:
    try:
        fields = json.loads(body)
        message = fields["message"]
        # Depending on the writer, the message is an object or a string that contains one.
        message = json.loads(message) if isinstance(message, str) else message
        time_ns = fields.get("timestamp", fields.get("timestamp_ns"))
        events = reader.read(str(fields["topic"]), message, time_ns)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return events[0] if len(events) == 1 else None


def _message(event: dict[str, Any]) -> dict[str, Any]:
    if event["kind"] == "keyboard":
        topic = "keyboard"
        message: dict[str, Any] = {"event_type": "press" if event["press"] else "release", "vk": event["vk"]}
    elif event["kind"] == "mouse":
        topic = "mouse/raw"
        message = {"last_x": event["dx"], "last_y": event["dy"], "button_flags": event["flags"]}
        message["button_data"] = event["data"]
    else:
        topic, message = "screen", {}
    return {"topic": topic, "timestamp": event["ts"], "message_type": _TYPES[topic], "message": message}


def _text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "replace")
