"""Sample events and golden files, shared by the tests of encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.events import codec
from assay.events.codecs.tokens import TokenCodec

GOLDEN = Path(__file__).parents[1] / "golden"
TOKEN_ENCODINGS = ("hierarchical", "hierarchical-time-first", "factorized")

SCREEN = "<EVENT_START><SCREEN><0><0><5><fake_image_placeholder><EVENT_END>"
PRESS_A = "<EVENT_START><KEYBOARD><0><0><3><65><press><EVENT_END>"
MOVE = "<EVENT_START><MOUSE><0><0><0><0><1><0><19><2><9><3><4><0><0><0><EVENT_END>"  # dx 23, dy −6

Event = dict[str, Any]


def token_codec(name: str, **settings: Any) -> TokenCodec:
    found = codec(name, **settings)
    assert isinstance(found, TokenCodec)
    return found


def golden(encoding: str) -> list[dict[str, Any]]:
    lines = (GOLDEN / f"codec_{encoding}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
