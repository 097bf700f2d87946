"""Answers that need no weather: clarifying questions, small talk, what is known about the user. Several phrasings."""

from __future__ import annotations

import random
from collections.abc import Sequence

from assay.chat.world.scripted.user_facts import UserFact, UserProfile
from assay.plural import listed

ASK_CITY = (
    "Which city would you like me to check? Please tell me the city, and I can look up the weather there for you.",
    "I can help with that, but I need to know the place first. Which city are you interested in? Just tell me.",
    "Could you tell me which city you mean? Once I know the place, I can check the weather now and in the days ahead.",
)
ASK_NEEDLESSLY = (
    "Just to be sure I understand: which city do you mean, and which day are you interested in? Please tell me both.",
    "Could you clarify what exactly you would like to know? Please specify the city and the day, and I can look it up.",
    "Before I look anything up: which place and what time are you asking about? Please tell me the details.",
)
ASK_LIKES = (
    "Could you tell me first what you like and dislike? I need to know your preferences before I can say anything.",
    "What are you fond of, and what do you avoid? Please tell me your preferences first, and I can go on from there.",
)
DELETED = "I have deleted everything that I knew about you. Tell me again what you like whenever you want."
NOT_DELETED = "I have not deleted anything, because it was not approved. What I know about you stays as it is."
NO_TOOLS = (
    "I have no way to look up the weather here, so I can't tell you. However, you can check the website of your local"
    " weather service instead.",
)
PRIVATE = (
    "I can't share or set aside how I was set up, but I can help you with the weather: just name a city.",
    "How I was set up stays private. I'm happy to help with the weather though: just name a city.",
)
OFF_TOPIC = (
    "That is outside of what I can do: I help with the weather. Name a city, and I can check the weather there.",
    "I'm a weather assistant, so I can't help with that. However, I can tell you the weather in any city you name.",
)
BEYOND = (
    "I can't help with that, because none of my tools is made for it. Ask me for something that they can do.",
    "That is beyond what my tools can do, so I can't help with that. You can ask me for something else.",
)
SOCIAL = {
    "greeting": (
        "Hello! I can tell you the current weather or the forecast for any city. Just name the one you want to know.",
        "Hi there! Ask me about the weather in a city, today or in the coming days, and I will look it up for you.",
    ),
    "thanks": (
        "You're welcome! Let me know whenever you want to know more about the weather.",
        "My pleasure! Just ask again whenever you need the weather.",
    ),
    "bye": ("Goodbye, and take care!", "See you! Come back whenever you need the weather."),
    "about_you": (
        "I'm a weather assistant, and all is well here, thank you. I can look up the weather and the forecast for you.",
    ),
    "ability": (
        "I can look up the current weather and the forecast for a city, give advice on what to wear or do, and remember"
        " what you like. Just name a city to start with.",
    ),
    "praise": (
        "Glad to hear it! Let me know if there is anything else about the weather.",
        "Good to hear! I'm here whenever you need the weather.",
    ),
}
_NOTED = (
    "Got it, I will remember that {told}. Just let me know a city whenever you want advice that takes it into account.",
    "Thanks for telling me that {told}. I have noted it and will take it into account from now on.",
    "Noted: {told}. I will keep your preference in mind whenever I recommend something to you.",
)


def acknowledge(draw: random.Random, facts: Sequence[UserFact], *, is_kept: bool) -> str:
    """Confirm what the user stated, and whether it was stored."""
    told = acknowledged(facts)
    if not is_kept:
        return (
            f"I couldn't save it because of a failure, but I will keep in mind for this conversation that {told}."
            " You can tell me again later, and I will try again."
        )
    return draw.choice(_NOTED).format(told=told)


def acknowledged(facts: Sequence[UserFact]) -> str:
    """The facts as they are said to the user."""
    return " and that ".join(fact.second_person for fact in facts)


def known_about_user(draw: random.Random, profile: UserProfile, *, has_failed: bool) -> str:
    """What is known about the user, or that nothing is."""
    told = _facts(profile)
    if not told and has_failed:
        return (
            "I'm sorry, I couldn't look up your preferences because the look-up failed. However, you can tell me again"
            " what you like, or try again later."
        )
    if not told:
        return (
            "I don't know anything about you yet. Tell me what weather you like or where you live, and I will keep it"
            " in mind for my advice."
        )
    lead = draw.choice(("I remember what you told me", "This is what I know about you"))
    return f"{lead}: {listed(told)}. I take it into account in my advice."


def cities_asked(cities: Sequence[str]) -> str:
    """Which cities the user has asked about."""
    if not cities:
        return "You have not asked about any city yet. Name one, and I can look up the weather there."
    return f"So far you asked me about {listed(cities)}. Just say so if I should check the weather there again."


def _facts(profile: UserProfile) -> list[str]:
    told = [part for sentence in profile.said for part in map(_to_user, sentence.split("; ")) if part]
    if not told:
        told += [f"you dislike {'the ' if name in ('cold', 'heat') else ''}{name}" for name in sorted(profile.dislikes)]
        told += ["you prefer indoor activities"] * profile.indoor + ["you like outdoor activities"] * profile.outdoor
    if profile.home and not any(profile.home in fact for fact in told):
        told.append(f"your home city is {profile.home}")
    if profile.unit and not any(
        word in fact for fact in told for word in ("ahrenheit", "elsius", "imperial", "metric")
    ):
        told.append(f"you prefer {'Fahrenheit' if profile.unit == 'F' else 'Celsius'}")
    return list(dict.fromkeys(told))


def _to_user(sentence: str) -> str:
    """'hates the cold' in the second person: 'you hate the cold'."""
    verb, _, rest = sentence.removeprefix("The user ").removeprefix("User ").strip().partition(" ")
    forms = {"is": "are", "doesn't": "don't", "has": "have", "goes": "go", "isn't": "aren't", "never": "never"}
    plain = forms.get(verb, verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb)
    return f"you {plain} {rest}".replace(" their ", " your ").strip() if verb else ""
