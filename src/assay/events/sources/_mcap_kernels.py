"""Compiled loops over the bytes of a recording: the records of a chunk, and the JSON of its messages.

Only plain messages are read here: one JSON object whose fields have the expected types. Anything else (an escape in a
relevant field, text beyond ASCII, a number with a fraction, a field of another type) is marked for the general reader
in `messages.py`, so that these loops change the speed and never the result.
"""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.sources._json_kernels import (
    FALSE,
    INTEGER,
    OTHER,
    STRING,
    TRUE,
    blank,
    compiled,
    key,
    nested,
    scalar,
    string,
    within,
)
from assay.events.stream import MAX_FLAGS, Kind, Problem

# Topics; in the table of channels, −1 is a topic that is not needed and −2 a channel that does not exist.
KEYBOARD, SCREEN, RAW_MOUSE, ABSOLUTE_MOUSE = range(4)
NOT_NEEDED, NO_CHANNEL = -1, -2

# Outcome for a message: left to the general reader, an event, or a raw mouse event with absolute coordinates.
GENERAL, READ, LEFT_OUT = range(3)

# Returned by `find_messages` instead of a number of messages.
BROKEN, UNKNOWN_CHANNEL = -1, -2

_KEYBOARD_KIND, _MOUSE_KIND, _SCREEN_KIND = int(Kind.KEYBOARD), int(Kind.MOUSE), int(Kind.SCREEN)
_BAD_TIME, _OUT_OF_RANGE = int(Problem.BAD_TIME), int(Problem.OUT_OF_RANGE)
_MAX_FLAGS = MAX_FLAGS
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_MESSAGE = 5
_RECORD_HEAD = 9  # opcode and length
_MESSAGE_HEAD = 22  # channel, sequence, log time, publish time
SHORTEST_MESSAGE = _RECORD_HEAD + _MESSAGE_HEAD


def _words(letters: str) -> tuple[int, int]:
    """A key of up to sixteen letters as the two integers that `key` returns for it."""
    padded = letters.encode().ljust(16, b"\0")
    return int.from_bytes(padded[:8], "little"), int.from_bytes(padded[8:], "little")


_EVENT_TYPE, _VK, _US_FLAGS = _words("event_type"), _words("vk"), _words("us_flags")
_LAST_X, _LAST_Y, _DX, _DY, _X, _Y = (_words(key) for key in ("last_x", "last_y", "dx", "dy", "x", "y"))
_FLAGS, _DATA, _BUTTON, _PRESSED = (_words(key) for key in ("button_flags", "button_data", "button", "pressed"))
_PRESS, _RELEASE, _MOVE, _CLICK, _SCROLL = (_words(key)[0] for key in ("press", "release", "move", "click", "scroll"))
_LEFT, _RIGHT, _MIDDLE, _X1, _X2 = (_words(key)[0] for key in ("left", "right", "middle", "x1", "x2"))
_WHEEL, _HORIZONTAL_WHEEL, _NOTCH = 0x400, 0x800, 120


# --- records ---------------------------------------------------------------------------------------------------------


@within
def _number_at(data, at, size):
    value = np.uint64(0)
    for i in range(size):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return value


@compiled
def find_messages(data, channels, topic, time, begin, end):
    """The messages among the records in `data` whose channels are needed: topic, log time, and position of their JSON.

    `channels` has the topic of each channel number. Returns how many there are, or BROKEN or UNKNOWN_CHANNEL.
    """
    n = 0
    p = 0
    size = data.size
    while p < size:
        if p + _RECORD_HEAD > size:
            return BROKEN
        length = _number_at(data, p + 1, 8)
        if length > np.uint64(size - p - _RECORD_HEAD):
            return BROKEN
        opcode = data[p]
        p += _RECORD_HEAD
        stop = p + np.int64(length)
        if opcode == _MESSAGE:
            if stop - p < _MESSAGE_HEAD:
                return BROKEN
            code = channels[np.int64(_number_at(data, p, 2))]
            if code == NO_CHANNEL:
                return UNKNOWN_CHANNEL
            if code != NOT_NEEDED:
                topic[n] = code
                time[n] = _number_at(data, p + 6, 8)
                begin[n] = p + _MESSAGE_HEAD
                end[n] = stop
                n += 1
        p = stop
    return n


# --- fields ----------------------------------------------------------------------------------------------------------


# Positions of the fields that `_fields` finds. A second array has their types, −1 if the field is absent.
(_AT_TYPE, _AT_VK, _AT_US, _AT_LAST_X, _AT_LAST_Y, _AT_DX, _AT_DY, _AT_X, _AT_Y, _AT_FLAGS, _AT_DATA) = range(11)
_AT_BUTTON, _AT_PRESSED, _N_FIELDS = 11, 12, 13


@within
def _place_of(first, second):
    """Position of the field with this key, or −1."""
    if first == _EVENT_TYPE[0] and second == _EVENT_TYPE[1]:
        return _AT_TYPE
    if first == _FLAGS[0] and second == _FLAGS[1]:
        return _AT_FLAGS
    if first == _DATA[0] and second == _DATA[1]:
        return _AT_DATA
    if second != 0:
        return -1
    if first == _LAST_X[0]:
        return _AT_LAST_X
    if first == _LAST_Y[0]:
        return _AT_LAST_Y
    if first == _X[0]:
        return _AT_X
    if first == _Y[0]:
        return _AT_Y
    if first == _VK[0]:
        return _AT_VK
    if first == _US_FLAGS[0]:
        return _AT_US
    if first == _DX[0]:
        return _AT_DX
    if first == _DY[0]:
        return _AT_DY
    if first == _BUTTON[0]:
        return _AT_BUTTON
    if first == _PRESSED[0]:
        return _AT_PRESSED
    return -1


@within
def _fields(data, p, end, values, types):
    """The fields of the object from p to end: values and types by position; False if it is not a plain object."""
    for i in range(_N_FIELDS):
        types[i] = -1
    p = blank(data, p, end)
    if p >= end or data[p] != 123:
        return False
    p = blank(data, p + 1, end)
    if p < end and data[p] == 125:
        return blank(data, p + 1, end) == end
    while True:
        if p >= end or data[p] != 34:
            return False
        begin = p + 1
        p, plain = string(data, p, end)
        if p < 0 or not plain:
            return False
        first, second = key(data, begin, p - 1)
        p = blank(data, p, end)
        if p >= end or data[p] != 58:
            return False
        p = blank(data, p + 1, end)
        if p >= end:
            return False
        begin = p
        if data[p] == 123 or data[p] == 91:
            p, kind, value = nested(data, p, end), OTHER, 0
        else:
            p, kind, value = scalar(data, p, end)
        if p < 0:
            return False
        place = _place_of(first, second)
        if place >= 0:
            types[place] = kind
            values[place] = value
            if kind == STRING:
                first, second = key(data, begin + 1, p - 1)
                values[place] = first if second == 0 and p - begin - 2 <= 8 else 0
        p = blank(data, p, end)
        if p >= end:
            return False
        if data[p] == 125:
            return blank(data, p + 1, end) == end
        if data[p] != 44:
            return False
        p = blank(data, p + 1, end)


# --- messages to columns ---------------------------------------------------------------------------------------------


@within
def _integer(values, types, place, default):
    """A field that may be absent: its value, and whether it is an integer."""
    if types[place] == -1:
        return default, True
    return values[place], types[place] == INTEGER


@within
def _fits(value):
    return _INT32_MIN <= value <= _INT32_MAX


@within
def _read_key(values, types, vk, press, problem, n):
    action = values[_AT_TYPE]
    if types[_AT_TYPE] != STRING or types[_AT_VK] != INTEGER or (action != _PRESS and action != _RELEASE):
        return GENERAL
    if 0 <= values[_AT_VK] <= 255:
        vk[n], press[n] = values[_AT_VK], action == _PRESS
    else:
        problem[n] = _OUT_OF_RANGE
    return READ


@within
def _read_raw(values, types, dx, dy, flags, scroll, problem, n):
    us_flags, fine = _integer(values, types, _AT_US, 0)
    x, x_fine = _integer(values, types, _AT_LAST_X if types[_AT_LAST_X] != -1 else _AT_DX, 0)
    y, y_fine = _integer(values, types, _AT_LAST_Y if types[_AT_LAST_Y] != -1 else _AT_DY, 0)
    buttons, buttons_fine = _integer(values, types, _AT_FLAGS, 0)
    turned, turned_fine = _integer(values, types, _AT_DATA, 0)
    if not (fine and x_fine and y_fine and buttons_fine and turned_fine):
        return GENERAL
    if us_flags != 0:
        return LEFT_OUT
    if 32767 < turned < 65536:
        turned -= 65536
    if _fits(x) and _fits(y) and _fits(turned) and 0 <= buttons <= _MAX_FLAGS:
        dx[n], dy[n], flags[n], scroll[n] = x, y, buttons, turned
    else:
        problem[n] = _OUT_OF_RANGE
    return READ


@within
def _read_absolute(values, types, x, y, flags, scroll, problem, n):
    """Writes positions to `x` and `y`; movements are computed from them once the order in time is known."""
    if types[_AT_X] != INTEGER or types[_AT_Y] != INTEGER or types[_AT_TYPE] != STRING:
        return GENERAL
    what = values[_AT_TYPE]
    if what == _CLICK:
        down = 0
        button = values[_AT_BUTTON]
        if types[_AT_BUTTON] == STRING:
            if button == _LEFT:
                down = 0x1
            elif button == _RIGHT:
                down = 0x4
            elif button == _MIDDLE:
                down = 0x10
            elif button == _X1:
                down = 0x40
            elif button == _X2:
                down = 0x100
        pressed = types[_AT_PRESSED]
        if down == 0 or (pressed != TRUE and pressed != FALSE):
            return GENERAL
        flags[n] = down if pressed == TRUE else down << 1
    elif what == _SCROLL:
        across, across_fine = _integer(values, types, _AT_DX, 0)
        along, along_fine = _integer(values, types, _AT_DY, 0)
        if not (across_fine and along_fine) or (across != 0 and along != 0):
            return GENERAL
        turned = (along + across) * _NOTCH
        if not _fits(turned):
            return GENERAL
        if turned != 0:
            flags[n] = _WHEEL if along != 0 else _HORIZONTAL_WHEEL
            scroll[n] = turned
    elif what != _MOVE:
        return GENERAL
    x[n], y[n] = values[_AT_X], values[_AT_Y]
    return READ


@compiled
def read_messages(data, topic, time, begin, end, fate, kind, vk, press, x, y, dx, dy, flags, scroll, problem):
    """Fill the columns, which are zeros, with the events of the messages; `fate` is the outcome for each."""
    values = np.zeros(_N_FIELDS, np.int64)
    types = np.zeros(_N_FIELDS, np.int64)
    latest = np.uint64(2**63 - 1)
    for n in range(topic.size):
        fate[n] = GENERAL
        if not _fields(data, begin[n], end[n], values, types):
            continue
        code = topic[n]
        if code == KEYBOARD:
            kind[n] = _KEYBOARD_KIND
            fate[n] = _read_key(values, types, vk, press, problem, n)
        elif code == SCREEN:
            kind[n] = _SCREEN_KIND
            fate[n] = READ
        else:
            kind[n] = _MOUSE_KIND
            if code == RAW_MOUSE:
                fate[n] = _read_raw(values, types, dx, dy, flags, scroll, problem, n)
            else:
                fate[n] = _read_absolute(values, types, x, y, flags, scroll, problem, n)
        if fate[n] == READ and time[n] > latest:
            problem[n] = _BAD_TIME
            vk[n], press[n], dx[n], dy[n], flags[n], scroll[n] = 0, False, 0, 0, 0, 0
