"""Two sides of an episode on one clock: valid events in the order of time, unwrapped if the encoding's clock wraps.

What cannot be known is counted, not guessed: silences that could hide a whole period of the clock, and times far away
from all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.events.compiled import inner, njit
from assay.events.stream import EventStream
from assay.types import Ints

# A silence in tokens of at least this length is reported: nothing in it shows how often the clock wrapped.
SILENCE_NS = 1_000_000_000
# No system waits longer before a held key repeats, or between repeats. By default they repeat 25 to 33 times a second.
REPEAT_NS = 1_000_000_000
QUICK_NS = 50_000_000
# A press that is auto-repeat in a recording but may be a separate press in a prediction.
_DOUBTFUL = 2
# Neighbours further apart than this split a stream for the search for stray times.
_FAR_NS = 600 * 1_000_000_000
_KEYBOARD, _MOUSE, _SCREEN = 0, 1, 2  # stream.Kind; a test checks that they agree


@dataclass(frozen=True, slots=True)
class ClockSide:
    """One side's valid events in the order of time, without auto-repeat."""

    stream: EventStream
    at: Ints
    """Which events of the stream, in the order of time."""
    time_ns: Ints
    """Their times on the common clock, ascending."""
    first_ns: int | None
    """Time of the first action or movement, stray ones left out; None if there is none."""
    last_ns: int | None
    """Time of the last."""
    valid: int
    """How many events of the stream are valid."""
    stray: int
    """Actions and movements whose times lie far from all others. They count as events but do not extend the span."""
    auto_repeats: int
    """Repeated presses of keys that were already held, left out."""
    silences: int
    """Silences in a token stream that could hide a whole period of its clock."""
    frames: int
    """Screen events."""
    repeats: Ints
    """Which events of the stream are the auto-repeats that were left out, in the reverse order of time."""
    repeats_ns: Ints
    """Their times."""

    def shifted(self, by_ns: int) -> ClockSide:
        """The same side, later by `by_ns`."""
        first, last = (None if end is None else end + by_ns for end in (self.first_ns, self.last_ns))
        return replace(self, time_ns=self.time_ns + by_ns, first_ns=first, last_ns=last)


def clock_side(
    stream: EventStream, shift_ns: int, *, truth: ClockSide | None = None, tolerance_ns: int = 0
) -> ClockSide:
    """The valid events of `stream`, auto-repeat left out, with `shift_ns` taken from their times.

    A press is auto-repeat if the key is held, its last press is at most a second back, and it comes in a rhythm: soon
    after the last press or soon before the next, or with about the same pause as its neighbour. Otherwise a release was
    lost, and it is a separate press. The order of the events decides what is held, so that one wrong time does not turn
    a press into a repeat.

    If no other press is close, it may also be a press whose key should have been released before. In a recording it is
    a repeat nevertheless: a keyboard repeats slowly, or the hold ended just after the delay. In a prediction, for which
    `truth` is given, it is one only if the truth has a repeat of that key within the tolerance.
    """
    wrap_ns = getattr(stream.quantised, "wrap_ns", None) or 0
    columns = (stream.problem, stream.kind, stream.time_ns, stream.vk, stream.press)
    valid, times, is_repeat, ascending, doubtful = _run(*columns, wrap_ns)
    if truth is not None and doubtful:
        # In which period of a wrapping clock a time lies is not known yet.
        turn = wrap_ns or 2**62
        there, keys = truth.repeats_ns % turn, truth.stream.vk[truth.repeats]
        order = np.lexsort((there, keys))
        _settle_doubts(is_repeat, stream.vk, valid, times, shift_ns, there[order], keys[order], tolerance_ns, turn)
    order = _IN_ORDER if ascending else np.argsort(times, kind="stable")
    at, times, facts = _settle(order, valid, times, is_repeat, stream.kind, shift_ns, wrap_ns > 0)
    acts, first, last, stray, auto_repeats, silences, frames = facts.tolist()
    n = len(at) - auto_repeats
    return ClockSide(
        stream=stream,
        at=at[:n],
        time_ns=times[:n],
        first_ns=first if acts else None,
        last_ns=last if acts else None,
        valid=len(valid),
        stray=stray,
        auto_repeats=auto_repeats,
        silences=silences,
        frames=frames,
        repeats=at[n:],
        repeats_ns=times[n:],
    )


_IN_ORDER = np.empty(0, np.int64)


@njit(nogil=True, cache=True)
def _settle_doubts(is_repeat, vk, valid, times, shift, there, keys, tolerance, turn):  # type: ignore[no-untyped-def]
    """Decide whether the truth has an auto-repeat of the same key close to each doubtful press.

    `there` has the times of its auto-repeats, modulo `turn`, sorted by key and then by time.
    """
    n = len(there)
    for i in range(len(is_repeat)):
        if is_repeat[i] != _DOUBTFUL:
            continue
        key, at = vk[valid[i]], (times[i] - shift) % turn
        first, stop = 0, n
        while first < stop:  # the first of this key or a later one
            middle = (first + stop) // 2
            if keys[middle] < key:
                first = middle + 1
            else:
                stop = middle
        last, stop = first, n
        while last < stop:  # the first after those of this key
            middle = (last + stop) // 2
            if keys[middle] <= key:
                last = middle + 1
            else:
                stop = middle
        following, stop = first, last
        while following < stop:  # the first of this key that is not earlier
            middle = (following + stop) // 2
            if there[middle] < at:
                following = middle + 1
            else:
                stop = middle
        is_repeat[i] = 0
        if first < last:
            apart = abs(there[following if following < last else first] - at)
            before = abs(there[following - 1 if following > first else last - 1] - at)
            apart = min(apart, before)
            is_repeat[i] = min(apart, turn - apart) <= tolerance


@njit(nogil=True, cache=True)
def _run(problem, kind, time_ns, vk, press, wrap):  # type: ignore[no-untyped-def]
    """Valid events, their times on a continuous clock, whether each is auto-repeat; whether the times ascend, and
    whether any auto-repeat is doubtful.
    """
    n = 0
    valid = np.empty(len(problem), np.int64)
    for i in range(len(problem)):
        if problem[i] == 0:
            valid[n] = i
            n += 1
    valid = valid[:n]
    times = np.empty(n, np.int64)
    for i in range(n):
        times[i] = time_ns[valid[i]]
    if wrap > 0 and n > 1:
        _unwrap(times, wrap)
    ascending = True
    for i in range(1, n):
        if times[i] < times[i - 1]:
            ascending = False
    is_repeat = _repeats(valid, kind, times, vk, press)
    doubtful = False
    for one in is_repeat:
        doubtful |= one == _DOUBTFUL
    return valid, times, is_repeat, ascending, doubtful


@njit(nogil=True, cache=True)
def _settle(order, valid, times, is_repeat, kind, shift, wraps):  # type: ignore[no-untyped-def]
    """Events without auto-repeat and their times, in the given order, and behind them the auto-repeats; and facts.

    No order is that of the events.
    """
    n = len(times)
    in_order = len(order) == 0
    at, out = np.empty(n, np.int64), np.empty(n, np.int64)
    acts = np.empty(n, np.int64)  # times of actions and movements
    found = count = repeats = silences = frames = 0
    before = np.int64(0)
    for i in range(n):
        k = i if in_order else order[i]
        if wraps and i > 0 and times[k] - before >= SILENCE_NS:
            silences += 1
        before = times[k]
        if is_repeat[k]:
            repeats += 1
            at[n - repeats] = valid[k]
            out[n - repeats] = times[k] - shift
            continue
        at[found] = valid[k]
        out[found] = times[k] - shift
        what = kind[valid[k]]
        if what == _SCREEN:
            frames += 1
        elif what in (_KEYBOARD, _MOUSE):
            acts[count] = out[found]
            count += 1
        found += 1
    first, stop = _core(acts[:count])
    facts = np.zeros(7, np.int64)
    facts[0] = count
    if count > 0:
        facts[1], facts[2] = acts[first], acts[stop - 1]
    facts[3], facts[4], facts[5], facts[6] = count - (stop - first), repeats, silences, frames
    return at, out, facts


@njit(nogil=True, cache=True)
def _core(times):  # type: ignore[no-untyped-def]
    """The range of sorted times without stray ones at either end.

    A stray part is more than ten minutes from the rest and has at most one time in a thousand, or a single time.
    """
    n = len(times)
    largest = begin = 0
    for i in range(1, n + 1):
        if i == n or times[i] - times[i - 1] > _FAR_NS:
            largest = max(largest, i - begin)
            begin = i
    first, stop, begin = -1, n, 0
    for i in range(1, n + 1):
        if i == n or times[i] - times[i - 1] > _FAR_NS:
            if i - begin > max(1, n // 1000) or i - begin == largest:
                first = begin if first < 0 else first
                stop = i
            begin = i
    return max(first, 0), stop


@inner(nogil=True, cache=True)
def _repeats(valid, kind, time, vk, press):  # type: ignore[no-untyped-def]
    """Whether a press is auto-repeat, shape (n,): 0, 1, or _DOUBTFUL; see `clock_side`."""
    n = len(valid)
    out = np.zeros(n, np.int8)
    later = np.full(n, -1, np.int64)  # the next event of the same key
    upcoming = np.full(256, -1, np.int64)
    for i in range(n - 1, -1, -1):
        if kind[valid[i]] == _KEYBOARD:
            key = vk[valid[i]] & 255
            later[i] = upcoming[key]
            upcoming[key] = i
    held = np.zeros(256, np.bool_)
    last = np.zeros(256, np.int64)
    rhythm = np.zeros(256, np.int64)  # the pause before the last repeat of a key
    for i in range(n):
        if kind[valid[i]] != _KEYBOARD:
            continue
        key = vk[valid[i]] & 255
        if press[valid[i]]:
            pause = abs(time[i] - last[key])
            if held[key] and pause <= REPEAT_NS:
                j = later[i]
                following = abs(time[j] - time[i]) if j >= 0 else REPEAT_NS
                again = j >= 0 and press[valid[j]]
                if pause <= QUICK_NS or (again and following <= QUICK_NS):
                    out[i] = 1
                elif following <= QUICK_NS or _alike(pause, rhythm[key]) or (again and _alike(pause, following)):
                    out[i] = _DOUBTFUL
            rhythm[key] = pause if out[i] else 0
            last[key] = time[i]
        held[key] = press[valid[i]]
    return out


@inner(nogil=True, cache=True)
def _alike(pause, other):  # type: ignore[no-untyped-def]
    """Whether two pauses may belong to one rhythm: they differ by at most a quarter."""
    return 4 * abs(pause - other) <= pause


@inner(nogil=True, cache=True)
def _unwrap(times, wrap):  # type: ignore[no-untyped-def]
    """Convert times in 0 … wrap−1, in order, to times on a continuous clock.

    Time runs forwards: a step back by more than an eighth of a period is a step forwards into the next period; a
    smaller one means that two devices are slightly out of order. In a dense stream a leap ahead by more than an eighth
    of a period is a wrong time, not a silence, if one of the next few events closely follows the last believed one; it
    costs that event only.
    """
    n = len(times)
    dense = _is_dense(times, wrap)
    eighth = wrap // 8
    now = on_clock = times[0]  # the last believed time, and what the clock that wraps showed then
    for i in range(1, n):
        shown = times[i]
        step = _modulo(shown - on_clock + eighth, wrap) - eighth
        believed = True
        if dense and step > eighth:
            for j in range(i + 1, min(i + 5, n)):
                if _modulo(times[j] - on_clock + eighth, wrap) - eighth <= eighth:
                    believed = False
        times[i] = now + step
        if believed:
            now, on_clock = times[i], shown


@inner(nogil=True, cache=True)
def _modulo(number, wrap):  # type: ignore[no-untyped-def]
    """`number % wrap`, with a slow division only if the number is far from 0 … wrap−1."""
    if number < 0:
        number += wrap
    elif number >= wrap:
        number -= wrap
    return number if 0 <= number < wrap else number % wrap


@njit(nogil=True, cache=True)
def _is_dense(times, wrap):  # type: ignore[no-untyped-def]
    """Whether the median step, either way round the clock, is less than 1/64 of a period; needs two times or more."""
    limit = wrap / 64
    fewer = 0
    below, above = np.int64(0), wrap  # the greatest step below the limit, and the least that is not
    for i in range(1, len(times)):
        step = _modulo(times[i] - times[i - 1], wrap)
        step = min(step, wrap - step)
        if step < limit:
            fewer += 1
            below = max(below, step)
        else:
            above = min(above, step)
    steps = len(times) - 1
    if 2 * fewer == steps:
        return (below + above) / 2 < limit
    return 2 * fewer > steps
