"""The bootstrap of the interquartile mean: against plain resampling and against SciPy."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from assay import stats
from assay.types import Distribution
from benchmarks import reference
from benchmarks.measuring import Result, at_least, at_most, best, show

REPS = 1000
# Plain resampling takes most of a minute, so it is timed on a few replicates.
FEW = 8


def main() -> None:
    show("Statistics", [*_quantised(), *_continuous()])


def _quantised() -> list[Result]:
    """A million time errors in units of 10 ms, with heavy tails: a few hundred distinct values."""
    rng = np.random.default_rng(1)
    values = np.rint(rng.standard_t(3, 1_000_000) * 3) * 10
    ours = best(lambda: stats.bootstrap(values, statistic="iqm", reps=REPS))
    plain = best(lambda: reference.bootstrap(values, reps=FEW), repeats=2) * REPS / FEW
    scipy = best(lambda: _scipy(values, FEW), repeats=2) * REPS / FEW
    one = Distribution.of(values)
    ten = Distribution.of(np.concatenate([values, np.rint(rng.standard_t(3, 9_000_000) * 3) * 10]))
    counted, counted_ten = (best(partial(stats.bootstrap, d), repeats=9) for d in (one, ten))
    what = f"IQM bootstrap, {REPS} resamples of 1 M quantised values"
    return [
        at_least(f"{what}, against plain resampling", _s(ours), _s(plain), plain / ours, 500),
        at_least(f"{what}, against scipy.stats.bootstrap", _s(ours), _s(scipy), scipy / ours, 200),
        at_most(
            "the same of 10 M values against 1 M, after counting",
            _s(counted_ten),
            _s(counted),
            counted_ten / counted,
            1.5,
        ),
    ]


def _continuous() -> list[Result]:
    """Values that are all distinct: counting does not help, and it must still not be slower than plain resampling."""
    values = np.random.default_rng(2).normal(size=1_000_000)
    ours = best(lambda: stats.bootstrap(values, reps=FEW), repeats=3)
    plain = best(lambda: reference.bootstrap(values, reps=FEW), repeats=3)
    return [
        at_least(
            "IQM bootstrap of 1 M continuous values, against plain resampling", _s(ours), _s(plain), plain / ours, 1
        )
    ]


def _scipy(values: NDArray[np.float64], reps: int) -> object:
    def iqm(sample: NDArray[np.float64]) -> float:
        q25, q75 = np.percentile(sample, [25, 75])
        return float(sample[(sample >= q25) & (sample <= q75)].mean())

    generator = np.random.default_rng(42)
    return scipy_stats.bootstrap((values,), iqm, n_resamples=reps, method="percentile", vectorized=False, rng=generator)


def _s(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.1f} s"
