"""Compiled comparison of two sides in bins of time, for `d2e@1`: sums of movement, and equal counts of actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.events.align import Bins
from assay.events.compiled import inner, njit
from assay.events.stream import EventStream
from assay.types import Ints

# An episode's times lie closer together than this; one further away is a mistake in the file.
_REACH_NS = 30 * 24 * 3600 * 10**9
_KEYBOARD, _MOUSE, _SCREEN = 0, 1, 2  # stream.Kind; a test checks that they agree
_MOVE = -1
_KEYS = 512
"""Labels below this are keys: twice the key code, plus 1 for a press. From here on it is a set of button transitions,
given by its flags."""
_BUTTONS = 6
"""Left, right and middle, down and up: the transitions that count as buttons, the lowest bits of the flags."""
_LABELS = _KEYS + _BUTTONS


@dataclass(frozen=True, slots=True)
class RunningSide:
    """One side of an episode on a continuous clock instead of the encoding's clock, which wraps around.

    A step back of more than half a period starts the next period, a step forward of more than half a period returns to
    the previous one: events of two devices may be slightly out of order.
    """

    stream: EventStream
    time_ns: Ints
    """Time of each event, shape (events,); meaningless for invalid ones."""
    n: int
    """How many events are valid; what follows is 0 if none is."""
    low_ns: int
    """The least time of a valid event."""
    high_ns: int
    """The greatest."""
    begin_ns: int
    """The time that the side begins at: on a clock that wraps around, the least may belong to a later period."""
    frames: bool
    """Whether there are screen events."""

    @classmethod
    def of(cls, stream: EventStream) -> RunningSide:
        """The side without times that are absurd: more than 30 days from the median of its valid events.

        One such time would move the beginning, the end or the span of its whole episode.
        """
        wrap_ns = getattr(stream.quantised, "wrap_ns", None)
        times, facts = _run(stream.problem, stream.time_ns, stream.kind, wrap_ns or 0)
        n, low, high, first, frames = facts.tolist()
        if high - low > _REACH_NS:
            chosen = np.flatnonzero(stream.problem == 0)
            # The upper median occurs, so nothing is rounded; the difference of two times of 63 bits fits.
            middle = np.partition(times[chosen], n // 2)[n // 2]
            chosen = chosen[np.abs(times[chosen] - middle) <= _REACH_NS]
            stream, times = stream[chosen], times[chosen]
            n, low, high, first = len(chosen), int(times.min()), int(times.max()), int(times[0])
            frames = (stream.kind == _SCREEN).any()
        return cls(stream, times, n, low, high, low if wrap_ns is None else first, bool(frames))


@njit(nogil=True, cache=True)
def _run(problem, time_ns, kind, wrap):  # type: ignore[no-untyped-def]
    """Times on a continuous clock, if `wrap` is not 0; number, least, greatest and first of valid ones; any frames."""
    times = np.empty(len(time_ns), np.int64)
    facts = np.zeros(5, np.int64)
    turns = before = np.int64(0)
    for i in range(len(time_ns)):
        if problem[i] != 0:
            continue
        if wrap != 0 and facts[0] > 0:
            step = time_ns[i] - before
            turns += (step < -wrap / 2) * wrap - (step > wrap / 2) * wrap
        before = time_ns[i]
        time = before + turns
        times[i] = time
        if facts[0] == 0:
            facts[1] = facts[2] = facts[3] = time
        facts[0] += 1
        facts[1] = min(facts[1], time)
        facts[2] = max(facts[2], time)
        if kind[i] == _SCREEN:
            facts[4] = 1
    return times, facts


@dataclass(frozen=True, slots=True)
class BinnedMatches:
    """The comparison of two sides, bin by bin."""

    moved: Ints
    """Sums in each bin in which either side moves: true and predicted x, true and predicted y; shape (4, bins)."""
    distance: list[int]
    """Sums of the absolute values of each of the four."""
    keys: tuple[int, int]
    """Of the (bin, key, press) that occur on either side: how many occur equally often on both, and all."""
    buttons: tuple[int, int]
    """The same of (bin, transition)."""


def compare_bins(predicted: RunningSide, truth: RunningSide, shifts: tuple[int, int], bins: Bins) -> BinnedMatches:
    """Compare events with `shifts` subtracted from their times; only those within the range of `bins` count."""
    sides = [_listed(side, shift, bins) for side, shift in zip((truth, predicted), reversed(shifts), strict=True)]
    moved, sums = _compare(*sides[0], *sides[1])
    t_x, p_x, t_y, p_y, equal_keys, keys, equal_buttons, buttons = sums.tolist()
    return BinnedMatches(moved, [t_x, p_x, t_y, p_y], (equal_keys, keys), (equal_buttons, buttons))


def _listed(side: RunningSide, shift: int, bins: Bins) -> tuple[Ints, Ints, Ints, Ints]:
    """Bin, label and movement of the events that count, in the order of their bins."""
    events = side.stream
    columns = (events.kind, events.vk, events.press, events.dx, events.dy, events.flags)
    *listed, ascending = _list(events.problem, side.time_ns, *columns, shift, bins.start_ns, bins.end_ns, bins.width_ns)
    if not ascending:
        order = np.argsort(listed[0], kind="stable")
        listed = [column[order] for column in listed]
    at, label, dx, dy = listed
    return at, label, dx, dy


# A float holds every whole number up to this.
_EXACT = 1 << 52


@inner(nogil=True, cache=True)
def _quotient(time, width, share):  # type: ignore[no-untyped-def]
    """`time // width` of times that are not negative; `share` is 1 ÷ width, and multiplying is faster than dividing."""
    if time >= _EXACT:
        return time // width
    found = np.int64(time * share)
    rest = time - found * width
    return found - 1 if rest < 0 else found + 1 if rest >= width else found


@njit(nogil=True, cache=True)
def _list(problem, time_ns, kind, vk, press, dx, dy, flags, shift, start, end, width):  # type: ignore[no-untyped-def]
    n = len(kind)
    at, label = np.empty(n, np.int64), np.empty(n, np.int64)
    x, y = np.empty(n, np.int64), np.empty(n, np.int64)
    found = 0
    ascending = True
    share = 1.0 / width
    for i in range(n):
        time = time_ns[i] - shift
        if problem[i] != 0 or time < start or time >= end:
            continue  # the very end of the range is outside
        if kind[i] == _KEYBOARD:
            label[found] = 2 * (vk[i] & 255) + press[i]
        elif kind[i] == _MOUSE and flags[i] == 0:
            label[found] = _MOVE
        elif kind[i] == _MOUSE and flags[i] & ((1 << _BUTTONS) - 1):
            label[found] = _KEYS + (flags[i] & ((1 << _BUTTONS) - 1))
        else:
            continue
        at[found] = _quotient(time - start, width, share)
        x[found] = dx[i]
        y[found] = dy[i]
        ascending = ascending and (found == 0 or at[found] >= at[found - 1])
        found += 1
    return at[:found], label[:found], x[:found], y[:found], ascending


@njit(nogil=True, cache=True)
def _compare(t_at, t_label, t_x, t_y, p_at, p_label, p_x, p_y):  # type: ignore[no-untyped-def]
    """Only bins with events are visited: one stray time far away would make very many bins, all of them empty."""
    n, m = len(t_at), len(p_at)
    moved = np.empty((4, n + m), np.int64)
    out = np.zeros(8, np.int64)
    excess = np.zeros(_LABELS, np.int64)  # how much more often the truth has a label in this bin
    known = np.zeros(_LABELS, np.bool_)
    labels = np.empty(_LABELS, np.int64)  # those that are known
    i = j = bins = 0
    while i < n or j < m:
        now = t_at[i] if j == m or (i < n and t_at[i] <= p_at[j]) else p_at[j]
        tx = ty = px = py = np.int64(0)
        moves = False
        found = np.int64(0)
        while i < n and t_at[i] == now:
            if t_label[i] == _MOVE:
                tx += t_x[i]
                ty += t_y[i]
                moves = True
            else:
                found = _count(t_label[i], np.int64(1), excess, known, labels, found)
            i += 1
        while j < m and p_at[j] == now:
            if p_label[j] == _MOVE:
                px += p_x[j]
                py += p_y[j]
                moves = True
            else:
                found = _count(p_label[j], np.int64(-1), excess, known, labels, found)
            j += 1
        if moves:
            moved[0, bins], moved[1, bins], moved[2, bins], moved[3, bins] = tx, px, ty, py
            out[0] += abs(tx)
            out[1] += abs(px)
            out[2] += abs(ty)
            out[3] += abs(py)
            bins += 1
        for k in range(found):
            label = labels[k]
            to = 4 if label < _KEYS else 6
            out[to] += excess[label] == 0
            out[to + 1] += 1
            excess[label] = 0
            known[label] = False
    return moved[:, :bins], out


@inner(nogil=True, cache=True)
def _count(label, by, excess, known, labels, found):  # type: ignore[no-untyped-def]
    """Count an event with `label`; returns how many labels of the bin are known now."""
    several = label >= _KEYS
    for one in range(_KEYS if several else label, _LABELS if several else label + 1):
        if not several or (label - _KEYS) >> (one - _KEYS) & 1:
            excess[one] += by
            if not known[one]:
                known[one] = True
                labels[found] = one
                found += 1
    return found
