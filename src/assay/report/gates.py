"""What a gate did not check, and what to do about scenarios that are missing, in words that every medium shares."""

from __future__ import annotations

from collections.abc import Sequence

from assay.compare import Outcome
from assay.plural import counted

_NAMED = 5


def not_checked_words(outcomes: Sequence[Outcome]) -> list[str]:
    """A sentence for each reason for which scenarios that passed in the baseline were not checked."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        if outcome.not_checked:
            key = (outcome.comparison.candidate.label, outcome.not_checked)
            reasons.setdefault(key, []).append(outcome.scenario)
    return [
        f"not checked in {label}: {counted(len(names), 'scenario')} that passed in the baseline ({reason}): "
        f"{_listed(names)}"
        for (label, reason), names in reasons.items()
    ]


def allowing_words(failures: Sequence[Outcome]) -> str:
    """What to do if scenarios are missing on purpose; empty if none is missing."""
    lost = list(dict.fromkeys(one.scenario for one in failures if one.is_lost))
    if not lost:
        return ""
    names = ",".join(lost[:_NAMED]) + (",…" if len(lost) > _NAMED else "")
    return f"If that is intended, compare once with --allow-missing {names}; the next baseline does not have them."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
