"""What an English message says by itself: what it asks for, which cities and days it names, and which facts it states.

The rules are limited to conversations about the weather. `context.py` takes earlier messages into account.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.chat.world.scripted.cities import find_cities, reader
from assay.chat.world.scripted.user_facts import UserFact, read_user_facts
from assay.chat.world.scripted.when import MONTHS, NUMBERS, WEEKDAY_NAMES, When, read_when, whole_words

_WEATHER = whole_words(
    "weather", "temperatures?", "forecasts?", "degrees", "humid(?:ity)?", "wind(?:y|s|ier)?", "hot(?:ter|test)?",
    "cold(?:er|est)?", "warm(?:er|est|th)?", "rain(?:s|y|ing|fall|ier)?", "snow(?:s|y|ing)?", "sun(?:ny|nier|shine)?",
    "cloud(?:s|y)?", "storm(?:s|y)?", "thunder(?:storms?)?", "fog(?:gy)?", "freez(?:e|ing)", "drizzl(?:e|ing)",
    "mist(?:y)?", "conditions?", "heat(?:wave)?", "chilly", "cool(?:er)?", "outlook", "climate", "showers?", "gusts?",
    "wet(?:ter)?", "dr(?:y|ier)", "icy", "frost(?:y)?", "overcast", "sky", "skies", "celsius", "fahrenheit",
)  # fmt: skip
_VAGUE = whole_words(
    "(?:is|was|will) it (?:be )?(?:nice|good|bad|ok|okay|pleasant|lovely|nasty|awful)",
    "nice (?:out|outside|day|there|today|enough)",
    "how(?:'s| is) it(?: looking| out(?:side)?| there| in)?",
    "what(?:'s| is) it like",
    "like (?:out(?:side)?|out there)",
    "how (?:does|do|will) (?:it|things|the|this|my|next|tomorrow|today|\\w+day)(?: \\w+)? look",
    "how (?:are|is) things (?:out|outside|in|over)",
    "go(?:ing)? out(?:side)?",
    "how(?:'s| is) (?:the day|today|tomorrow)",
    "what(?:'s| is) (?:it|today|tomorrow) (?:going to be )?like",
    "it like (?:in|there|now|today|tomorrow)",
)  # fmt: skip
_CLOTHES = whole_words(
    "umbrella", "raincoat", "wear(?:ing)?", "dress(?:ed)?", "pack(?:ing)?", "jacket", "coat", "sunscreen", "sunglasses",
    "boots", "gloves", "scarf", "sweater", "jumper", "shorts", "clothes", "clothing", "outfit", "layers", "hat",
)  # fmt: skip
_ACTIVITY = re.compile(
    r"\b(bike ride|run(?:ning)?|jog(?:ging)?|cycl(?:e|ing)|bik(?:e|ing)|hik(?:e|ing)|picnic|beach|swim(?:ming)?"
    r"|walk(?:ing)?|barbecue|bbq|ski(?:ing)?|golf|tennis|football|sail(?:ing)?|garden(?:ing)?|outdoors?|outside|indoors?"
    r"|sightseeing|camp(?:ing)?|laundry|festival|activit(?:y|ies)|excursion|stroll)\b",
    re.IGNORECASE,
)
_ADVICE = whole_words(
    "should (?:i|we)", "do (?:i|we) need", "will (?:i|we) need", "can (?:i|we)", "could (?:i|we)",
    "recommend(?:ations?)?", "suggest(?:ions?)?", "advice", "advise", "good (?:day|idea|time|weather) (?:for|to)",
    "tips", "what to",
    "what (?:can|could|should|would) (?:i|we)", "ideas?", "worth it", "need to (?:bring|take)", "bring",
    "plan(?:s|ning)?", "safe to", "is it (?:ok|okay|fine) to",
)  # fmt: skip
_FITNESS = whole_words("too", "enough", "good", "nice", "bad", "weather", "ok", "okay", "suitable", "fine")
_WEATHER_ONLY = whole_words("like out(?:side)?", "nice out(?:side)?", "how (?:is|'s) (?:it|the weather) outside")
_INFORMATION = whole_words(
    "can (?:i|we) (?:get|have|see|know|expect|ask)", "(?:should|could|would) (?:i|we) expect", "can you", "could you"
)
_TRAVEL = whole_words(
    "trip", "travel(?:l?ing)?", "visit(?:ing)?", "fly(?:ing)?", "vacation", "holidays?", "flight",
    "(?:going|heading) to", "drive", "driving", "arriv(?:e|ing)", "be in", "i'?m in", "i am in", "staying in",
)  # fmt: skip
_COMPARE = whole_words(
    "compare[ds]?", "comparison", "warmer", "colder", "hotter", "cooler", "sunnier", "wetter", "drier", "nicer",
    "better", "warmest", "coldest", "hottest", "sunniest", "windier", "rainier", "difference between",
    "versus", "vs", "than",
    "which (?:one|city|of|is)",
)  # fmt: skip
_DETAILS = {"humidity": whole_words("humid(?:ity)?"), "wind": whole_words("wind(?:y|s|ier)?", "breez(?:e|y)", "gusts?")}
_STATES = {
    "rain": whole_words("rain(?:s|y|ing)?", "wet", "showers?", "drizzl(?:e|ing)"),
    "snow": whole_words("snow(?:s|y|ing)?"),
    "clear": whole_words("sun(?:ny)?", "clear"),
    "clouds": whole_words("cloud(?:s|y)?", "overcast"),
    "thunderstorm": whole_words("storm(?:s|y)?", "thunder(?:storms?)?"),
    "mist": whole_words("fog(?:gy)?", "mist(?:y)?"),
    "cold": whole_words("cold", "freezing", "chilly"),
    "hot": whole_words("hot"),
    "warm": whole_words("warm"),
}
_YES_OR_NO = re.compile(
    r"(?:^|[.!,?]\s*|\bif |\bwhether )(?:and |so |but |then |if )?(?:is|will|does|it's|it is|are)\b", re.I
)
_FAHRENHEIT = re.compile(r"fahrenheit|imperial units|°\s?f\b|\bin f\b", re.IGNORECASE)
_CELSIUS = re.compile(r"celsius|centigrade|metric units|°\s?c\b|\bin c\b", re.IGNORECASE)
_FUTURE = whole_words("will", "going to", "gonna", "expect(?:ed|ing)?", "won't")
_REVEAL = re.compile(
    r"(?:system|initial|hidden|original|secret|developer)[\s-]+(?:prompt|instructions?|message)"
    r"|your (?:(?:own|exact|full|secret|internal|hidden|initial|system) )*(?:instructions?|prompt|rules|guidelines)"
    r"|(?:ignore|disregard|forget|override|bypass) (?:\w+ ){0,4}(?:instructions?|prompts?|rules|guidelines|directions?)"
    r"|(?:api|secret) keys?\b|\bpasswords?\b|developer mode|jailbreak|you are now (?:a|an|in)\b",
    re.IGNORECASE,
)
_RECALL = re.compile(
    r"you (?:know|remember|learned|learnt|have|stored?|saved?)(?: \w+){0,2} (?:about|on|of) me\b"
    r"|(?:know|remember) (?:anything |something |a lot )?about me\b"
    r"|what (?:are|were) my (?:\w+ )?(?:preferences|likes|dislikes|settings)|my (?:saved |stored )?preferences\b.*\?"
    r"|what (?:do|did) i (?:like|dislike|hate|prefer|love|enjoy|tell you)\b"
    r"|what (?:kind|sort) of (?:weather|things) do i\b|where do i live\b|(?:what|which)(?:'s| is)? my home\b"
    r"|do you (?:know|remember) (?:what|where|which|that|if|how) (?:i\b|my\b)|what have i told you"
    r"|what did i say about",
    re.IGNORECASE,
)
_RECALL_CITY = re.compile(
    r"(?:which|what) (?:city|cities|place|places|town) (?:did|was|were|have) (?:i|we) (?:\w+ )*?"
    r"(?:ask|asking|talk|talking|mention|discuss)|what did i (?:just )?ask\b"
    r"|what was my (?:first|last|previous) question",
    re.IGNORECASE,
)
_DELETE = re.compile(
    r"\b(?:delete|erase|forget|remove|clear)\b[^.?!]*\b(?:preferences|about me|my data|know of me)\b", re.IGNORECASE
)
_AGAIN = whole_words(
    "say (?:that|it) again", "repeat", "once more", "come again", "are you sure", "is that (?:right|correct)", "really",
    "double[- ]check", "check again", "confirm", "one more time", "try again", "retry", "again",
)  # fmt: skip
_SOCIAL = {
    "thanks": whole_words("thanks?", "thank you", "cheers", "appreciated?", "thx"),
    "bye": whole_words("bye", "goodbye", "good night", "see you", "farewell", "that's all", "that is all"),
    "about_you": whole_words(
        "how are you", "who are you", "what are you", "what(?:'s| is) your name", "how do you do", "are you there",
        "are you (?:a |an )?(?:bot|robot|ai|human|real|machine)", "how(?:'s| is) it going",
    ),
    "ability": whole_words(
        "what can you do", "what do you do", "how can you help", "can you help(?: me)?", "help",
        "what (?:can|could) i ask(?: you)?", "how does this work",
    ),
    "greeting": re.compile(
        r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|howdy|hiya)\b", re.IGNORECASE
    ),
}  # fmt: skip
_PRAISE = whole_words(
    "great", "awesome", "perfect", "good job", "well done", "nice", "cool", "wonderful", "excellent", "ok", "okay",
    "alright", "got it", "i see", "sounds good", "amazing", "lovely", "brilliant", "fine", "super",
)  # fmt: skip
_MOST_WORDS_OF_PRAISE = 6
_THERE = whole_words("there", "that city", "that place", "same (?:city|place)", "the same")
_HERE = whole_words("here", "around me", "my (?:city|town|area|place|location)", "at home", "where i (?:am|live)")
_FOLLOWS = re.compile(r"^\W*(?:and|also|then|but|so|ok(?:ay)?|what about|how about|or|plus)\b", re.IGNORECASE)
_NEXT_DAY = whole_words("the day after", "day after that", "(?:the )?(?:next|following) day", "one day later")
# Words that a follow-up may contain besides cities and days.
_FILLER_WORDS = """
and also then but so ok okay what what's how how's about in for at on to near of the a an is it it's its please now
there here same too again or i mean meant actually no sorry show tell me give us just today think thinking my by that
this well hmm maybe rather instead city place day days next following after one later will be like let's try check see
degrees convert answer units use with say can you could would do want need hey hi hello yes yeah sure versus vs from
around not tomorrow tomorrow's weekend week tonight fahrenheit celsius centigrade morning afternoon evening night few
coming currently moment imperial metric yesterday month weeks f c th st couple right
"""
_FILLERS = frozenset({*_FILLER_WORDS.split(), *WEEKDAY_NAMES, *MONTHS, *NUMBERS})
_LONGEST_MESSAGE = 2_000
_NO_DAYS = frozenset(f"times.{part}" for part in ["now", "today", "morning", "midday", "afternoon", "evening", "night"])
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """What one message says."""

    text: str
    cities: tuple[str, ...] = ()
    when: When = field(default_factory=When)
    asks: str | None = None
    """'weather' or 'advice'; None if it asks for neither by itself."""
    compares: bool = False
    is_bare: bool = False
    """Whether it names only a city, a day or a unit: a follow-up, or an answer to a question."""
    follows: bool = False
    """Whether it begins like a follow-up: 'and …', 'what about …'."""
    next_day: bool = False
    """'How about the day after?'"""
    is_dated: bool = False
    """Whether it names a day explicitly."""
    here: bool = False
    future: bool = False
    """Whether it is about the future."""
    details: frozenset[str] = frozenset()
    """'humidity', 'wind'."""
    state: str = ""
    """The subject of a yes-or-no question: 'rain', 'snow', 'cold' …"""
    topic: str = ""
    """What it asks advice on: 'umbrella', 'clothes', an activity; '' for anything."""
    unit: str | None = None
    """'F' or 'C'; None if it names no unit."""
    facts: tuple[UserFact, ...] = ()
    """What it states about the user."""
    reveals: bool = False
    """Whether it asks the assistant to reveal or ignore its instructions."""
    recalls: bool = False
    recalls_city: bool = False
    deletes: bool = False
    """Whether it asks for what is stored about the user to be deleted."""
    again: bool = False
    social: str = ""
    """'greeting', 'thanks', 'bye', 'about_you', 'ability', 'praise'."""


def parse_message(text: str) -> ParsedMessage:
    """Read a message by itself; only the beginning of a very long one is read."""
    return _read(text[:_LONGEST_MESSAGE])


@functools.lru_cache(maxsize=4096)
def _read(text: str) -> ParsedMessage:
    text = text.replace("’", "'")
    facts, rest = read_user_facts(text)
    cities = tuple(find_cities(text))
    when = read_when(rest)
    compares = bool(_COMPARE.search(rest))
    unit = "F" if _FAHRENHEIT.search(text) else "C" if _CELSIUS.search(text) else None
    topic = _topic(rest, is_placed=bool(cities) or when.is_said)
    reveals, recalls, recalls_city = (bool(pattern.search(rest)) for pattern in (_REVEAL, _RECALL, _RECALL_CITY))
    asks = "advice" if topic is not None else None
    if asks is None and _asks_weather(rest, cities, when, compares=compares):
        asks = "weather"
    bare = _is_bare(rest, cities, when, unit)
    if recalls or recalls_city or (reveals and not (cities and asks)) or (bare and unit):
        asks = None
    return ParsedMessage(
        text=text,
        cities=cities,
        when=when,
        asks=asks,
        compares=compares,
        is_bare=bare and asks is None and not (reveals or recalls or recalls_city),
        follows=bool(_FOLLOWS.search(rest)),
        next_day=bool(_NEXT_DAY.search(rest)) and not when.ahead,
        is_dated=_is_dated(rest),
        here=bool(_HERE.search(rest)),
        future=bool(_FUTURE.search(rest)),
        details=frozenset(name for name, pattern in _DETAILS.items() if pattern.search(rest)),
        state=_state(rest),
        topic=topic or "",
        unit=unit,
        facts=facts,
        reveals=reveals,
        recalls=recalls,
        recalls_city=recalls_city,
        deletes=bool(_DELETE.search(rest)),
        again=bool(_AGAIN.search(rest)),
        social=_social(rest),
    )


def _asks_weather(text: str, cities: Sequence[str], when: When, *, compares: bool) -> bool:
    if _WEATHER.search(text) or _VAGUE.search(text):
        return True
    return bool((_TRAVEL.search(text) and (cities or when.is_said)) or (compares and len(cities) > 1))


def _topic(text: str, *, is_placed: bool) -> str | None:
    """What advice is asked on; None if none is. 'Should I …' alone may be about something other than the weather."""
    clothes, activity, general = _CLOTHES.search(text), _ACTIVITY.search(text), _ADVICE.search(text)
    if clothes:
        return "umbrella" if clothes.group().lower() in ("umbrella", "raincoat") else "clothes"
    if activity and (general or is_placed or _FITNESS.search(text)) and not _WEATHER_ONLY.search(text):
        return activity.group().lower()
    if general and (is_placed or _WEATHER.search(text)) and not _INFORMATION.search(text):
        return ""
    return None


def _is_dated(text: str) -> bool:
    reading = reader().read(text)
    days = [mention for mention in reading.all("times") if mention.keys[0] not in _NO_DAYS]
    return bool(days or reading.moments or reading.all("asks.later"))


def _state(text: str) -> str:
    if not _YES_OR_NO.search(text):
        return ""
    found = [name for name, pattern in _STATES.items() if pattern.search(text)]
    return found[0] if len(found) == 1 else ""


def _social(text: str) -> str:
    for name, pattern in _SOCIAL.items():
        if pattern.search(text):
            return name
    return "praise" if _PRAISE.search(text) and len(text.split()) <= _MOST_WORDS_OF_PRAISE else ""


def _is_bare(text: str, cities: Sequence[str], when: When, unit: str | None) -> bool:
    if not (cities or when.is_said or unit or _THERE.search(text) or _NEXT_DAY.search(text)):
        return False
    said = {word.lower() for word in _WORD.findall(text)}
    return not said - _FILLERS - {word.lower() for city in cities for word in _WORD.findall(city)}
