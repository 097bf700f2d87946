"""The codes that tokens have in compiled loops, and the layout of an encoding's settings there."""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

# Codes of tokens that are not plain numbers. A number token is its own code, 0 … 999 999 999.
OTHER = -1
START = -2
END = -3
KEYBOARD = -4
MOUSE = -5
SCREEN = -6
PRESS = -7
RELEASE = -8
PLUS = -9
MINUS = -10
IMAGE = -11
IMAGE_EDGE = -12
IMAGE_OPEN = -13
IMAGE_CLOSE = -14
VK = 1 << 30
BUTTON = VK + (1 << 29)
_PREFIXED = 1 << 28  # numbers after a prefix stay below this, so that the ranges above never overlap

# Copies of stream.Kind and stream.Problem; a test checks that they are equal.
_KIND_UNKNOWN, _KIND_KEYBOARD, _KIND_MOUSE, _KIND_SCREEN = -1, 0, 1, 2
_OK, _UNFRAMED, _CUT_SHORT, _UNKNOWN_TYPE, _WRONG_TOKEN, _WRONG_LENGTH, _OUT_OF_RANGE, _BEYOND_BASE = range(8)

# How many codes of an event are kept. Only an image may be longer, and for it the two ends are enough.
_KEPT = 64
_MAX_DIGITS = 9
_INT32_MAX = 2**31 - 1
_MAX_FLAGS = 0xFFF

# How an event's scan ended: at its <EVENT_END>, at another <EVENT_START>, or at the end of the text.
_ENDED, _RESTARTED, _EXHAUSTED = 0, 1, 2

# Layout of the `grammar` array: settings, values derived from them, and space for three lists of bases.
MAX_DIGITS_A_NUMBER = 8
MAX_BASE = 1_000_000  # every digit must be a number token, and those have nine letters at most
_SIGNED, _TIME_FIRST, _STRICT, _UNIT_NS, _N_TIME, _N_DELTA, _N_SCROLL = range(7)
_MAX_UNITS, _DELTA_SPAN, _SCROLL_SPAN = range(7, 10)
_TIME = 10
_DELTA = _TIME + MAX_DIGITS_A_NUMBER
_SCROLL = _DELTA + MAX_DIGITS_A_NUMBER


def grammar_array(
    *,
    signed: bool,
    time_first: bool,
    strict: bool,
    unit_ns: int,
    time: tuple[int, ...],
    delta: tuple[int, ...],
    scroll: tuple[int, ...],
) -> np.ndarray:
    """The settings of a token encoding in the form that the kernels use."""
    grammar = np.ones(_SCROLL + MAX_DIGITS_A_NUMBER, np.int64)
    grammar[:_MAX_UNITS] = signed, time_first, strict, unit_ns, len(time), len(delta), len(scroll)
    grammar[_MAX_UNITS:_TIME] = (2**63 - 1) // unit_ns, math.prod(delta), math.prod(scroll)
    for at, bases in ((_TIME, time), (_DELTA, delta), (_SCROLL, scroll)):
        grammar[at : at + len(bases)] = bases
    return grammar
