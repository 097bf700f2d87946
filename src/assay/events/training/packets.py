"""Rows of events as bytes and back: what processes exchange. Packets may be put end to end in any order.

    packet  = length of the rest (8 bytes), length of the heading (8 bytes), heading, columns
    heading = JSON: events, events in each row, names and strata, counts of alignment, notes
    columns = of the predictions, then of the truths: kind, time, …, as little-endian numbers;
              then log-probabilities, if they are known; then, of each side, positions and tokens of the events that
              are spelled in an unusual way

Nothing in a packet is ever executed, and lengths are checked against what is there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from assay.errors import SourceError
from assay.events.stream import Episode, EventStream
from assay.events.training.alignment import TokenAlignment
from assay.events.training.spans import RowEvents
from assay.types import Ints

_COLUMNS = {
    "kind": "<i1", "time_ns": "<i8", "vk": "<i2", "press": "<u1", "dx": "<i4", "dy": "<i4", "flags": "<i4",
    "data": "<i4", "problem": "<u1",
}  # fmt: skip
_EVENT = sum(np.dtype(kind).itemsize for kind in _COLUMNS.values())


def packed(rows: RowEvents) -> bytes:
    """Rows whose streams say which episode each row belongs to (`tokens.named_rows`)."""
    spelled = [_spelled(side) for side in (rows.predicted, rows.truth)]
    heading = {
        "lengths": rows.lengths.tolist(),
        "episodes": [[episode.name, episode.stratum] for episode in rows.truth.episodes],
        "alignment": list(astuple(rows.alignment)),
        "scores": rows.scores is not None,
        "spellings": [list(tokens.shape) for _, tokens in spelled],
        "notes": [dict(side.notes) for side in (rows.predicted, rows.truth)],
    }
    text = json.dumps(heading, separators=(",", ":")).encode()
    body = [text]
    for side in (rows.predicted, rows.truth):
        body += [np.ascontiguousarray(getattr(side, name), kind).tobytes() for name, kind in _COLUMNS.items()]
    body += [np.ascontiguousarray(scores, "<f8").tobytes() for scores in rows.scores or ()]
    body += [np.ascontiguousarray(array, "<i8").tobytes() for pair in spelled for array in pair]
    whole = b"".join(body)
    return len(whole).to_bytes(8, "little") + len(text).to_bytes(8, "little") + whole


def _spelled(side: EventStream) -> tuple[Ints, Ints]:
    """Positions and tokens of the events that are spelled in an unusual way, shapes (k,) and (k, tokens)."""
    if side.spelling is None or side.spellings is None:
        return np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
    at = np.flatnonzero(side.spelling >= 0)
    return at, side.spellings[side.spelling[at]]


def unpacked(raw: bytes, quantised: Any) -> Iterator[RowEvents]:
    """Every packet of `raw`; `quantised` is the encoding that the events are in."""
    at = 0
    while at < len(raw):
        length, of_heading = (int.from_bytes(raw[at + by : at + by + 8], "little") for by in (0, 8))
        body = raw[at + 16 : at + 16 + length]
        if len(body) != length or of_heading > length:
            raise SourceError(
                "events from another process are cut short", hint="Do all processes run the same version of assay?"
            )
        yield _rows(json.loads(body[:of_heading]), body[of_heading:], quantised)
        at += 16 + length


def _rows(heading: dict[str, Any], columns: bytes, quantised: Any) -> RowEvents:
    lengths = np.array(heading["lengths"], np.int64)
    n = int(lengths.sum())
    size_of_scores = 8 * n if heading["scores"] else 0
    size_of_spellings = sum(8 * k * (1 + width) for k, width in heading["spellings"])
    if len(columns) != 2 * (n * _EVENT + size_of_scores) + size_of_spellings:
        raise SourceError(
            f"{len(columns)} bytes do not hold {n} events", hint="Do all processes run the same version of assay?"
        )
    known = tuple(Episode(name, stratum) for name, stratum in heading["episodes"])
    number = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    sides = []
    at = 0
    for notes in heading["notes"]:
        stream = EventStream.allocate(n, episodes=known, notes=Counter(notes), quantised=quantised)
        stream.episode[:] = number
        for name, kind in _COLUMNS.items():
            size = n * np.dtype(kind).itemsize
            getattr(stream, name)[:] = np.frombuffer(columns[at : at + size], kind)
            at += size
        sides.append(stream)
    scores = np.frombuffer(columns[at : at + 2 * size_of_scores], "<f8").reshape(2, n) if heading["scores"] else None
    at += 2 * size_of_scores
    for side, (k, width) in enumerate(heading["spellings"]):
        if not k:
            continue
        numbers = np.frombuffer(columns[at : at + 8 * k * (1 + width)], "<i8")
        at += 8 * k * (1 + width)
        spelling = np.full(n, -1, np.int32)
        spelling[numbers[:k]] = np.arange(k)
        sides[side] = replace(sides[side], spelling=spelling, spellings=numbers[k:].reshape(k, width))
    known_scores = None if scores is None else (scores[0], scores[1])
    return RowEvents(sides[0], sides[1], lengths, TokenAlignment(*heading["alignment"]), known_scores)
