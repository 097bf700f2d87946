"""Correction for several tests at once: the more tests there are, the more differences are found by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import UsageError
from assay.types import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p-values, shape (m,), in the order given (Holm 1979, step-down Bonferroni).

    If every test whose adjusted p is at most 0.05 is called significant, at most 5 % of all families contain a false
    call, however the tests depend on each other.

    Example:
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]

    """
    p = np.asarray(p_values, np.float64).ravel()
    if np.isnan(p).any() or ((p < 0) | (p > 1)).any():
        raise UsageError("p-values must be between 0 and 1", hint="Leave out metrics that were not tested")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
