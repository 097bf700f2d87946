"""Finished shards of events in the store, in a form that is safe to read: a heading in JSON, then the states as bytes.

content = zlib of: number of bytes of the heading in eight bytes, heading, states of each episode
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from assay.errors import StoreError
from assay.events.input import Input
from assay.events.shards import ShardTally
from assay.events.stream import Episode
from assay.events.tally import Tally
from assay.store.encoding import Decoder, encode_states
from assay.store.shards import FinishedShards
from assay.store.store import Store
from assay.store.texts import json_text

if TYPE_CHECKING:
    from assay.chat.scoring.streaming import ScoredChunk

_LENGTH = 8


class ShardsInStore:
    """Keeps the finished shards of an evaluation in a store; `reused` counts those that were there already."""

    def __init__(self, store: Store) -> None:
        self._shards = FinishedShards(store)
        self.reused = 0

    def load(self, keys: Sequence[str]) -> dict[str, ShardTally]:
        """As `ShardKeeper.load`. A shard that is damaged is scored again."""
        found = {}
        for key, content in self._shards.load(keys):
            try:
                found[key] = _decoded(content)
            except (StoreError, ValueError, KeyError, TypeError, IndexError, zlib.error):
                continue
        self.reused += len(found)
        return found

    def keep(self, key: str, found: ShardTally) -> None:
        """As `ShardKeeper.keep`."""
        self._shards.keep(key, encoded_shard(found))

    def forget(self, keys: Sequence[str]) -> None:
        """As `ShardKeeper.forget`."""
        self._shards.forget(keys)


class ChunksInStore:
    """Keeps the scored chunks of a file of transcripts in a store; `reused` counts those that were there already."""

    def __init__(self, store: Store) -> None:
        self._shards = FinishedShards(store)
        self._keys: set[str] = set()
        self.reused = 0

    def has(self, key: str) -> bool:
        """As `ChunkKeeper.has`."""
        self._keys.add(key)
        known = self._shards.has(key)
        self.reused += known
        return known

    def load(self, key: str) -> ScoredChunk:
        """As `ChunkKeeper.load`."""
        from assay.chat.formats.unanswered import Unanswered
        from assay.chat.scoring.answers import Answer
        from assay.chat.scoring.streaming import ScoredChunk

        content = dict(self._shards.load([key]))[key]
        try:
            kept = json.loads(zlib.decompress(content))
            return ScoredChunk(
                [
                    (agent, scenario, n, passed, bytes.fromhex(codes))
                    for agent, scenario, n, passed, codes in kept["cells"]
                ],
                [Answer.from_json(answer) for answer in kept["answers"]],
                kept["texts"],
                kept["transcripts"],
                kept["missing"],
                Unanswered(*kept["unanswered"]),
            )
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            self._shards.forget([key])
            raise StoreError("scores that were kept are damaged and now deleted", hint="Start again") from error

    def keep(self, key: str, found: ScoredChunk) -> None:
        """As `ChunkKeeper.keep`."""
        kept = {
            "cells": [[*cell[:4], cell[4].hex()] for cell in found.cells],
            "answers": [answer.to_row() for answer in found.answers],
            "texts": found.texts,
            "transcripts": found.transcripts,
            "missing": found.missing,
            "unanswered": astuple(found.unanswered),
        }
        self._shards.keep(key, zlib.compress(json_text(kept).encode(), 1))

    def forget(self) -> None:
        """Nothing has to be kept any more."""
        self._shards.forget(sorted(self._keys))


def encoded_shard(found: ShardTally) -> bytes:
    """The tally of a shard as bytes."""
    cases: dict[str, list[Any]] = {}
    blobs: list[bytes] = []
    for protocol, tally in found.tallies.items():
        states = tally.states()
        entries = cases[protocol] = []
        for episode in tally.arrived:
            blobs.append(encode_states(states[episode]))
            entries.append([*astuple(episode), len(blobs[-1])])
    heading = {
        "cases": cases,
        "inputs": [
            side.to_json() | {"spoiled_kinds": side.spoiled_kinds, "episodes": sorted(side.episodes)}
            for side in found.inputs
        ],
        "blocks": [b"".join(side).hex() for side in found.blocks],
    }
    text = json.dumps(heading).encode()
    return zlib.compress(len(text).to_bytes(_LENGTH, "little") + text + b"".join(blobs), 1)


def _decoded(content: bytes) -> ShardTally:
    raw = zlib.decompress(content)
    end = _LENGTH + int.from_bytes(raw[:_LENGTH], "little")
    heading = json.loads(raw[_LENGTH:end])
    decoder, tallies = Decoder(), {}
    for protocol, entries in heading["cases"].items():
        tally = tallies[protocol] = Tally()
        for *properties, length in entries:
            tally.add(Episode(*properties), decoder.decode(raw[end : end + length]))
            end += length
    sides = [_input(kept) for kept in heading["inputs"]]
    blocks = [bytes.fromhex(text) for text in heading["blocks"]]
    cut = [[side[at : at + 32] for at in range(0, len(side), 32)] for side in blocks]
    return ShardTally(tallies, (sides[0], sides[1]), (cut[0], cut[1]))


def _input(kept: dict[str, Any]) -> Input:
    found = Input.from_json(kept, set(kept["episodes"]))
    found.spoiled_kinds = Counter(kept["spoiled_kinds"])
    return found
