"""adaptation_quality: does the answer adapt to the user's known preferences?"""

from __future__ import annotations

from assay.chat.metrics._soundness import baseless_advice
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.truth import has_aspect
from assay.chat.scoring.metric import Finding, Metric, Rule


def _no_preferences(context: ScoringContext) -> str | None:
    return None if context.preferences else "no preference of the user is known"


def _adapts(context: ScoringContext) -> list[Finding]:
    """One finding for each aspect whose preference is taken into account; preferences without an aspect count as one.

    A preference that needs an aspect counts only if that aspect holds.
    """
    found: dict[str | None, Finding] = {}
    for name in sorted(context.preferences):
        aspect = context.domain.preferences[name].get("aspect")
        said = context.said(f"adapts.{name}")
        if said and aspect not in found and (aspect is None or has_aspect(context, aspect)):
            found[aspect] = Finding(said[:1], note=name.replace("_", " "))
    return list(found.values())


METRIC = Metric(
    name="adaptation_quality",
    group="functional",
    base=0.5,
    asks="Does it adapt to what the user prefers?",
    unmeasured=_no_preferences,
    rules=(
        Rule("adapts", +0.15, "adapts to a preference", when=_adapts),
        Rule("awareness", +0.1, "says that it knows the preference", words="awareness"),
        Rule("baseless", -0.1, "the advice rests on a claim that does not hold", when=baseless_advice),
    ),
)
