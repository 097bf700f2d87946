"""Checks of the two sides of an evaluation before scoring: what is refused, and what readers are warned about."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from assay.errors import SourceError, TruthError
from assay.events.input import Input
from assay.events.stream import Problem
from assay.plural import counted

# Fewer invalid events of a kind than this may be chance, even if there are no others of their kind.
_A_WHOLE_KIND = 5
_NAMED = 10
"""Episodes that a sentence names."""
_REASONS = 3
"""Reasons that a sentence gives: of missing shards, and of predictions that do not decode."""
# If one truth in this many does not decode while every prediction does, it is not a single mistake.
_SUSPICIOUS = 100

_NOT_TOKENS = (Problem.BAD_ROW.sentence, Problem.UNKNOWN_TYPE.sentence)
"""What goes wrong most if rows are objects in a form that is not ours."""
_AN_EVENT = (
    "An event is a token text (--encoding), or a row with kind (keyboard, mouse or screen) and ts in nanoseconds, and "
    "with vk and press for a key, or dx, dy, flags and data for the mouse"
)

_UNITS = ((1e3, "a thousandth", "microseconds"), (1e6, "a millionth", "milliseconds"), (1e9, "a billionth", "seconds"))
_ABOUT = 0.8
# A few absurd times are not worth a warning.
_BACKWARDS = 0.05
# A model that now and then writes an event that does not decode is not worth a warning.
_UNUSUAL = 0.02

_LIKE_TRUTH = re.compile(r"truth|label|gold|reference|target", re.IGNORECASE)
_LIKE_PREDICTION = re.compile(r"pred|generat|output|answer|hypothes", re.IGNORECASE)


def check(predicted: Input, truth: Input, *, allow_duplicates: bool = False) -> None:
    """Refuse input without anything to score, or in which two episodes would count as one."""
    if not truth.events:
        raise SourceError("no true events were found", where=truth.source, hint="Is it the right file and encoding?")
    for side in (predicted, truth):
        if side.doubled and not allow_duplicates:
            raise SourceError(
                f"{counted(len(side.doubled), 'episode')} in more than one row, or with rows that come twice: "
                f"{_some(side.doubled)}",
                where=side.source,
                hint="Name each episode once, or join their rows with --allow-duplicates",
            )
    if spoiled := _hopeless(truth):
        reason = truth.problems.most_common(1)[0][0]
        hint = "Check --encoding; a truth that does not decode is an error in the data and cannot be scored"
        if reason in _NOT_TOKENS:
            hint = f"{_AN_EVENT}; 'assay events decode' shows what was read"
        if predicted.events and not predicted.invalid:
            hint = "All predictions decode: were PRED and TRUTH swapped? Otherwise check --encoding"
        raise TruthError(f"{spoiled} do not decode, mostly because of: {reason}", where=truth.source, hint=hint)


def _hopeless(truth: Input) -> str | None:
    """Which part of the truth was probably read wrongly, because most of it or a whole kind is invalid."""
    if 2 * truth.invalid > truth.events:
        return f"{truth.invalid:,} of {truth.events:,} true events"
    for kind, n in truth.spoiled_kinds.items():
        if kind != "unknown" and not truth.kinds[kind] and n >= _A_WHOLE_KIND:
            return f"all {n:,} true {kind} events"
    return None


def warnings_about(predicted: Input, truth: Input, unit: str, episodes: int) -> list[str]:
    """Warnings about the two sides that change how to read the numbers."""
    found = _missing_shards(truth.missing) + suspected_swap(predicted, truth) + _other_unit(predicted, truth)
    if truth.invalid:
        reasons = "; ".join(f"{n:,} {reason}" for reason, n in truth.problems.most_common())
        found.append(f"{truth.invalid:,} of {truth.events:,} true events do not decode and were not scored: {reasons}.")
    if not predicted.events:
        found.append("Nothing was predicted: everything true counts as missed. Is it the right file and encoding?")
    elif predicted.invalid > _UNUSUAL * predicted.events:
        few = predicted.invalid < predicted.events
        reasons = "; ".join(f"{n:,} {reason}" for reason, n in predicted.problems.most_common(_REASONS))
        which = f"{predicted.invalid:,} of {predicted.events:,} predictions do not decode"
        which = which if few else "No prediction decodes"
        hint = " Check that the encoding is the right one." if 2 * predicted.invalid > predicted.events else ""
        found.append(f"{which}: {reasons}.{hint}")
    found += _episodes_of_one_side(predicted, truth)
    found += [
        f"A row of the {name} was read as one {side.rows}, judged by the first rows (--rows overrides it)."
        for name, side in (("predictions", predicted), ("truths", truth))
        if side.rows
    ]
    if predicted.rows and truth.rows and predicted.rows != truth.rows:
        found.append(
            "A row means one thing in the predictions and another in the truths. If that is wrong, say what it is with "
            "--rows event or --rows episode."
        )
    if predicted.events != truth.events:
        found.append(
            f"{predicted.events:,} predictions for {truth.events:,} truths: pairing by position counts a truth "
            "without a prediction as not comparable and leaves a prediction without a truth out."
        )
    for name, side in (("predictions", predicted), ("truths", truth)):
        if side.backwards > _BACKWARDS * side.events:
            found.append(
                f"In the {name}: {side.backwards:,} events are more than a second earlier than the one before. Their "
                "order counts, for positions and for which keys are held: sort the rows of each episode by time."
            )
        found += [f"In the {name}: {n:,} {note}." for note, n in side.notes.most_common()]
        if side.doubled:
            found.append(f"In the {name}: {counted(len(side.doubled), 'episode')} more than once, joined.")
    if unit != "episode" and episodes >= 2:
        found.append(f"Intervals vary single events although {episodes} episodes are known: they are too narrow.")
    if episodes == 1 and unit != "episode":
        found.append("There is one episode: intervals vary its events and say nothing about other episodes.")
    return found


def _missing_shards(missing: Mapping[str, str]) -> list[str]:
    """Shards that could not be read, by name, the first few with the reason."""
    if not missing:
        return []
    reasons = "; ".join(f"{name}: {missing[name]}" for name in sorted(missing)[:_REASONS])
    more = f"; and {len(missing) - _REASONS:,} more" if len(missing) > _REASONS else ""
    are = "is" if len(missing) == 1 else "are"
    return [f"{counted(len(missing), 'shard')} could not be read and {are} left out ({reasons}{more})."]


def suspected_swap(predicted: Input, truth: Input) -> list[str]:
    """A suspicion that each side is the other one."""
    by_name = (_looks_like(predicted.source), _looks_like(truth.source)) == ("truth", "prediction")
    if by_name:
        return ["The predictions are called like truths, and the truths like predictions: were the two swapped?"]
    if predicted.events and not predicted.invalid and truth.invalid * _SUSPICIOUS >= truth.events > 0:
        return ["All predictions decode and some truths do not: were the two swapped?"]
    return []


def _other_unit(predicted: Input, truth: Input) -> list[str]:
    """A suspicion that the times of one side are not in nanoseconds: its last one is a thousandth of the other's, …"""
    sides = (("predictions", predicted, truth), ("truths", truth, predicted))
    return [
        f"The last time of the {name} is about {share} of the other side's: are they in {unit}? Times are in "
        "nanoseconds."
        for name, side, other in sides
        for power, share, unit in _UNITS
        if other.last_ns and _ABOUT <= side.last_ns * power / other.last_ns <= 1 / _ABOUT
    ]


def _looks_like(source: str) -> str | None:
    """Whether the last part of a path names predictions or truths, if it names only one of them."""
    name = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    is_truth, is_prediction = bool(_LIKE_TRUTH.search(name)), bool(_LIKE_PREDICTION.search(name))
    if is_truth == is_prediction:
        return None
    return "truth" if is_truth else "prediction"


def _episodes_of_one_side(predicted: Input, truth: Input) -> list[str]:
    """Episodes that only one side has, by name. A single one is paired with a single one, whatever they are called."""
    ours, theirs = predicted.episodes - {""}, truth.episodes - {""}
    if not predicted.events or (len(predicted.episodes) == len(truth.episodes) == 1):
        return []
    found = []
    if missing := theirs - ours:
        found.append(
            f"{len(missing):,} of {counted(len(theirs), 'true episode')} without a prediction; everything in them "
            f"counts as missed: {_some(missing)}."
        )
    if unknown := ours - theirs:
        found.append(
            f"{len(unknown):,} of {counted(len(ours), 'predicted episode')} unknown to the truth; nothing in them can "
            f"be right: {_some(unknown)}."
        )
    return found


def _some(names: Collection[str]) -> str:
    """The first ten names in order, and how many more there are."""
    shown = ", ".join(f"'{name}'" for name in sorted(names)[:_NAMED])
    return f"{shown} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown
