"""context_retention: does the answer use what was said before?"""

from __future__ import annotations

from assay.chat.reading.text import Mention, Reading
from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule, Span

# "Today" and "now" go without saying; repeating them remembers nothing.
_TRIVIAL = frozenset({"now", "today"})


def _nothing_to_retain(case: Case) -> str | None:
    if not case.history:
        return "there is no earlier turn"
    if _places(case) or _times(case) or _moments(case) or _preferences(case):
        return None
    return "the earlier turns name no place, no time and no preference"


def _turns(case: Case) -> list[Reading]:
    return [side for turn in case.history for side in (turn.user, turn.assistant) if side is not None]


def _places(case: Case) -> set[str]:
    return {name for turn in _turns(case) for name in case.places_in(turn)}


def _times(case: Case) -> set[str]:
    users = [turn.user for turn in case.history if turn.user is not None]
    return {m.keys[0] for user in users for m in user.all("times")} - {f"times.{name}" for name in _TRIVIAL}


def _moments(case: Case) -> set[tuple[int | None, ...]]:
    """Dates and clock times that the user has named."""
    return {moment.key for turn in case.history if turn.user is not None for moment in turn.user.moments}


def _preferences(case: Case) -> list[frozenset[str]]:
    """For each preference that the user has told: the stems of what it is about."""
    told = []
    for turn in case.history:
        if turn.user is not None:
            told += _preferences_in(case, turn.user)
    return told


def _preferences_in(case: Case, reading: Reading) -> list[frozenset[str]]:
    known = reading.memory.get("preferences")
    if isinstance(known, list):
        return known
    stem = case.reader.lexicon.stemmer.stem
    ignored = case.reader.function_words
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
            told.append(about)
    reading.memory["preferences"] = told
    return told


def _place_kept(case: Case) -> Finding | None:
    places = _places(case)
    named = [place for place in case.response_places if place.name in places]
    return Finding(named[:1]) if named else None


def _place_ignored(case: Case) -> Finding | None:
    """An earlier place asked about again and not named, or asked for although it was given."""
    places = _places(case)
    if places and case.clarifications and case.asks_data and not case.query_places:
        sentence = case.response.sentence(case.clarifications[0].first)
        if any(sentence[0] <= mention.first <= sentence[1] for mention in case.response.all("place_words")):
            return Finding(case.clarifications[:1], note="it asks for a place that was given")
    again = places & case.query_places
    if not again or any(place.name in again for place in case.response_places):
        return None
    return Finding(note=", ".join(sorted(name.title() for name in again)))


def _preference_kept(case: Case) -> Finding | None:
    told = _preferences(case)
    if not told:
        return None
    aware = sorted([*case.said("awareness"), *case.said("preference")], key=lambda mention: mention.start)
    for mention in aware:
        if frozenset().union(*told) & _stems_around(case, mention):
            return Finding([mention])
    return None


def _stems_around(case: Case, mention: Mention) -> set[str]:
    first, last = case.response.sentence(mention.first)
    stem = case.reader.lexicon.stemmer.stem
    near = range(max(first, mention.first - 20), min(last, mention.last + 20) + 1)
    return {stem(case.response.tokens[at].text) for at in near if case.response.tokens[at].kind == "word"}


def _time_kept(case: Case) -> Finding | None:
    times = _times(case)
    kept = case.own([mention for mention in case.response.all("times") if mention.keys[0] in times])
    moments = [moment for moment in case.response.moments if moment.key in _moments(case)]
    named: list[Span] = [*kept, *moments]
    return Finding(named[:1]) if named else None


METRIC = Metric(
    name="context_retention",
    group="functional",
    base=0.5,
    asks="Does it use what was said before?",
    unmeasured=_nothing_to_retain,
    rules=(
        Rule("place_kept", +0.2, "names a place from before", when=_place_kept),
        Rule("preference_kept", +0.15, "acknowledges a preference from before", when=_preference_kept),
        Rule("time_kept", +0.15, "names a time from before", when=_time_kept),
        Rule("place_ignored", -0.1, "passes over a place asked about again", when=_place_ignored),
    ),
)
