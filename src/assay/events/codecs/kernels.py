"""Compiled loops between token text, token codes and event columns. One pass, no allocation per event, no GIL.

Text becomes *codes*, one integer per token, and an event's codes become one entry in each column. Token ids from a
tokenizer are mapped to the same codes, so that both go through one grammar (`_parse`).

Two things make it fast. Eight letters are read as one integer, so one or two comparisons identify a token. And the
inner functions pass addresses, not arrays: Numba counts references to an array at every call, which costs more than
the work itself. In return, nothing but this code checks bounds, so every read of text goes through `_word` or `_byte`
with a position below `stop`; a test runs them against a guarded memory page.

This module works on bytes and arrays only; `tokens.py` defines what they mean.
"""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from assay.events.compiled import inner, njit

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


_compiled = njit(cache=True, nogil=True)
_inner = inner(cache=True, nogil=True)
_inlined = inner(cache=True, nogil=True, forceinline=True)


# --- memory --------------------------------------------------------------------------------------------------------


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


# --- tokens as integers --------------------------------------------------------------------------------------------


def _packed(letters: str) -> int:
    """The integer that `_word` returns for these letters (at most 8), followed by zeros."""
    return int.from_bytes(letters.encode(), "little")


def _mask(size: int) -> int:
    return (1 << 8 * size) - 1


# A token longer than eight letters is identified by its first eight and its last eight.
_START_1, _START_2, _START_SIZE = _packed("<EVENT_S"), _packed("T_START>"), 13
_END_1, _END_2, _END_SIZE = _packed("<EVENT_E"), _packed("ENT_END>"), 11
_KEYBOARD_1, _KEYBOARD_2, _KEYBOARD_SIZE = _packed("<KEYBOAR"), _packed("EYBOARD>"), 10
_RELEASE_1, _RELEASE_2, _RELEASE_SIZE = _packed("<release"), _packed("release>"), 9
_PLUS_1, _PLUS_2, _PLUS_SIZE = _packed("<SIGN_PL"), _packed("GN_PLUS>"), 11
_MINUS_1, _MINUS_2, _MINUS_SIZE = _packed("<SIGN_MI"), _packed("N_MINUS>"), 12
_SCREEN_1, _SCREEN_SIZE = _packed("<SCREEN>"), 8
_MOUSE_1, _MOUSE_SIZE = _packed("<MOUSE>"), 7
_PRESS_1, _PRESS_SIZE = _packed("<press>"), 7
_VK_1, _BUTTON_1, _PREFIX_SIZE = _packed("<VK_"), _packed("<MB_"), 4
_OPEN_1, _OPEN_SIZE = _packed("<img>"), 5
_CLOSE_1, _CLOSE_SIZE = _packed("</img>"), 6
_EDGE_1, _EDGE_2, _EDGE_3, _EDGE_4 = (_packed(part) for part in ("<fake_to", "ken_arou", "nd_image", "d_image>"))
_EDGE_SIZE = 25
_MASK_4, _MASK_5, _MASK_6, _MASK_7 = _mask(4), _mask(5), _mask(6), _mask(7)
# Most of a text consists of one-letter digits, so two of them are read at once.
_TWO_DIGITS, _TWO_DIGITS_MASK = _packed("<\0><\0>"), 0xFF00FFFF00FF
_LESS, _GREATER, _ZERO, _NINE = ord("<"), ord(">"), ord("0"), ord("9")


# --- text to codes -------------------------------------------------------------------------------------------------


@_inlined
def _is_start(text, at, stop):
    """Whether there is an <EVENT_START> at `at`."""
    return _word(text, at, stop) == _START_1 and _word(text, at + _START_SIZE - 8, stop) == _START_2


@_inlined
def _short_number(word):
    """The number of one to three digits and a '>' that `word` begins with, and its letters; −1 if there is none."""
    a, b, c, d = word & 255, word >> 8 & 255, word >> 16 & 255, word >> 24 & 255
    if a < _ZERO or a > _NINE:
        return -1, 0
    if b == _GREATER:
        return a - _ZERO, 2
    if b < _ZERO or b > _NINE:
        return -1, 0
    if c == _GREATER:
        return a * 10 + b - 11 * _ZERO, 3
    if c < _ZERO or c > _NINE or d != _GREATER:
        return -1, 0
    return a * 100 + b * 10 + c - 111 * _ZERO, 4


@_inner
def _long_number(text, at, stop):
    """The decimal number from `at` to a '>': its value, and the position after the '>'; −1 if there is none."""
    value = 0
    p = at
    while p < stop and _ZERO <= _byte(text, p) <= _NINE:
        value = value * 10 + _byte(text, p) - _ZERO
        p += 1
        if p - at > _MAX_DIGITS:
            return -1, at
    if p == at or p >= stop or _byte(text, p) != _GREATER:
        return -1, at
    return value, p + 1


@_inner
def _is_image(text, at, stop, image, image_size):
    """Whether the image token is at `at`."""
    if at + image_size > stop:
        return False
    i = 0
    while i + 8 <= image_size:
        if _load_word(text + at + i) != _load_word(image + i):
            return False
        i += 8
    while i < image_size:
        if _byte(text, at + i) != _byte(image, i):
            return False
        i += 1
    return True


@_inner
def _rare_token(text, at, stop, image, image_size):
    """Code of a token at `at` (a '<') that is not one of the frequent ones, and the position after it."""
    if _is_image(text, at, stop, image, image_size):
        return IMAGE, at + image_size
    word = _word(text, at, stop)
    if word & _MASK_5 == _OPEN_1:
        return IMAGE_OPEN, at + _OPEN_SIZE
    if word & _MASK_6 == _CLOSE_1:
        return IMAGE_CLOSE, at + _CLOSE_SIZE
    if (
        word == _EDGE_1
        and _word(text, at + 8, stop) == _EDGE_2
        and _word(text, at + 16, stop) == _EDGE_3
        and _word(text, at + 17, stop) == _EDGE_4
    ):
        return IMAGE_EDGE, at + _EDGE_SIZE
    begin, offset = at + 1, 0
    if word & _MASK_4 == _VK_1:
        begin, offset = at + _PREFIX_SIZE, VK
    elif word & _MASK_4 == _BUTTON_1:
        begin, offset = at + _PREFIX_SIZE, BUTTON
    value, p = _long_number(text, begin, stop)
    if value >= 0 and (offset == 0 or value < _PREFIXED):
        return offset + value, p
    # Any other token ends at its '>', or before the next '<'.
    p = at + 1
    while p < stop and _byte(text, p) != _GREATER and _byte(text, p) != _LESS:
        p += 1
    return OTHER, p + 1 if p < stop and _byte(text, p) == _GREATER else p


@_inlined
def _token(text, at, stop, word, image, image_size):
    """Code of the token at `at`, whose first eight letters are `word`, and the position after it."""
    value, size = _short_number(word >> 8)
    if value >= 0:
        return value, at + 1 + size
    if word == _END_1 and _word(text, at + _END_SIZE - 8, stop) == _END_2:
        return END, at + _END_SIZE
    if word & _MASK_7 == _MOUSE_1:
        return MOUSE, at + _MOUSE_SIZE
    if word & _MASK_4 == _BUTTON_1:
        value, size = _short_number(word >> 32)
        if value >= 0:
            return BUTTON + value, at + _PREFIX_SIZE + size
    elif word & _MASK_4 == _VK_1:
        value, size = _short_number(word >> 32)
        if value >= 0:
            return VK + value, at + _PREFIX_SIZE + size
    elif word == _PLUS_1 and _word(text, at + _PLUS_SIZE - 8, stop) == _PLUS_2:
        return PLUS, at + _PLUS_SIZE
    elif word == _MINUS_1 and _word(text, at + _MINUS_SIZE - 8, stop) == _MINUS_2:
        return MINUS, at + _MINUS_SIZE
    elif word == _SCREEN_1:
        return SCREEN, at + _SCREEN_SIZE
    elif word == _KEYBOARD_1 and _word(text, at + _KEYBOARD_SIZE - 8, stop) == _KEYBOARD_2:
        return KEYBOARD, at + _KEYBOARD_SIZE
    elif word & _MASK_7 == _PRESS_1:
        return PRESS, at + _PRESS_SIZE
    elif word == _RELEASE_1 and _word(text, at + _RELEASE_SIZE - 8, stop) == _RELEASE_2:
        return RELEASE, at + _RELEASE_SIZE
    elif _is_start(text, at, stop):
        return START, at + _START_SIZE
    return _rare_token(text, at, stop, image, image_size)


@_inlined
def _scan(text, at, stop, image, image_size, codes):
    """Codes of one event from after its <EVENT_START>: how it ended, number of codes, the last one, position after."""
    m = 0
    last = OTHER
    p = at
    while p < stop:
        word = _word(text, p, stop)
        if word & _TWO_DIGITS_MASK == _TWO_DIGITS and m + 1 < _KEPT:
            first, second = (word >> 8 & 255) - _ZERO, (word >> 32 & 255) - _ZERO
            if 0 <= first <= 9 and 0 <= second <= 9:
                _set(codes, m, first)
                _set(codes, m + 1, second)
                m += 2
                last = second
                p += 6
                continue
        if word & 255 != _LESS:
            code = OTHER
            while p < stop and _byte(text, p) != _LESS:
                p += 1
        else:
            begin = p
            code, p = _token(text, p, stop, word, image, image_size)
            if code == END:
                return _ENDED, m, last, p
            if code == START:
                return _RESTARTED, m, last, begin
        if m < _KEPT:
            _set(codes, m, code)
        m += 1
        last = code
    return _EXHAUSTED, m, last, p


# --- codes to one event --------------------------------------------------------------------------------------------


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


# --- whole inputs --------------------------------------------------------------------------------------------------


@_compiled
def decode_text(text, image, grammar, n, spellings, kind, time, vk, press, dx, dy, flags, data, problem):
    """All events of one text, written to the columns from row n on.

    Returns the row after the last one, the number of bytes between events, and how many events are spelled in an
    unusual way. `spellings` gets the row and the codes of those, as many as fit.
    """
    buffer = np.empty(_KEPT, np.int64)
    codes, raw, settings = buffer.ctypes.data, text.ctypes.data, grammar.ctypes.data
    token, token_size = image.ctypes.data, image.size
    stop = text.size
    ignored = found = 0
    p = 0
    while p < stop:
        if not _is_start(raw, p, stop):
            p += 1
            ignored += 1
            continue
        how, m, last, p = _scan(raw, p + _START_SIZE, stop, token, token_size, codes)
        event = _parse(codes, m, last, settings) if how == _ENDED else _refused(codes, m, settings, _CUT_SHORT)
        kind[n], time[n], vk[n], press[n], dx[n], dy[n], flags[n], data[n], problem[n], unusual = event
        if unusual:
            found = _keep_spelling(spellings, found, n, codes, m, settings, kind[n])
        n += 1
    return n, ignored, found


@_compiled
def decode_elements(text, offsets, image, grammar, spellings, kind, time, vk, press, dx, dy, flags, data, problem):
    """One event from each element text[offsets[i]:offsets[i+1]]; blank space around it is ignored.

    Returns how many events are spelled in an unusual way; see `decode_text`.
    """
    buffer = np.empty(_KEPT, np.int64)
    codes, raw, settings = buffer.ctypes.data, text.ctypes.data, grammar.ctypes.data
    token, token_size = image.ctypes.data, image.size
    found = 0
    for n in range(offsets.size - 1):
        begin, stop = offsets[n], offsets[n + 1]
        while begin < stop and _byte(raw, begin) <= 32:
            begin += 1
        while stop > begin and _byte(raw, stop - 1) <= 32:
            stop -= 1
        if _is_start(raw, begin, stop):
            how, m, last, p = _scan(raw, begin + _START_SIZE, stop, token, token_size, codes)
            if how == _ENDED and p == stop:
                event = _parse(codes, m, last, settings)
            else:
                event = _refused(codes, m, settings, _CUT_SHORT if how == _EXHAUSTED else _UNFRAMED)
        else:
            m = 0
            event = _refused(codes, m, settings, _UNFRAMED)
        kind[n], time[n], vk[n], press[n], dx[n], dy[n], flags[n], data[n], problem[n], unusual = event
        if unusual:
            found = _keep_spelling(spellings, found, n, codes, m, settings, kind[n])
    return found


@_compiled
def decode_codes(stream, rows, grammar, spellings, kind, time, vk, press, dx, dy, flags, data, problem):
    """All events of codes that came from token ids; stream[rows[i]:rows[i+1]] is one sequence.

    Returns the number of events, of tokens between them, and of events that are spelled in an unusual way; see
    `decode_text`.
    """
    buffer = np.empty(_KEPT, np.int64)
    codes, settings = buffer.ctypes.data, grammar.ctypes.data
    ignored = found = 0
    n = 0
    for row in range(rows.size - 1):
        inside = False
        m = 0
        last = OTHER
        # One step past the end closes an event that is still open there.
        for p in range(rows[row], rows[row + 1] + 1):
            code = stream[p] if p < rows[row + 1] else START
            closes = inside and (code in (START, END))
            if closes:
                event = _parse(codes, m, last, settings) if code == END else _refused(codes, m, settings, _CUT_SHORT)
                kind[n], time[n], vk[n], press[n], dx[n], dy[n], flags[n], data[n], problem[n], unusual = event
                if unusual:
                    found = _keep_spelling(spellings, found, n, codes, m, settings, kind[n])
                n += 1
            elif inside:
                if m < _KEPT:
                    _set(codes, m, code)
                m += 1
                last = code
            elif code != START:
                ignored += 1
            if code in (START, END):
                inside = code == START
                m = 0
                last = OTHER
    return n, ignored, found


# --- columns to text -----------------------------------------------------------------------------------------------


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
