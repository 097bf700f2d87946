"""Two sides of an episode on one clock: valid events in the order of time, unwrapped where the encoding's clock wraps.

What cannot be known is counted, not guessed: silences that could hide a whole turn of the clock, and times far away
from all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.events.compiled import njit
from assay.events.stream import EventStream, Kind
from assay.types import Ints

# A silence in tokens of at least this long is told: nothing in it says how often the clock went round.
SILENCE_NS = 1_000_000_000
# No system waits longer before a held key repeats, or between repeats. By default they repeat 25 to 33 times a second.
REPEAT_NS = 1_000_000_000
QUICK_NS = 50_000_000
# A press that is auto-repeat in a recording and perhaps none in a prediction.
_DOUBTFUL = 2
# Neighbours further apart than this split a stream for the search for stray times.
_FAR_NS = 600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class ClockSide:
    """One side's valid events in the order of time."""

    events: EventStream
    """On the common clock, sorted by time."""
    first_ns: int | None
    """Time of the first action or movement, stray ones left out; None where there is none."""
    last_ns: int | None
    """Time of the last."""
    stray: int = 0
    """Actions and movements whose times lie far from all others. They count as events and stretch nothing."""
    auto_repeats: int = 0
    """Repeated presses of keys that were already held, left out of `events`."""
    silences: int = 0
    """Silences in a token stream that could hide a whole turn of its clock."""
    repeats: EventStream | None = None
    """The auto-repeats that were left out; None if there are none."""


def clock_side(
    stream: EventStream, shift_ns: int, *, truth: ClockSide | None = None, tolerance_ns: int = 0
) -> ClockSide:
    """The valid events of `stream`, auto-repeat left out, with `shift_ns` taken from their times.

    A press is auto-repeat where the key is held, its last press is at most a second back, and it comes in a rhythm:
    soon after the last press or soon before the next, or with about the same pause as its neighbour. Otherwise a
    release was lost, and it is a press of its own. The order of the events decides what is held, so that one wrong time
    makes no press a repeat.

    If no other press is close, it may also be a press whose key should have been released before. In a recording it is
    a repeat nevertheless: a keyboard repeats slowly, or the hold ended just after the delay. In a prediction, for which
    `truth` is given, it is one only if the truth has a repeat of that key within the tolerance.
    """
    valid = stream.valid
    events = stream if valid.all() else stream[valid]
    times, silences = _running(events)
    found = _repeats(events.kind, times, events.vk, events.press)
    events = replace(events, time_ns=times - shift_ns if shift_ns else times)
    if truth is not None and len(doubtful := np.flatnonzero(found == _DOUBTFUL)):
        found[doubtful] = _repeated_there(events[doubtful], truth.repeats, tolerance_ns)
    repeats = found != 0
    auto_repeats = int(np.count_nonzero(repeats))
    left_out = events[repeats] if auto_repeats else None
    if auto_repeats:
        events = events[~repeats]
    times = events.time_ns
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        events = events[np.argsort(times, kind="stable")]
    action = events.time_ns[(events.kind == Kind.KEYBOARD) | (events.kind == Kind.MOUSE)]
    first, last = _core(action)
    if first == last == len(action):
        return ClockSide(events, None, None, 0, auto_repeats, silences, left_out)
    stray = len(action) - (last - first)
    return ClockSide(events, int(action[first]), int(action[last - 1]), stray, auto_repeats, silences, left_out)


def _repeated_there(presses: EventStream, repeats: EventStream | None, tolerance_ns: int) -> NDArray[np.bool_]:
    """Whether the truth's `repeats` have one of the same key close to each of these presses, shape (n,)."""
    found = np.zeros(len(presses), np.bool_)
    if repeats is None:
        return found
    turn = (
        getattr(presses.quantised, "wrap_ns", None) or 2**62
    )  # which turn of a wrapping clock it is, is not known yet
    for key in np.unique(presses.vk):
        own = presses.vk == key
        there = np.sort(repeats.time_ns[repeats.vk == key] % turn)
        if len(there):
            at = presses.time_ns[own] % turn
            following = np.searchsorted(there, at) % len(there)
            apart = np.minimum(np.abs(there[following] - at), np.abs(there[following - 1] - at))
            found[own] = np.minimum(apart, turn - apart) <= tolerance_ns
    return found


def _core(times: Ints) -> tuple[int, int]:
    """The range of sorted times without stray ones at either end.

    A stray part is cut off from the rest by more than ten minutes and holds at most one time in a thousand, or one.
    """
    cuts = np.flatnonzero(np.diff(times) > _FAR_NS) + 1
    if not len(cuts):
        return 0, len(times)
    edges = np.concatenate([[0], cuts, [len(times)]])
    sizes = np.diff(edges)
    kept = np.flatnonzero((sizes > max(1, len(times) // 1000)) | (sizes == sizes.max()))
    return int(edges[kept[0]]), int(edges[kept[-1] + 1])


@njit(nogil=True, cache=True)
def _repeats(kind, time, vk, press):  # type: ignore[no-untyped-def]
    """Whether a press is auto-repeat, shape (n,): 0, 1, or _DOUBTFUL; see `clock_side`."""
    n = len(kind)
    out = np.zeros(n, np.int8)
    later = np.full(n, -1, np.int64)  # the next event of the same key
    upcoming = np.full(256, -1, np.int64)
    for i in range(n - 1, -1, -1):
        if kind[i] == 0:  # Kind.KEYBOARD
            later[i] = upcoming[vk[i] & 255]
            upcoming[vk[i] & 255] = i
    held = np.zeros(256, np.bool_)
    last = np.zeros(256, np.int64)
    rhythm = np.zeros(256, np.int64)  # the pause before the last repeat of a key
    for i in range(n):
        if kind[i] != 0:
            continue
        key = vk[i] & 255
        if press[i]:
            pause = abs(time[i] - last[key])
            if held[key] and pause <= REPEAT_NS:
                j = later[i]
                following = abs(time[j] - time[i]) if j >= 0 else REPEAT_NS
                again = j >= 0 and press[j]
                if pause <= QUICK_NS or (again and following <= QUICK_NS):
                    out[i] = 1
                elif following <= QUICK_NS or _alike(pause, rhythm[key]) or (again and _alike(pause, following)):
                    out[i] = _DOUBTFUL
            rhythm[key] = pause if out[i] else 0
            last[key] = time[i]
        held[key] = press[i]
    return out


@njit(nogil=True, cache=True)
def _alike(pause, other):  # type: ignore[no-untyped-def]
    """Whether two pauses may belong to one rhythm: a quarter apart at most."""
    return 4 * abs(pause - other) <= pause


def _running(events: EventStream) -> tuple[Ints, int]:
    """Times that run on where the encoding's clock starts anew, and how many silences could hide a whole turn."""
    wrap_ns = getattr(events.quantised, "wrap_ns", None)
    if wrap_ns is None or len(events) < 2:
        return events.time_ns, 0
    steps = np.diff(events.time_ns) % wrap_ns
    dense = bool(np.median(np.minimum(steps, wrap_ns - steps)) < wrap_ns / 64)
    times = _unwrap(events.time_ns, wrap_ns, dense)
    return times, int((np.diff(np.sort(times)) >= SILENCE_NS).sum())


@njit(nogil=True, cache=True)
def _unwrap(wrapped, wrap, dense):  # type: ignore[no-untyped-def]
    """Times on a clock that runs on, from times in 0 … wrap−1 in order.

    Time runs forwards: a step back by more than an eighth of a turn is a step forwards into the next turn; less is two
    devices slightly out of order. In a dense stream a leap ahead of more than an eighth of a turn is a wrong time, not
    a silence, where one of the next few events follows the last believed one closely; it costs that event only.
    """
    n = len(wrapped)
    eighth = wrap // 8
    out = np.empty(n, np.int64)
    now = wrapped[0]
    out[0] = now
    for i in range(1, n):
        step = (wrapped[i] - now + eighth) % wrap - eighth
        out[i] = now + step
        believed = True
        if dense and step > eighth:
            for j in range(i + 1, min(i + 5, n)):
                if (wrapped[j] - now + eighth) % wrap - eighth <= eighth:
                    believed = False
        if believed:
            now = out[i]
    return out
