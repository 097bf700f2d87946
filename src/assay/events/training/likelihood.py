"""How probable the model thought events were: log-probabilities of tokens, summed by event, as assay@1 takes them.

An event's probability is the product of its tokens', each given the true ones before it. Its negative logarithm for the
true event is the log-likelihood's loss; for the predicted event it is the model's confidence, which should be right as
often as it says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.events.actions import states
from assay.events.stream import EventStream, Kind
from assay.events.training.arrays import array_of
from assay.types import Floats, Ints, State

_TENTHS = 10
_UNIT = 1e9  # sums are whole billionths, so that they add up in any order
_LARGEST = 1e6  # nats; what has no probability at all has to stay a number
_FIELDS = ("kind", "time_ns", "vk", "press", "dx", "dy", "flags", "data")


def token_log_probabilities(logits: Any, labels: Ints, *, shift: bool) -> tuple[Any, Any]:
    """Natural logarithms of the probabilities of the true and of the most probable token, shape (rows, positions) each.

    `logits` have shape (rows, positions, tokens). What has no label has a 0 in the first. On a processor these are
    arrays of float64; a tensor elsewhere is not moved, and gives tensors of float32.
    """
    wanted = np.full(labels.shape, -100, np.int64)
    wanted[:, : labels.shape[1] - shift] = labels[:, int(shift) :]
    known = wanted >= 0
    if hasattr(logits, "detach") and logits.device.type != "cpu":
        return _elsewhere(logits.detach(), np.where(known, wanted, 0), known)
    true, best = np.zeros(labels.shape), np.zeros(labels.shape)
    for row, ids, asked, at in zip(logits, wanted, known, range(len(labels)), strict=True):  # a row at a time: memory
        values = array_of(row).astype(np.float64)
        largest = values.max(axis=-1)
        total = largest + np.log(np.exp(values - largest[:, None]).sum(axis=-1))
        best[at] = largest - total
        true[at, asked] = values[asked, ids[asked]] - total[asked]
    return true, best


def _elsewhere(logits: Any, ids: Ints, known: Any) -> tuple[Any, Any]:
    values = logits.float()
    total = values.logsumexp(-1)
    index = logits.new_tensor(ids.tolist()).long()
    true = values.gather(-1, index[..., None])[..., 0] - total
    return true * logits.new_tensor(known.tolist()).float(), values.amax(-1) - total


def calibration_states(
    predicted: EventStream, truth: EventStream, lengths: Ints, scores: tuple[Floats, Floats]
) -> list[dict[str, State]]:
    """For each row, what `nll` and `calibration_error` of assay@1 are made of; frames are left out.

    `scores` are the log-probabilities of the true and of the predicted events, shape (events,) each.
    """
    right = predicted.valid & truth.valid
    for name in _FIELDS:
        right = right & (getattr(predicted, name) == getattr(truth, name))
    confidence = np.exp(np.minimum(scores[1], 0.0))
    tenth = np.minimum((confidence * _TENTHS).astype(np.int64), _TENTHS - 1)
    over = np.rint((confidence - right) * _UNIT).astype(np.int64)
    loss = np.rint(np.clip(-scores[0], 0.0, _LARGEST) * _UNIT).astype(np.int64)
    counted = truth.valid & (truth.kind != Kind.SCREEN)
    found: list[dict[str, State]] = []
    end = 0
    for n in lengths.tolist():
        row = slice(end, end + n)
        end += n
        sums = np.zeros((3, _TENTHS), np.int64)
        for at, values in enumerate((np.ones(n, np.int64), over[row], loss[row])):
            np.add.at(sums[at], tenth[row][counted[row]], values[counted[row]])
        found.append({states.CONFIDENCE: states.pack(sums.ravel().tolist())})
    return found
