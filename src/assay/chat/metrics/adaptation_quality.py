"""adaptation_quality: does the answer adapt to the user's known preferences?"""

from __future__ import annotations

from bisect import bisect_right

from assay.chat.metrics._soundness import baseless_advice
from assay.chat.reading.text import Mention
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
        said = [one for one in said if one.first not in _false_promises(context)] if said else said
        if said and aspect not in found and (aspect is None or has_aspect(context, aspect)):
            found[aspect] = Finding(said[:1], note=name.replace("_", " "))
    return list(found.values())


def _false_promises(context: ScoringContext) -> set[int]:
    """Tokens of words that falsely deny what is true, 'it will stay dry'; 'you'll stay dry' is about the user."""
    known = context.derived.get("false promises")
    if not isinstance(known, set):
        tokens, wanted = context.response.tokens, context.true_sets.wanted
        denied = [claim.said for claim in context.asked_claims if not claim.affirmed and claim.what in wanted]
        known = set()
        if denied:
            known = {at for said in denied for at in range(said.first, said.last + 1)}
            known |= {at - 1 for at in known}  # the 'stay' of 'stay dry'
            known = {at for at in known if not at or tokens[at - 1].text not in context.reader.for_users}
        context.derived["false promises"] = known
    return known


def _aware(context: ScoringContext) -> Finding | None:
    """Says what it knows of the user. What would be said to anybody shows no knowledge: neither 'as you mentioned'
    before plain advice, nor more of what users like and dislike than is known of this one.
    """
    likings = [*context.response.all("preference"), *context.response.all("liking")]
    for mention in context.said("awareness"):
        first, last = _clause_from(context, mention)
        named = {name for name in context.domain.preferences if _names(context, name, first, last)}
        own = named & context.preferences
        is_liking = any(first <= one.first <= last for one in likings)
        if len(named) <= 2 * len(own) and (own or is_liking):
            return Finding([mention])
    return None


def _clause_from(context: ScoringContext, mention: Mention) -> tuple[int, int]:
    """The tokens from a mention to the end of its clause; of the next one, if it ends there: 'As you said, …'."""
    ends, sentence = context.reader.clause_ends(context.response), context.response.sentence(mention.first)
    at = bisect_right(ends, mention.last)
    if at < len(ends) and ends[at] == mention.last + 1:
        at += 1
    return mention.first, min(sentence[1], ends[at]) if at < len(ends) else sentence[1]


def _names(context: ScoringContext, preference: str, first: int, last: int) -> bool:
    """Whether a part of the response names what a preference is about: the cold, museums."""
    name = context.domain.preferences[preference].get("aspect")
    aspect = context.domain.aspects[name] if name is not None else {"words": f"adapts.{preference}"}
    if "words" in aspect:
        named = context.response.all(aspect["words"])
    else:
        states = {f"states.{state}" for state in aspect["states"]}
        named = [one for one in context.response.all("states") if states.intersection(one.keys)]
    return any(first <= one.first <= last for one in named)


METRIC = Metric(
    name="adaptation_quality",
    group="functional",
    base=0.5,
    asks="Does it adapt to what the user prefers?",
    unmeasured=_no_preferences,
    rules=(
        Rule("adapts", +0.15, "adapts to a preference", when=_adapts),
        Rule("awareness", +0.1, "says that it knows the preference", when=_aware),
        Rule("baseless", -0.1, "the advice rests on a claim that does not hold", when=baseless_advice),
    ),
)
