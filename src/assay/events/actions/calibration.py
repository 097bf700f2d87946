"""The states and tables behind `nll` and `calibration_error` of `assay@1`: how probable the model thought events were.

An event's probability is the product of its tokens', each given the true ones before it. Its negative logarithm for
the true event is the loss of the log-likelihood; for the predicted event it is the model's confidence, which should be
right as often as it says. Files and training loops use the same functions, so they give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.events.actions import states
from assay.events.actions.states import StateRows
from assay.events.stream import EventStream, Kind
from assay.events.tally import Tally
from assay.types import Floats, State

TENTHS = 10
_UNIT = 1e9  # sums are whole billionths, so that they add up in any order
_LARGEST = 1e6  # nats; keeps the loss of an impossible event finite
_FIELDS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data")


def calibration_states(
    predicted: EventStream, truth: EventStream, true_logprob: Floats | None, predicted_logprob: Floats | None
) -> dict[str, State]:
    """The states of events that are paired by position; frames and unknown log-probabilities are left out.

    The log-probabilities are those of the true and of the predicted events, shape (events,) each; None if unknown.
    """
    if true_logprob is None and predicted_logprob is None:
        return {}
    counted = truth.valid & (truth.kind != Kind.SCREEN)
    likelihood = np.zeros(TENTHS + 2 * len(states.LIKELIHOOD_KINDS), np.int64)
    found: dict[str, State] = {}
    loss = np.zeros(len(truth), np.int64)
    if true_logprob is not None:
        known = counted & ~np.isnan(true_logprob)
        loss = np.rint(np.clip(-np.where(known, true_logprob, 0.0), 0.0, _LARGEST) * _UNIT).astype(np.int64)
        for at, kind in enumerate((Kind.KEYBOARD, Kind.MOUSE)):
            own = known & (truth.kind == kind)
            likelihood[TENTHS + 2 * at : TENTHS + 2 * at + 2] = np.count_nonzero(own), loss[own].sum()
    if predicted_logprob is not None and len(predicted) == len(truth):
        right = predicted.valid & truth.valid
        for name in _FIELDS:
            right = right & (getattr(predicted, name) == getattr(truth, name))
        known = counted & ~np.isnan(predicted_logprob)
        confidence = np.exp(np.minimum(predicted_logprob[known], 0.0))
        tenth = np.minimum((confidence * TENTHS).astype(np.int64), TENTHS - 1)
        over = np.rint((confidence - right[known]) * _UNIT).astype(np.int64)
        sums = np.zeros((3, TENTHS), np.int64)
        for at, values in enumerate((np.ones(len(tenth), np.int64), over, loss[known])):
            np.add.at(sums[at], tenth, values)
        np.add.at(likelihood, tenth, right[known].astype(np.int64))
        found[states.CONFIDENCE] = states.pack(sums.ravel().tolist())
    if true_logprob is not None or found:
        found[states.LIKELIHOOD] = states.pack(likelihood.tolist())
    return found


def confidence_sums(tally: Tally) -> Floats:
    """Of each episode by tenth of confidence: predictions, over-confidence, losses; shape (episodes, 3 · TENTHS)."""
    return StateRows.of(tally, states.CONFIDENCE).sums(states.Table(0, (3 * TENTHS,)))


def likelihood_sums(tally: Tally) -> Floats:
    """Of each episode: right predictions by tenth of confidence, and events and losses by kind; shape (episodes, …)."""
    return StateRows.of(tally, states.LIKELIHOOD).sums(states.Table(0, (TENTHS + 2 * len(states.LIKELIHOOD_KINDS),)))


def calibration_table(tally: Tally) -> list[dict[str, float | None]]:
    """For each tenth of confidence that occurs: predictions, mean confidence, share correct, and more.

    `nll` is the mean loss of the true events there; None if their probabilities are unknown.
    """
    total, hits = confidence_sums(tally).sum(axis=0), likelihood_sums(tally).sum(axis=0)
    knows_losses = bool(hits[10::2].any() or total[20:].any())
    rows: list[dict[str, float | None]] = []
    for at in np.flatnonzero(total[:10]).tolist():
        n, over = float(total[at]), float(total[10 + at] / _UNIT / total[at])
        right = float(hits[at] / n)
        row = {"from": at / 10, "to": (at + 1) / 10, "n": n, "confidence": right + over, "right": right}
        nll = float(total[20 + at] / _UNIT / n) if knows_losses else None
        rows.append({**row, "over_confidence": over, "nll": nll})
    return rows


def likelihood_table(tally: Tally) -> list[dict[str, Any]]:
    """The loss of true events by kind, for kinds of which probabilities are known."""
    total = likelihood_sums(tally).sum(axis=0)
    pairs = zip(states.LIKELIHOOD_KINDS, total[10::2].tolist(), total[11::2].tolist(), strict=True)
    return [{"kind": kind, "n": int(n), "nll": loss / _UNIT / n} for kind, n, loss in pairs if n]
