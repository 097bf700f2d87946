"""Whether pairing by position went out of step: one extra or missing event shifts all that follow.

Both sides' events are aligned by edit distance, without their times, and the agreement then is compared with the
agreement position by position. It explains figures of `owa@1` and `sequence@1` and does not replace them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.events.actions import states
from assay.events.actions.states import StateRows
from assay.events.compiled import inner, njit
from assay.events.stream import Column, EventStream
from assay.events.tally import Tally

# At most this many events of an episode are aligned, at most this far out of step beyond the difference in length.
_EVENTS, _BAND, _WIDEST = 20_000, 32, 256
_KEYBOARD, _MOUSE = 0, 1  # stream.Kind; a test checks that they agree
# If keys agree at this share of positions, there is nothing to explain.
_IN_STEP = 0.6
# An alignment has to explain this much of the events to count as an offset.
_GAIN = 0.1


@dataclass(frozen=True, slots=True)
class PositionAlignment:
    """How two sequences of events agree."""

    equal: int
    """Positions at which both have the same event, times and deltas aside."""
    aligned: int
    """Events that agree once both are aligned."""
    offset: int | None
    """Position of the first event out of step, if alignment explains much of the difference."""
    copied: int
    """Positions at which the prediction equals the previous true event and not its own truth; 0 if lengths differ."""
    echoed: int
    """Positions at which it equals the previous true event, times aside, and that is another than its own truth."""
    changed: int
    """Positions at which the true event is another than the previous one, times aside; 0 if lengths differ."""


def align(predicted: EventStream, truth: EventStream) -> PositionAlignment:
    """Position by position and by edit distance, over the first events of an episode."""
    n, m = (min(len(side), _EVENTS) for side in (truth, predicted))
    columns = [getattr(side, name) for side in (truth, predicted) for name in _COMPARED]
    equal, keys, equal_keys, *copied = _compare(*columns, min(n, m)).tolist()
    in_step = n == m and (equal_keys / keys >= _IN_STEP if keys else equal == n)
    band = abs(n - m) + _BAND
    if not min(n, m) or in_step or band > _WIDEST:
        return PositionAlignment(equal, equal, None, *copied)
    right, guess = (_symbols(*_columns(side), size) for side, size in ((truth, n), (predicted, m)))
    aligned, first = _align(right, guess, band)
    out = first >= 0 and aligned - equal >= _GAIN * n
    return PositionAlignment(equal, int(aligned), int(first) if out else None, *copied)


_COMPARED = ("problem", "kind", "vk", "press", "flags", "time_ns", "dx", "dy", "data")


def _columns(stream: EventStream) -> tuple[Column, Column, Column, Column, Column]:
    return stream.problem, stream.kind, stream.vk, stream.press, stream.flags


def summary(tally: Tally) -> dict[str, Any]:
    """What all episodes show, ready for JSON."""
    found: dict[str, Any] = states.facts(StateRows.of(tally, states.COUNTS), states.POSITIONS, states.POSITION_SUMS)
    values = StateRows.of(tally, states.VALUES)
    offsets = values.where(values.columns[0] == states.OFFSETS)
    episode, position = None, None
    if len(offsets.episode):
        episode, position = tally.episodes[offsets.episode[0]].name, int(offsets.columns[1][0])
    return found | {"first_episode": episode, "first_position": position}


def out_of_step_sentence(tally: Tally) -> str | None:
    """The warning to show before any figure that pairs by position; None if both sides are in step."""
    found = summary(tally)
    if found["out_of_step"]:
        where = f" of '{found['first_episode']}'" if found["first_episode"] else ""
        equal, aligned = (found[name] / max(found["true"], 1) for name in ("equal", "aligned"))
        return (
            f"Pairing by position went out of step in {found['out_of_step']:,} of {found['episodes']:,} episodes, "
            f"first at event {found['first_position']:,}{where}: {equal:.0%} of the events agree position by position, "
            f"{aligned:.0%} would once aligned by edit distance. Read assay@1, which does not depend on positions."
        )
    if found["longer"] or found["shorter"]:
        return (
            f"{found['longer']:,} episodes have more predictions than truths and {found['shorter']:,} fewer: figures "
            "that pair by position compare what happens to stand at the same place. Read assay@1."
        )
    return None


@inner(nogil=True, cache=True)
def _symbol(problem, kind, vk, press, flags):  # type: ignore[no-untyped-def]
    """A number for what each event is, apart from its time and distance; −1 if it is invalid."""
    if problem != 0:
        return np.int64(-1)
    if kind == _KEYBOARD:
        return np.int64(2 * vk + press)
    return np.int64(1000 + flags) if kind == _MOUSE else np.int64(10_000)


@njit(nogil=True, cache=True)
def _symbols(problem, kind, vk, press, flags, n):  # type: ignore[no-untyped-def]
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = _symbol(problem[i], kind[i], vk[i], press[i], flags[i])
    return out


@njit(nogil=True, cache=True)
def _compare(  # type: ignore[no-untyped-def]
    problem, kind, vk, press, flags, time, dx, dy, data,
    p_problem, p_kind, p_vk, p_press, p_flags, p_time, p_dx, p_dy, p_data, n,
):  # fmt: skip
    """Of the first n events: how many are equal, how many of the truth are keys, and how many of those are equal.

    And of all, if both sides have the same length: at how many positions the prediction equals the previous true event
    and not its own truth; at how many it does so with times aside; and at how many the truth differs from the previous
    one, times aside.
    """
    out = np.zeros(6, np.int64)
    for i in range(n):
        right = _symbol(problem[i], kind[i], vk[i], press[i], flags[i])
        equal = right == _symbol(p_problem[i], p_kind[i], p_vk[i], p_press[i], p_flags[i])
        out[0] += equal
        if kind[i] == _KEYBOARD:
            out[1] += 1
            out[2] += equal
    if len(kind) == len(p_kind):
        for i in range(1, len(kind)):
            for j in (i - 1, i):
                if (
                    p_time[i] != time[j]
                    or p_kind[i] != kind[j]
                    or p_vk[i] != vk[j]
                    or p_press[i] != press[j]
                    or p_dx[i] != dx[j]
                    or p_dy[i] != dy[j]
                    or p_flags[i] != flags[j]
                    or p_data[i] != data[j]
                ):
                    out[3] += j == i  # equal to the previous one, and not to its own
                    break
            j = i - 1
            if (
                kind[i] != kind[j]
                or vk[i] != vk[j]
                or press[i] != press[j]
                or dx[i] != dx[j]
                or dy[i] != dy[j]
                or flags[i] != flags[j]
                or data[i] != data[j]
            ):
                out[5] += 1
                out[4] += (
                    p_problem[i] == 0
                    and p_kind[i] == kind[j]
                    and p_vk[i] == vk[j]
                    and p_press[i] == press[j]
                    and p_dx[i] == dx[j]
                    and p_dy[i] == dy[j]
                    and p_flags[i] == flags[j]
                    and p_data[i] == data[j]
                )
    return out


@njit(nogil=True, cache=True)
def _align(truth, predicted, band):  # type: ignore[no-untyped-def]
    """Equal pairs on a shortest edit path within `band` of the diagonal, and the true position where it leaves it."""
    n, m = len(truth), len(predicted)
    width = 2 * band + 1
    far = np.int32(1 << 29)
    cost = np.full(width, far, np.int32)
    choice = np.zeros((n + 1, width), np.uint8)  # 0 both, 1 the truth alone, 2 the prediction alone
    for k in range(width):
        j = k - band
        if 0 <= j <= m:
            cost[k] = j
            choice[0, k] = 2
    for i in range(1, n + 1):
        new = np.full(width, far, np.int32)
        for k in range(width):
            j = i + k - band
            if j < 0 or j > m:
                continue
            best, chosen = far, 1
            if j > 0:
                best = cost[k] + (0 if truth[i - 1] == predicted[j - 1] and truth[i - 1] >= 0 else 1)
                chosen = 0
            if k + 1 < width and cost[k + 1] + 1 < best:
                best, chosen = cost[k + 1] + 1, 1
            if k > 0 and j > 0 and new[k - 1] + 1 < best:
                best, chosen = new[k - 1] + 1, 2
            new[k] = best
            choice[i, k] = chosen
        cost = new
    i, j = n, m
    equal, first = 0, -1
    while i > 0 or j > 0:
        chosen = choice[i, j - i + band]
        if chosen == 0:
            i -= 1
            j -= 1
            equal += truth[i] == predicted[j] and truth[i] >= 0
        elif chosen == 1:
            i -= 1
            first = i
        else:
            j -= 1
            first = i
    return equal, first
