"""Whether pairing by position went out of step: one extra or missing event shifts all that follow.

Both sides' events are aligned by edit distance, without their times, and what agrees then is put beside what agrees
position by position. It explains figures of `owa@1` and `sequence@1`; it replaces none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.events.actions import states
from assay.events.compiled import njit
from assay.events.stream import EventStream, Kind
from assay.events.tally import Tally
from assay.types import Ints, Joint

POSITIONS = "positions"
"""Sums, by the names of POSITION_SUMS."""
POSITION_SUMS = ("episodes", "true", "predicted", "equal", "aligned", "longer", "shorter", "out_of_step")
OFFSETS = "offsets"
"""(position) of the first event out of step, for each episode that went out of step."""

# Aligned are the first so many events of an episode, at most so far out of step beyond the difference in length.
_EVENTS, _BAND, _WIDEST = 20_000, 32, 256
# Keys in step at this share of positions leave nothing to explain.
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
    """Position of the first event out of step, where aligning explains a good part."""


def align(predicted: EventStream, truth: EventStream) -> PositionAlignment:
    """Position by position and by edit distance, over the first events of an episode."""
    guess, right = (_symbols(side[:_EVENTS]) for side in (predicted, truth))
    n = min(len(guess), len(right))
    same = guess[:n] == right[:n]
    equal = int(same.sum())
    keys = truth.kind[:n] == Kind.KEYBOARD
    band = abs(len(guess) - len(right)) + _BAND
    in_step = len(guess) == len(right) and bool(same[keys].mean() >= _IN_STEP if keys.any() else same.all())
    if not n or in_step or band > _WIDEST:
        return PositionAlignment(equal, equal, None)
    aligned, first = _align(right, guess, band)
    out = first >= 0 and aligned - equal >= _GAIN * len(right)
    return PositionAlignment(equal, int(aligned), int(first) if out else None)


def measure(predicted: EventStream, truth: EventStream) -> dict[str, Joint]:
    """The states of one episode."""
    found = align(predicted, truth)
    n, m = len(truth), len(predicted)
    sums = (1, n, m, found.equal, found.aligned, m > n, m < n, found.offset is not None)
    return {
        POSITIONS: states.pack([int(value) for value in sums]),
        OFFSETS: Joint.of(np.array([] if found.offset is None else [found.offset], np.int64)),
    }


def summary(tally: Tally) -> dict[str, Any]:
    """What all episodes show, ready for JSON."""
    found: dict[str, Any] = dict(states.named(tally.total(POSITIONS, Joint), POSITION_SUMS))
    offsets = zip(tally.episodes, tally.parts(OFFSETS, Joint), strict=True)
    firsts = [(episode.name, int(part.column(0)[0])) for episode, part in offsets if len(part)]
    episode, position = firsts[0] if firsts else (None, None)
    return found | {"first_episode": episode, "first_position": position}


def out_of_step_sentence(tally: Tally) -> str | None:
    """What to tell before any figure that pairs by position; None where both sides are in step."""
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


def _symbols(stream: EventStream) -> Ints:
    """What an event is, apart from when and how far: a number for each."""
    keys = 2 * stream.vk.astype(np.int64) + stream.press
    mouse = 1000 + stream.flags.astype(np.int64)
    symbols = np.where(stream.kind == Kind.KEYBOARD, keys, np.where(stream.kind == Kind.MOUSE, mouse, 10_000))
    return np.where(stream.problem == 0, symbols, -1)


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
