"""What came of quirks and interruptions, as shares of an agent's turns with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.chat.scoring.tallies import AFTERWARDS
from assay.compare.conversations import case_sums
from assay.errors import UsageError
from assay.stats import SHARE, Resampling, mean_interval
from assay.types import Case, Estimate, State

if TYPE_CHECKING:
    from assay.chat.suites import Suite

_NEEDS = {
    "quirks_recovered": ("quirk",),
    "quirks_handled": ("quirk",),
    "hang_ups_stopped": ("hang_up",),
    "decisions_kept": ("consent",),
    "next_turns_passed": ("quirk", "hang_up", "consent"),
}
"""What a turn of a suite must have for a share to be measured."""


def shares_of(tallies: Mapping[Case, Mapping[str, State]]) -> dict[str, Estimate]:
    """The shares that an agent's tallies have, by name; intervals are over scenarios."""
    names = [name for name in AFTERWARDS if any(name in states for states in tallies.values())]
    sums, counts = case_sums(tallies, list(tallies), names)
    return {
        name: mean_interval(sums[:, at], counts[:, at], Resampling("episode"), scale=SHARE, unit="scenario")
        for at, name in enumerate(names)
    }


def check_measurable(name: str, suite: Suite) -> None:
    """Raise UsageError if a share can never be measured with a suite."""
    needs = _NEEDS.get(name)
    turns = [turn for scenario in suite.scenarios for turn in scenario.turns]
    if needs is None or any(getattr(turn, need) is not None for turn in turns for need in needs):
        return
    *others, last = (f"`{need}`" for need in needs)
    listed = f"{', '.join(others)} or {last}" if others else last
    raise UsageError(
        f"{name} cannot be required: no turn of the suite '{suite.name}' has {listed}",
        hint="Leave it out, or play a suite such as robustness, cancellation or consent",
    )
