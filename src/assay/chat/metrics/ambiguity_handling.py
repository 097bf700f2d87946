"""ambiguity_handling: where the query leaves something open, is that dealt with, and a clear one not questioned?"""

from __future__ import annotations

from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule


def _clear(case: Case) -> str | None:
    return None if case.missing_parts or _asks_instead(case) else "the query is clear"


def _asks_instead(case: Case) -> bool:
    """Whether it asks back instead of answering; a question after the answer is only polite."""
    return bool(case.clarifications) and not case.told and not case.advice


def _needless_question(case: Case) -> Finding | None:
    return Finding(case.clarifications[:1]) if not case.missing_parts and _asks_instead(case) else None


def _clarifies(case: Case) -> Finding | None:
    return Finding(case.clarifications[:1], note=_missing(case)) if case.clarifications else None


def _helps_anyway(case: Case) -> Finding | None:
    found = case.told or case.advice
    return Finding(found[:1]) if found else None


def _asks_place(case: Case) -> Finding | None:
    if "place" not in case.missing_parts:
        return None
    asked = {case.response.sentence(clarification.first) for clarification in case.clarifications}
    places = [place for place in case.response.all("place_words") if case.response.sentence(place.first) in asked]
    return Finding(places[:1]) if places else None


def _ignored(case: Case) -> Finding | None:
    if case.clarifications or case.told or case.advice or case.said("assumption") or case.said("guidance"):
        return None
    return Finding(note=_missing(case))


def _missing(case: Case) -> str:
    parts = ["an intent" if part == "intent" else f"a {part}" for part in case.missing_parts]
    return f"the query lacks {' and '.join(parts)}"


METRIC = Metric(
    name="ambiguity_handling",
    group="behavioural",
    base=0.5,
    asks="Is what the query leaves open dealt with?",
    unmeasured=_clear,
    rules=(
        Rule("needless_question", -0.2, "asks back although the query is clear", when=_needless_question, alone=True),
        Rule("clarifies", +0.4, "asks for clarification", when=_clarifies),
        Rule("assumes", +0.3, "says what it assumes", words="assumption"),
        Rule("helps_anyway", +0.2, "is of help all the same", when=_helps_anyway),
        Rule("asks_place", +0.2, "asks for the missing place", when=_asks_place),
        Rule("guidance", +0.2, "guides the user", words="guidance"),
        Rule("ignored", -0.2, "does not deal with what is open", when=_ignored),
    ),
)
