"""pass@k and pass^k: the chance that at least one of k trials passes, and that all k do.

Both are unbiased estimators from c passes in n trials: the share of all k-subsets of the n trials that pass. Plugging
c/n into 1 − (1 − p)^k or p^k instead is biased for small n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import comb

from assay.errors import UsageError
from assay.types import Estimate


def pass_at_k(passes: int, trials: int, k: int) -> float | None:
    """The chance that at least one of k trials passes; None with fewer than k trials.

    Example:
        >>> pass_at_k(1, 2, 1), pass_at_k(1, 2, 2)
        (0.5, 1.0)

    """
    _check(passes, trials, k)
    return None if trials < k else 1 - comb(trials - passes, k) / comb(trials, k)


def pass_hat_k(passes: int, trials: int, k: int) -> float | None:
    """The chance that all of k trials pass (pass^k); None with fewer than k trials.

    Example:
        >>> pass_hat_k(3, 4, 2)
        0.5

    """
    _check(passes, trials, k)
    return None if trials < k else comb(passes, k) / comb(trials, k)


def mean_pass_hat_k(counts: Iterable[tuple[int, int]], k: int) -> Estimate:
    """pass^k over scenarios, given (passes, trials) of each; those with fewer than k trials are skipped.

    Example:
        >>> mean_pass_hat_k([(2, 2), (1, 2)], 2).value
        0.5

    """
    return _mean(counts, k, pass_hat_k)


def mean_pass_at_k(counts: Iterable[tuple[int, int]], k: int) -> Estimate:
    """pass@k over scenarios, given (passes, trials) of each; those with fewer than k trials are skipped.

    Example:
        >>> mean_pass_at_k([(2, 2), (1, 2)], 2).value
        1.0

    """
    return _mean(counts, k, pass_at_k)


def _mean(counts: Iterable[tuple[int, int]], k: int, share_of: Callable[[int, int, int], float | None]) -> Estimate:
    """The mean over scenarios. Few counts differ, so the share of each is computed once."""
    given = list(counts)
    shares = {one: share_of(*one, k) for one in set(given)}
    known = [share for one in given if (share := shares[one]) is not None]
    return Estimate(
        sum(known) / len(known) if known else None,
        unit="scenario",
        n=len(known),
        n_units=len(known),
        n_skipped=len(given) - len(known),
    )


def _check(passes: int, trials: int, k: int) -> None:
    if k < 1 or not 0 <= passes <= trials:
        raise UsageError(
            f"impossible counts: {passes} passes in {trials} trials with k = {k}",
            hint="Use 0 ≤ passes ≤ trials and k ≥ 1",
        )
