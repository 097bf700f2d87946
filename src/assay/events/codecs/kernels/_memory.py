"""Reading and writing memory by address, in compiled loops.

Functions pass addresses, not arrays: Numba counts references to an array at every call, which costs more than the work
itself. In return, nothing but this code checks bounds, so every read of text goes through `_word` or `_byte` with a
position below `stop`; a test runs them against a guarded memory page.
"""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from assay.events.compiled import inner, njit

_compiled = njit(cache=True, nogil=True)
_inner = inner(cache=True, nogil=True)
_inlined = inner(cache=True, nogil=True, forceinline=True)


def _pointer(builder, address, bits):
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


@intrinsic
def _load_word(typingctx, address):
    """The eight bytes at `address` as one little-endian integer."""

    def build(context, builder, signature, arguments):
        return builder.load(_pointer(builder, arguments[0], 64), align=1)

    return types.int64(types.int64), build


@intrinsic
def _load_byte(typingctx, address):
    def build(context, builder, signature, arguments):
        return builder.zext(builder.load(_pointer(builder, arguments[0], 8), align=1), ir.IntType(64))

    return types.int64(types.int64), build


@intrinsic
def _store_word(typingctx, address, word):
    def build(context, builder, signature, arguments):
        builder.store(arguments[1], _pointer(builder, arguments[0], 64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), build


@_inlined
def _byte(text, at):
    return _load_byte(text + at)


@_inlined
def _word(text, at, stop):
    """Eight bytes from `at` on as one little-endian integer; bytes from `stop` on read as 0."""
    if at + 8 <= stop:
        return _load_word(text + at)
    word = 0
    for i in range(max(stop - at, 0)):
        word |= _load_byte(text + at + i) << (8 * i)
    return word


@intrinsic
def _get(typingctx, array, index):
    """Entry `index` of an int64 array, by its address. As a function it would be compiled for each constant index."""

    def build(context, builder, signature, arguments):
        address = builder.add(arguments[0], builder.mul(arguments[1], ir.Constant(ir.IntType(64), 8)))
        return builder.load(_pointer(builder, address, 64), align=1)

    return types.int64(types.int64, types.int64), build


@intrinsic
def _set(typingctx, array, index, value):
    def build(context, builder, signature, arguments):
        address = builder.add(arguments[0], builder.mul(arguments[1], ir.Constant(ir.IntType(64), 8)))
        builder.store(arguments[2], _pointer(builder, address, 64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build
