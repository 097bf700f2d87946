"""A verdict in words: findings derived from the figures, each with the figures it rests on and one sentence.

Data first: a `VerdictFinding` names what was found and quotes its numbers; its sentence is made from these and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.events.actions.drift import ClockDrift
from assay.events.actions.lag import RANGE_NS
from assay.types import Estimate

Tone = Literal["good", "bad", "note"]

# Below these a finding is not worth a sentence.
_LAG_WIDTH_MS = 100.0  # a lag whose interval is wider is not constant
_LAG_GAIN = 0.01  # F1 that removing the lag must gain
_FULL_COVERAGE = 0.95  # d2e@1 has the same bound
_SCALE = 0.2  # log₂, about 15 %
_INVERTED = -0.5  # correlation along an axis
_AMOUNT = 1.5  # actions predicted for each true one, or the other way round
# A single episode has no interval, so these thresholds keep a few chance matches from being called skill or a lag.
_LONE_SKILL, _LONE_LAG_F1 = 0.1, 0.5
_CONFUSED_SHARE, _CONFUSED_TIMES = 0.1, 3
_NEVER_TIMES = 4
_NAMED = 3


@dataclass(frozen=True, slots=True)
class VerdictFinding:
    """One thing that the figures show."""

    kind: str
    """What it is about: 'skill', 'copies', 'lag', 'drift', 'confused', 'never', 'frames', 'coverage', …"""
    tone: Tone
    """'good' and 'bad' judge the model; a 'note' is about the data."""
    figures: Mapping[str, Any]
    """The numbers that it rests on, by the keys of the protocol if they have one."""
    text: str
    """The finding as one sentence that quotes them."""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "tone": self.tone, "figures": dict(self.figures), "text": self.text}


def find_verdict(
    estimates: Mapping[str, Estimate],
    facts: Mapping[str, int],
    keys: Sequence[Mapping[str, Any]],
    *,
    best_baseline: str | None,
    best_f1: float | None,
    copies: bool,
    drift: ClockDrift | None,
    n_missing: int,
    n_unknown: int,
    n_episodes: int,
) -> list[VerdictFinding]:
    """All findings, the main one first. `keys` is the table by key."""
    return [
        *([] if copies else [_skill(estimates, best_baseline, best_f1)]),
        *_copies(estimates, facts, copies),
        *_episodes(n_missing, n_unknown, n_episodes),
        *_coverage(estimates),
        *(_lag(estimates) if drift is None else _drift(estimates, drift)),
        *(list(_frames(estimates, facts, keys)) or _amount(estimates, keys)),
        *_auto_repeat(facts, keys),
        *_confused(keys),
        *_never(keys),
        *_holds(facts),
        *_pointer(estimates),
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
    interval = "" if skill.low is None or skill.high is None else f" [{_signed(skill.low)}, {_signed(skill.high)}]"
    quoted = f"F1 {f1.value:.3f}, skill {_signed(skill.value)}{interval}"
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
        share, f1, skill = facts["copied"] / facts["positions"], estimates["f1"].value, estimates["skill"].value
        figures = {"copied": facts["copied"], "positions": facts["positions"], "f1": f1, "skill": skill}
        quoted = "" if f1 is None else f" An F1 of {f1:.3f} is what copying gives."
        text = f"Gives its input back: at {_percent(share)} of positions the prediction is the event before.{quoted}"
        yield VerdictFinding("copies", "bad", figures, text)


def _episodes(missing: int, unknown: int, n: int) -> Iterator[VerdictFinding]:
    if missing:
        text = f"{missing:,} of {n:,} true episodes have no prediction; everything in them counts as missed."
        yield VerdictFinding("missing", "bad", {"missing": missing, "episodes": n}, text)
    if unknown:
        text = f"{unknown:,} predicted episodes are unknown to the truth and were left out."
        yield VerdictFinding("unknown", "note", {"unknown": unknown}, text)


def _coverage(estimates: Mapping[str, Estimate]) -> Iterator[VerdictFinding]:
    coverage = estimates["coverage"].value
    if coverage is not None and coverage < _FULL_COVERAGE:
        text = (
            f"Predictions cover {_percent(coverage)} of the truth's span: they stop early, begin late, or have another "
            "clock (--clock)."
        )
        if coverage == 0:
            text = "Predictions cover nothing of the truth's span: none were made, or the clocks do not meet (--clock)."
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
    interval = "" if lag.low is None else f" [{lag.low:.0f}, {lag.high:.0f}]"
    way = "late" if lag.value > 0 else "early"
    text = (
        f"Constantly {abs(lag.value):.0f} ms {way}{interval}: without that lag F1 would be {without:.3f}, not {f1:.3f}."
    )
    yield VerdictFinding("lag", "bad", figures, text)


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
        f"{_percent(abs(rate.value) / 60_000)} {clock}. Without that drift F1 would be {drift.f1:.3f}, not {f1:.3f}."
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
            f"{_percent(frames / predicted)} of the predicted events are frames, which count for nothing; "
            f"{actions:,} actions were predicted where the truth has {true:,}."
        )
        yield VerdictFinding("frames", "bad", figures, text)


def _amount(estimates: Mapping[str, Estimate], keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    true, predicted = (sum(row[name] for row in keys if row["kind"] != "scroll") for name in ("n", "predicted"))
    precision, recall, coverage = (estimates[name].value for name in ("precision", "recall", "coverage"))
    if precision is None or recall is None:
        return
    # Of a part of the span, only a part can be predicted.
    few = coverage is not None and coverage >= _FULL_COVERAGE and _AMOUNT * predicted < true
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


def _confused(keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    confused = [
        row
        for row in keys
        if row["confused_times"] >= _CONFUSED_TIMES and row["confused_times"] >= _CONFUSED_SHARE * row["n"]
    ]
    if confused:
        worst = sorted(confused, key=lambda row: -row["confused_times"])[:_NAMED]
        figures = {"pairs": [[row["key"], row["confused_with"], row["confused_times"], row["n"]] for row in worst]}
        parts = [
            f"{row['key']} for {row['confused_with']} ({row['confused_times']:,} of {row['n']:,})" for row in worst
        ]
        yield VerdictFinding("confused", "bad", figures, f"Confused (true for predicted): {', '.join(parts)}.")


def _never(keys: Sequence[Mapping[str, Any]]) -> Iterator[VerdictFinding]:
    never = [row for row in keys if not row["predicted"] and row["n"] >= _NEVER_TIMES]
    if never:
        figures = {"keys": [[row["key"], row["n"]] for row in never]}
        named = ", ".join(f"{row['key']} ({row['n']:,})" for row in never[: 2 * _NAMED])
        more = f" and {len(never) - 2 * _NAMED} more" if len(never) > 2 * _NAMED else ""
        yield VerdictFinding(
            "never", "bad", figures, f"Never predicted, with how often the truth has them: {named}{more}."
        )


def _holds(facts: Mapping[str, int]) -> Iterator[VerdictFinding]:
    unreleased, true = facts["unreleased_predicted"], facts["unreleased_true"]
    if unreleased > true:
        figures = {"unreleased_holds": unreleased, "true_unreleased": true}
        text = (
            f"{unreleased:,} predicted holds are never released (truth: {true:,}); "
            "each lasts until the key's next press, or until its episode ends."
        )
        yield VerdictFinding("unreleased", "bad", figures, text)


def _pointer(estimates: Mapping[str, Estimate]) -> Iterator[VerdictFinding]:
    scale, r2, skill = (estimates[name].value for name in ("pointer_log2_scale", "pointer_r2", "pointer_skill"))
    coverage = estimates["coverage"].value
    covered = 1.0 if coverage is None else coverage
    for axis, name in (("x", "horizontal"), ("y", "vertical")):
        correlation = estimates[f"pointer_pearson_{axis}"].value
        if correlation is not None and correlation <= _INVERTED:
            text = (
                f"The pointer's {name} axis seems inverted: its movement and the true one have a correlation of "
                f"{_signed(correlation)}."
            )
            yield VerdictFinding("pointer_inverted", "bad", {f"pointer_pearson_{axis}": correlation}, text)
    # A pointer that stops early or begins late covers less distance because of that, not because it is slow.
    if scale is not None and abs(scale) > _SCALE and (scale > 0 or covered >= _FULL_COVERAGE):
        way = "fast: it goes" if scale > 0 else "slow: it goes only"
        text = f"The pointer is too {way} {2**scale:.2f} times as far as the true one (log₂ {_signed(scale)})."
        yield VerdictFinding("pointer_scale", "bad", {"pointer_log2_scale": scale, "ratio": 2**scale}, text)
    if r2 is not None and skill is not None and skill <= 0 and covered > 0:
        text = f"The pointer is not better than a trivial one (R² {_signed(r2)}, skill {_signed(skill)})."
        yield VerdictFinding("pointer_skill", "bad", {"pointer_r2": r2, "pointer_skill": skill}, text)


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


def _signed(value: float) -> str:
    """A number with two digits and a real minus sign; what rounds to 0 has none."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.1 else f"{100 * share:.1f} %"
