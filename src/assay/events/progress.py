"""How an evaluation reports its progress: phase by phase, each with its own unit."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int | None], None]
"""Called with the phase, how much of it is done and, if that is known, how much there is. The phases, in the order in
which they begin: 'reading predictions' and 'reading truths' in bytes, 'scoring' in pairs, 'resampling' in figures."""


def follow(progress: ProgressCallback | None, phase: str) -> Callable[[int, int | None], None] | None:
    """The callback for one phase."""
    return None if progress is None else lambda done, total: progress(phase, done, total)


def figure_counter(progress: Callable[[int, int | None], None], total: int) -> Callable[[int], None]:
    """Counts figures as they are computed, up to `total`."""
    done = 0

    def made(n: int) -> None:
        nonlocal done
        done = min(done + n, total)
        progress(done, total)

    made(0)
    return made
