"""States of `sequence@1` as the first version stored them, turned into those of today.

It kept the rows of times and deltas and derived the agreement of digits from them; today digits are counted when
events are scored. The figures are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.events.actions.states import pack
from assay.events.protocols._digits import SECTIONS, StreamComparison, agreement, digits_of
from assay.events.protocols._token_counts import GROUPS, SIMPLE
from assay.events.stream import EventStream, Kind
from assay.events.tally import Tally
from assay.types import Joint, Ratio, State

if TYPE_CHECKING:
    from assay.events.codecs.tokens import TokenCodec


def renewed(tally: Tally, codec: TokenCodec) -> Tally:
    """The tally itself, or if it is of the first version, one with the same figures."""
    if not tally.has("comparable"):
        return tally
    by_episode, whole = tally.states(), Tally()
    for episode in tally.arrived:
        whole.add(episode, _renewed(by_episode[episode], codec))
    return whole


def _renewed(states: Mapping[str, State], codec: TokenCodec) -> dict[str, State]:
    def ratio(name: str) -> Ratio:
        found = states.get(name, Ratio())
        return found if isinstance(found, Ratio) else Ratio()

    def rows(name: str) -> Joint:
        found = states.get(name, Joint())
        return found if isinstance(found, Joint) else Joint()

    times, moves, kinds = rows("times"), rows("moves"), rows("truth_kinds")
    sums = dict.fromkeys(SIMPLE, 0) | {
        "total": ratio("comparable").total,
        "comparable": ratio("comparable").hits,
        "same_type": ratio("types").hits,
        "predicted": ratio("counts").hits,
        "true": ratio("counts").total,
        **{key: ratio(f"keyboard_{key}").hits for key in ("vk", "action", "combined")},
    }
    levels = {}
    units = [digits_of(times.column(at) // codec.unit_ns, codec.time_bases) for at in (2, 1)]
    agree = agreement(*units)
    for kind in SECTIONS.values():
        name, chosen = Kind(kind).name.lower(), times.column(0) == kind
        sums[f"true_{name}"] = kinds.where(kinds.column(0) == kind).n
        levels[f"time_{name}"] = np.append(times.counts[chosen] @ agree[chosen], times.counts[chosen].sum())
    blank = EventStream.allocate(0)
    written = StreamComparison(blank, blank, codec).signed_digits
    dx, dy, px, py = (moves.column(at) for at in range(4))
    lengths = [np.rint(np.hypot(x, y)).astype(np.int64) for x, y in ((px, py), (dx, dy))]
    digits = {
        "dx": [written(value, codec.delta_bases) for value in (px, dx)],
        "dy": [written(value, codec.delta_bases) for value in (py, dy)],
        "euclidean": [digits_of(length, codec.delta_bases) for length in lengths],
    }
    for name, (guess, right) in digits.items():
        levels[name] = np.append(moves.counts @ agreement(guess, right), moves.counts.sum())
    return {
        "sums": pack([*sums.values(), *(int(value) for group in GROUPS for value in levels[group])]),
        "wrong_tokens": rows("wrong_tokens"),
        "times": _ratios(times, codec.wrap_ns),
        "moves": moves,
    }


def _ratios(times: Joint, wrap_ns: int) -> Joint:
    """Rows (kind, error, true time) in lowest terms, from rows (kind, true time, predicted time)."""
    known = times.where(times.column(1) != 0)
    right = known.column(1)
    apart = np.abs(known.column(2) - right) % wrap_ns
    apart = np.minimum(apart, wrap_ns - apart)
    common = np.gcd(apart, right)
    return Joint.of(known.column(0), apart // common, right // common, counts=known.counts)
