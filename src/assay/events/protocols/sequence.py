"""`sequence@1`: two token strings, compared event by event and digit by digit.

`compute_metrics_for_event` returns a nested dictionary for two strings. The protocol gives the same figures over any
number of episodes. Both use the same comparison, which is in `_digits.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import UsageError
from assay.events.actions.states import pack, unpack_each
from assay.events.align import Pair
from assay.events.codecs import Codec, encode
from assay.events.codecs import codec as named_codec
from assay.events.protocols import Pairing, ProtocolMetric
from assay.events.protocols._digits import (
    LEVELS,
    MOVE_ERRORS,
    SECTIONS,
    STATUSES,
    VALID,
    Levels,
    StreamComparison,
    levels_as_written,
    share_of_time,
    time_error,
)
from assay.events.stream import NO_TOKEN, Episode, EventStream, Kind, Problem
from assay.events.tally import Tally
from assay.stats import AT_LEAST_0, IndexedValues, Resampling, UnitRows, share_interval, value_intervals
from assay.types import Estimate, Ints, Joint, Ratio, State

if TYPE_CHECKING:
    from assay.events.codecs.tokens import TokenCodec


# --- the protocol: states and estimates ----------------------------------------------------------------------------


def score(pair: Pair, codec: TokenCodec) -> dict[str, State]:
    """The states of one aligned slice."""
    from assay.events.counting import count_moves, count_rows, list_few
    from assay.events.protocols._token_counts import GROUPS, count_tokens, digits_tables, lowest_terms

    comparison = StreamComparison.of(pair.predicted, pair.truth, codec)
    unusual = comparison.unusual
    columns = [getattr(side, name) for side in (comparison.truth, comparison.predicted) for name in _COLUMNS]
    every = (codec.time_bases, codec.delta_bases, codec.scroll_bases)
    bases, tables = list(map(_as_array, every)), [table for of in every[:2] for table in digits_tables(of)]
    arguments: list[Any] = [*columns, unusual, codec.unit_ns, *bases, codec.signed, *tables]
    arguments.append(lowest_terms(math.prod(codec.time_bases)))
    simple, levels, wrong, times, moves, rows, n_moves = count_tokens(*arguments)
    by_kind, sizes = wrong.swapaxes(1, 2), _sizes(codec)
    seen = by_kind.nonzero()
    listed = zip(*(column.tolist() for column in (*seen, by_kind[seen])), strict=True)
    # In order: of one kind and number of wrong tokens, an event with a scroll has more tokens.
    wrong_tokens = [list_few([(kind, tokens, sizes[kind][scrolls], n) for kind, tokens, scrolls, n in listed], 3)]
    if len(unusual):
        comparable = unusual & (comparison.status == VALID)
        for kind in SECTIONS.values():
            chosen = comparable & (comparison.truth.kind == kind)
            guess, right = comparison.predicted[chosen], comparison.truth[chosen]
            wrong_tokens.append(_wrong_tokens(comparison, guess, right, kind))
            for value, agree in levels_as_written(comparison, guess, right).items():
                if value != "euclidean":  # the length of a movement is not in the tokens, so it was counted
                    group = GROUPS.index(f"time_{Kind(kind).name.lower()}" if value == "timestamp" else value)
                    levels[group] += [*agree.sum(axis=0), len(right)]
    as_given = comparison.truth is pair.truth and comparison.predicted is pair.predicted
    return {
        "sums": pack(np.concatenate([simple, levels.ravel()])),
        "wrong_tokens": Joint.merge(wrong_tokens),
        "times": count_rows(times, rows),
        "moves": count_moves(pair, moves, n_moves) if as_given else count_rows(moves, n_moves),
    }


_COLUMNS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data", "problem")


@lru_cache(maxsize=16)
def _as_array(bases: tuple[int, ...]) -> Ints:
    return np.array(bases, np.int64)


@lru_cache(maxsize=4)
def _sizes(codec: TokenCodec) -> list[list[int]]:
    """How many time and data tokens an event has, by its kind and whether it scrolls; shape (3, 2)."""
    time, sign = len(codec.time_bases), int(codec.signed)
    mouse = time + 2 * (len(codec.delta_bases) + sign) + 3
    return [[time + 2, time + 2], [mouse, mouse + len(codec.scroll_bases) + sign], [time, time]]


def _wrong_tokens(comparison: StreamComparison, predicted: EventStream, truth: EventStream, kind: Kind) -> Joint:
    """Rows (kind, wrong tokens, true tokens) of events; surplus tokens of a prediction are wrong."""
    guess, right = comparison.tokens(predicted), comparison.tokens(truth)
    there = (right != NO_TOKEN).sum(axis=1)
    return Joint.of(np.full(len(there), kind, np.int64), (guess != right).sum(axis=1), there)


def finish(tally: Tally, plan: Resampling, codec: TokenCodec) -> dict[str, Estimate]:
    """Every figure of the protocol, under the dotted names of that dictionary."""
    from assay.events.protocols._older_states import renewed
    from assay.events.protocols._token_counts import GROUPS, SIMPLE

    tally = renewed(tally, codec)
    plan = plan if plan.unit == "episode" else replace(plan, unit="event", keep=False)
    by_episode = plan.unit == "episode"
    strata = [episode.stratum for episode in tally.episodes] if by_episode else [""]
    width = len(SIMPLE) + len(GROUPS) * (len(LEVELS) + 1)
    sums = unpack_each(tally, "sums", width).astype(np.int64)
    of_each = dict(zip(SIMPLE, sums.T, strict=False))
    by_group = sums[:, len(SIMPLE) :].reshape(len(sums), len(GROUPS), len(LEVELS) + 1)
    levels = {group: by_group[:, at] for at, group in enumerate(GROUPS)}
    levels["timestamp"] = np.sum([levels[f"time_{kind.name.lower()}"] for kind in SECTIONS.values()], axis=0)

    def ratio(hits: Ints, totals: Ints) -> Estimate:
        if not by_episode:
            hits, totals = hits.sum(keepdims=True), totals.sum(keepdims=True)
        return share_interval(hits, totals, plan, strata=strata if by_episode else None)

    def rows(state: str) -> UnitRows:
        return UnitRows.joined(*tally.rows(state)) if by_episode else UnitRows.of([tally.total(state, Joint)])

    def measured(prefix: str, errors: IndexedValues, agree: Ints) -> dict[str, Estimate]:
        """The IQMPE of these percent errors, and the agreement of their digits."""
        iqm = value_intervals(errors, ["iqm"], plan, strata=strata, within=AT_LEAST_0)["iqm"]
        found = {f"{prefix}iqmpe": iqm}
        for at, level in enumerate(LEVELS):
            found[f"{prefix}precision_accuracy.{level}"] = ratio(agree[:, at], agree[:, -1])
        return found

    equal = of_each["predicted"] == of_each["true"]
    out = {
        "predicted_count": _count(int(of_each["predicted"].sum())),
        "ground_truth_count": _count(int(of_each["true"].sum())),
        "count_accuracy": Estimate(Ratio(int(equal.sum()), len(equal)).value, n=len(equal), n_units=len(equal)),
        "comparable_rate": ratio(of_each["comparable"], of_each["total"]),
        "type_accuracy": ratio(of_each["same_type"], of_each["total"]),
    }
    time = rows("times").values(share_of_time, [1, 2], label=0)
    out |= measured("timestamp_metrics.", time, levels["timestamp"])
    out["timestamp_metrics.count"] = _count(int(of_each["comparable"].sum()))
    wrong_tokens = tally.total("wrong_tokens", Joint)
    for section, kind in SECTIONS.items():
        agree = levels[f"time_{kind.name.lower()}"]
        out |= measured(f"{section}_metrics.timestamp_", time.where(kind), agree)
        out[f"{section}_metrics.loss"] = _loss(wrong_tokens, kind)
        out[f"{section}_metrics.comparable_count"] = _count(int(agree[:, -1].sum()))
        out[f"{section}_metrics.total_count"] = _count(int(of_each[f"true_{kind.name.lower()}"].sum()))
    del time
    moves = rows("moves")
    for value, (error, columns) in MOVE_ERRORS.items():
        out |= measured(f"mouse_metrics.{value}_", moves.values(error, columns), levels[value])
    for key in ("vk", "action", "combined"):
        out[f"keyboard_metrics.{key}_accuracy"] = ratio(of_each[key], levels["time_keyboard"][:, -1])
    return out


def _loss(wrong_tokens: Joint, kind: Kind) -> Estimate:
    """Sum over events of the share of wrong tokens; None if no event was comparable."""
    chosen = wrong_tokens.where(wrong_tokens.column(0) == kind)
    if not chosen.n:
        return Estimate(None)
    return Estimate(float((chosen.column(1) / chosen.column(2) * chosen.counts).sum()), n=chosen.n)


def _count(n: int) -> Estimate:
    return Estimate(float(n), n=n)


# --- the nested dictionary -----------------------------------------------------------------------------------------


def compute_metrics_for_event(
    prediction: str,
    ground_truth: str,
    *,
    encoding: str = "hierarchical",
    log_probabilities: Sequence[Sequence[float]] | None = None,
    undefined: float | None = math.nan,
) -> dict[str, Any]:
    """The nested dictionary of figures for two token strings, plus `type_accuracy`.

    A figure of the sequence that has nothing to measure, such as those of the mouse if there is no mouse event, is
    `undefined`: NaN, so that every figure can be formatted as a number; give None for JSON. Those of single events are
    None.

    `log_probabilities` has one list for each true event: the natural logarithms of the probabilities that the model
    gave to its tokens. If given, a loss is their negative sum; otherwise it is the share of wrong tokens.

    Example:
        >>> event = "<EVENT_START><KEYBOARD><0><1><2><65><press><EVENT_END>"
        >>> compute_metrics_for_event(event, event)["type_accuracy"]
        1.0

    """
    if encoding == "json":
        raise UsageError("sequence@1 compares digits, and json has none", hint="Use hierarchical or factorized")
    codec: TokenCodec = named_codec(encoding)  # type: ignore[assignment]
    predicted, truth = (_framed(text, codec) for text in (prediction, ground_truth))
    if log_probabilities is not None and len(log_probabilities) != len(truth):
        raise UsageError(
            f"got {len(log_probabilities)} lists of log-probabilities for {len(truth)} true events",
            hint="Give one list for each true event",
        )
    size = max(len(predicted), len(truth))
    pair = Pair(Episode(), predicted.padded(size), truth.padded(size))
    tally = Tally()
    tally.add(pair.episode, score(pair, codec))
    comparison = StreamComparison.of(pair.predicted, pair.truth, codec)
    events = _event_comparisons(comparison, log_probabilities)
    metrics = _nested(finish(tally, Resampling("event", reps=1), codec), undefined)
    for section in SECTIONS:
        losses = [event[f"{section}_metrics"]["loss"] for event in events if event[f"{section}_metrics"]]
        metrics[f"{section}_metrics"]["loss"] = sum(losses) if losses else undefined
    return {"event_comparisons": events, **metrics}


def _framed(text: str, codec: TokenCodec) -> EventStream:
    """The events of a text; a text without any <EVENT_START> is one invalid event, and an empty text has no events."""
    return codec.decode_each([text]) if text.strip() and "<EVENT_START>" not in text else codec.decode(text)


def _event_comparisons(
    comparison: StreamComparison, log_probabilities: Sequence[Sequence[float]] | None
) -> list[dict[str, Any]]:
    predicted, truth, status = comparison.predicted, comparison.truth, comparison.status
    events = []
    for at in range(len(truth)):
        one = slice(at, at + 1)
        guess, right = predicted[one], truth[one]
        event: dict[str, Any] = {
            "position": at,
            "comparable": bool(status[at] == VALID),
            "comparison_status": STATUSES[status[at]],
            "predicted_type": _type(guess),
            "ground_truth_type": _type(right),
            "timestamp_percent_error": None,
            "timestamp_precision_match": None,
            "mouse_metrics": None,
            "keyboard_metrics": None,
            "screen_metrics": None,
        }
        if event["comparable"]:
            error = time_error(guess.time_ns, right.time_ns, comparison.codec.wrap_ns)
            event["timestamp_percent_error"] = _or_none(error[0])
            levels = levels_as_written(comparison, guess, right)
            event["timestamp_precision_match"] = _named_levels(levels["timestamp"])
            kind = Kind(int(right.kind[0]))
            wrong = _wrong_tokens(comparison, guess, right, kind)
            loss = (
                float(wrong.column(1)[0] / wrong.column(2)[0])
                if log_probabilities is None
                else -float(sum(log_probabilities[at]))
            )
            name = next(name for name, known in SECTIONS.items() if known == kind)
            event[f"{name}_metrics"] = _details(comparison, guess, right, levels) | {"loss": loss}
        events.append(event)
    return events


def _details(
    comparison: StreamComparison, guess: EventStream, right: EventStream, levels: Mapping[str, Levels]
) -> dict[str, Any]:
    """The entries of the dictionary for one comparable event, except the loss."""
    kind = Kind(int(right.kind[0]))
    if kind == Kind.KEYBOARD:
        vk, action = bool(guess.vk[0] == right.vk[0]), bool(guess.press[0] == right.press[0])
        return {"vk_match": vk, "action_match": action, "combined_match": vk and action}
    if kind == Kind.SCREEN:
        return {}
    move = (right.dx, right.dy, guess.dx, guess.dy)
    details: dict[str, Any] = {}
    for name, (error, columns) in MOVE_ERRORS.items():
        details[f"{name}_percent_error"] = _or_none(error(*(move[at] for at in columns))[0])
        details[f"{name}_precision_match"] = _named_levels(levels[name])
    return details


def _named_levels(levels: Levels) -> dict[str, bool]:
    """The levels of the first event by their names."""
    return dict(zip(LEVELS, levels[0].tolist(), strict=True))


def _type(event: EventStream) -> str | None:
    return None if event.problem[0] == Problem.MISSING else Kind(int(event.kind[0])).topic


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _nested(flat: Mapping[str, Estimate], undefined: float | None) -> dict[str, Any]:
    """Dotted names as nested dictionaries; counts as integers."""
    out: dict[str, Any] = {}
    for name, estimate in flat.items():
        *path, last = name.split(".")
        inner = out
        for step in path:
            inner = inner.setdefault(step, {})
        value = undefined if estimate.value is None else estimate.value
        inner[last] = int(estimate.value or 0) if last.endswith("count") else value
    return out


# --- declaration of the metrics -------------------------------------------------------------------------------------


def _metrics() -> tuple[ProtocolMetric, ...]:
    none = "no comparable event of this kind"
    zero = "no comparable event of this kind with a truth other than 0"
    metrics = [
        ProtocolMetric("predicted_count", "Predicted events", "Sequence", better="none"),
        ProtocolMetric("ground_truth_count", "True events", "Sequence", better="none"),
        ProtocolMetric(
            "count_accuracy", "Episodes of the right length", "Sequence", undefined="no episodes", headline=True
        ),
        ProtocolMetric("comparable_rate", "Comparable", "Sequence", undefined="no events", headline=True),
        ProtocolMetric("type_accuracy", "Types right", "Sequence", undefined="no events", headline=True),
        ProtocolMetric("timestamp_metrics.count", "Compared times", "Time", better="none"),
    ]

    def measured(prefix: str, infix: str, title: str, group: str) -> None:
        key = f"{prefix}.{infix}"
        metrics.append(ProtocolMetric(f"{key}iqmpe", f"{title} IQMPE", group, "%", "lower", zero, headline=True))
        for level in LEVELS:
            metrics.append(
                ProtocolMetric(f"{key}precision_accuracy.{level}", f"{title} digits {level}", group, undefined=none)
            )

    measured("timestamp_metrics", "", "Time", "Time")
    for section in SECTIONS:
        prefix, group = f"{section}_metrics", section.capitalize()
        measured(prefix, "timestamp_", "Time", group)
        if section == "mouse":
            for value, title in (("dx", "dx"), ("dy", "dy"), ("euclidean", "Length")):
                measured(prefix, f"{value}_", title, group)
        if section == "keyboard":
            for key, title in (("vk", "Key right"), ("action", "Press or release right"), ("combined", "Both right")):
                metrics.append(ProtocolMetric(f"{prefix}.{key}_accuracy", title, group, undefined=none, headline=True))
        metrics += [
            ProtocolMetric(f"{prefix}.loss", "Wrong tokens, sum of shares", group, better="lower", undefined=none),
            ProtocolMetric(f"{prefix}.comparable_count", "Comparable events", group, better="none"),
            ProtocolMetric(f"{prefix}.total_count", "True events", group, better="none"),
        ]
    return tuple(metrics)


@dataclass(frozen=True)
class Sequence1:
    """The protocol as registered."""

    codec: TokenCodec | None = None
    """The encoding whose digits are compared; by default the hierarchical one."""
    name: str = "sequence"
    version: int = 1
    pairing: Pairing = "position"
    metrics: tuple[ProtocolMetric, ...] = _metrics()

    def score(self, pair: Pair, *, in_order: bool = False) -> Mapping[str, State]:
        return score(pair, self._codec)

    def finish(self, tally: Tally, plan: Resampling) -> Mapping[str, Estimate]:
        return finish(tally, plan, self._codec)

    def configured(self, codec: Codec, settings: Mapping[str, Any]) -> Sequence1:
        return self if codec.wrap_ns is None else replace(self, codec=codec)  # type: ignore[arg-type]

    def settings(self) -> Mapping[str, Any]:
        return {"digits": self._codec.name}

    @property
    def _codec(self) -> TokenCodec:
        return self.codec or _default_codec()

    def bounded(self, states: Mapping[str, State]) -> Mapping[str, State]:
        """The states with rounded percent errors of time."""
        from assay.events.bounded import rounded_shares

        times = states["times"]
        assert isinstance(times, Joint)
        if not len(times):
            return states
        shares = rounded_shares(*times.columns[1:])
        return {**states, "times": Joint.of(times.columns[0], *shares, counts=times.counts)}


def _default_codec() -> TokenCodec:
    codec: TokenCodec = named_codec("hierarchical")  # type: ignore[assignment]
    return codec


PROTOCOL = Sequence1()


def _demonstrate() -> None:
    """Compares two short strings; printed by `python -m assay.events.protocols.sequence`."""
    import json

    truth = [
        {"kind": "screen", "ts": 0},
        {"kind": "keyboard", "ts": 120_000_000, "vk": 65, "press": True},
        {"kind": "mouse", "ts": 250_000_000, "dx": 40, "dy": -12, "flags": 0, "data": 0},
        {"kind": "mouse", "ts": 400_000_000, "dx": 0, "dy": 0, "flags": 1, "data": 0},
    ]
    changes: list[dict[str, Any]] = [{"ts": 10_000_000}, {"ts": 140_000_000}, {"dx": 36, "dy": -14}]
    guess = [event | change for event, change in zip(truth, changes, strict=False)]
    strings = [encode(EventStream.from_events(events)) for events in (guess, truth)]
    for name, text in zip(("prediction", "ground truth"), strings, strict=True):
        print(f"{name}:\n  {text}\n")
    print(json.dumps(compute_metrics_for_event(*strings, undefined=None), indent=2))


if __name__ == "__main__":
    _demonstrate()
