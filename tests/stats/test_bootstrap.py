"""Intervals of values: each unit of resampling agrees with a plain, slow implementation of its definition."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from assay import stats
from assay.errors import UsageError
from assay.stats import AT_LEAST_0, Resampling, UnitValues, by_event, value_intervals
from assay.stats.resamples import Resamples
from assay.types import Distribution, Estimate, Floats


def iqm_of(x: Floats) -> float:
    low, high = np.percentile(x, [25, 75])
    inside = x[(x >= low) & (x <= high)]
    return float((inside if len(inside) else x).mean())


def percentile_of(q: float) -> Callable[[Floats], float]:
    return lambda x: float(np.percentile(x, q))


PLAIN: dict[str, Callable[[Floats], float]] = {
    "iqm": iqm_of,
    "mean": lambda x: float(x.mean()),
    "median": percentile_of(50),
    "p95": percentile_of(95),
    "p25": percentile_of(25),
}


def of_rows(statistic: str, table: Floats) -> Floats:
    """The plain statistic of every row of a table at once."""
    found: Floats
    if statistic == "mean":
        found = table.mean(axis=1)
    elif statistic == "iqm":
        low, high = np.percentile(table, [25, 75], axis=1, keepdims=True)
        inside = (table >= low) & (table <= high)
        found = table.mean(axis=1, where=inside | ~inside.any(axis=1, keepdims=True))
    else:
        found = np.percentile(table, {"median": 50, "p95": 95, "p25": 25}[statistic], axis=1)
    return found


@pytest.mark.parametrize("statistic", PLAIN)
def test_the_statistic_of_rows_is_that_of_each_row(statistic: str) -> None:
    # Rows of two have nothing between their quartiles.
    for table in (np.random.default_rng(1).normal(size=(50, 7)).round(1), np.array([[0.0, 1.0], [2.0, 2.0]])):
        assert of_rows(statistic, table) == pytest.approx([PLAIN[statistic](row) for row in table], rel=1e-12)


def ends(replicates: Floats | list[float], level: float = 0.95) -> tuple[float, float]:
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(replicates, [tail, 100 - tail])
    return float(low), float(high)


# --- reference -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", ["iqm", "mean", "p95"])
def test_reference_is_a_plain_loop_over_the_legacy_generator(statistic: str) -> None:
    x = np.random.default_rng(3).normal(size=173).round(1)
    legacy = np.random.RandomState(42)
    replicates = [PLAIN[statistic](legacy.choice(x, size=len(x), replace=True)) for _ in range(1000)]
    found = stats.bootstrap(x, statistic=statistic, interval="reference")
    assert (found.low, found.high) == ends(replicates)
    assert found.unit == "reference"
    assert found.n == 173


def test_reference_depends_on_the_order_of_the_values() -> None:
    x = np.random.default_rng(3).normal(size=50)
    forth, back = (stats.bootstrap(side, interval="reference") for side in (x, x[::-1]))
    assert forth.value == pytest.approx(back.value, rel=1e-12)
    assert (forth.low, forth.high) != (back.low, back.high)


def test_reference_needs_the_values_themselves() -> None:
    with pytest.raises(UsageError, match="in order"):
        stats.bootstrap(Distribution.of([1, 2, 3]), interval="reference")


# --- event -----------------------------------------------------------------------------------------------------------

SAMPLES: dict[str, Floats] = {
    # 25 distinct values: one multinomial draw for each replicate.
    "few distinct": np.random.default_rng(5).normal(0, 4, 4000).round(),
    # 290 distinct values with a large count each: drawn block by block, with the tails as whole blocks.
    "blockwise": np.random.default_rng(6).normal(0, 40, 6000).round(),
    # All distinct: ranks are drawn and counted.
    "continuous": np.random.default_rng(7).exponential(size=900),
    # Skewed, ties at the quartiles.
    "ties": np.repeat([0.0, 1.0, 2.0, 50.0], [300, 290, 5, 205]),
}


def test_the_samples_cover_every_drawing_method() -> None:
    sizes = {name: (len(np.unique(x)), len(x)) for name, x in SAMPLES.items()}
    assert sizes["few distinct"][0] <= 64
    assert sizes["blockwise"][0] > 64
    assert sizes["blockwise"][0] * 12 <= sizes["blockwise"][1]
    assert sizes["continuous"][0] == sizes["continuous"][1]


@cache
def resampled(name: str, reps: int) -> dict[str, Floats]:
    """Every statistic of each of many resamples of a sample, drawn value by value."""
    x, rng = SAMPLES[name], np.random.default_rng(11)
    # Some at a time, for the sake of memory.
    tables = (x[rng.integers(0, len(x), (100, len(x)))] for _ in range(reps // 100))
    found = [{statistic: of_rows(statistic, table) for statistic in PLAIN} for table in tables]
    return {statistic: np.concatenate([part[statistic] for part in found]) for statistic in PLAIN}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("statistic", ["iqm", "mean", "p25", "median", "p95"])
@pytest.mark.slow
def test_event_has_the_distribution_of_resampling(name: str, statistic: str) -> None:
    x, reps = SAMPLES[name], 1500
    slow = resampled(name, reps)[statistic]
    assert len(slow) == reps
    fast = replicates_of(x, statistic, reps)
    # Two-sample Kolmogorov-Smirnov distance: above 1.95 · √(2/reps) once in a thousand if both are the same.
    grid = np.unique(np.concatenate([slow, fast]).round(9))
    gap = np.abs(share_up_to(slow, grid) - share_up_to(fast, grid)).max()
    assert gap < 1.95 * np.sqrt(2 / reps)
    assert np.mean(fast) == pytest.approx(np.mean(slow), abs=5 * np.std(slow) / np.sqrt(reps) + 1e-12)


@pytest.mark.parametrize("statistic", PLAIN)
@pytest.mark.parametrize("sample", [[1.0, 2.0, 4.0, 8.0, 16.0], [0.0, 0.0, 1.0, 5.0], [3.0, 7.0, 7.0]], ids=str)
@pytest.mark.slow
def test_event_has_the_exact_distribution_of_small_samples(sample: list[float], statistic: str) -> None:
    """All nⁿ resamples of a small sample against many replicates: this fails if a rank is off by one."""
    every = np.array(list(itertools.product(sample, repeat=len(sample))))
    exact, reps = of_rows(statistic, every), 20_000
    fast = replicates_of(np.array(sample), statistic, reps)
    grid = np.unique(exact.round(9))
    gap = np.abs(share_up_to(exact, grid) - share_up_to(fast, grid)).max()
    assert gap < 1.95 / np.sqrt(reps)  # one-sample Kolmogorov-Smirnov, once in a thousand
    assert set(fast.round(6)) <= set(exact.round(6))


def replicates_of(x: Floats, statistic: str, reps: int) -> Floats:
    """The replicates themselves: an interval shows only two numbers derived from them."""
    return by_event.replicates(Distribution.of(x), statistic, reps=reps, seed=99)


def share_up_to(sample: Floats, grid: Floats) -> Floats:
    return np.searchsorted(np.sort(sample), grid + 1e-9, "right") / len(sample)


@pytest.mark.parametrize("name", SAMPLES)
def test_event_from_counts_equals_event_from_values(name: str) -> None:
    x = SAMPLES[name]
    assert stats.bootstrap(Distribution.of(x)) == stats.bootstrap(x)
    assert stats.bootstrap(x[::-1]) == stats.bootstrap(x)


@pytest.mark.slow
def test_event_and_reference_intervals_have_nearly_the_same_ends() -> None:
    x = SAMPLES["few distinct"][:500]
    event, reference = (stats.bootstrap(x, interval=unit, reps=4000) for unit in ("event", "reference"))
    width = span(reference)
    assert event.value == reference.value
    assert event.low == pytest.approx(reference.low, abs=0.15 * width)
    assert event.high == pytest.approx(reference.high, abs=0.15 * width)


def span(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


# --- episode ---------------------------------------------------------------------------------------------------------


def slow_episodes(
    parts: list[Floats], statistic: str, reps: int, seed: int, strata: list[str] | None = None
) -> tuple[float, float]:
    """Expand every resample of whole episodes into its single values, and take the hull of the two intervals."""
    weights = Resamples.drawn(len(parts), strata, reps, np.random.default_rng(seed)).weights
    replicates = [
        PLAIN[statistic](np.concatenate([np.tile(part, int(w)) for part, w in zip(parts, row, strict=True)]))
        for row in weights
    ]
    sizes = np.array([len(part) for part in parts])
    freedom = sizes.sum() ** 2 / (sizes**2).sum() - 1  # Kish's effective number, less 1
    wide = scipy.stats.t.ppf(0.975, freedom)
    low, high = ends(replicates, 1 - 2 * scipy.stats.norm.cdf(-wide))
    value, error = PLAIN[statistic](np.concatenate(parts)), np.std(replicates)
    a = np.clip(scipy.stats.skew(replicates) * freedom / (freedom - 1), -0.2, 0.2)

    def corrected(end: float) -> float:  # where Hall's transformation gives `end`
        return float(
            scipy.optimize.brentq(lambda x: x + a * x**2 / 3 + a**2 * x**3 / 27 + a / 6 - end, -100, 100, xtol=1e-13)
        )

    lows, highs = ([value - error * x for x in (end, corrected(end))] for end in (wide, -wide))
    return float(min(low, *lows)), float(max(high, *highs))


def episodes_of(kind: str) -> list[Floats]:
    rng = np.random.default_rng(17)
    if kind == "dense":
        return [rng.normal(rng.normal(0, 3), 5, int(rng.integers(30, 200))).round() for _ in range(9)]
    # More than 2048 distinct values in all: counts are summed in blocks, and only some blocks are opened.
    return [rng.normal(rng.normal(0, 3), 5, int(rng.integers(300, 900))) for _ in range(9)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "opened blocks"])
@pytest.mark.parametrize("statistic", ["iqm", "median", "p95"])
def test_episode_is_brute_force_resampling_of_groups(kind: str, statistic: str) -> None:
    parts = episodes_of(kind)
    assert (len(np.unique(np.concatenate(parts))) > 2048) == (kind == "opened blocks")
    plan = Resampling("episode", 200, seed=8)
    found = value_intervals([Distribution.of(part) for part in parts], [statistic], plan)[statistic]
    low, high = slow_episodes(parts, statistic, 200, 8)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
    assert found.value == pytest.approx(PLAIN[statistic](np.concatenate(parts)), rel=1e-12)
    assert (found.unit, found.n_units, found.n) == ("episode", 9, sum(map(len, parts)))


def test_many_episodes_use_fewer_blocks_and_give_the_same_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = episodes_of("opened blocks")
    plan, whole = Resampling("episode", 60, seed=2), [Distribution.of(part) for part in parts]
    usual = value_intervals(whole, ["iqm", "median"], plan)
    # As if there were thousands of episodes: at most 64 blocks of values.
    monkeypatch.setattr(sys.modules["assay.stats.by_episode"], "_BLOCK_CELLS", 1)
    fewer = value_intervals(whole, ["iqm", "median"], plan)
    for name, estimate in usual.items():
        assert (fewer[name].low, fewer[name].high) == pytest.approx((estimate.low, estimate.high), rel=1e-12)


def test_values_on_the_edges_of_blocks_are_counted_once() -> None:
    # 3000 distinct values with very unequal counts, so that blocks end at irregular positions.
    rng = np.random.default_rng(23)
    parts = [np.repeat(rng.permutation(3000)[:1500] / 4, rng.integers(1, 6, 1500)) for _ in range(5)]
    plan = Resampling("episode", 100, seed=3)
    found = value_intervals([Distribution.of(part) for part in parts], ["p25", "iqm"], plan)
    assert (found["p25"].low, found["p25"].high) == pytest.approx(slow_episodes(parts, "p25", 100, 3), rel=1e-9)
    assert (found["iqm"].low, found["iqm"].high) == pytest.approx(slow_episodes(parts, "iqm", 100, 3), rel=1e-9)


def test_groups_and_strata_are_given_for_each_value() -> None:
    rng = np.random.default_rng(29)
    groups = np.repeat([f"g{i}" for i in range(6)], 40)
    strata = np.repeat(["a", "a", "a", "b", "b", "b"], 40)
    x = rng.normal(size=240).round(1) + np.where(strata == "b", 100, 0)
    found = stats.bootstrap(x, statistic="iqm", interval="episode", groups=groups, strata=strata, reps=300)
    parts = [Distribution.of(x[groups == f"g{i}"]) for i in range(6)]
    plan = Resampling("episode", 300)
    assert found == value_intervals(parts, ["iqm"], plan, strata=["a", "a", "a", "b", "b", "b"])["iqm"]


def test_every_resample_keeps_the_weight_of_each_stratum() -> None:
    strata = ["x", "y", "x", "y", "y", "y"]
    weights = Resamples.drawn(6, strata, 2000, np.random.default_rng(0)).weights
    for stratum, size in (("x", 2), ("y", 4)):
        members = [at for at, name in enumerate(strata) if name == stratum]
        assert weights[:, members].sum(axis=1) == pytest.approx(np.full(2000, size))
    # Each unit counts once on average, and means vary as much as they should: by n/(n − 1) times the plain bootstrap.
    assert weights.mean(axis=0) == pytest.approx(np.ones(6), abs=0.1)
    values = np.array([0.0, 3.0, 1.0, 5.0, 4.0, 8.0])
    spread = sum(size**2 * values[np.array(strata) == name].var(ddof=1) / size for name, size in (("x", 2), ("y", 4)))
    assert (weights @ values).var() == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("strata", [list("aaaabbbb"), list("aabbbbbb"), None])
def test_sums_over_resamples_are_the_same_in_every_order(strata: list[str] | None) -> None:
    resamples = Resamples.drawn(8, strata, 50, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    table = rng.normal(size=(8, 5)) * 10.0 ** rng.integers(-9, 9, (8, 5))
    table[:, 3] = rng.integers(0, 1000, 8)
    table[:, 4] = 0.0
    found = resamples.sums(table)
    assert (np.abs(found - resamples.weights @ table) <= 1e-14 * np.abs(table).sum(axis=0)).all()
    for order in (np.arange(8)[::-1], rng.permutation(8)):
        shuffled = Resamples(resamples.times[:, order], resamples.share[order])
        assert (shuffled.sums(table[order]) == found).all()


def test_strata_of_one_are_pooled() -> None:
    weights = Resamples.drawn(5, list("abcde"), 300, np.random.default_rng(0)).weights
    assert (weights.sum(axis=1) == 4).all()
    assert (weights.std(axis=0) > 0).all()
    # One alone joins the largest stratum.
    assert (Resamples.drawn(4, list("abbb"), 300, np.random.default_rng(0)).weights.std(axis=0) > 0).all()


def test_strata_narrow_the_interval_if_they_explain_the_differences() -> None:
    parts = [Distribution.of([100.0 * (at % 2) + at]) for at in range(20)]
    plan = Resampling("episode", 500)
    alone = value_intervals(parts, ["mean"], plan)["mean"]
    within = value_intervals(parts, ["mean"], plan, strata=[str(at % 2) for at in range(20)])["mean"]
    assert span(within) < span(alone) / 3


def test_one_episode_gives_a_value_without_an_interval() -> None:
    found = stats.bootstrap([1.0, 2.0, 3.0], interval="episode", groups=["a", "a", "a"])
    assert found.value == 2.0
    assert found.low is None
    assert found.high is None
    assert found.n_units == 1


def test_episodes_without_values_count_as_units() -> None:
    parts = [Distribution.of([1.0, 2.0]), Distribution(), Distribution.of([3.0])]
    found = value_intervals(parts, ["mean"], Resampling("episode", 500))["mean"]
    assert found.value == 2.0
    assert found.n_units == 3
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.5 < 3.0 < found.high  # the two episodes with values; t with one degree of freedom
    alone = value_intervals([Distribution.of([1.0, 2.0]), Distribution()], ["mean", "iqm"], Resampling("episode"))
    assert {(one.value, one.low, one.method) for one in alone.values()} == {(1.5, None, "none: one episode only")}


# --- laws of every interval ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["reference", "event"])
def test_intervals_shrink_with_the_square_root_of_n(unit: str) -> None:
    rng = np.random.default_rng(31)
    few, many = (stats.bootstrap(rng.normal(size=n), interval=unit, reps=400) for n in (100, 6400))
    # 64 times the values: an eighth of the width, apart from the randomness of resampling.
    assert span(few) / span(many) == pytest.approx(8, rel=0.35)


@pytest.mark.parametrize("unit", stats.UNITS)
def test_the_interval_is_determined_by_the_seed(unit: str) -> None:
    x, groups = np.random.default_rng(1).normal(size=120), np.arange(120) // 10

    def interval(seed: int) -> Estimate:
        return stats.bootstrap(x, interval=unit, seed=seed, groups=groups, reps=50)

    assert interval(1) == interval(1)
    assert (interval(1).low, interval(1).high) != (interval(2).low, interval(2).high)
    assert "seed 1" in interval(1).method


@pytest.mark.parametrize("unit", stats.UNITS)
def test_no_global_generator_is_touched(unit: str) -> None:
    np.random.seed(123)
    before = np.random.get_state(legacy=False)
    stats.bootstrap(np.arange(50.0), interval=unit, groups=np.arange(50) // 5, reps=20)
    after = np.random.get_state(legacy=False)
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert before["state"]["pos"] == after["state"]["pos"]
    assert np.array_equal(before["state"]["key"], after["state"]["key"])


@pytest.mark.parametrize("unit", stats.UNITS)
def test_the_value_does_not_depend_on_the_interval(unit: str) -> None:
    x = np.random.default_rng(4).normal(size=90)
    assert stats.bootstrap(x, interval=unit, groups=np.arange(90) // 9, reps=10).value == stats.iqm(x)


@pytest.mark.parametrize("unit", stats.UNITS)
def test_the_estimate_of_no_values_is_none(unit: str) -> None:
    found = stats.bootstrap([], interval=unit, groups=[])
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)


@pytest.mark.parametrize("unit", stats.UNITS)
def test_equal_values_give_an_interval_of_zero_width(unit: str) -> None:
    found = stats.bootstrap([2.5] * 40, interval=unit, groups=np.arange(40) // 4, reps=30)
    assert (found.value, found.low, found.high) == (2.5, 2.5, 2.5)


def test_a_higher_level_gives_a_wider_interval() -> None:
    x = SAMPLES["continuous"]
    widths = [span(stats.bootstrap(x, level=level)) for level in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"interval": "events"}, "no interval 'events'"),
        ({"reps": 0}, "reps must be at least 1, got 0"),
        ({"level": 1.0}, r"level must be between 0 and 1, got 1\.0"),
        ({"level": 0.0}, r"level must be between 0 and 1, got 0\.0"),
        ({"statistic": "mode"}, "no statistic 'mode'"),
        ({"statistic": "p101"}, "no statistic 'p101'"),
        ({"interval": "episode"}, "needs groups"),
        ({"interval": "episode", "groups": ["a"]}, "3 values, 1 groups"),
        ({"interval": "episode", "groups": ["a", "a", "b"], "strata": ["s", "t", "t"]}, "more than one stratum"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        stats.bootstrap([1.0, 2.0, 3.0], **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", stats.UNITS)
def test_the_interquartile_mean_of_two_values_is_their_mean(unit: str) -> None:
    # Q25 and Q75 of 0 and 1 are 0.25 and 0.75, and nothing lies between them.
    found = stats.bootstrap([0.0, 1.0], interval=unit, groups=["a", "b"])
    assert (found.value, found.n) == (0.5, 2)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.0 < 1.0 <= found.high


def test_resamples_of_two_values_have_their_mean() -> None:
    # A resample may consist of the two single values and the empty episode.
    parts = [Distribution.of([0.0]), Distribution.of([9000.0]), Distribution(), Distribution.of(np.arange(3000.0))]
    found = value_intervals(parts, ["iqm"], Resampling("episode", 500))["iqm"]
    assert found.value == pytest.approx(1500, abs=1)
    assert span(found) > 0


def test_nan_is_refused() -> None:
    with pytest.raises(UsageError, match="NaN"):
        stats.bootstrap([1.0, float("nan")])


@pytest.mark.slow
def test_intervals_of_correlated_events_cover_the_truth_only_by_episode() -> None:
    """20 recordings of 500 events with an intra-class correlation of 0.08; the interval of the mean.

    The variance of the mean is 1 + 499 · 0.08 = 40.9 times what single events would have. ±1.96 standard errors of
    theirs are then ±0.31 true ones, and hold the truth 24 % of the time instead of 95 %.
    """
    rng = np.random.default_rng(37)
    trials, episodes, size = 150, 20, 500
    between = np.sqrt(0.08 / 0.92)  # against a spread of 1 within a recording
    groups = np.repeat(np.arange(episodes), size)
    held = {"event": 0, "episode": 0}
    for _ in range(trials):
        offsets: NDArray[np.float64] = rng.normal(0, between, episodes)
        x = (offsets[groups] + rng.normal(0, 1, episodes * size)).round(1)
        for unit in held:
            found = stats.bootstrap(x, statistic="mean", interval=unit, groups=groups, reps=200)
            assert found.low is not None
            assert found.high is not None
            held[unit] += found.low <= 0 <= found.high
    # Within three standard errors of a share over so many trials.
    assert held["event"] / trials == pytest.approx(0.24, abs=0.105)
    assert held["episode"] / trials == pytest.approx(0.95, abs=0.055)


@pytest.mark.parametrize("distinct", [40, 5000])  # fewer values than blocks, and more
def test_values_given_several_units_at_a_time_have_the_same_intervals(distinct: int) -> None:
    rng = np.random.default_rng(8)
    samples = [rng.integers(0, distinct, size) / 7 for size in rng.integers(0, 900, 30)]
    parts = [Distribution.of(sample) for sample in samples]
    plan = Resampling("episode", 60)
    names = ["iqm", "mean", "p5", "median"]
    strata = [str(at % 3) for at in range(30)]
    usual = value_intervals(parts, names, plan, strata=strata)
    together = [
        UnitValues.of(np.concatenate([*some, [np.nan]]), np.ones(sum(map(len, some)) + 1, np.int64), sizes)
        for some in (samples[:11], samples[11:])
        for sizes in [[*map(len, some[:-1]), len(some[-1]) + 1]]
    ]
    found = value_intervals(together, names, plan, strata=strata, whole=Distribution.merge(parts))
    for name in names:
        ends = (usual[name].low, usual[name].high)
        assert (found[name].low, found[name].high) == pytest.approx(ends, rel=1e-12)


def test_an_interval_stays_within_the_bounds_of_its_values() -> None:
    # Four episodes without errors and one with a large one: plain intervals of the IQM and the median reach below 0.
    parts = [Distribution.of([0.0] * 9 + [last]) for last in (0.0, 0.0, 0.0, 1.0)] + [Distribution.of([8.0] * 10)]
    plan = Resampling("episode")
    for name in ("iqm", "p50", "p95", "mean"):
        free = value_intervals(parts, [name], plan)[name]
        bounded = value_intervals(parts, [name], plan, within=AT_LEAST_0)[name]
        assert free.low is not None, name
        assert free.low < 0, name
        assert (bounded.low, bounded.high, bounded.value) == (0.0, free.high, free.value), name
