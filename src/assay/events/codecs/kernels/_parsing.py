"""Codes to one event: the grammar that text and token ids share."""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.codecs.kernels._grammar import (
    _BEYOND_BASE,
    _DELTA,
    _DELTA_SPAN,
    _INT32_MAX,
    _KEPT,
    _KIND_KEYBOARD,
    _KIND_MOUSE,
    _KIND_SCREEN,
    _KIND_UNKNOWN,
    _MAX_FLAGS,
    _MAX_UNITS,
    _N_DELTA,
    _N_SCROLL,
    _N_TIME,
    _OK,
    _OUT_OF_RANGE,
    _PREFIXED,
    _SCROLL,
    _SCROLL_SPAN,
    _SIGNED,
    _STRICT,
    _TIME,
    _TIME_FIRST,
    _UNIT_NS,
    _UNKNOWN_TYPE,
    _WRONG_LENGTH,
    _WRONG_TOKEN,
    BUTTON,
    IMAGE,
    IMAGE_CLOSE,
    IMAGE_EDGE,
    IMAGE_OPEN,
    KEYBOARD,
    MINUS,
    MOUSE,
    OTHER,
    PLUS,
    PRESS,
    RELEASE,
    SCREEN,
    VK,
)
from assay.events.codecs.kernels._memory import _get, _inlined, _inner


@_inlined
def _kind_of(codes, m, grammar):
    """Kind of the event with these codes, from the token at the position of its type."""
    at = _get(grammar, _N_TIME) if _get(grammar, _TIME_FIRST) else 0
    code = _get(codes, at) if m > at else OTHER
    if code == MOUSE:
        return _KIND_MOUSE
    if code == SCREEN:
        return _KIND_SCREEN
    if code == KEYBOARD:
        return _KIND_KEYBOARD
    return _KIND_UNKNOWN


@_inlined
def _digits(codes, at, step, grammar, bases, size, strict):
    """Value of `size` digit tokens, every `step`-th from `at`; their problem, if any; whether one exceeds its base.

    Constants are passed to it as np.int64, because it would be compiled again for each of them.
    """
    value = 0
    beyond = False
    for i in range(size):
        code = _get(codes, at + i * step)
        base = _get(grammar, bases + i)
        if code < 0 or code >= VK:
            return 0, _WRONG_TOKEN, False
        beyond |= code >= base
        value = value * base + code
    return value, _BEYOND_BASE if strict and beyond else _OK, beyond


@_inlined
def _modular(value, span):
    """A number in modular form: the upper half of the range is negative."""
    return value - span if 2 * value >= span else value


@_inlined
def _sign(code):
    if code == PLUS:
        return 1
    return -1 if code == MINUS else 0


@_inlined
def _parse_key(codes, body, size, signed):
    """Key code, whether it is a press, and their problem, if any."""
    if size != 2:
        return 0, False, _WRONG_LENGTH
    vk, action = _get(codes, body) - (VK if signed else 0), _get(codes, body + 1)
    if vk < 0 or vk >= (_PREFIXED if signed else VK) or (action != PRESS and action != RELEASE):
        return 0, False, _WRONG_TOKEN
    if vk > 255:
        return 0, False, _OUT_OF_RANGE
    return vk, action == PRESS, _OK


@_inlined
def _parse_image(codes, body, size, last):
    """What is wrong with a frame's image: it is one placeholder, or what a vision tokenizer left in its place."""
    first = _get(codes, body)
    if size == 1:
        return _OK if first == IMAGE else _WRONG_TOKEN
    if (first == IMAGE_EDGE and last == IMAGE_EDGE) or (first == IMAGE_OPEN and last == IMAGE_CLOSE):
        return _OK
    return _WRONG_LENGTH


@_inlined
def _parse_mouse(codes, body, size, grammar, signed, strict):
    """Both deltas, button flags, scroll, and their problem, if any; and whether encoding them gives other tokens."""
    n_delta, n_scroll = _get(grammar, _N_DELTA), _get(grammar, _N_SCROLL)
    mark = 1 if signed else 0
    axis = n_delta + mark
    plain = 2 * axis + 3
    if size != plain and size != plain + n_scroll + mark:
        return 0, 0, 0, 0, _WRONG_LENGTH, False
    if signed:
        dx, problem, unusual = _digits(codes, body + 1, np.int64(1), grammar, np.int64(_DELTA), n_delta, strict)
        dy, other, beyond = _digits(codes, body + axis + 1, np.int64(1), grammar, np.int64(_DELTA), n_delta, strict)
        sign_x, sign_y = _sign(_get(codes, body)), _sign(_get(codes, body + axis))
        if sign_x == 0 or sign_y == 0:
            problem = _WRONG_TOKEN
        unusual |= beyond or (dx == 0 and sign_x < 0) or (dy == 0 and sign_y < 0)
        dx, dy = dx * sign_x, dy * sign_y
    else:
        dx, problem, unusual = _digits(codes, body, np.int64(2), grammar, np.int64(_DELTA), n_delta, strict)
        dy, other, beyond = _digits(codes, body + 1, np.int64(2), grammar, np.int64(_DELTA), n_delta, strict)
        unusual |= beyond
        span = _get(grammar, _DELTA_SPAN)
        dx, dy = _modular(dx, span), _modular(dy, span)
    problem = problem if problem != _OK else other
    at = body + 2 * axis
    flags = 0
    for i in range(3):
        digit = _get(codes, at + i) - (BUTTON if signed else 0)
        if digit < 0 or digit >= _PREFIXED:
            return 0, 0, 0, 0, _WRONG_TOKEN, False
        unusual |= digit > 15
        if strict and digit > 15 and problem == _OK:
            problem = _BEYOND_BASE
        flags = flags * 16 + digit
    data = 0
    if size > plain:
        at += 3
        data, other, beyond = _digits(codes, at + mark, np.int64(1), grammar, np.int64(_SCROLL), n_scroll, strict)
        unusual |= beyond or data == 0
        if signed:
            turn = _sign(_get(codes, at))
            other = other if turn != 0 else _WRONG_TOKEN
            data *= turn
        else:
            data = _modular(data, _get(grammar, _SCROLL_SPAN))
        data *= 120
        problem = problem if problem != _OK else other
    if problem == _OK and (flags > _MAX_FLAGS or max(max(abs(dx), abs(dy)), abs(data)) > _INT32_MAX):
        problem = _OUT_OF_RANGE
    return dx, dy, flags, data, problem, unusual


@_inlined
def _parse(codes, m, last, grammar):
    """The event that these codes spell, as (kind, time, vk, press, dx, dy, flags, data, problem, unusual).

    An event is spelled in an unusual way if encoding it gives other tokens: a digit beyond its base, a minus before 0,
    a scroll of 0.
    """
    signed, strict = _get(grammar, _SIGNED) != 0, _get(grammar, _STRICT) != 0
    unit_ns, n_time = _get(grammar, _UNIT_NS), _get(grammar, _N_TIME)
    kind = _kind_of(codes, m, grammar)
    body = n_time + 1
    size = m - body
    if kind == _KIND_UNKNOWN:
        return kind, 0, 0, False, 0, 0, 0, 0, _UNKNOWN_TYPE, False
    if size < 1 or (m > _KEPT and kind != _KIND_SCREEN):
        return kind, 0, 0, False, 0, 0, 0, 0, _WRONG_LENGTH, False
    time, problem, late = _digits(
        codes, 0 if _get(grammar, _TIME_FIRST) else 1, np.int64(1), grammar, np.int64(_TIME), n_time, strict
    )
    if problem == _OK and time > _get(grammar, _MAX_UNITS):
        problem = _OUT_OF_RANGE
    vk, press, dx, dy, flags, data, unusual = 0, False, 0, 0, 0, 0, False
    inner = _OK
    if kind == _KIND_MOUSE:
        dx, dy, flags, data, inner, unusual = _parse_mouse(codes, body, size, grammar, signed, strict)
    elif kind == _KIND_KEYBOARD:
        vk, press, inner = _parse_key(codes, body, size, signed)
    else:
        inner = _parse_image(codes, body, size, last)
    # A wrong number of tokens is the more informative problem: it shifts all later tokens.
    if problem == _OK or inner == _WRONG_LENGTH:
        problem = inner
    if problem != _OK:
        return kind, 0, 0, False, 0, 0, 0, 0, problem, False
    return kind, time * unit_ns, vk, press, dx, dy, flags, data, _OK, unusual or late


@_inlined
def _refused(codes, m, grammar, problem):
    """An invalid event; its kind is kept if it could be read."""
    return _kind_of(codes, m, grammar), 0, 0, False, 0, 0, 0, 0, problem, False


@_inner
def _keep_spelling(spellings, found, row, codes, m, grammar, kind):
    """Write the row and the codes of an event that is spelled in an unusual way, without its type, if there is room."""
    if found < spellings.shape[0]:
        n_time = _get(grammar, _N_TIME)
        type_at = n_time if _get(grammar, _TIME_FIRST) else 0
        stop = n_time + 1 if kind == _KIND_SCREEN else m  # the image of a frame is not compared
        spellings[found, 0] = row
        at = 1
        for i in range(stop):
            if i != type_at and at < spellings.shape[1]:
                spellings[found, at] = _get(codes, i)
                at += 1
    return found + 1
