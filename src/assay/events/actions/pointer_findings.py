"""What the figures of the pointer show, as findings of the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.events.actions.causes import Causes
from assay.events.actions.findings import FULL_COVERAGE, VerdictFinding, signed_text
from assay.types import Estimate

# Below these a finding is not worth a sentence.
_SCALE = 0.2  # log₂, about 15 %
_INVERTED = -0.5  # correlation along an axis
_AXES = 1.25  # the length along one axis, against the other
_TURNED_DEG, _TURNED_RATE = 30.0, 0.2


def pointer_findings(estimates: Mapping[str, Estimate], causes: Causes, *, late: bool) -> Iterator[VerdictFinding]:
    """Findings about the pointer; `late` if a lag or a drift explains its direction."""
    scale, r2, skill = (estimates[name].value for name in ("pointer_log2_scale", "pointer_r2", "pointer_skill"))
    coverage = estimates["coverage"].value
    covered = 1.0 if coverage is None else coverage
    inverted = False
    for axis, name in (("x", "horizontal"), ("y", "vertical")):
        correlation = estimates[f"pointer_pearson_{axis}"].value
        if correlation is not None and correlation <= _INVERTED:
            text = (
                f"The pointer's {name} axis seems inverted: its movement and the true one have a correlation of "
                f"{signed_text(correlation)}."
            )
            yield VerdictFinding("pointer_inverted", "bad", {f"pointer_pearson_{axis}": correlation}, text)
            inverted = True
    if not (inverted or late):
        yield from _turned(estimates)
    # A pointer that stops early or begins late covers less distance because of that, not because it is slow.
    whole = covered >= FULL_COVERAGE and causes.gap is None
    if scale is not None and abs(scale) > _SCALE and (whole or (scale > 0 and covered > 0)):
        way = "fast: it goes" if scale > 0 else "slow: it goes only"
        by_axis = ""
        axes = causes.axes
        if axes is not None and max(axes) > _AXES * min(axes) and min(axes) <= 2**scale <= max(axes):
            by_axis = f"; {axes[0]:.2f} times horizontally and {axes[1]:.2f} times vertically"
        how_far = f"{2**scale:.2f} times as far as the true one (log₂ {signed_text(scale)})"
        text = f"The pointer is too {way} {how_far}{by_axis}."
        yield VerdictFinding("pointer_scale", "bad", {"pointer_log2_scale": scale, "ratio": 2**scale}, text)
    if r2 is not None and skill is not None and skill <= 0 and covered > 0:
        text = f"The pointer is not better than a trivial one (R² {signed_text(r2)}, skill {signed_text(skill)})."
        yield VerdictFinding("pointer_skill", "bad", {"pointer_r2": r2, "pointer_skill": skill}, text)


def _turned(estimates: Mapping[str, Estimate]) -> Iterator[VerdictFinding]:
    """A pointer that moves when the true one does, and as far, in another direction."""
    names = ("pointer_direction_error_p50_deg", "pointer_missed_rate", "pointer_idle_rate", "pointer_log2_scale")
    angle, missed, idle, scale = (estimates[name].value for name in names)
    if angle is None or missed is None or idle is None or scale is None:
        return
    if angle >= _TURNED_DEG and max(missed, idle) <= _TURNED_RATE and abs(scale) <= _SCALE:
        text = (
            f"The pointer moves when the true one does, and as far, but {angle:.0f}° away from its direction (median): "
            "are the axes swapped, or turned?"
        )
        yield VerdictFinding("pointer_turned", "bad", {"pointer_direction_error_p50_deg": angle}, text)
