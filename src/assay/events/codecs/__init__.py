"""Encodings of events as text: token encodings (hierarchical, factorized) and JSON.

`codec(name)` returns one of them, optionally with other settings. A codec decodes, encodes, and quantises events of
other sources as its encoding would, so that both sides of an evaluation are comparable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from assay.errors import UsageError, missing_extra, unknown_name
from assay.events.stream import EventStream

NAMES = ("hierarchical", "hierarchical-time-first", "factorized", "json")


class Codec(Protocol):
    """The interface of every encoding."""

    @property
    def name(self) -> str: ...

    @property
    def wrap_ns(self) -> int | None:
        """Period after which the encoding's clock wraps around, or None."""

    def decode(self, text: str | bytes) -> EventStream:
        """All events of one text."""

    def decode_each(self, texts: list[str] | list[bytes]) -> EventStream:
        """One event from each text; a text that is not exactly one event is one invalid event."""

    def encode_each(self, stream: EventStream) -> list[str]:
        """One text per event. Invalid events cannot be encoded."""

    def quantise(self, stream: EventStream) -> EventStream:
        """The events as they would be after encoding and decoding."""

    def to_json(self) -> dict[str, Any]:
        """Its name and all its settings; `codec_from_json` restores the codec."""


def codec(name: str, **settings: Any) -> Codec:
    """The encoding called `name`, with `settings` in place of its defaults (see `TokenCodec`).

    Example:
        >>> codec("hierarchical", unit_ns=20_000_000).unit_ns
        20000000

    """
    if name not in NAMES:
        raise unknown_name("encoding", name, NAMES)
    if name == "json":
        from assay.events.codecs.json import JsonCodec

        settings.pop("strict", None)  # JSON has no digits, so none can exceed its base
        if settings:
            raise UsageError(f"the json encoding has no setting '{next(iter(settings))}'")
        return JsonCodec()
    try:
        from assay.events.codecs.tokens import TokenCodec
    except ImportError as error:
        raise missing_extra("numba", "events", "decode token text") from error
    return TokenCodec.named(name, **settings)


def codec_from_json(data: Mapping[str, Any]) -> Codec:
    """The encoding that `to_json` described."""
    settings = dict(data)
    return codec(settings.pop("name"), **settings)


def encode(stream: EventStream, encoding: str = "hierarchical", **settings: Any) -> str:
    """The events as one text.

    Example:
        >>> from assay.events import decode
        >>> text = "<EVENT_START><KEYBOARD><0><1><2><65><press><EVENT_END>"
        >>> encode(decode(text)) == text
        True

    """
    return "".join(codec(encoding, **settings).encode_each(stream))
