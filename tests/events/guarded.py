"""Runs the compiled loops on memory with a forbidden page on either side: a step past the end kills the process.

`python -m tests.events.guarded fuzz|probe-read|probe-write` is started by `test_kernel_safety.py`; a probe breaks the
rule on purpose, to show that the guard works.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.events import fuzzing

from assay.events.codecs import codec, kernels
from assay.events.codecs.tokens import TokenCodec
from assay.events.stream import EventStream

PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_RUNS = 1000
_COLUMNS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")
_DTYPES = (np.int8, np.int64, np.int16, np.bool_, np.int32, np.int32, np.int32, np.int32, np.uint8)


class Guarded:
    """Some pages of memory between two that may not be touched."""

    def __init__(self, pages: int = 16) -> None:
        self._map = mmap.mmap(-1, (pages + 2) * PAGE)
        self._size = pages * PAGE
        whole = np.frombuffer(self._map, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        for at in (0, (pages + 1) * PAGE):
            address = ctypes.c_void_p(whole.ctypes.data + at)
            if libc.mprotect(address, ctypes.c_size_t(PAGE), _PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        self._inside = whole[PAGE:-PAGE]

    def at_end(self, n: int, dtype: Any = np.uint8) -> NDArray[Any]:
        """An array of n whose last byte is followed by the forbidden page."""
        size = n * np.dtype(dtype).itemsize
        return self._inside[self._size - size :].view(dtype)

    def at_start(self, n: int) -> NDArray[np.uint8]:
        """An array of n bytes whose first byte follows the forbidden page."""
        return self._inside[:n]


def filled(array: NDArray[Any], content: NDArray[Any]) -> NDArray[Any]:
    array[:] = content
    array.flags.writeable = False  # as the bytes of a text are; the compiled loops are made for that
    return array


class Fuzz:
    """One encoding, on guarded text, columns, offsets, image token and buffers."""

    def __init__(self, decoder: TokenCodec) -> None:
        self.codec = decoder
        self.text, self.offsets, self.buffer, self.codes = Guarded(), Guarded(), Guarded(64), Guarded()
        self.spelled = Guarded()
        self.columns = [Guarded() for _ in _DTYPES]
        self.image = filled(Guarded(1).at_end(len(decoder._image)), decoder._image)
        self._keep = [self.image]

    @property
    def spellings(self) -> NDArray[np.int64]:
        """Room for one event that is spelled in an unusual way; all others must be dropped."""
        width = self.codec._room(0).shape[1]
        return self.spelled.at_end(width, np.int64).reshape(1, width)

    def blank(self, n: int) -> list[NDArray[Any]]:
        return [guarded.at_end(n, dtype) for guarded, dtype in zip(self.columns, _DTYPES, strict=True)]

    def decode(self, text: bytes) -> None:
        raw = np.frombuffer(text, np.uint8)
        expected = contents(self.codec.decode(text))
        for array in (self.text.at_end(len(raw)), self.text.at_start(len(raw))):
            columns = self.blank(len(raw) // 13 + 1)
            n, _, _ = kernels.decode_text(
                filled(array, raw), self.image, self.codec._grammar, 0, self.spellings, *columns
            )
            assert_same(expected, columns, n)

    def elements(self, text: bytes) -> None:
        raw = np.frombuffer(text, np.uint8)
        # As one element, and split into three: an element ends where the next begins, not at the end of the memory.
        for cuts in ([0, len(raw)], [0, len(raw) // 3, 2 * len(raw) // 3, len(raw)]):
            expected = contents(self.codec.decode_slices(raw, np.array(cuts)))
            offsets = self.offsets.at_end(len(cuts), np.int64)
            offsets[:] = cuts
            for array in (self.text.at_end(len(raw)), self.text.at_start(len(raw))):
                columns = self.blank(len(cuts) - 1)
                kernels.decode_elements(
                    filled(array, raw), offsets, self.image, self.codec._grammar, self.spellings, *columns
                )
                assert_same(expected, columns, len(cuts) - 1)

    def ids(self, codes: NDArray[np.int64]) -> None:
        stream = self.codes.at_end(len(codes), np.int64)
        stream[:] = codes
        rows = self.offsets.at_end(3, np.int64)
        rows[:] = [0, len(codes) // 2, len(codes)]
        kernels.decode_codes(stream, rows, self.codec._grammar, self.spellings, *self.blank(len(codes) + 1))

    def encode(self, stream: EventStream) -> None:
        """The loop may write eight bytes behind the text, as it says, and not one more."""
        text, _ = self.codec.encode_slices(stream)
        whole = self.codec.quantise(stream)
        names = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data")
        columns = [np.ascontiguousarray(getattr(whole, name)) for name in names]
        buffer = self.buffer.at_end(len(text) + 8)
        offsets = self.offsets.at_end(len(stream) + 1, np.int64)
        arguments: list[Any] = [self.image, self.codec._grammar, *columns, buffer, offsets]
        end = kernels.encode_text(*arguments)
        assert buffer[:end].tobytes() == text


def contents(stream: EventStream) -> list[bytes]:
    """The bytes of every column, which are compared in a tenth of the time of arrays."""
    return [getattr(stream, name).tobytes() for name in _COLUMNS]


def assert_same(expected: list[bytes], columns: list[NDArray[Any]], n: int) -> None:
    found = [column[:n].tobytes() for column in columns]
    assert found == expected, [name for name, a, b in zip(_COLUMNS, found, expected, strict=True) if a != b]


def fuzz() -> None:
    count = 0
    for name in ("hierarchical", "hierarchical-time-first", "factorized"):
        for strict in (False, True):
            decoder = codec(name, strict=strict)
            assert isinstance(decoder, TokenCodec)
            run = Fuzz(decoder)
            encoding = "factorized" if name == "factorized" else "hierarchical"
            texts = [*fuzzing.texts(encoding, _RUNS // 2, seed=1 + strict), *fuzzing.truncations(encoding, 60)]
            for text in texts:
                run.decode(text)
                run.elements(text)
            count += len(texts)
            chance = np.random.default_rng(5)
            vocabulary = np.array([*decoder.vocabulary().values(), kernels.OTHER] + [kernels.START, kernels.END] * 40)
            for _ in range(200):
                run.ids(chance.choice(vocabulary, int(chance.integers(0, 200))))
            decoded = decoder.decode(b"".join(fuzzing.lines(encoding)))
            for at in range(0, 200, 7):
                good = decoded[decoded.valid & (decoded.flags <= 0xFFF)]
                run.encode(replace(good[at : at + int(chance.integers(0, 30))], quantised=None))
    print(f"{count} texts")


def main(what: str) -> None:
    if what == "fuzz":
        fuzz()
        return
    array = Guarded(1).at_end(8)
    if what == "probe-read":
        ctypes.string_at(array.ctypes.data + 8, 1)
    else:
        ctypes.memset(array.ctypes.data + 8, 0, 1)
    print("not stopped")


if __name__ == "__main__":
    main(sys.argv[1])
