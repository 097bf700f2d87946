"""Text to codes: the tokens of one event, from after its <EVENT_START>."""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

from assay.events.codecs.kernels._grammar import (
    _ENDED,
    _EXHAUSTED,
    _KEPT,
    _MAX_DIGITS,
    _PREFIXED,
    _RESTARTED,
    BUTTON,
    END,
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
    START,
    VK,
)
from assay.events.codecs.kernels._memory import _byte, _inlined, _inner, _load_word, _set, _word
from assay.events.codecs.kernels._words import (
    _BUTTON_1,
    _CLOSE_1,
    _CLOSE_SIZE,
    _EDGE_1,
    _EDGE_2,
    _EDGE_3,
    _EDGE_4,
    _EDGE_SIZE,
    _END_1,
    _END_2,
    _END_SIZE,
    _GREATER,
    _KEYBOARD_1,
    _KEYBOARD_2,
    _KEYBOARD_SIZE,
    _LESS,
    _MASK_4,
    _MASK_5,
    _MASK_6,
    _MASK_7,
    _MINUS_1,
    _MINUS_2,
    _MINUS_SIZE,
    _MOUSE_1,
    _MOUSE_SIZE,
    _NINE,
    _OPEN_1,
    _OPEN_SIZE,
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
    _TWO_DIGITS,
    _TWO_DIGITS_MASK,
    _VK_1,
    _ZERO,
)


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
