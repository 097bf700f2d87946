"""error_recovery: if something went wrong, does the answer say so and offer a way forward?"""

from __future__ import annotations

from assay.chat.reading.text import Mention
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.ways_forward import ways_forward
from assay.chat.scoring.metric import Finding, Metric, Rule


def _nothing_wrong(context: ScoringContext) -> str | None:
    if context.errors or context.failed_calls or context.lacks_data:
        return None
    return "nothing went wrong"


def _helps(context: ScoringContext) -> list[Mention]:
    """Where the response offers a way forward; an offer may be a question: 'Shall I try again?'."""
    offers = context.own(context.response.all("offer"))
    ways = ways_forward(context)
    return ways.alternatives + ways.fallbacks + offers + _suggested(context)


def _suggested(context: ScoringContext) -> list[Mention]:
    """Where the response suggests a way forward as a question: 'Could you try again in 5 minutes?'."""
    ways = [one for one in context.response.all("way_forward") if not one.denied]
    return context.own([one for one in ways if context.response.is_question(one.first)])


def _fallback(context: ScoringContext) -> Finding | None:
    named = ways_forward(context).fallbacks or _suggested(context)
    return Finding(named[:1]) if named else None


def _acknowledges(context: ScoringContext) -> list[Mention]:
    """Where the response says that data is missing. Denied mentions count: 'couldn't' itself denies what follows."""
    return context.own([mention for mention in context.response.all("missing") if mention.asserted or mention.refuted])


def _error_with_alternatives(context: ScoringContext) -> Finding | None:
    offered = ways_forward(context).alternatives
    return Finding(offered[:1]) if context.errors and offered else None


def _acknowledged(context: ScoringContext) -> Finding | None:
    return Finding(_acknowledges(context)[:1]) if _acknowledges(context) else None


def _alternatives(context: ScoringContext) -> Finding | None:
    offered = ways_forward(context).alternatives
    return Finding(offered[:1]) if not context.errors and offered else None


def _clarifies(context: ScoringContext) -> Finding | None:
    suggested = {context.response.sentence(one.first) for one in _suggested(context)}
    asked = [one for one in context.clarifications if context.response.sentence(one.first) not in suggested]
    return Finding(asked[:1]) if asked else None


def _bare_error(context: ScoringContext) -> Finding | None:
    """An error and nothing else: no way forward, no question, and nothing of what was asked for."""
    if not context.errors or _helps(context) or context.clarifications:
        return None
    is_partial = context.needs_data and bool(context.figures) and not context.lacks_data
    return None if is_partial else Finding(context.errors[:1])


def _silence(context: ScoringContext) -> Finding | None:
    missing = bool(context.failed_calls) or context.lacks_data
    if not missing or context.errors or _acknowledges(context):
        return None
    return Finding(note=f"{context.failed_calls[0].name} failed" if context.failed_calls else "")


METRIC = Metric(
    name="error_recovery",
    group="behavioural",
    base=0.5,
    asks="If something went wrong, does it say so and offer a way forward?",
    unmeasured=_nothing_wrong,
    rules=(
        Rule("error_with_alternatives", +0.3, "offers alternatives to what failed", when=_error_with_alternatives),
        Rule("acknowledged", +0.2, "says what is missing", when=_acknowledged),
        Rule("alternatives", +0.3, "offers alternatives to what is missing", when=_alternatives),
        Rule("clarifies", +0.2, "asks for what it needs", when=_clarifies),
        Rule("fallback", +0.2, "names a fallback", when=_fallback),
        Rule("bare_error", -0.2, "reports an error and offers no way forward", when=_bare_error),
        Rule("silence", -0.2, "does not say that data is missing", when=_silence),
    ),
)
