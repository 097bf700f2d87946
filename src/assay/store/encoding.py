"""The states of one case as bytes: compact, with a version, and safe to read from untrusted sources.

    blob    = b"A", version, packing (0 plain, 1 zlib), body
    body    = length of the heading, heading, payloads
    heading = for each state: length of its name, name, letter of its kind, length of its payload
    length  = seven bits a byte, least significant first, the eighth set in all but the last
    integer = number of bytes in one byte, then two's complement, least significant byte first
    array   = letter of the type (integers only), number of elements, elements, least significant byte first

Cases of one run mostly have the same heading, so it is parsed once; and scores repeat, so small states are looked up
before they are created. Lengths are checked against the actual size before anything is allocated, and nothing in a blob
is ever executed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import StoreError
from assay.types import Distribution, InOrder, Joint, Moments, Ratio, State

FORMAT_VERSION = 1
_MAGIC = b"A"
_PLAIN, _ZLIB = 0, 1
_SHORTEST_PACKED = 1000  # below this, setting up zlib takes longer than everything else and saves little
# Largest unpacked size of a blob. A day of events is a few megabytes; PostgreSQL's limit for a value is 1 GiB.
_LARGEST = 1 << 30
_SMALL = 64  # states of up to this many bytes are shared
_SHARED, _HEADINGS = 100_000, 1_000  # entries of a cache before it is cleared

_INTEGERS: dict[bytes, np.dtype[Any]] = {letter: np.dtype(f"<{letter.decode()}") for letter in (b"b", b"h", b"i", b"q")}
_LETTERS = {kind: letter for letter, kind in _INTEGERS.items()}
_FLOATS = np.dtype("<f8")
_SINGLE = struct.Struct("<BdcBb")
_NOTHING = b"\0b\0"  # a distribution without values: no floats, and no counts in bytes

_Shared = dict[bytes, State]
_Heading = list[tuple[str, Callable[[bytes], State], _Shared, int, int]]


def encode_states(states: Mapping[str, State]) -> bytes:
    """The states of one case, by name."""
    headings, payloads = [], []
    for name, state in states.items():
        letter, write = _WRITERS[type(state)]
        payload = write(state)
        headings.append(_heading_part(name, letter, len(payload)))
        payloads.append(payload)
    heading = b"".join(headings)
    body = b"".join((_length(len(heading)), heading, *payloads))
    if len(body) >= _SHORTEST_PACKED:
        packed = zlib.compress(body, 1)
        if len(packed) < len(body):
            return _MAGIC + bytes((FORMAT_VERSION, _ZLIB)) + packed
    return _MAGIC + bytes((FORMAT_VERSION, _PLAIN)) + body


@lru_cache(maxsize=4096)
def _heading_part(name: str, letter: bytes, length: int) -> bytes:
    text = name.encode("utf-8", "surrogatepass")
    return _length(len(text)) + text + letter + _length(length)


class Decoder:
    """Reads blobs and caches what they have in common. States are immutable, so equal small ones share one object."""

    def __init__(self) -> None:
        self._shared: dict[bytes, _Shared] = {letter: {} for letter in _READERS}
        self._headings: dict[bytes, _Heading] = {}

    def decode(self, blob: bytes) -> dict[str, State]:
        """The states that were given to `encode_states`."""
        if len(blob) < 3 or blob[:1] != _MAGIC:
            raise _damaged("it is not a tally")
        if blob[1] != FORMAT_VERSION:
            hint = "Upgrade assay"
            raise StoreError(
                f"a tally has format {blob[1]}, and this assay supports format {FORMAT_VERSION}", hint=hint
            )
        try:
            return self._read(_unpacked(blob))
        except (struct.error, UnicodeDecodeError, ValueError, IndexError, zlib.error) as error:
            raise _damaged(str(error)) from error

    def _read(self, body: bytes) -> dict[str, State]:
        length, start = _read_length(body, 0)
        raw = body[start : start + length]
        heading = self._headings.get(raw)
        if heading is None:
            heading = self._read_heading(raw, start + length)
            if len(self._headings) >= _HEADINGS:
                self._headings.clear()
            self._headings[raw] = heading
        if len(raw) != length or (heading[-1][4] if heading else start + length) != len(body):
            raise ValueError("its lengths do not match")
        states: dict[str, State] = {}
        for name, read, shared, begin, end in heading:
            payload = body[begin:end]
            state = shared.get(payload)
            if state is None:
                state = read(payload)
                if len(payload) <= _SMALL:
                    if len(shared) >= _SHARED:
                        shared.clear()
                    shared[payload] = state
            states[name] = state
        return states

    def _read_heading(self, raw: bytes, begin: int) -> _Heading:
        """For each state: its name, the reader and the cache for its kind, and where its payload starts and ends."""
        heading: _Heading = []
        at = 0
        while at < len(raw):
            length, at = _read_length(raw, at)
            name, letter = raw[at : at + length], raw[at + length : at + length + 1]
            if letter not in _READERS:
                raise ValueError(f"unknown kind of state {letter!r}")
            size, at = _read_length(raw, at + length + 1)
            text = name.decode("utf-8", "surrogatepass")
            heading.append((text, _READERS[letter], self._shared[letter], begin, begin + size))
            begin += size
        return heading


def decode_states(blob: bytes) -> dict[str, State]:
    """The states in a single blob."""
    return Decoder().decode(blob)


def _unpacked(blob: bytes) -> bytes:
    if blob[2] == _PLAIN:
        return blob[3:]
    if blob[2] != _ZLIB:
        raise ValueError(f"packing {blob[2]} is unknown")
    unpacking = zlib.decompressobj()
    body = unpacking.decompress(blob[3:], _LARGEST)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("it is cut short or too large")
    return body


def _length(n: int) -> bytes:
    parts = bytearray()
    while n > 127:
        parts.append(n & 127 | 128)
        n >>= 7
    parts.append(n)
    return bytes(parts)


def _read_length(raw: bytes, at: int) -> tuple[int, int]:
    """A length, and the position after it."""
    n = shift = 0
    while True:
        byte = raw[at]
        at += 1
        n |= (byte & 127) << shift
        if byte < 128:
            return n, at
        shift += 7
        if shift > 63:
            raise ValueError("a length is too long")


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
    return _LETTERS[kind] + _length(len(values)) + values.astype(kind, copy=False).tobytes()


def _read_whole(payload: bytes, at: int) -> tuple[NDArray[np.integer[Any]], int]:
    kind = _INTEGERS.get(payload[at : at + 1])
    if kind is None:
        raise ValueError("an array has an unknown type")
    return _array(payload, at + 1, kind)


def _write_floats(values: NDArray[np.float64]) -> bytes:
    return _length(len(values)) + values.astype(_FLOATS, copy=False).tobytes()


def _array(payload: bytes, at: int, kind: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    length, start = _read_length(payload, at)
    end = start + length * kind.itemsize
    if end > len(payload):
        raise ValueError("an array is cut short")
    # A copy in native byte order: aligned, and it does not keep the whole blob in memory.
    values = np.frombuffer(payload, kind, length, start).astype(kind.newbyteorder("="))
    values.flags.writeable = False
    return values, end


def _write_counts(counts: NDArray[np.int64]) -> bytes:
    """Counts in the smallest integer type that holds them all."""
    top = int(counts.max()) if len(counts) else 0
    return _write_whole(counts.astype(next(k for k in _INTEGERS.values() if top < 2 ** (8 * k.itemsize - 1))))


def _write_distribution(state: Distribution) -> bytes:
    if not len(state.values):
        return _NOTHING  # most metrics have nothing to measure in most scenarios
    if len(state.values) == 1 and (count := state.counts.item()) <= 127:
        # A single value, as most scores are. The same bytes as below, in a tenth of the time.
        return _SINGLE.pack(1, state.values.item(), b"b", 1, count)
    return _write_floats(state.values) + _write_counts(state.counts)


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
        raise ValueError("a list of values has extra bytes after it")
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
