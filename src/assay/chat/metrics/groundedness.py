"""groundedness: is every figure in the answer supported by a tool's result or by the ground truth?"""

from __future__ import annotations

from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.claims import FigureClaim
from assay.chat.scoring.context.derived import DIFFERENCE, without_derived
from assay.chat.scoring.context.support import Sources
from assay.chat.scoring.metric import Finding, Metric, Rule


def _figures(context: ScoringContext) -> list[FigureClaim]:
    """Figures that a source can contain; differences ("2 degrees warmer") and times ("in 3 days") are in none."""
    known = context.derived.get("figures with a source")
    if not isinstance(known, list):
        known = [claim for claim in context.figure_claims if _has_source(context, claim)]
        context.derived["figures with a source"] = known
    return known


def _has_source(context: ScoringContext, claim: FigureClaim) -> bool:
    if claim.said.role == "change":
        return False
    if claim.said.role == "other" and not context.kinds[claim.what].checked:
        return False  # the height of a cloud is not the depth of snow
    needs = context.kinds[claim.what].sourced_with
    if needs is None:
        return True
    response = context.response
    return response.sentence(claim.said.first) in response.sentences_with(needs)


def _nothing_to_support(context: ScoringContext) -> str | None:
    if not _figures(context):
        return "the answer has no figure with a unit"
    if context.truth.source is not None:
        return None
    if context.tool_calls is None:
        return "there is neither a tool result nor a ground truth"
    # A call that failed returned nothing, and without any call there is no source: both are known. What an agent
    # reports as called, and nothing more, may have returned anything.
    calls = [call for call in context.tool_calls if call.error is None]
    if calls and all(call.result is None for call in calls):
        return "what the tools returned is not known, and there is no ground truth"
    return None


def _unsupported(context: ScoringContext) -> list[Finding]:
    sources = Sources.of(context)
    figures = _figures(context)
    days = context.response_days if context.domain.by_day else None
    supported: list[FigureClaim] = []
    open_claims: list[FigureClaim] = []
    for claim in figures:
        is_day_told = days is not None and days.is_told(claim.said.first)
        is_supported = claim.said.role != DIFFERENCE and (
            sources.support(claim, is_day_told=is_day_told, asked_day=context.question.day)
            or sources.support_beside(claim, context.response)
        )
        (supported if is_supported else open_claims).append(claim)
    unsupported = without_derived(context, open_claims, supported) if open_claims else []
    return [Finding([claim.said], points=-1 / len(figures)) for claim in unsupported]


METRIC = Metric(
    name="groundedness",
    group="behavioural",
    by_words=False,
    base=1.0,
    asks="Is every figure supported by a source?",
    unmeasured=_nothing_to_support,
    rules=(Rule("unsupported", -1.0, "no source has this figure", when=_unsupported),),
    remark=lambda context: f"Figures with a unit: {len(_figures(context))}.",
)
