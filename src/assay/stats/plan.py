"""How to compute intervals: the unit, the level, and the number of resamples if there are any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from assay.errors import UsageError

UNITS = ("reference", "event", "episode")


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are computed. The defaults: 95 %, and if something is resampled, 1000 resamples with seed 42."""

    unit: str = "event"
    """'reference', 'event' or 'episode'."""
    reps: int = 1000
    """Number of resamples."""
    level: float = 0.95
    """Confidence level."""
    seed: int = 42
    """Seed of the random generator; every interval starts again from it."""
    keep: bool = False
    """Keep in the estimate what each unit contributes, or the replicates if it was resampled. With the same units,
    strata and seed, those of two estimates may be subtracted: that is the paired difference."""
    made: Callable[[int], None] | None = field(default=None, repr=False, compare=False)
    """Called with the number of figures each time some have been computed, to show progress."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UsageError(f"there is no interval '{self.unit}'", hint=f"Use one of: {', '.join(UNITS)}")
        if self.reps < 1:
            raise UsageError(f"reps must be at least 1, got {self.reps}", hint="Use 1000 or more")
        if not 0 < self.level < 1:
            raise UsageError(f"level must be between 0 and 1, got {self.level}", hint="Use 0.95 for a 95 % interval")
        if not 0 <= self.seed < 2**32:  # the legacy generator of `reference` takes 32 bits
            raise UsageError(
                f"seed must be between 0 and 4294967295, got {self.seed}", hint="Give a whole number in that range"
            )

    def count(self, figures: int) -> None:
        """Report that this many more figures are being computed."""
        if self.made is not None:
            self.made(figures)

    def method(self, kind: str) -> str:
        """The description that an `Estimate` has of a kind of bootstrap."""
        return f"{kind}, {self.reps} resamples, seed {self.seed}"
