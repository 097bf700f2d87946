"""Trivial predictions of an episode's keys and buttons, each computed from earlier actions only.

- idle does nothing.
- repeat-last repeats the last action after a pause as long as the pause before it. The pause is longer than the
  tolerance: an echo would match the very action that it repeats.
- majority does the most common action so far, at its rate so far.
- random draws from the actions so far, at their rate so far and at random times.

A model that is not better than these has learned nothing about when to do what.
"""

from __future__ import annotations

import hashlib

import numpy as np

from assay.events.actions.comparing import count_matches
from assay.events.actions.labels import HEADLINE, LABELS, Actions, by_label
from assay.events.compiled import inner, njit
from assay.types import Ints

BASELINES = ("idle", "repeat_last", "majority", "random")
"""Always scored. If predictions are teacher-forced, `copied`, the input given back unchanged, is scored too."""
COPIED = "copied"


def predictions(truth: Actions, tolerance_ns: int, seed: int, episode: str) -> dict[str, Actions]:
    """The predictions of each of BASELINES for an episode with these true actions."""
    made = predictions_and_copy(truth, tolerance_ns, seed, episode)
    return {name: made[name] for name in BASELINES}


def copied(truth: Actions) -> Actions:
    """The true actions one position late, with their own times: the prediction of a model that copies its input."""
    return Actions(*_copied(truth.time_ns, truth.edges)) if truth.edges[HEADLINE] else _NOTHING


def predictions_and_copy(truth: Actions, tolerance_ns: int, seed: int, episode: str) -> dict[str, Actions]:
    """As `predictions`, with COPIED as the last one."""
    if not truth.edges[HEADLINE]:
        return dict.fromkeys((*BASELINES, COPIED), _NOTHING)
    made = _predict(truth.time_ns, truth.labels, truth.order, truth.edges, tolerance_ns, _seed(seed, episode))
    streams = [Actions(*made[at : at + 2]) for at in range(0, len(made), 2)]
    return dict(zip((*BASELINES, COPIED), [_NOTHING, *streams], strict=True))


def measure(truth: Actions, tolerance_ns: int, seed: int, episode: str, tolerances_ns: Ints, counts: Ints) -> None:
    """Write how many actions each baseline matches at each tolerance to `counts`, which must be 0.

    Its shape is (baselines and COPIED, 1 + tolerances): matches at the first tolerance, how many actions are predicted,
    and matches at the other tolerances.
    """
    if truth.edges[HEADLINE]:
        columns = (truth.time_ns, truth.labels, truth.order, truth.edges)
        _measure(*columns, tolerance_ns, _seed(seed, episode), tolerances_ns, counts)


_NOTHING = Actions(np.empty(0, np.int64), np.zeros(LABELS + 1, np.int64))


def _seed(seed: int, episode: str) -> np.uint64:
    digest = hashlib.blake2b(f"{seed}/{episode}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@njit(nogil=True, cache=True)
def _predict(times, labels, order, edges, tolerance, state):  # type: ignore[no-untyped-def]
    """Times and edges of each baseline except idle."""
    n = edges[HEADLINE]
    label, time = np.empty(n, np.int16), np.empty(n, np.int64)
    found = 0
    for k in order:
        if k < n:
            label[found], time[found] = labels[k], times[k]
            found += 1
    repeated, repeated_edges = _repeat_last(label, time, tolerance)
    common, common_edges = _majority(label, time)
    drawn, drawn_edges = _random(label, time, tolerance, state)
    copied, copied_edges = _copied(times, edges)
    return (
        repeated, repeated_edges, common, common_edges, drawn, drawn_edges, copied, copied_edges,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _measure(times, labels, order, edges, tolerance, state, tolerances, counts):  # type: ignore[no-untyped-def]
    """See `measure`."""
    repeated, repeated_edges, common, common_edges, drawn, drawn_edges, copied, copied_edges = _predict(
        times, labels, order, edges, tolerance, state
    )
    made, made_edges = (repeated, common, drawn, copied), (repeated_edges, common_edges, drawn_edges, copied_edges)
    nothing = np.int64(0)  # not a literal, for which the function would be compiled again
    for at in range(len(made)):  # the first baseline does nothing
        if len(made[at]) > 0:
            matched = count_matches(times, edges, made[at], made_edges[at], tolerances, nothing)
            counts[at + 1, 0] = matched[0]
            counts[at + 1, 1] = len(made[at])
            for k in range(1, len(tolerances)):
                counts[at + 1, k + 1] = matched[k]


@njit(nogil=True, cache=True)
def _copied(times, edges):  # type: ignore[no-untyped-def]
    """See `copied`."""
    n = edges[HEADLINE]
    last = 0
    for i in range(n):
        if times[i] > times[last]:
            last = i
    kept = np.empty(n - 1, np.int64)
    for i in range(n - 1):
        kept[i] = times[i] if i < last else times[i + 1]
    kept_edges = np.empty(len(edges), np.int64)
    for k in range(len(edges)):
        edge = min(edges[k], n)
        kept_edges[k] = edge - (edge > last)
    return kept, kept_edges


@inner(nogil=True, cache=True)
def _repeat_last(label, time, tolerance):  # type: ignore[no-untyped-def]
    again = np.empty(max(len(time) - 1, 0), np.int64)
    for i in range(len(again)):
        again[i] = time[i + 1] + max(time[i + 1] - time[i], tolerance + 1)
    return by_label(label[1:], again)


@inner(nogil=True, cache=True)
def _majority(label, time):  # type: ignore[no-untyped-def]
    n = len(time)
    out_label, out_time = np.empty(n, np.int16), np.empty(n, np.int64)
    counts = np.zeros(HEADLINE, np.int64)
    seen = found = 0
    common = np.int16(0)
    now = time[1] if n > 1 else np.int64(0)
    while n > 1 and found < n and now <= time[-1]:
        while seen < n and time[seen] < now:
            counts[label[seen]] += 1
            if counts[label[seen]] > counts[common]:
                common = label[seen]
            seen += 1
        elapsed = now - time[0]
        if counts[common] and elapsed > 0:
            out_label[found] = common
            out_time[found] = now
            found += 1
            now += max(np.int64(1), elapsed // counts[common])
        elif seen + 1 < n:
            now = max(now + 1, time[seen + 1])
        else:
            break
    return by_label(out_label[:found], out_time[:found])


@inner(nogil=True, cache=True)
def _random(label, time, tolerance, state):  # type: ignore[no-untyped-def]
    """A Poisson process whose rate at each moment is the mean rate of the actions since the first one."""
    n = len(time)
    size = 4 * n + 16
    out_label, out_time = np.empty(size, np.int16), np.empty(size, np.int64)
    old = found = 0
    state, share = _uniform(state)
    wait = -np.log(1.0 - share)  # the integral of the rate up to the next action
    for seen in range(1, n - 1):  # actions seen after the first, between time[seen] and the next
        now = max(np.float64(time[seen] - time[0]), 1.0)
        end = np.float64(time[seen + 1] - time[0])
        while now < end and found < size:
            until_end = seen * np.log(end / now)
            if wait > until_end:
                wait -= until_end
                break
            now *= np.exp(wait / seen)
            state, share = _uniform(state)
            wait = -np.log(1.0 - share)
            moment = time[0] + np.int64(now)
            # Drawn from actions that are further back than the tolerance: an echo would match what it repeats.
            while old < n and time[old] < moment - tolerance:
                old += 1
            state, share = _uniform(state)
            if old > 0:
                out_label[found] = label[int(share * old)]
                out_time[found] = moment
                found += 1
    return by_label(out_label[:found], out_time[:found])


@njit(nogil=True, cache=True)
def _uniform(state):  # type: ignore[no-untyped-def]
    """The next state and a number in [0, 1): splitmix64, so that threads share no state and the seed fixes all."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
