"""Spoiled token texts, the same on every run: golden lines cut off, with bytes changed, tokens swapped and joined."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"

# Tokens that are nearly right, that are long, or that begin like another one.
_STRANGE = (
    b"<EVENT_START>",
    b"<EVENT_END>",
    b"<EVENT_START",
    b"<EVENT_",
    b"<",
    b">",
    b"<>",
    b"<<",
    b"<0>",
    b"<00>",
    b"<000>",
    b"<0000>",
    b"<000000000>",
    b"<0000000000>",
    b"<255>",
    b"<256>",
    b"<999>",
    b"<1000>",
    b"<268435455>",
    b"<268435456>",
    b"<999999999>",
    b"<1073741824>",
    b"<99999999999999999999>",
    b"<-1>",
    b"<VK_>",
    b"<VK_0>",
    b"<VK_255>",
    b"<VK_256>",
    b"<VK_999999999>",
    b"<MB_>",
    b"<MB_15>",
    b"<MB_268435456>",
    b"<MB_4",
    b"<SIGN_PLUS>",
    b"<SIGN_MINUS>",
    b"<SIGN_",
    b"<press>",
    b"<release>",
    b"<releasee>",
    b"<KEYBOARD>",
    b"<KEYBOARDD>",
    b"<MOUSE>",
    b"<SCREEN>",
    b"<img>",
    b"</img>",
    b"<fake_token_around_image>",
    b"<fake_token_around_image",
    b"<fake_image_placeholder>",
    b"<fake_image_placeholder",
    b"<global-img>",
    b" ",
    b"\n",
    b"\x00",
    b"\xff\xfe",
    "é".encode(),
    b"x" * 70,
    b"<0>" * 70,
)
_TOKEN = re.compile(rb"<[^<>]*>|[^<]+|<")


def lines(encoding: str) -> list[bytes]:
    """The texts of a golden file."""
    rows = (GOLDEN / f"codec_{encoding}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(row)["text"].encode() for row in rows]


def texts(encoding: str, n: int, seed: int) -> Iterator[bytes]:
    """n damaged texts."""
    chance = random.Random(seed)
    good = lines(encoding)
    for _ in range(n):
        text = b"".join(chance.choices(good, k=chance.choice((1, 1, 1, 2, 3))))
        for _ in range(chance.choice((0, 1, 1, 2, 4))):
            text = _damage(text, chance)
        yield text


def truncations(encoding: str, every: int = 25) -> Iterator[bytes]:
    """Some golden texts, cut off at every byte, from the end and from the beginning."""
    for text in lines(encoding)[::every]:
        for at in range(len(text) + 1):
            yield text[:at]
            yield text[at:]


def _damage(text: bytes, chance: random.Random) -> bytes:
    at, to = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    tokens = _TOKEN.findall(text)
    match chance.randrange(9):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[to:]
        case 2:
            return text[:at] + chance.randbytes(chance.randrange(1, 12)) + text[at:]
        case 3:
            return text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
        case 4 if tokens:
            tokens[chance.randrange(len(tokens))] = chance.choice(_STRANGE)
        case 5 if tokens:
            tokens.insert(chance.randrange(len(tokens)), chance.choice(_STRANGE))
        case 6 if tokens:
            tokens.pop(chance.randrange(len(tokens)))
        case 7 if tokens:
            i, j = (chance.randrange(len(tokens)) for _ in range(2))
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case 8 if chance.random() < 0.1:
            chance.shuffle(tokens)
        case _:
            return text + text[:at]
    return b"".join(tokens)
