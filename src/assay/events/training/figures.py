"""A report as the flat floats that training loops log and choose checkpoints by."""

from __future__ import annotations

from assay.events.evaluation import EventReport


def figures(report: EventReport, *, full: bool = False) -> dict[str, float]:
    """Every figure that has a value, as `{protocol}_{key}`, with its interval as `_low` and `_high` if it has one.

    Undefined figures are left out. Without `full` only the figures of short tables are given.
    """
    found: dict[str, float] = {}
    for result in report.protocols.values():
        for metric in result.metrics:
            estimate = result.estimates[metric.key]
            if estimate.value is None or not (full or metric.headline):
                continue
            key = f"{result.name}_{metric.key}"
            ends = {f"{key}_low": estimate.low, f"{key}_high": estimate.high}
            found[key] = float(estimate.value)
            found |= {end: float(value) for end, value in ends.items() if value is not None}
    return found
