"""States as bytes: what one case left behind, small, with a version, and safe to read from strangers.

    blob    = b"A", version, packing (0 plain, 1 zlib), body
    body    = number of states, then for each: name, kind, payload
    integer = length in one byte, then two's complement, least significant byte first
    array   = letter of the type, number of elements, then the elements, least significant byte first

Lengths are checked against what is left before anything is allocated, and nothing in a blob is ever executed. Reading
knows every version that was ever written; writing knows the last one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import StoreError
from assay.types import Distribution, InOrder, Joint, Moments, Ratio, State

VERSION = 1
_MAGIC = b"A"
_PLAIN, _ZLIB = 0, 1
_LENGTH = struct.Struct("<I")
_SHORTEST_PACKED = 200  # below this, the dictionary that zlib would need to save anything is not there yet
# What a blob may unpack to. A day of events is a few megabytes; PostgreSQL's own limit for a value is 1 GiB.
_LARGEST = 1 << 30
_SMALL = 64  # states up to this many bytes are looked up before they are made: scores repeat all the time

_INTEGERS: dict[bytes, np.dtype[Any]] = {
    b"b": np.dtype("<i1"),
    b"h": np.dtype("<i2"),
    b"i": np.dtype("<i4"),
    b"q": np.dtype("<i8"),
}
_LETTERS = {kind: letter for letter, kind in _INTEGERS.items()}
_FLOATS = np.dtype("<f8")

Cache = dict[bytes, State]


def encode(states: Mapping[str, State]) -> bytes:
    """The states of one case, by name."""
    parts = [_LENGTH.pack(len(states))]
    for name, state in states.items():
        letter, write = _WRITERS[type(state)]
        text, payload = name.encode(), write(state)
        parts += [_LENGTH.pack(len(text)), text, letter, _LENGTH.pack(len(payload)), payload]
    body = b"".join(parts)
    if len(body) >= _SHORTEST_PACKED:
        packed = zlib.compress(body, 1)
        if len(packed) < len(body):
            return _MAGIC + bytes((VERSION, _ZLIB)) + packed
    return _MAGIC + bytes((VERSION, _PLAIN)) + body


def decode(blob: bytes, cache: Cache | None = None) -> dict[str, State]:
    """What `encode` was given. Equal small states are one object where callers share a `cache`: states never change."""
    if len(blob) < 3 or blob[:1] != _MAGIC:
        raise _damaged("it is no tally")
    if blob[1] != VERSION:
        raise StoreError(f"a tally is in form {blob[1]}, and this assay knows form {VERSION}", hint="Use a newer assay")
    try:
        return _read(_unpacked(blob), {} if cache is None else cache)
    except (struct.error, UnicodeDecodeError, ValueError, zlib.error) as error:
        raise _damaged(str(error)) from error


def _unpacked(blob: bytes) -> bytes:
    if blob[2] == _PLAIN:
        return blob[3:]
    if blob[2] != _ZLIB:
        raise _damaged(f"packing {blob[2]} is unknown")
    unpacking = zlib.decompressobj()
    body = unpacking.decompress(blob[3:], _LARGEST)
    if not unpacking.eof:
        raise _damaged("it is cut short or too large")
    return body


def _read(body: bytes, cache: Cache) -> dict[str, State]:
    (count,) = _LENGTH.unpack_from(body)
    at = _LENGTH.size
    states: dict[str, State] = {}
    for _ in range(count):
        name, at = _slice(body, at)
        letter = body[at : at + 1]
        payload, at = _slice(body, at + 1)
        key = letter + payload if len(payload) <= _SMALL else b""
        state = cache.get(key)
        if state is None:
            if letter not in _READERS:
                raise _damaged(f"there is no kind of state {letter!r}")
            state = _READERS[letter](payload)
            if key:
                cache[key] = state
        states[name.decode()] = state
    if at != len(body):
        raise _damaged("something follows its end")
    return states


def _slice(body: bytes, at: int) -> tuple[bytes, int]:
    """The bytes of which the length stands at `at`, and where they end."""
    (length,) = _LENGTH.unpack_from(body, at)
    start = at + _LENGTH.size
    end = start + length
    if end > len(body):
        raise ValueError("a length is beyond its end")
    return body[start:end], end


def _damaged(why: str) -> StoreError:
    return StoreError(f"a tally in the store is damaged: {why}", hint="Delete the run and evaluate again")


# --- each kind of state ---------------------------------------------------------------------------------------------


def _write_integers(*values: int) -> bytes:
    parts = []
    for value in values:
        length = value.bit_length() // 8 + 1
        parts += [bytes((length,)), int(value).to_bytes(length, "little", signed=True)]
    return b"".join(parts)


def _read_integers(payload: bytes, count: int) -> list[int]:
    values, at = [], 0
    for _ in range(count):
        end = at + 1 + (payload[at] if at < len(payload) else len(payload))
        if end > len(payload):
            raise ValueError("an integer is cut short")
        values.append(int.from_bytes(payload[at + 1 : end], "little", signed=True))
        at = end
    if at != len(payload):
        raise ValueError("there are too many integers")
    return values


def _write_whole(values: NDArray[np.integer[Any]]) -> bytes:
    kind = values.dtype.newbyteorder("<")
    if kind not in _LETTERS:
        kind = _INTEGERS[b"q"]
    return _LETTERS[kind] + _LENGTH.pack(len(values)) + values.astype(kind, copy=False).tobytes()


def _read_whole(payload: bytes, at: int) -> tuple[NDArray[np.integer[Any]], int]:
    kind = _INTEGERS.get(payload[at : at + 1])
    if kind is None:
        raise ValueError("an array is of no known type")
    return _array(payload, at + 1, kind)


def _write_floats(values: NDArray[np.float64]) -> bytes:
    return _LENGTH.pack(len(values)) + values.astype(_FLOATS, copy=False).tobytes()


def _array(payload: bytes, at: int, kind: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    (length,) = _LENGTH.unpack_from(payload, at)
    start = at + _LENGTH.size
    end = start + length * kind.itemsize
    if end > len(payload):
        raise ValueError("an array is cut short")
    # A copy in the machine's own order: aligned, and it does not keep the whole blob alive.
    values = np.frombuffer(payload, kind, length, start).astype(kind.newbyteorder("="))
    values.flags.writeable = False
    return values, end


def _smallest(counts: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Counts in as few bytes as hold them all."""
    top = int(counts.max()) if len(counts) else 0
    return counts.astype(next(kind for kind in _INTEGERS.values() if top < 2 ** (8 * kind.itemsize - 1)), copy=False)


def _write_distribution(state: Distribution) -> bytes:
    return _write_floats(state.values) + _write_whole(_smallest(state.counts))


def _read_distribution(payload: bytes) -> Distribution:
    values, at = _array(payload, 0, _FLOATS)
    counts, at = _read_whole(payload, at)
    if at != len(payload) or len(values) != len(counts):
        raise ValueError("a distribution's values and counts do not match")
    if not (values[1:] > values[:-1]).all() or np.isnan(values).any() or not (counts > 0).all():
        raise ValueError("a distribution is not in order")
    wide = counts.astype(np.int64)
    wide.flags.writeable = False
    return Distribution(values, wide)


def _write_joint(state: Joint) -> bytes:
    columns = b"".join(_write_whole(column) for column in state.columns)
    return bytes((len(state.columns),)) + columns + _write_whole(state.occurrences)


def _read_joint(payload: bytes) -> Joint:
    if not payload:
        raise ValueError("a joint distribution is empty")
    columns, at = [], 1
    for _ in range(payload[0]):
        column, at = _read_whole(payload, at)
        columns.append(column)
    occurrences, at = _read_whole(payload, at)
    if at != len(payload) or any(len(column) != len(occurrences) for column in columns):
        raise ValueError("a joint distribution's columns do not match")
    if not (occurrences > 0).all():
        raise ValueError("a joint distribution holds a row that never occurred")
    return Joint(tuple(columns), occurrences)


def _read_in_order(payload: bytes) -> InOrder:
    values, at = _array(payload, 0, _FLOATS)
    if at != len(payload):
        raise ValueError("a list of values has something behind it")
    return InOrder(values)


_WRITERS: dict[type, tuple[bytes, Callable[[Any], bytes]]] = {
    Ratio: (b"R", lambda state: _write_integers(state.hits, state.total)),
    Moments: (b"M", lambda state: _write_integers(state.n, state.total, state.squares)),
    Distribution: (b"D", _write_distribution),
    Joint: (b"J", _write_joint),
    InOrder: (b"O", lambda state: _write_floats(state.values)),
}
_READERS: dict[bytes, Callable[[bytes], State]] = {
    b"R": lambda payload: Ratio(*_read_integers(payload, 2)),
    b"M": lambda payload: Moments(*_read_integers(payload, 3)),
    b"D": _read_distribution,
    b"J": _read_joint,
    b"O": _read_in_order,
}
