"""Whole inputs, text or codes, to columns of events."""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from assay.events.codecs.kernels._grammar import _CUT_SHORT, _ENDED, _EXHAUSTED, _KEPT, _UNFRAMED, END, OTHER, START
from assay.events.codecs.kernels._memory import _byte, _compiled, _set
from assay.events.codecs.kernels._parsing import _keep_spelling, _parse, _refused
from assay.events.codecs.kernels._scanning import _is_start, _scan
from assay.events.codecs.kernels._words import _START_SIZE


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
