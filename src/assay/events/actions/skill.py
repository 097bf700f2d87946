"""Skill over the best of several trivial baselines, with an interval that allows for the choice of the best.

Which baseline is best is found on the same episodes. Where several are about as good, the best of them is better by
chance alone, and varies less than each of them: an interval for one fixed baseline would be too wide. Therefore the
choice is repeated in each resample of the episodes, and every baseline counts by how often it is chosen (Efron 2014,
Estimation and Accuracy After Model Selection). If one is always the best, that changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.events.actions import formulas
from assay.stats import SKILL, Resampling, choice_shares, sum_interval
from assay.types import Estimate, Floats, Ints


def skill_over_best(
    outcomes: Ints, baselines: Ints, plan: Resampling, *, strata: Sequence[str] | None = None
) -> Estimate:
    """Skill of F1 over the baseline that is best over all episodes.

    `outcomes` are matched, missed and extra actions, shape (episodes, 3), and `baselines` how many actions each of the
    baselines matches and predicts, shape (episodes, baselines, 2).
    """
    true = outcomes[:, :2].sum(axis=1)
    table = np.empty((len(outcomes), 3 + 2 * baselines.shape[1]))
    table[:, :3] = outcomes
    table[:, 3::2] = baselines[..., 0]
    table[:, 4::2] = true[:, None] + baselines[..., 1]
    shares = choice_shares(table, formulas.baseline_f1, plan, strata=strata)

    def smooth(sums: Floats) -> Floats:
        return formulas.skill_of(formulas.headline_f1(sums), (formulas.baseline_f1(sums) * shares).sum(axis=-1))

    return sum_interval(
        table,
        formulas.f1_skill,
        plan,
        n=int(outcomes.sum()),
        strata=strata,
        scale=SKILL,
        sizes=outcomes.sum(axis=1),
        smooth=smooth,
    )
