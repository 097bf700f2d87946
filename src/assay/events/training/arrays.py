"""Converts batches from frameworks to arrays of ids: tensors, arrays, lists, tuples; logits or ids.

PyTorch is not imported here: a tensor is recognised by its methods, so that only those who use PyTorch need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.types import Ints


def array_of(batch: Any) -> NDArray[Any]:
    """A tensor on any device, an array or nested lists as an array."""
    if hasattr(batch, "detach"):
        tensor = batch.detach().cpu()
        # NumPy has no bfloat16.
        return np.asarray(tensor.float() if "bfloat16" in str(tensor.dtype) else tensor)
    return np.asarray(batch)


def first_of(batch: Any) -> Any:
    """Logits or labels themselves, if a model or a loop gives more than one thing."""
    while isinstance(batch, tuple) and batch:
        batch = batch[0]
    return batch


def scored_ids(batch: Any) -> bool:
    """Whether a batch is ids with two log-probabilities each, and not logits."""
    return isinstance(batch, tuple) and len(batch) == 3 and [getattr(part, "ndim", 0) for part in batch] == [2, 2, 2]


def labels_of(batch: Any) -> Ints:
    """Labels, shape (rows, positions)."""
    ids = array_of(first_of(batch))
    return np.atleast_2d(ids) if ids.size else ids.reshape(len(ids) if ids.ndim else 0, -1).astype(np.int64)


def predictions_of(batch: Any) -> Ints:
    """Predicted ids, shape (rows, positions): as given, or the most probable of logits (rows, positions, tokens)."""
    whole = first_of(batch)
    if getattr(whole, "ndim", None) == 3:
        whole = most_probable(whole)
    ids = array_of(whole)
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise UsageError(
            f"predictions have shape {ids.shape} and hold {ids.dtype}",
            hint="Give token ids (rows, positions) or logits (rows, positions, tokens)",
        )
    return np.atleast_2d(ids) if ids.size else ids.reshape(len(ids) if ids.ndim else 0, -1).astype(np.int64)


def most_probable(logits: Any) -> Any:
    """The first largest entry of the last axis: an array, or a tensor if the logits are on another device.

    On a processor NumPy finds it five times faster than PyTorch; on other devices, far less has to be copied
    afterwards.
    """
    elsewhere = hasattr(logits, "detach") and (logits.device.type != "cpu" or "bfloat16" in str(logits.dtype))
    return logits.detach().argmax(-1) if elsewhere else array_of(logits).argmax(-1)


def inputs_of(batch: Any, labels: Ints) -> Ints | None:
    """The model's input ids, if they are known and belong to these labels; otherwise None.

    A Trainer that scores batch by batch hands over the inputs of its own process together with the labels of all
    processes.
    """
    if isinstance(batch, Mapping):
        batch = batch.get("input_ids")
    if batch is None:
        return None
    ids = array_of(first_of(batch))
    return ids if ids.shape == labels.shape and np.issubdtype(ids.dtype, np.integer) else None


def batches_of(batch: Any) -> list[Any]:
    """The batches of an evaluation: each array of a list that was not concatenated, otherwise one batch."""
    whole = batch if isinstance(batch, list) else first_of(batch)
    several = isinstance(whole, list) and len(whole) > 0 and getattr(first_of(whole[0]), "ndim", 0) >= 2
    return list(whole) if several else [batch]


def row_names(names: Any, rows: int, what: str) -> list[str]:
    """One name for each row, as text."""
    listed = array_of(names).tolist() if hasattr(names, "detach") or isinstance(names, np.ndarray) else list(names)
    if isinstance(names, str) or len(listed) != rows:
        raise UsageError(f"{len(listed)} {what} for {rows} rows", hint="Give one for each row of the batch")
    return ["" if name is None else str(name) for name in listed]


Names = Sequence[str] | Sequence[int] | NDArray[Any] | Any
"""One for each row: a list of names or numbers, an array or a tensor."""
