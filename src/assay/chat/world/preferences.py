"""Users' preferences, learned from their own sentences; kept in memory or in one JSON file.

Flags have the names of the weather domain's preferences, so that scoring reads what an assistant stores.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.chat.reading.places import fold, gazetteer
from assay.chat.reading.stems import Stemmer
from assay.chat.world.cities import find_city
from assay.errors import SourceError
from assay.json_safe import json_safe

INSIGHTS = "insights"
"""The key under which the sentences themselves are stored."""

# Only the latest sentences are kept, so that they do not fill the model's context.
_MOST_INSIGHTS = 50
_LONGEST_INSIGHT = 500

# The attitude that a word expresses to everything after it, until the next such word: +1 liked, −1 disliked. A "not"
# before it reverses it, so that "cannot stand" means the same as "hates".
_ATTITUDES = {
    1: "like love enjoy prefer adore fan fond keen favourite favorite into happy happiest comfortable stand bear"
    " tolerate handle cope want rather go goes spend work often usually regularly use practise practice",
    -1: "dislike hate detest loathe avoid mind sensitive suffer afraid scared struggle uncomfortable bother complain"
    " despise freeze",
}
_DENIALS = "not no never cannot cant dont doesnt isnt wont didnt without hardly"
# A denial reaches this many words: "not really a big fan of".
_DENIAL_REACH = 4
# These words end the current attitude.
_ATTITUDE_ENDS = frozenset({"but", "however", "although", "though", "while", "whereas", "because"})
# These words end a liking, as in "loves museums when it rains", but not a dislike: "hates it when it rains".
_LIKING_ENDS = frozenset({"when", "whenever", "if", "unless"})
_BOUNDARY = re.compile(r"[.;!?:\n]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|°\s?[CF]\b|[.;!?:\n]")

# Flag, the words that set it, and its value if they are liked; disliked, it gets the opposite value.
_WEATHER: tuple[tuple[str, str, bool], ...] = (
    ("dislikes_cold", "cold chilly cool freezing frost frosty winter", False),
    ("dislikes_rain", "rain rainy wet drizzle shower downpour", False),
    ("dislikes_heat", "hot heat heatwave warm warmth", False),
    ("dislikes_snow", "snow snowy blizzard", False),
    ("dislikes_wind", "wind windy gale", False),
)
# These set a flag even if no attitude is expressed: "goes hiking", "an indoor person".
_HABITS: tuple[tuple[str, str, bool], ...] = (
    ("prefers_indoor", "indoor inside museum gallery cinema library", True),
    (
        "outdoor_activities",
        "outdoor outside hike hiking run running jog jogging cycle cycling bike biking walk walking camping picnic"
        " beach gardening sailing surfing climbing skiing",
        True,
    ),
)
_UNITS = {"metric": "celsius metric centigrade °C", "imperial": "fahrenheit imperial °F"}
_OTHER_UNITS = {"metric": "imperial", "imperial": "metric"}
_HOME = re.compile(
    r"\b(?:(?:live|lives|living|based|located|resides?|moved)\s+(?:in|to|at)|home(?:\s?town|\s+city)?(?:\s+is|:)(?:\s+in)?"
    r"|(?:i['’]m|i am|user is|they are|is originally|come|comes)\s+from)\s+",
    re.IGNORECASE,
)
_LONGEST_CITY = 4


class Preferences:
    """The preferences of each user. Thread-safe; only one process at a time may use a file."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._users: dict[str, dict[str, Any]] = {} if path is None else _load_users(path)

    def read(self, user: str) -> dict[str, Any]:
        """A copy of a user's preferences; empty if there are none."""
        with self._lock:
            return copy.deepcopy(self._users.get(user, {}))

    def write(self, user: str, preferences: Mapping[str, Any]) -> None:
        """Replace a user's preferences; values that JSON cannot hold become text."""
        known = json_safe(dict(preferences))  # so that memory and file hold the same values
        with self._lock:
            before = self._users.get(user)
            self._users[user] = known
            try:
                self._save()
            except BaseException:
                if before is None:
                    del self._users[user]
                else:
                    self._users[user] = before
                raise

    def forget(self, user: str) -> None:
        """Delete what is known about a user."""
        with self._lock:
            if self._users.pop(user, None) is not None:
                self._save()

    def learn(self, user: str, insight: str) -> dict[str, Any]:
        """Store a sentence about a user and the preferences it expresses; return all of the user's preferences."""
        sentence = " ".join(insight.split())[:_LONGEST_INSIGHT]
        with self._lock:
            known = self.read(user)
            if not sentence:
                return known
            known.update(parse_preferences(sentence))
            earlier = known.get(INSIGHTS)
            kept = [said for said in earlier if said != sentence] if isinstance(earlier, list) else []
            known[INSIGHTS] = [*kept, sentence][-_MOST_INSIGHTS:]
            self.write(user, known)
            return known

    def _save(self) -> None:
        if self._path is None:
            return
        # Written to a temporary file and then renamed, so that a reader never sees a partial file.
        text = json.dumps(self._users, indent=1, sort_keys=True)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _load_users(path: Path) -> dict[str, dict[str, Any]]:
    try:
        users = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"preferences cannot be read: {error}", where=str(path)) from error
    if not isinstance(users, dict) or not all(isinstance(table, dict) for table in users.values()):
        raise SourceError("preferences must be a JSON object with one object for each user", where=str(path))
    return users


def flags(preferences: Mapping[str, Any]) -> dict[str, Any]:
    """The preferences without the sentences that they were learned from."""
    return {name: value for name, value in preferences.items() if name != INSIGHTS}


# --- reading preferences from a sentence ------------------------------------------------------------------------------


def parse_preferences(sentence: str) -> dict[str, Any]:
    """The preferences that a sentence expresses: `{"dislikes_cold": True}` from "hates the cold"."""
    words = _vocabulary()
    found: dict[str, Any] = {}
    liking: int | None = None
    # If something preferred has been named, what follows "to" is the less preferred alternative.
    preferring = named = False
    denied_until = -1
    before = ""
    for at, token in enumerate(_tokens(sentence)):
        stem = words.stem(token)
        sign = -1 if at <= denied_until else 1
        if _BOUNDARY.match(token) or token in _ATTITUDE_ENDS or (token in _LIKING_ENDS and liking == 1):
            liking, preferring, named, denied_until = None, False, False, -1
        elif words.is_denial(token):
            denied_until = at + _DENIAL_REACH
        elif token in ("than", "over", "instead") or (token == "to" and named and preferring):
            liking = None if liking is None else -1
        elif stem in words.attitudes and (liking is None or before == "and" or stem not in words.habits):
            liking = words.attitudes[stem] * sign
            preferring, named, denied_until = stem == words.prefer, False, -1
        for flag, if_liked, needs_liking in words.flags.get(stem, ()):
            if liking is not None or not needs_liking:
                is_liked = sign * (liking or 1) > 0
                found[flag] = if_liked if is_liked else not if_liked
                named = True
                if is_liked and token.startswith("warm"):
                    found["dislikes_cold"] = True
        for system, names in words.units.items():
            if stem in names:
                found["units"] = system if sign * (liking or 1) > 0 else _OTHER_UNITS[system]
                named = True
        before = token
    home = _home_city(sentence)
    if home is not None:
        found["home_city"] = home
    return found


def _tokens(sentence: str) -> Iterable[str]:
    for match in _WORD.finditer(sentence):
        token = match.group()
        yield token.replace(" ", "") if token.startswith("°") else fold(token).replace("’", "'")


class _Vocabulary:
    """The tables above, indexed by the stems of their words."""

    def __init__(self, stem: Callable[[str], str]) -> None:
        self.stem = stem
        self.attitudes = {stem(word): sign for sign, words in _ATTITUDES.items() for word in words.split()}
        self.denials = frozenset(_DENIALS.split())
        self.prefer = stem("prefer")
        self.flags: dict[str, list[tuple[str, bool, bool]]] = {}
        for table, needs_liking in ((_WEATHER, True), (_HABITS, False)):
            for flag, words, if_liked in table:
                for word in {stem(word) for word in words.split()}:
                    self.flags.setdefault(word, []).append((flag, if_liked, needs_liking))
        # In "loves to work outside" and "hates going out in the rain", the second verb does not replace the attitude.
        self.habits = frozenset(stem(word) for word in ("go", "goes", "spend", "work", "use", "practise", "practice"))
        self.units = {system: frozenset(stem(name) for name in names.split()) for system, names in _UNITS.items()}

    def is_denial(self, token: str) -> bool:
        return token in self.denials or token.endswith("n't")


@functools.cache
def _vocabulary() -> _Vocabulary:
    return _Vocabulary(Stemmer("english").stem)


def _home_city(sentence: str) -> str | None:
    """The city that a sentence says the user lives in, as the sentence spells it; None if it names none."""
    for match in _HOME.finditer(sentence):
        words = re.findall(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*", sentence[match.end() :])[:_LONGEST_CITY]
        runs = [words[:length] for length in range(len(words), 0, -1)]
        # The embedded cities are checked first: most names are there.
        for is_city in (_is_embedded, _is_known):
            for run in runs:
                if is_city(run):
                    return " ".join(word if word[0].isupper() else word.capitalize() for word in run)
    return None


def _is_embedded(words: Sequence[str]) -> bool:
    return find_city(" ".join(words)) is not None


def _is_known(words: Sequence[str]) -> bool:
    folded = tuple(part for word in words for part in re.findall(r"[^\W\d_]+", fold(word)))
    names = gazetteer().get(folded[0]) if folded else None
    return names is not None and folded in names.cities
