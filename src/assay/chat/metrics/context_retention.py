"""context_retention: does the answer use what was said before?"""

from __future__ import annotations

from assay.chat.metrics._soundness import claims_nothing_true
from assay.chat.reading.text import Mention, Reading
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule, TextSpan

# Repeating "today" or "now" does not show that anything was remembered.
_TRIVIAL = frozenset({"times.now", "times.today"})


def _nothing_to_retain(context: ScoringContext) -> str | None:
    if not context.history:
        return "there is no earlier turn"
    if _places(context) or _times(context) or _moments(context) or _preferences(context):
        return None
    return "the earlier turns name no place, no time and no preference"


def _turns(context: ScoringContext) -> list[Reading]:
    return [side for turn in context.history for side in (turn.user, turn.assistant) if side is not None]


def _places(context: ScoringContext) -> set[str]:
    known = context.derived.get("earlier places")
    if not isinstance(known, set):
        known = context.derived["earlier places"] = context.subjects.names_in_all(_turns(context))
    return known


def _times(context: ScoringContext) -> set[str]:
    users = [turn.user for turn in context.history if turn.user is not None]
    return {m.keys[0] for user in users if "times" in user.lists for m in user.lists["times"]} - _TRIVIAL


def _moments(context: ScoringContext) -> set[tuple[int | None, ...]]:
    """Dates and clock times that the user has named."""
    return {moment.key for turn in context.history if turn.user is not None for moment in turn.user.moments}


def _preferences(context: ScoringContext) -> list[frozenset[str]]:
    """For each preference that the user has stated: the stems of the words around it, and the states they name."""
    told = []
    for turn in context.history:
        if turn.user is not None and "preference" in turn.user.lists:
            told += _preferences_in(context, turn.user)
    return told


def _preferences_in(context: ScoringContext, reading: Reading) -> list[frozenset[str]]:
    # What a turn says about is kept without the function words of the answer's language, which may differ from its own.
    key = "preferences", context.reader
    known = reading.memory.get(key)
    if isinstance(known, list):
        return known
    stem = context.reader.lexicon.stemmer.stem
    ignored = context.reader.function_words
    told = []
    for mention in reading.all("preference"):
        first, last = reading.sentence(mention.first)
        covered = range(mention.first, mention.last + 1)
        about = frozenset(
            stem(reading.tokens[at].text)
            for at in range(first, min(last + 1, first + 60))
            if at not in covered and reading.tokens[at].kind == "word" and reading.tokens[at].text not in ignored
        )
        if about and not reading.is_question(mention.first):
            told.append(about | _states_within(reading, first, last))
    reading.memory[key] = told
    return told


def _only_repeats(context: ScoringContext) -> bool:
    """Whether the query needs data and the answer, beside what it names, gives nothing true: no use is made of it.

    An answer that advises, asks, or says that the data could not be had may do so with what it remembers.
    """
    if claims_nothing_true(context):
        return True
    return context.lacks_data and not (context.advice or context.clarifications or context.errors)


def _place_kept(context: ScoringContext) -> Finding | None:
    """A place from an earlier turn that the query or its context calls for.

    If the query names places, they are the ones called for, unless it compares. In an answer that lists more other
    places than those, naming one shows nothing.
    """
    if _only_repeats(context):
        return None
    earlier, asked = _places(context), context.question.places
    named = {place.name: place for place in context.response_places}
    if named.keys().isdisjoint(earlier):
        return None
    called = earlier & asked if asked and not context.query.all("asks.compare") else earlier
    kept = [place for name, place in named.items() if name in called]
    others = named.keys() - called - asked
    return Finding(kept[:1]) if kept and len(others) <= len(kept) else None


def _place_ignored(context: ScoringContext) -> Finding | None:
    """The query asks for an earlier place that the response does not name, or the response asks which, and it is known.

    A query may name the place or say 'there'; an answer to 'there' that names no place may well be about it.
    """
    places = _places(context)
    if places and context.clarifications and context.asks_data and not context.question.places:
        sentence = context.response.sentence(context.clarifications[0].first)
        if any(sentence[0] <= mention.first <= sentence[1] for mention in context.response.all("place_words")):
            return Finding(context.clarifications[:1], note="it asks for a place that is already known")
    again = places & context.question.places
    if not context.question.places and context.response_places and _asks_there(context):
        again = places
    if not again or any(place.name in again for place in context.response_places):
        return None
    return Finding(note=", ".join(sorted(name.title() for name in again)))


def _asks_there(context: ScoringContext) -> bool:
    """Whether the query says 'there' for a place: 'and there tomorrow?', or at its end, 'What should I wear there?'."""
    query, reader = context.query, context.question.query_reader
    if query.all("asks.there"):
        return True
    return any(
        query.tokens[stop - 1].text in reader.there_words and query.tokens[stop - 2].text not in reader.there_is
        for stop in [*query.stops, len(query.tokens)]
        if stop > 1
    )


def _preference_kept(context: ScoringContext) -> Finding | None:
    aware = sorted([*context.said("awareness"), *context.said("preference")], key=lambda mention: mention.start)
    told = _preferences(context) if aware else []
    for mention in aware if told else ():
        if frozenset().union(*told) & _stems_around(context, mention):
            return Finding([mention])
    return None


def _stems_around(context: ScoringContext, mention: Mention) -> set[str]:
    first, last = context.response.sentence(mention.first)
    stem = context.reader.lexicon.stemmer.stem
    near = range(max(first, mention.first - 20), min(last, mention.last + 20) + 1)
    stems = {stem(context.response.tokens[at].text) for at in near if context.response.tokens[at].kind == "word"}
    return stems | _states_within(context.response, near[0], near[-1])


def _states_within(reading: Reading, first: int, last: int) -> set[str]:
    """The states that a part of a text names, stated or not: 'a sunny day' and 'the sun' are one."""
    return {mention.keys[0] for mention in reading.all("states") if first <= mention.first <= last}


def _time_kept(context: ScoringContext) -> Finding | None:
    response = context.response
    listed = response.all("times")
    times = _times(context) if listed else set()
    kept = context.own([mention for mention in listed if mention.keys[0] in times]) if times else []
    known = _moments(context) if response.moments else set()
    moments = [moment for moment in response.moments if moment.key in known]
    named: list[TextSpan] = [*kept, *moments]
    return Finding(named[:1]) if named and not _only_repeats(context) else None


METRIC = Metric(
    name="context_retention",
    group="functional",
    base=0.5,
    asks="Does it use what was said before?",
    unmeasured=_nothing_to_retain,
    rules=(
        Rule("place_kept", +0.2, "names a place from an earlier turn", when=_place_kept),
        Rule("preference_kept", +0.15, "acknowledges a preference from an earlier turn", when=_preference_kept),
        Rule("time_kept", +0.15, "names a time from an earlier turn", when=_time_kept),
        Rule("place_ignored", -0.1, "ignores a place that the user asks about again", when=_place_ignored),
    ),
)
