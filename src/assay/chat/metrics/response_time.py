"""response_time: how long did the user wait? Seconds, end to end."""

from __future__ import annotations

from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule


def _unknown(context: ScoringContext) -> str | None:
    return "the response time is not known" if context.response_time is None else None


def score_of(seconds: float) -> float:
    """A curve: 1 below 2 s, 0.9 falling to 0.7 at 5 s, to 0.5 at 10 s, then to 0.3."""
    if seconds < 2.0:
        return 1.0
    if seconds < 5.0:
        return 0.9 - (seconds - 2.0) / 3.0 * 0.2
    if seconds < 10.0:
        return 0.7 - (seconds - 5.0) / 5.0 * 0.2
    return max(0.3, 0.5 - (seconds - 10.0) / 10.0 * 0.2)


def _slow(context: ScoringContext) -> Finding | None:
    seconds = context.response_time or 0.0
    points = score_of(seconds) - 1.0
    return Finding(points=points, note=f"{seconds:g} s") if points else None


METRIC = Metric(
    name="response_time",
    group="functional",
    by_words=False,
    base=1.0,
    asks="How long did the user wait?",
    unmeasured=_unknown,
    rules=(Rule("slow", -0.7, "takes two seconds or longer", when=_slow),),
)
