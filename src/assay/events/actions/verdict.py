"""A verdict in words: findings derived from the figures, each with the figures it rests on and one sentence.

Data first: a `VerdictFinding` names what was found and quotes its numbers; its sentence is made from these and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.events.actions.causes import Causes
from assay.events.actions.drift import ClockDrift
from assay.events.actions.findings import (
    FULL_COVERAGE,
    VerdictFinding,
    lag_text,
    percent_text,
    rounded_text,
    signed_text,
)
from assay.events.actions.lag import RANGE_NS
from assay.events.actions.pointer_findings import pointer_findings
from assay.events.actions.states import TOLERANCES_MS
from assay.types import Estimate

# Below these a finding is not worth a sentence.
_LAG_WIDTH_MS = 100.0  # a lag whose interval is wider is not constant
_LAG_GAIN = 0.01  # F1 that removing the lag must gain
_AMOUNT = 1.5  # actions predicted for each true one, or the other way round
# A single episode has no interval, so these thresholds keep a few chance matches from being called skill or a lag.
_LONE_SKILL, _LONE_LAG_F1 = 0.1, 0.5
_CONFUSED_SHARE, _CONFUSED_TIMES = 0.1, 3
_DOUBTFUL_SHARE = 0.5  # if few keys match at all
_INVALID = 0.02  # of the predictions
_UNRELEASED = 0.01  # of the predicted holds, more than the truth has
_UNEVEN = 0.3  # F1 between strata, or of a key below all
_MOSTLY_RIGHT, _WEAK_TIMES = 0.7, 10
_NEVER_TIMES = 4
_NAMED = 3


def find_verdict(
    estimates: Mapping[str, Estimate],
    facts: Mapping[str, int],
    keys: Sequence[Mapping[str, Any]],
    *,
    best_baseline: str | None,
    best_f1: float | None,
    copies: bool,
    drift: ClockDrift | None,
    causes: Causes,
    n_missing: int,
    n_unknown: int,
    n_episodes: int,
) -> list[VerdictFinding]:
    """All findings, the main one first. `keys` is the table by key."""
    skill = _skill(estimates, best_baseline, best_f1)
    timing = list(_lag(estimates) if drift is None else _drift(estimates, drift)) or list(_uneven_lag(causes))
    amount = list(_frames(estimates, facts, keys)) or [*_amount(estimates, keys), *_gap(causes)]
    timing = timing or list(_inexact(estimates, causes))
    pairing = [*_confused(keys, doubtful=bool(timing) or skill.tone == "bad"), *_actions(causes)]
    unexplained = skill.tone == "bad" and not (timing or amount or pairing or copies)
    return [
        *([] if copies else [skill]),
        *_copies(estimates, facts, copies),
        *_invalid(facts),
        *_episodes(n_missing, n_unknown, n_episodes),
        *_coverage(estimates, facts),
        *timing,
        *(_unrelated(estimates) if unexplained else ()),
        *(() if timing else _strata(causes)),
        *amount,
        *_auto_repeat(facts, keys),
        *pairing,
        *_weak(keys, estimates),
        *_never(keys),
        *_holds(facts, keys),
        *pointer_findings(estimates, causes, late=bool(timing)),
        *_clock(facts),
    ]


def _skill(estimates: Mapping[str, Estimate], best: str | None, best_f1: float | None) -> VerdictFinding:
    f1, skill = estimates["f1"], estimates["skill"]
    figures: dict[str, Any] = {"f1": f1.value, "skill": skill.value, "skill_low": skill.low, "skill_high": skill.high}
    if best is None or skill.value is None or best_f1 is None or f1.value is None:
        return VerdictFinding(
            "skill", "note", figures, "The truth has no keys or buttons, so there is no skill to speak of."
        )
    figures |= {"baseline": best, "baseline_f1": best_f1}
    of = f"the best trivial baseline ({best.replace('_', '-')}, F1 {best_f1:.3f})"
    interval = (
        "" if skill.low is None or skill.high is None else f" [{signed_text(skill.low)}, {signed_text(skill.high)}]"
    )
    quoted = f"F1 {f1.value:.3f}, skill {signed_text(skill.value)}{interval}"
    if skill.value <= 0:
        return VerdictFinding("skill", "bad", figures, f"Not better than {of}: {quoted}.")
    if skill.low is None and skill.value < _LONE_SKILL:
        text = f"Not shown to be better than {of}: {quoted}; with one episode there is no interval."
        return VerdictFinding("skill", "bad", figures, text)
    if skill.low is None:
        return VerdictFinding(
            "skill", "good", figures, f"Better than {of}: {quoted}; with one episode there is no interval."
        )
    if skill.low <= 0:
        return VerdictFinding("skill", "bad", figures, f"Not shown to be better than {of}: {quoted}.")
    return VerdictFinding("skill", "good", figures, f"Better than {of}: {quoted}.")


def _copies(estimates: Mapping[str, Estimate], facts: Mapping[str, int], copies: bool) -> Iterator[VerdictFinding]:
    """Takes the place of the skill: the figures of a copied input say nothing about a model."""
    if copies:
        f1, skill = estimates["f1"].value, estimates["skill"].value
        copied, positions, where = facts["copied"], facts["positions"], "positions"
        if 2 * copied <= positions:
            copied, positions, where = facts["echoed"], facts["changed"], "positions where something new comes"
        figures = {"copied": copied, "positions": positions, "f1": f1, "skill": skill}
        quoted = "" if f1 is None else f" An F1 of {f1:.3f} is what copying gives."
        share = percent_text(copied / positions)
        text = f"Gives its input back: at {share} of {where} the prediction is the event before.{quoted}"
        yield VerdictFinding("copies", "bad", figures, text)


def _episodes(missing: int, unknown: int, n: int) -> Iterator[VerdictFinding]:
    if missing:
        text = f"{missing:,} of {n:,} true episodes have no prediction; everything in them counts as missed."
        yield VerdictFinding("missing", "bad", {"missing": missing, "episodes": n}, text)
    if unknown:
        text = f"{unknown:,} predicted episodes are unknown to the truth and were left out."
        yield VerdictFinding("unknown", "note", {"unknown": unknown}, text)


def _invalid(facts: Mapping[str, int]) -> Iterator[VerdictFinding]:
    invalid, predicted = facts["invalid"], facts["invalid"] + facts["predicted_events"]
    if invalid > _INVALID * predicted:
        share = percent_text(invalid / predicted)
        text = f"{share} of the predictions do not decode ({invalid:,} of {predicted:,}) and count for nothing."
        yield VerdictFinding("invalid", "bad", {"invalid": invalid, "predicted": predicted}, text)


def _coverage(estimates: Mapping[str, Estimate], facts: Mapping[str, int]) -> Iterator[VerdictFinding]:
    coverage = estimates["coverage"].value
    if coverage is not None and coverage < FULL_COVERAGE:
        text = (
            f"Predictions cover {percent_text(coverage)} of the truth's span: they stop early, begin late, or have "
            "another clock (--clock)."
        )
        if coverage == 0:
            text = "Predictions cover nothing of the truth's span: "
            text += (
                "the clocks do not meet (--clock), or a side's times are not in nanoseconds."
                if facts["predicted_events"] > facts["frames_predicted"]
                else "no key, button, scroll or movement was predicted."
            )
        yield VerdictFinding("coverage", "bad", {"coverage": coverage}, text)


def is_constant(estimates: Mapping[str, Estimate]) -> bool:
    """Whether a lag is real and not just the best of all shifts: inside the search range, with a narrow interval.

    One episode has no interval; most actions have to match without the lag then.
    """
    lag, without = estimates["lag_ms"], estimates["f1_without_lag"].value
    if lag.value is None or abs(lag.value) >= RANGE_NS / 1e6:
        return False
    if lag.low is None or lag.high is None:
        return not lag.value or (without is not None and without >= _LONE_LAG_F1)
    return lag.high - lag.low <= _LAG_WIDTH_MS


def _lag(estimates: Mapping[str, Estimate]) -> Iterator[VerdictFinding]:
    lag, f1, without = estimates["lag_ms"], estimates["f1"].value, estimates["f1_without_lag"].value
    if not lag.value or f1 is None or without is None or without - f1 < _LAG_GAIN or not is_constant(estimates):
        return
    figures = {"lag_ms": lag.value, "lag_low": lag.low, "lag_high": lag.high, "f1": f1, "f1_without_lag": without}
    low, high = lag.low, lag.high
    if low is not None and high is not None and lag.value < 0:
        low, high = -high, -low
    interval = "" if low is None or high is None else f" [{rounded_text(low)}, {rounded_text(high)}]"
    way = "late" if lag.value > 0 else "early"
    text = (
        f"Constantly {abs(lag.value):.0f} ms {way}{interval}: without that lag F1 would be {without:.3f}, not {f1:.3f}."
    )
    yield VerdictFinding("lag", "bad", figures, text)


def _uneven_lag(causes: Causes) -> Iterator[VerdictFinding]:
    """If no lag is that of all: each episode has its own, or a part of the actions has."""
    if (found := causes.episode_lags) is not None:
        figures = {"lag_low": found.earliest_ms, "lag_high": found.latest_ms, "f1": found.f1, "f1_without": found.after}
        text = (
            f"Each episode has its own lag, from {lag_text(found.earliest_ms)} to {lag_text(found.latest_ms)}: "
            f"without it F1 would be {found.after:.3f}, not {found.f1:.3f}."
        )
        yield VerdictFinding("lag_by_episode", "bad", figures, text)
    elif (parts := causes.two_lags) is not None:
        figures = {"lag_ms": parts.lag_ms, "share": parts.share, "other_ms": parts.other_ms, "other": parts.other}
        text = (
            f"Two lags: {percent_text(parts.share)} of the keys and buttons match {lag_text(parts.lag_ms)}, another "
            f"{percent_text(parts.other)} {lag_text(parts.other_ms)}. A key, a device or a part of each episode has "
            "its own."
        )
        yield VerdictFinding("two_lags", "bad", figures, text)


def _inexact(estimates: Mapping[str, Estimate], causes: Causes) -> Iterator[VerdictFinding]:
    """Right actions at about the right time: much more matches at the widest tolerance, and not by chance."""
    f1, widest = estimates["f1"].value, max(TOLERANCES_MS)
    wide = estimates[f"f1_at_{widest}_ms"].value
    if f1 is None or wide is None or wide - max(f1, causes.chance_f1) < _UNEVEN:
        return
    figures = {"f1": f1, f"f1_at_{widest}_ms": wide, "random_f1": causes.chance_f1}
    text = (
        f"Inexact in time: within {widest} ms F1 would be {wide:.3f}, not {f1:.3f} (by chance: {causes.chance_f1:.3f})."
    )
    yield VerdictFinding("inexact", "bad", figures, text)


def _unrelated(estimates: Mapping[str, Estimate]) -> Iterator[VerdictFinding]:
    """What to check if much is predicted, most of it is wrong, and nothing that is known explains it."""
    precision, coverage = estimates["precision"].value, estimates["coverage"].value
    if precision is not None and coverage is not None and coverage > 0:
        text = (
            f"No lag up to {RANGE_NS // 1_000_000} ms and no drift brings the two sides together: do the predictions "
            "belong to these episodes, and do both sides begin at the same moment (--clock)?"
        )
        yield VerdictFinding("unrelated", "note", {"precision": precision, "coverage": coverage}, text)


def _strata(causes: Causes) -> Iterator[VerdictFinding]:
    rows = causes.strata
    if not rows or rows[-1].f1 - rows[0].f1 < _UNEVEN:
        return
    named = [f"'{row.name}' {row.f1:.3f}" for row in (rows if len(rows) <= 2 * _NAMED else (rows[0], rows[-1]))]
    text = f"Depends on the stratum: F1 {', '.join(named)}."
    if len(rows) > 2 * _NAMED:
        text = f"Depends on the stratum: F1 from {named[0]} to {named[1]}, {len(rows)} strata."
    yield VerdictFinding("strata", "bad", {"strata": [[row.name, row.f1, row.n] for row in rows]}, text)


def _gap(causes: Causes) -> Iterator[VerdictFinding]:
    if (gap := causes.gap) is not None:
        figures = {"begin": gap.begin, "end": gap.end, "true": gap.true}
        text = (
            f"Predicts no key or button from {percent_text(gap.begin)} to {percent_text(gap.end)} of an episode's "
            f"length, where the truth has {gap.true:,}."
        )
        yield VerdictFinding("gap", "bad", figures, text)


def _drift(estimates: Mapping[str, Estimate], drift: ClockDrift) -> Iterator[VerdictFinding]:
    """Takes the place of a lag: no constant one brings both sides together."""
    rate, f1 = drift.ms_a_minute, estimates["f1"].value
    assert rate.value is not None
    figures = {"drift_ms_a_minute": rate.value, "drift_low": rate.low, "drift_high": rate.high}
    figures |= {"f1": f1, "f1_without_drift": drift.f1, "f1_without_lag": estimates["f1_without_lag"].value}
    low, high = rate.low, rate.high
    if low is not None and high is not None and rate.value < 0:
        low, high = -high, -low
    interval = "" if low is None or high is None else f" [{low:,.0f}, {high:,.0f}]"
    way, clock = ("later", "fast") if rate.value > 0 else ("earlier", "slow")
    text = (
        f"Drifts: {abs(rate.value):,.0f} ms{interval} {way} with every minute, as if its clock ran "
        f"{percent_text(abs(rate.value) / 60_000)} {clock}. Without that drift F1 would be {drift.f1:.3f}, not "
        f"{f1:.3f}."
    )
    yield VerdictFinding("drift", "bad", figures, text)


def _frames(
    estimates: Mapping[str, Estimate], facts: Mapping[str, int], keys: Sequence[Mapping[str, Any]]
) -> Iterator[VerdictFinding]:
    predicted, frames, actions = facts["predicted_events"], facts["frames_predicted"], facts["predicted_actions"]
    true = sum(row["n"] for row in keys)
    if predicted and 2 * frames > predicted and 2 * actions < true:
        figures = {"frames": frames, "predicted_events": predicted, "predicted_actions": actions, "true_actions": true}
        text = (
            f"{percent_text(frames / predicted)} of the predicted events are frames, which count for nothing; "
            f"{actions:,} actions were predicted where the truth has {true:,}."
        )
        yield VerdictFinding("frames", "bad", figures, text)


def _amount(estimates: Mapping[str, Estimate], keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    true, predicted = (sum(row[name] for row in keys if row["kind"] != "scroll") for name in ("n", "predicted"))
    precision, recall, coverage = (estimates[name].value for name in ("precision", "recall", "coverage"))
    if precision is None or recall is None:
        return
    # Of a part of the span, only a part can be predicted.
    few = coverage is not None and coverage >= FULL_COVERAGE and _AMOUNT * predicted < true
    if few or predicted > _AMOUNT * true:
        figures = {"predicted": predicted, "true": true, "precision": precision, "recall": recall}
        text = (
            f"Predicts too {'little' if few else 'much'}: {predicted:,} keys and buttons where the truth has {true:,} "
            f"(precision {precision:.3f}, recall {recall:.3f})."
        )
        yield VerdictFinding("amount", "bad", figures, text)


def _auto_repeat(facts: Mapping[str, int], keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    repeats = facts["auto_repeats_predicted"]
    pressed = sum(row["predicted"] for row in keys if row["kind"] == "keyboard")
    if repeats > pressed:
        figures = {"auto_repeats": repeats, "predicted_keys": pressed, "true_auto_repeats": facts["auto_repeats_true"]}
        text = (
            f"{repeats:,} predicted presses are auto-repeat and only {pressed:,} key events are not: "
            "figures that pair by position rest on auto-repeat."
        )
        yield VerdictFinding("auto_repeat", "note", figures, text)


def _confused(keys: Sequence[Mapping[str, Any]], *, doubtful: bool) -> Iterator[VerdictFinding]:
    """If little matches anyway, a key that happens to be near is not a confusion: most of a key's events have to be."""
    share = _DOUBTFUL_SHARE if doubtful else _CONFUSED_SHARE
    confused = [
        row for row in keys if row["confused_times"] >= _CONFUSED_TIMES and row["confused_times"] >= share * row["n"]
    ]
    if confused:
        worst = sorted(confused, key=lambda row: -row["confused_times"])[:_NAMED]
        figures = {"pairs": [[row["key"], row["confused_with"], row["confused_times"], row["n"]] for row in worst]}
        parts = [
            f"{row['key']} for {row['confused_with']} ({row['confused_times']:,} of {row['n']:,})" for row in worst
        ]
        yield VerdictFinding("confused", "bad", figures, f"Confused (true for predicted): {', '.join(parts)}.")


def _actions(causes: Causes) -> Iterator[VerdictFinding]:
    """Whether presses and releases are taken for each other, or one of them is never predicted."""
    for found in causes.actions:
        figures = {"kind": found.kind, "swapped": found.swapped, "true": found.n}
        what = "key" if found.kind == "keyboard" else "button"
        if found.n >= _NEVER_TIMES and 2 * found.swapped >= found.n:
            text = (
                f"Presses and releases are swapped: {found.swapped:,} of {found.n:,} {what} events are the other one."
            )
            yield VerdictFinding("swapped", "bad", figures, text)
        for name, (true, predicted), others in (
            ("press", found.presses, found.releases[1]),
            ("release", found.releases, found.presses[1]),
        ):
            if true >= _NEVER_TIMES and not predicted and others:
                text = f"No {name} of a {what} is predicted, where the truth has {true:,}."
                yield VerdictFinding("never_action", "bad", figures | {"action": name, "true": true}, text)


def _weak(keys: Sequence[Mapping[str, Any]], estimates: Mapping[str, Estimate]) -> Iterator[VerdictFinding]:
    """Keys that are predicted about as often as they should be, and at other times, unlike most others."""
    f1 = estimates["f1"].value
    if f1 is None or f1 < _MOSTLY_RIGHT:
        return
    weak = [
        row
        for row in keys
        if row["n"] >= _WEAK_TIMES
        and row["f1"] < f1 - _UNEVEN
        and row["n"] < _AMOUNT * row["predicted"] < _AMOUNT**2 * row["n"]
        and row["confused_times"] < _DOUBTFUL_SHARE * row["n"]
    ]
    if weak:
        figures = {"keys": [[row["key"], row["f1"], row["predicted"], row["n"]] for row in weak]}
        named = ", ".join(f"{row['key']} (F1 {row['f1']:.3f}, n {row['n']:,})" for row in weak[:_NAMED])
        more = f" and {len(weak) - _NAMED} more" if len(weak) > _NAMED else ""
        yield VerdictFinding("weak", "bad", figures, f"As often as the truth, but at other times: {named}{more}.")


def _never(keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    never = [row for row in keys if not row["predicted"] and row["n"] >= _NEVER_TIMES]
    if never:
        figures = {"keys": [[row["key"], row["n"]] for row in never]}
        named = ", ".join(f"{row['key']} ({row['n']:,})" for row in never[: 2 * _NAMED])
        more = f" and {len(never) - 2 * _NAMED} more" if len(never) > 2 * _NAMED else ""
        yield VerdictFinding(
            "never", "bad", figures, f"Never predicted, with how often the truth has them: {named}{more}."
        )


def _holds(facts: Mapping[str, int], keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    unreleased, true = facts["unreleased_predicted"], facts["unreleased_true"]
    predicted = sum(row["predicted"] for row in keys if row["kind"] != "scroll") / 2
    if unreleased - true > _UNRELEASED * predicted:
        figures = {"unreleased_holds": unreleased, "true_unreleased": true}
        text = (
            f"{unreleased:,} predicted holds are never released (truth: {true:,}); "
            "each lasts until the key's next press, or until its episode ends."
        )
        yield VerdictFinding("unreleased", "bad", figures, text)


def _clock(facts: Mapping[str, int]) -> Iterator[VerdictFinding]:
    silences = max(facts["silences_true"], facts["silences_predicted"])
    if silences:
        figures = {name: facts[name] for name in ("silences_true", "silences_predicted")}
        text = (
            f"{silences:,} silences of a second or more in the tokens could each hide a whole period of the clock; "
            "times are unwrapped as if none did."
        )
        yield VerdictFinding("silences", "note", figures, text)
    stray = facts["stray_true"] + facts["stray_predicted"]
    if stray:
        figures = {name: facts[name] for name in ("stray_true", "stray_predicted")}
        yield VerdictFinding("stray", "note", figures, f"{stray:,} times lie far from all others of their episode.")
