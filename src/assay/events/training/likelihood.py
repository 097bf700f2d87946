"""Log-probabilities of tokens, summed by event, as assay@1 takes them for its calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.events.actions.calibration import calibration_states
from assay.events.stream import EventStream
from assay.events.training.arrays import array_of
from assay.types import Floats, Ints, State


def token_log_probabilities(logits: Any, labels: Ints, *, shift: bool) -> tuple[Any, Any]:
    """Natural logarithms of the probabilities of the true and of the most probable token, shape (rows, positions) each.

    `logits` have shape (rows, positions, tokens). Positions without a label have a 0 in the first. On the CPU these are
    arrays of float64; a tensor on another device stays there and gives tensors of float32.
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


def row_calibrations(
    predicted: EventStream, truth: EventStream, lengths: Ints, scores: tuple[Floats, Floats]
) -> list[dict[str, State]]:
    """For each row, the states behind `nll` and `calibration_error` of assay@1; frames are left out.

    `scores` are the log-probabilities of the true and of the predicted events, shape (events,) each.
    """
    found, end = [], 0
    for n in lengths.tolist():
        row = slice(end, end + n)
        end += n
        found.append(calibration_states(predicted[row], truth[row], scores[0][row], scores[1][row]))
    return found
