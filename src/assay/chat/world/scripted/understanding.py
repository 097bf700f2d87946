"""What a message asks for, and what it means in its conversation. English, as far as conversations on weather need it.

A message is read by itself (`read_request`), then in the light of the earlier ones (`understand`). No tool, no wording.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.chat.world.scripted.cities import cities_in, same_name
from assay.chat.world.scripted.conversation import Exchange
from assay.chat.world.scripted.insights import Insight, read_insights

LONGEST_FORECAST = 5
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "couple of": 2}


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(patterns) + r")\b", re.IGNORECASE)


_WEATHER = _words(
    "weather", "temperatures?", "forecasts?", "degrees", "humid(?:ity)?", "wind(?:y|s)?", "hot(?:ter|test)?",
    "cold(?:er|est)?", "warm(?:er|est|th)?", "rain(?:s|y|ing|fall)?", "snow(?:s|y|ing)?", "sun(?:ny|nier|shine)?",
    "cloud(?:s|y)?", "storm(?:s|y)?", "thunder(?:storms?)?", "fog(?:gy)?", "freez(?:e|ing)", "drizzl(?:e|ing)",
    "mist(?:y)?", "conditions?", "heat(?:wave)?", "chilly", "cool(?:er)?", "outlook", "climate", "showers?",
    "wet(?:ter)?", "dry", "icy", "frost(?:y)?", "overcast", "sky", "skies", "meteo",
)  # fmt: skip
_VAGUE = _words(
    r"(?:is|was) it (?:nice|good|bad|ok|okay|pleasant|lovely|nasty|awful)", r"nice (?:out|outside|day|there|today)",
    r"how(?:'s| is) it(?: looking| out(?:side)?| there)?", r"what(?:'s| is) it like", r"like (?:out(?:side)?|out there)",
    r"how (?:does|do) (?:it|things) look", r"how (?:are|is) things (?:out|outside)", r"go(?:ing)? out(?:side)?",
    r"how(?:'s| is) (?:the day|today|tomorrow)", r"what(?:'s| is) (?:it|today|tomorrow) (?:going to be )?like",
)  # fmt: skip
_CLOTHES = _words(
    "umbrella", "raincoat", "wear(?:ing)?", "dress(?:ed)?", "pack(?:ing)?", "jacket", "coat", "sunscreen", "sunglasses",
    "boots", "gloves", "scarf", "sweater", "jumper", "shorts", "clothes", "clothing", "outfit", "layers", "hat",
)  # fmt: skip
_ACTIVITY = re.compile(
    r"\b(run(?:ning)?|jog(?:ging)?|cycl(?:e|ing)|bik(?:e|ing)|bike ride|hik(?:e|ing)|picnic|beach|swim(?:ming)?|walk(?:ing)?"
    r"|barbecue|bbq|ski(?:ing)?|golf|tennis|football|sail(?:ing)?|garden(?:ing)?|outdoors?|outside|indoors?|sightseeing"
    r"|camp(?:ing)?|laundry|festival|activit(?:y|ies)|excursion|stroll)\b",
    re.IGNORECASE,
)
_ADVICE = _words(
    r"should (?:i|we)", r"do (?:i|we) need", r"will (?:i|we) need", r"can (?:i|we)", r"could (?:i|we)", "recommend(?:ations?)?",
    "suggest(?:ions?)?", "advice", "advise", r"good (?:day|idea|time|weather) (?:for|to)", "tips", r"what to",
    r"what (?:can|could|should|would) (?:i|we|you)", "ideas?", "worth it", r"need to (?:bring|take)", "bring", "take",
    r"plan(?:s|ning)?", r"safe to", r"is it ok to",
)  # fmt: skip
_TRAVEL = _words(
    "trip", "travel(?:l?ing)?", "visit(?:ing)?", "fly(?:ing)?", "vacation", "holidays?", "flight", r"going to", r"heading to",
    "drive", "driving", "arriv(?:e|ing)", r"(?:will|'ll) be in", r"i'?m in", r"i am in",
)  # fmt: skip
_COMPARE = _words(
    "compare[ds]?", "comparison", "warmer", "colder", "hotter", "cooler", "sunnier", "wetter", "drier", "nicer", "better",
    "warmest", "coldest", "hottest", "sunniest", "windier", "difference between", "versus", "vs", r"which (?:one|city|of)",
    "than", "rainier",
)  # fmt: skip
_DETAILS = {"humidity": _words("humid(?:ity)?"), "wind": _words("wind(?:y|s|ier)?", "breez[ey]+", "gusts?")}
_FAHRENHEIT = re.compile(r"fahrenheit|imperial units|°\s?f\b|\bin f\b", re.IGNORECASE)
_CELSIUS = re.compile(r"celsius|centigrade|metric units|°\s?c\b|\bin c\b", re.IGNORECASE)
_PAST = _words("yesterday", r"last (?:night|week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
               r"days? ago")  # fmt: skip
_FUTURE = _words("will", "going to", "gonna", "expect(?:ed|ing)?", "won't")
_BEYOND = _words(
    r"next month", r"next year", r"in (?:two|three|a few|\d+) (?:weeks|months)", r"in a (?:month|year)", r"two weeks",
    r"next (?:spring|summer|autumn|fall|winter)", r"this (?:spring|summer|autumn|fall|winter)", r"at christmas",
)  # fmt: skip
_SPAN = _words(
    r"(?:the |these |in the )?(?:next|coming|following) (?:few |couple of |several )?days", r"(?:this|next|coming|all) week",
    r"rest of the week", r"week ahead", r"days ahead", r"upcoming days", r"over the (?:next|coming) (?:few )?days",
)  # fmt: skip
_FEW_DAYS = re.compile(
    r"\b(?:(?:next|coming|following|for|over the)\s+)?(\d{1,2}|one|two|three|four|five|six|seven|ten|couple of)[\s-]days?\b",
    re.IGNORECASE,
)
_IN_DAYS = re.compile(r"\bin (\d{1,2}|a|one|two|three|four|five|six|seven|ten) days?(?:'s? time)?\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]{3,9})|([a-z]{3,9}) (\d{1,2})(?:st|nd|rd|th)?|\d{4}-(\d{2})-(\d{2}))\b",
    re.IGNORECASE,
)
_REVEAL = re.compile(
    r"(?:system|initial|hidden|original|secret|developer|first)[\s-]+(?:prompt|instructions?|message)"
    r"|your (?:(?:own|exact|full|secret|internal|hidden|initial|system) )*(?:instructions?|prompt|rules|guidelines|configuration)"
    r"|(?:ignore|disregard|forget|override|bypass) (?:\w+ ){0,4}(?:instructions?|prompts?|rules|guidelines|directions?)"
    r"|(?:api|secret) keys?\b|\bpasswords?\b|developer mode|jailbreak|you are now (?:a|an|in)\b",
    re.IGNORECASE,
)
_RECALL = re.compile(
    r"(?:what|which things|everything|anything) (?:do |did |have )?you (?:know|remember|learned?|learnt|have|stored?|saved?)"
    r"(?: \w+){0,2} (?:about|on|of) me|(?:know|remember) (?:anything |something |a lot )?about me"
    r"|what (?:are|were) my (?:\w+ )?(?:preferences|likes|dislikes|settings)|my (?:saved |stored )?preferences\b.*\?"
    r"|what (?:do|did) i (?:like|dislike|hate|prefer|love|enjoy|tell you)|what (?:kind|sort) of (?:weather|things) do i"
    r"|where do i live|(?:what|which)(?:'s| is)? (?:is )?my home|do you (?:know|remember) (?:what|where|which|that|if|how) i"
    r"|what have i told you|what did i say about",
    re.IGNORECASE,
)
_RECALL_CITY = re.compile(
    r"(?:which|what) (?:city|cities|place|places|town) (?:did|was|were|have) (?:i|we) (?:\w+ )*?(?:ask|asking|talk|talking"
    r"|mention|discuss)|what did i (?:just )?ask|what was my (?:first|last|previous) question",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:say (?:that|it) again|repeat (?:that|it|please)|once more|come again|are you sure|is that (?:right|correct)|really\?"
    r"|double[- ]check|check again|can you (?:check|confirm)|one more time|try again|retry|ask again)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|howdy|hiya)\b", re.IGNORECASE
)
_THANKS = _words("thanks?", "thank you", "cheers", "appreciated?", "thx", "ty")
_BYE = _words(
    "bye", "goodbye", "good night", r"see you", "farewell", "that's all", "that is all", "talk (?:to you )?later"
)
_ABOUT_YOU = _words(
    r"how are you", r"who are you", r"what are you", r"what(?:'s| is) your name", r"are you (?:a |an )?(?:bot|robot|ai|human|real)",
    r"how(?:'s| is) it going", r"how do you do", r"are you there",
)  # fmt: skip
_ABILITY = _words(
    r"what can you do", r"what do you do", r"how can you help", r"can you help(?: me)?", r"help me", "help",
    r"what (?:can|could) i ask", r"how does this work",
)  # fmt: skip
_PRAISE = _words(
    "great", "awesome", "perfect", "good job", "well done", "nice(?: one| work)?", "cool", "wonderful", "excellent", "ok", "okay",
    "alright", "got it", "i see", "sounds good", "amazing", "lovely", "brilliant", "fine", "super",
)  # fmt: skip
_THERE = _words("there", "that city", "that place", "same (?:city|place)", "the same")
_HERE = _words(
    "here", "around me", "my (?:city|town|area|place|location)", "at home", "where i (?:am|live)", "outside my"
)
_FOLLOWS = re.compile(r"^\W*(?:and|also|then|but|so|ok(?:ay)?|what about|how about|or|plus)\b", re.IGNORECASE)
_NEXT_DAY = _words("the day after", "day after that", "next day", "following day", "one day later")
_FILLERS = frozenset(
    ["and", "also", "then", "but", "so", "ok", "okay", "what", "what's", "whats", "how", "how's", "about", "in", "for", "at", "on", "to", "near", "of", "the", "a", "an", "is", "it", "it's", "its", "please", "now", "there", "here", "same", "too", "again", "or", "i", "mean", "meant", "actually", "no", "sorry", "show", "tell", "me", "give", "us", "just", "today", "think", "thinking", "my", "by", "that", "this", "well", "hmm", "maybe", "rather", "instead", "city", "place", "day", "days", "next", "following", "after", "one", "later", "will", "be", "like", "let's", "lets", "try", "check", "see", "degrees", "convert", "answer", "units", "use", "with", "same", "say", "can", "you", "could", "would", "do", "want", "need", "hey", "hi", "hello", "yes", "yeah", "sure", "versus", "vs", "in-", "from", "around", "not"]
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class When:
    """Which days are meant. Nothing said is nothing set."""

    now: bool = False
    """Now, or today."""
    later_today: bool = False
    ahead: tuple[int, ...] = ()
    """Days from today: 1 is tomorrow."""
    weekdays: tuple[str, ...] = ()
    dates: tuple[tuple[int, int], ...] = ()
    """Month and day."""
    span: int = 0
    """All of the next so many days."""
    beyond: bool = False
    """Further off than any forecast reaches."""
    past: bool = False

    @property
    def is_said(self) -> bool:
        return self != When()

    @property
    def needs_forecast(self) -> bool:
        return bool(self.ahead or self.weekdays or self.dates or self.span or self.beyond or self.later_today)

    @property
    def needs_current(self) -> bool:
        return self.now or self.past or self.later_today or not self.needs_forecast

    @property
    def days(self) -> int:
        """How many days of forecast it takes."""
        if self.weekdays or self.dates or self.beyond:
            return LONGEST_FORECAST
        return max(1, min(LONGEST_FORECAST, max((*self.ahead, self.span, 1 if self.later_today else 0))))


@dataclass(frozen=True, slots=True)
class Request:
    """What one message says by itself."""

    text: str
    cities: tuple[str, ...] = ()
    when: When = field(default_factory=When)
    asks: str | None = None
    """'weather' or 'advice'; None where it asks for neither by itself."""
    compares: bool = False
    is_bare: bool = False
    """Whether it only names a city, a day or a unit: a follow-up, or an answer to a question."""
    follows: bool = False
    """Whether it begins as a follow-up does: 'and …', 'what about …'."""
    next_day: bool = False
    """'How about the day after?'"""
    here: bool = False
    future: bool = False
    """Whether it speaks of what will be."""
    details: frozenset[str] = frozenset()
    """'humidity', 'wind'."""
    topic: str = ""
    """What advice is wanted on: 'umbrella', 'clothes', an activity; '' for anything."""
    unit: str | None = None
    """'F' or 'C', where it says so."""
    insights: tuple[Insight, ...] = ()
    """What it tells about the user."""
    reveals: bool = False
    """Whether it wants instructions shown or dropped."""
    recalls: bool = False
    recalls_city: bool = False
    again: bool = False
    social: str = ""
    """'greeting', 'thanks', 'bye', 'about_you', 'ability', 'praise'."""


@functools.lru_cache(maxsize=4096)
def read_request(text: str) -> Request:
    """What a message says, read by itself."""
    text = text.replace("’", "'")
    insights, rest = read_insights(text)
    cities = tuple(cities_in(text))
    when = _read_when(rest)
    advice, topic = _read_advice(rest, bool(cities) or when.is_said)
    weather = bool(_WEATHER.search(rest) or _VAGUE.search(rest))
    travel = bool(_TRAVEL.search(rest)) and bool(cities or when.is_said)
    unit = "F" if _FAHRENHEIT.search(text) else "C" if _CELSIUS.search(text) else None
    reveals, recalls, recalls_city = (bool(p.search(rest)) for p in (_REVEAL, _RECALL, _RECALL_CITY))
    asks = "advice" if advice else "weather" if weather or travel else None
    if recalls or recalls_city or (reveals and not (cities and weather)):
        asks = None
    bare = asks is None and not (reveals or recalls or recalls_city) and _is_bare(rest, cities, when, unit)
    here = bool(_HERE.search(rest))
    return Request(
        text=text,
        cities=cities,
        when=when,
        asks=asks,
        compares=bool(_COMPARE.search(rest)),
        is_bare=bare,
        follows=bool(_FOLLOWS.search(rest)),
        next_day=bool(_NEXT_DAY.search(rest)) and "tomorrow" not in rest.lower(),
        here=here,
        future=bool(_FUTURE.search(rest)),
        details=frozenset(name for name, pattern in _DETAILS.items() if pattern.search(rest)),
        topic=topic,
        unit=unit,
        insights=insights,
        reveals=reveals,
        recalls=recalls,
        recalls_city=recalls_city,
        again=bool(_AGAIN.search(rest)),
        social=_read_social(rest),
    )


def _read_when(text: str) -> When:
    low = text.lower()
    ahead: list[int] = []
    span = 0
    if re.search(r"\bday after tomorrow\b", low):
        ahead.append(2)
        low = re.sub(r"\b(the )?day after tomorrow\b", " ", low)
    if re.search(r"\btomorrow\b|\btmrw\b|\btomorow\b", low):
        ahead.append(1)
    for match in _IN_DAYS.finditer(low):
        ahead.append(_count(match.group(1)))
    few = _FEW_DAYS.search(_IN_DAYS.sub(" ", low))
    if few:
        span = _count(few.group(1))
    elif _SPAN.search(low):
        span = LONGEST_FORECAST
    weekdays = [day for day in _WEEKDAYS if re.search(rf"\b{day[:3]}(?:{day[3:]}s?)?\b", low)] if "day" in low else []
    if re.search(r"\bweekend\b", low):
        weekdays += [day for day in ("saturday", "sunday") if day not in weekdays]
    if not (ahead or span or weekdays) and re.search(r"\b(?:forecast|outlook)\b", low) and not _PRESENT.search(low):
        span = LONGEST_FORECAST
    return When(
        now=bool(_PRESENT.search(low)),
        later_today=bool(re.search(r"\blater(?: today| this| tonight| on)?\b", low))
        and not (ahead or span or weekdays),
        ahead=tuple(sorted({n for n in ahead if n <= LONGEST_FORECAST})),
        weekdays=tuple(weekdays),
        dates=_dates(low),
        span=span if span <= LONGEST_FORECAST else LONGEST_FORECAST,
        beyond=bool(_BEYOND.search(low)) or any(n > LONGEST_FORECAST for n in ahead),
        past=bool(_PAST.search(low)),
    )


_PRESENT = _words(
    "now", "today", "tonight", "currently", "current", "this (?:morning|afternoon|evening)", "at the moment"
)


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS.get(word.lower(), 1)


def _dates(low: str) -> tuple[tuple[int, int], ...]:
    found = []
    for day_first, month_after, month_first, day_after, iso_month, iso_day in _DATE.findall(low):
        if iso_month:
            month, day = int(iso_month), int(iso_day)
        else:
            month = _MONTHS.get(month_after or month_first, 0)
            day = int(day_first or day_after)
        if 1 <= month <= 12 and 1 <= day <= 31:
            found.append((month, day))
    return tuple(found)


def _read_advice(text: str, placed: bool) -> tuple[bool, str]:
    """Whether advice is wanted, and on what. 'Should I …' alone may be about anything under the sun."""
    clothes, activity, general = _CLOTHES.search(text), _ACTIVITY.search(text), _ADVICE.search(text)
    if clothes:
        word = clothes.group().lower()
        return True, "umbrella" if word in ("umbrella", "raincoat") else "clothes"
    if activity and (
        general or _VAGUE.search(text) or re.search(r"\b(?:too|enough|good|nice|bad|weather)\b", text, re.I)
    ):
        return not re.search(r"like outside|like out\b|nice out", text, re.I), activity.group().lower()
    return bool(general and (placed or _WEATHER.search(text))) and not _is_question_on_weather(text), ""


def _is_question_on_weather(text: str) -> bool:
    """'What can you tell me about the weather?' asks for no advice."""
    return bool(
        re.search(
            r"\bcan (?:i|we) (?:get|have|see|know|expect|ask)\b|what (?:can|could|should|would) (?:you|i expect|we expect)",
            text,
            re.I,
        )
    )


def _read_social(text: str) -> str:
    for name, pattern in (
        ("thanks", _THANKS), ("bye", _BYE), ("about_you", _ABOUT_YOU), ("ability", _ABILITY), ("greeting", _GREETING),
    ):  # fmt: skip
        if pattern.search(text):
            return name
    return "praise" if _PRAISE.search(text) and len(text.split()) <= 6 else ""


def _is_bare(text: str, cities: Sequence[str], when: When, unit: str | None) -> bool:
    if not (cities or when.is_said or unit or _THERE.search(text) or _NEXT_DAY.search(text)):
        return False
    words = {word.lower() for word in _WORD.findall(text)}
    words -= {word.lower() for city in cities for word in _WORD.findall(city)}
    words -= _FILLERS | set(_WEEKDAYS) | set(_MONTHS) | set(_NUMBERS)
    words -= {
        "tomorrow", "weekend", "week", "tonight", "fahrenheit", "celsius", "morning", "afternoon", "evening", "night", "few",
        "coming", "currently", "moment", "imperial", "metric", "centigrade", "yesterday", "month", "weeks", "f", "c", "th", "st",
        "couple", "right",
    }  # fmt: skip
    return not words


@dataclass(frozen=True, slots=True)
class Need:
    """What the user wants in the light of the conversation."""

    request: Request
    asks: str | None = None
    """'weather', 'advice', 'recall', 'recall_city'; None for talk that needs no tool."""
    cities: tuple[str, ...] = ()
    when: When = field(default_factory=When)
    compares: bool = False
    city_is_remembered: bool = False
    """Whether the city comes from earlier in the conversation."""
    time_is_assumed: bool = False
    topic: str = ""
    details: frozenset[str] = frozenset()
    unit: str | None = None

    @property
    def lacks_city(self) -> bool:
        return self.asks in ("weather", "advice") and not self.cities


def understand(exchanges: Sequence[Exchange]) -> tuple[Need, list[Need]]:
    """What the last message wants, and what each earlier one wanted."""
    needs: list[Need] = []
    for exchange in exchanges:
        needs.append(_in_context(read_request(exchange.said), needs))
    return needs[-1], needs[:-1]


def _in_context(request: Request, earlier: Sequence[Need]) -> Need:
    last_ask = next((need for need in reversed(earlier) if need.asks in ("weather", "advice")), None)
    known = next((need.cities for need in reversed(earlier) if need.cities), ())
    if request.recalls or request.recalls_city:
        return Need(
            request, "recall_city" if request.recalls_city and not request.recalls else "recall", unit=request.unit
        )
    asks, when, topic, details = request.asks, request.when, request.topic, request.details
    repeats = request.again and asks is None and not request.cities and last_ask is not None
    if (request.is_bare or repeats or (request.next_day and asks is None)) and not request.insights:
        if last_ask is not None:
            asks, topic, details = last_ask.asks, last_ask.topic, last_ask.details
            when = _follow_up(request, last_ask, repeats)
        elif request.cities or request.when.is_said:
            asks = "weather"
    if asks is None:
        return Need(request, None, request.cities, when, unit=request.unit)
    if request.next_day and last_ask is not None:
        when = replace(When(), ahead=(min(LONGEST_FORECAST, max((0, *last_ask.when.ahead)) + 1),))
    cities = request.cities
    remembered = False
    if not cities and not request.here and known:
        cities, remembered = known, True
        if request.compares and len(cities) == 1:
            cities = _last_cities(earlier)
        elif len(cities) > 1 and not request.compares and not request.is_bare and not repeats:
            cities = cities[-1:]
    elif (
        len(cities) == 1
        and request.compares
        and known
        and re.search(r"\bthan\b.*\b(?:there|it)\b|^\W*(?:is|and)\b", request.text, re.I)
    ):
        cities = (*cities, *[city for city in known if same_name(city) != same_name(cities[0])])[:2]
    assumed = False
    if not when.is_said:
        if asks == "advice" and remembered and last_ask is not None and last_ask.when.needs_forecast:
            # The day spoken of may still be meant, or now: both are told.
            when = replace(last_ask.when, now=True)
        elif request.future and request.follows and last_ask is not None and last_ask.when.needs_forecast:
            when = last_ask.when
        elif request.future and asks == "weather":
            when, assumed = When(span=3), True
    return Need(
        request,
        asks,
        cities,
        when,
        compares=len(cities) > 1 and (request.compares or bool(re.search(r"\bor\b", request.text, re.I))),
        city_is_remembered=remembered,
        time_is_assumed=assumed,
        topic=topic,
        details=details,
        unit=request.unit,
    )


def _follow_up(request: Request, last: Need, repeats: bool) -> When:
    """The days that a bare follow-up means: its own, else those of the last question."""
    if request.when.is_said:
        return request.when
    if repeats or not last.when.needs_forecast:
        return last.when
    # "What about Oslo?" after a question on tomorrow: tomorrow is meant, and now may be.
    return replace(last.when, now=True)


def _last_cities(earlier: Sequence[Need]) -> tuple[str, ...]:
    """The two cities spoken of last."""
    found: dict[str, str] = {}
    for need in reversed(earlier):
        for city in need.cities:
            found.setdefault(same_name(city), city)
    return tuple(list(found.values())[:2][::-1])
