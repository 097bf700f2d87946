"""Columns of events to text."""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.codecs.kernels._grammar import (
    _DELTA,
    _DELTA_SPAN,
    _KIND_KEYBOARD,
    _KIND_MOUSE,
    _N_DELTA,
    _N_SCROLL,
    _N_TIME,
    _SCROLL,
    _SCROLL_SPAN,
    _SIGNED,
    _TIME,
    _TIME_FIRST,
    _UNIT_NS,
)
from assay.events.codecs.kernels._memory import _compiled, _get, _inlined, _inner, _store_word
from assay.events.codecs.kernels._words import (
    _BUTTON_1,
    _END_1,
    _END_2,
    _END_SIZE,
    _GREATER,
    _KEYBOARD_1,
    _KEYBOARD_2,
    _KEYBOARD_SIZE,
    _LESS,
    _MINUS_1,
    _MINUS_2,
    _MINUS_SIZE,
    _MOUSE_1,
    _MOUSE_SIZE,
    _PLUS_1,
    _PLUS_2,
    _PLUS_SIZE,
    _PREFIX_SIZE,
    _PRESS_1,
    _PRESS_SIZE,
    _RELEASE_1,
    _RELEASE_2,
    _RELEASE_SIZE,
    _SCREEN_1,
    _SCREEN_SIZE,
    _START_1,
    _START_2,
    _START_SIZE,
    _VK_1,
    _ZERO,
)


@_inlined
def _put(buffer, p, word, size):
    """Write a token of up to eight letters. All eight bytes are stored: there is always space after it."""
    _store_word(buffer + p, word)
    return p + size


@_inlined
def _put_long(buffer, p, first, last, size):
    _store_word(buffer + p, first)
    _store_word(buffer + p + size - 8, last)
    return p + size


@_inner
def _put_number(buffer, p, value):
    """The digits of `value` (0 or more) and a '>'."""
    place = 1
    while value // place >= 10:
        place *= 10
    while place:
        _store_word(buffer + p, _ZERO + value // place % 10)
        p += 1
        place //= 10
    _store_word(buffer + p, _GREATER)
    return p + 1


@_inner
def _put_digits(buffer, p, value, grammar, bases, size, index):
    """Digit `index` of `value`, or all digits if `index` is negative."""
    for i in range(size):
        if index < 0 or i == index:
            place = 1
            for j in range(i + 1, size):
                place *= _get(grammar, bases + j)
            p = _put(buffer, p, _LESS, 1)
            p = _put_number(buffer, p, value // place % _get(grammar, bases + i))
    return p


@_inlined
def _put_sign(buffer, p, value):
    if value < 0:
        return _put_long(buffer, p, _MINUS_1, _MINUS_2, _MINUS_SIZE)
    return _put_long(buffer, p, _PLUS_1, _PLUS_2, _PLUS_SIZE)


@_inlined
def _put_kind(buffer, p, kind):
    if kind == _KIND_KEYBOARD:
        return _put_long(buffer, p, _KEYBOARD_1, _KEYBOARD_2, _KEYBOARD_SIZE)
    if kind == _KIND_MOUSE:
        return _put(buffer, p, _MOUSE_1, _MOUSE_SIZE)
    return _put(buffer, p, _SCREEN_1, _SCREEN_SIZE)


@_compiled
def encode_text(image, grammar, kind, time, vk, press, dx, dy, flags, data, buffer, offsets):
    """The events as token text in `buffer`; event i is buffer[offsets[i]:offsets[i+1]].

    Columns must already be quantised, in range and valid. `buffer` must have space for as many events of the greatest
    length, plus eight bytes.
    """
    out, settings = buffer.ctypes.data, grammar.ctypes.data
    signed, time_first, unit_ns = grammar[_SIGNED] != 0, grammar[_TIME_FIRST] != 0, grammar[_UNIT_NS]
    n_time, n_delta, n_scroll = grammar[_N_TIME], grammar[_N_DELTA], grammar[_N_SCROLL]
    delta_span, scroll_span = grammar[_DELTA_SPAN], grammar[_SCROLL_SPAN]
    p = 0
    for i in range(kind.size):
        offsets[i] = p
        p = _put_long(out, p, _START_1, _START_2, _START_SIZE)
        if not time_first:
            p = _put_kind(out, p, kind[i])
        p = _put_digits(out, p, time[i] // unit_ns, settings, _TIME, n_time, -1)
        if time_first:
            p = _put_kind(out, p, kind[i])
        if kind[i] == _KIND_KEYBOARD:
            p = _put(out, p, _VK_1, _PREFIX_SIZE) if signed else _put(out, p, _LESS, 1)
            p = _put_number(out, p, np.int64(vk[i]))
            if press[i]:
                p = _put(out, p, _PRESS_1, _PRESS_SIZE)
            else:
                p = _put_long(out, p, _RELEASE_1, _RELEASE_2, _RELEASE_SIZE)
        elif kind[i] == _KIND_MOUSE:
            x, y, notches = np.int64(dx[i]), np.int64(dy[i]), np.int64(data[i]) // 120
            if signed:
                p = _put_sign(out, p, x)
                p = _put_digits(out, p, abs(x), settings, _DELTA, n_delta, -1)
                p = _put_sign(out, p, y)
                p = _put_digits(out, p, abs(y), settings, _DELTA, n_delta, -1)
            else:
                for j in range(n_delta):
                    p = _put_digits(out, p, x % delta_span, settings, _DELTA, n_delta, j)
                    p = _put_digits(out, p, y % delta_span, settings, _DELTA, n_delta, j)
            for shift in (8, 4, 0):
                p = _put(out, p, _BUTTON_1, _PREFIX_SIZE) if signed else _put(out, p, _LESS, 1)
                p = _put_number(out, p, np.int64(flags[i]) >> shift & 15)
            if notches != 0:
                if signed:
                    p = _put_sign(out, p, notches)
                notches = abs(notches) if signed else notches % scroll_span
                p = _put_digits(out, p, notches, settings, _SCROLL, n_scroll, -1)
        else:
            for j in range(image.size):
                buffer[p + j] = image[j]
            p += image.size
        p = _put_long(out, p, _END_1, _END_2, _END_SIZE)
    offsets[kind.size] = p
    return p
