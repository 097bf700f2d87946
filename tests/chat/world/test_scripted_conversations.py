"""Generated conversations with the scripted model in the embedded world, scored by assay's own metrics.

The tools read the climate directly, so the right answer is known. With perfect skill every answer about the weather
agrees with the truth; with a given error rate exactly those answers are wrong for which an error was drawn.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from tests.chat.world.weather_dialog import TOOLS

from assay.chat import ChatbotEvaluator
from assay.chat.scoring.metric import Entry
from assay.chat.world.cities import all_cities
from assay.chat.world.embedded import World
from assay.chat.world.preferences import Preferences
from assay.chat.world.scripted import ERRORS, ScriptedModel, Skill
from assay.chat.world.situation import Situation
from assay.errors import UsageError

CITIES = [city.name for city in all_cities()]
MOST_CALLS = 8

NOW = (
    "What's the weather in {city}?",
    "weather in {city}",
    "How is the weather in {city} today?",
    "Is it raining in {city}?",
    "How cold is it in {city}?",
    "Should I take an umbrella in {city}?",
    "What should I wear in {city} today?",
    "Can I go running in {city} today?",
    "Is it a good day for a picnic in {city}?",
    "How windy is it in {city}?",
    "I'm in {city}. What's the weather like?",
    "Will it rain in {city} today?",
    "What's the weather in {city} in Fahrenheit?",
    "Is it nice outside in {city}?",
    "Hi! Could you tell me the weather in {city}?",
)
LATER = (
    "What's the forecast for {city}?",
    "What will the weather be like in {city} tomorrow?",
    "Will it rain in {city} tomorrow?",
    "What's the weather in {city} this weekend?",
    "Weather forecast for {city} for the next 3 days",
    "How will the weather be in {city} over the next few days?",
    "What should I pack for a trip to {city} this weekend?",
    "What's the weather in {city} on {weekday}?",
    "What will the weather be in {city} on {date}?",
    "How does the week look in {city}?",
    "Will it rain in {city}?",
    "I'm flying to {city} tomorrow, what should I wear?",
)
FOLLOW_UPS = (
    "And tomorrow?",
    "What about this weekend?",
    "What should I wear?",
    "Should I bring an umbrella?",
    "and on {weekday}?",
    "Is it windy there?",
    "And there now?",
    "How about the day after?",
    "And in Fahrenheit?",
    "Are you sure?",
    "Is it warm there?",
    "Will it rain tomorrow?",
)
OTHER_CITY = ("What about {city}?", "And in {city}?", "How about {city} tomorrow?", "And {city}?")
TOLD = (
    "I hate the cold.",
    "I don't like rain.",
    "I prefer indoor activities.",
    "I love hiking and being outdoors.",
    "Please use Fahrenheit from now on.",
    "I can't stand the heat.",
)


ACCURACY = ("accuracy", "groundedness")
"""For tests that look at these two only."""


@cache
def evaluator_of(metrics: tuple[str, ...] | None) -> ChatbotEvaluator:
    return ChatbotEvaluator(metrics=metrics)


@dataclass
class Conversation:
    """One user's conversation with the model, including tool calls."""

    world: World
    model: ScriptedModel
    now: datetime
    name: str
    repetition: int = 0
    messages: list[dict[str, Any]] = field(default_factory=lambda: [{"role": "system", "content": "Be helpful."}])
    history: list[dict[str, str]] = field(default_factory=list)
    preferences: Preferences = field(default_factory=Preferences)
    evaluator: ChatbotEvaluator = field(default_factory=lambda: evaluator_of(None))

    def say(self, text: str, about: str | None = None) -> tuple[str, dict[str, Entry]]:
        """The answer to a message and its scores; `about` is the city whose weather is the ground truth."""
        situation = Situation(self.name, self.repetition, len(self.history), now=self.now)
        self.messages.append({"role": "user", "content": text})
        made: list[dict[str, Any]] = []
        for _ in range(MOST_CALLS):
            move = self.model.respond(self.messages, TOOLS, situation)
            if not move.calls:
                break
            calls = [(f"call_{len(self.messages)}_{at}", call) for at, call in enumerate(move.calls)]
            functions = [
                {
                    "id": id_,
                    "type": "function",
                    "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))},
                }
                for id_, c in calls
            ]
            self.messages.append({"role": "assistant", "content": None, "tool_calls": functions})
            for id_, call in calls:
                result = self.result(call.name, call.arguments)
                made.append({"name": call.name, "arguments": dict(call.arguments), "result": result})
                self.messages.append({"role": "tool", "tool_call_id": id_, "content": json.dumps(result)})
        answer = move.text
        assert answer, "the model stops calling tools"
        self.messages.append({"role": "assistant", "content": answer})
        entries = self.evaluator.evaluate_response(
            text,
            answer,
            "scripted",
            None if about is None else self.world.truth(about, 5, self.now),
            self.history,
            self.preferences.read("user") or None,
            tool_calls=made,
        )
        self.history = [*self.history, {"user": text, "assistant": answer}]
        return answer, entries

    def result(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if tool == "get_user_preferences":
            return self.preferences.read("user")
        if tool == "update_user_preferences_from_insight":
            return self.preferences.learn("user", arguments["insight"])
        try:
            truth = self.world.truth(arguments["city"], 5, self.now)
        except UsageError as error:
            return {"status": "error", "error_message": f"there is no city called so: {error}"}
        current = truth["current"]
        if tool == "get_current_weather":
            return dict(current)
        days = truth["forecast"][: arguments["days"]]
        head = {"city": current["city"], "today": current["date"], "units": "metric"}
        return {**head, "forecast": days}


def conversations(seed: int, number: int) -> Iterator[tuple[datetime, list[tuple[str, str | None]]]]:
    """The time of each conversation, and its messages with the city that each is about."""
    draw = random.Random(seed)
    for _ in range(number):
        city, other = draw.sample(CITIES, 2)
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=draw.randrange(24 * 365))
        some_day = now + timedelta(days=draw.randint(1, 4))
        names = {"weekday": f"{some_day:%A}", "date": f"{some_day.day} {some_day:%B}"}
        typed = city.lower() if draw.random() < 0.2 and city != "Nice" else city
        turns: list[tuple[str, str | None]] = [(draw.choice(TOLD), None)] if draw.random() < 0.3 else []
        turns.append((draw.choice((*NOW, *LATER)).format(city=typed, **names), city))
        for _ in range(draw.randint(0, 3)):
            if draw.random() < 0.6:
                turns.append((draw.choice(FOLLOW_UPS).format(**names), city))
            else:
                city = other
                turns.append((draw.choice(OTHER_CITY).format(city=city), city))
        yield now, turns


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=7)


@pytest.mark.slow(seconds=9)
def test_with_perfect_skill_every_answer_agrees_with_the_truth(world: World) -> None:
    model = ScriptedModel(seed=7)
    scores: dict[str, list[float]] = {}
    for number, (now, turns) in enumerate(conversations(seed=1, number=110)):
        conversation = Conversation(world, model, now, f"conversation {number}")
        for said, city in turns:
            answer, entries = conversation.say(said, city)
            if city is None:
                continue
            where = f"{[text for text, _ in turns]} at {now}: {said!r} → {answer!r}"
            assert entries["accuracy"].score == 1.0, f"{where}: {entries['accuracy'].details}"
            assert entries["groundedness"].score == 1.0, f"{where}: {entries['groundedness'].details}"
            assert entries["task_completion"].score >= 0.9, f"{where}: {entries['task_completion'].details}"
            for name, entry in entries.items():
                if entry.measured:
                    scores.setdefault(name, []).append(entry.score)
    means = {name: sum(values) / len(values) for name, values in scores.items()}
    assert len(scores["accuracy"]) > 250
    assert means["recommendation_quality"] > 0.95
    assert means["tool_call_count"] > 0.95
    # Naming the earlier city scores 0.65 and an earlier preference 0.7; not every turn has both.
    assert means["context_retention"] > 0.64
    assert means["adaptation_quality"] > 0.62
    assert means["ambiguity_handling"] > 0.7
    assert means["repeatability"] > 0.85


@pytest.mark.parametrize("question", ["{0} or {1}, which is warmer?", "Compare the weather in {0} and {1}."])
@pytest.mark.slow
def test_compared_cities_are_not_confused(world: World, question: str) -> None:
    model = ScriptedModel(seed=7)
    draw = random.Random(2)
    for number in range(40):
        first, second = draw.sample(CITIES, 2)
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=draw.randrange(24 * 365))
        for city in (first, second):
            answer, entries = Conversation(world, model, now, f"{number}", evaluator=evaluator_of(ACCURACY)).say(
                question.format(first, second), city
            )
            assert entries["accuracy"].score == 1.0, f"{answer}: {entries['accuracy'].details}"
            assert entries["groundedness"].score == 1.0


def test_stated_preferences_affect_later_answers(world: World) -> None:
    now = datetime(2026, 1, 15, 8, tzinfo=UTC)
    conversation = Conversation(world, ScriptedModel(seed=7), now, "told")
    conversation.say("I hate the cold.")
    answer, entries = conversation.say("What should I wear in Helsinki?", "Helsinki")
    assert "you dislike the cold" in answer
    assert entries["adaptation_quality"].score >= 0.75
    assert entries["context_retention"].score >= 0.65


def test_repeated_question_gets_the_same_answer(world: World) -> None:
    conversation = Conversation(world, ScriptedModel(seed=7), datetime(2026, 5, 5, 8, tzinfo=UTC), "again")
    conversation.say("What's the weather in Lyon?", "Lyon")
    conversation.say("Thanks!")
    answer, entries = conversation.say("Tell me about the weather in Lyon, please.", "Lyon")
    assert entries["repeatability"].score == 1.0, answer


@pytest.mark.parametrize(
    ("question", "least"),
    [("What's the weather?", 0.9), ("do i need an umbrella", 0.9), ("Will it rain in Oslo?", 0.9)],
)
def test_ambiguous_questions_are_handled(world: World, question: str, least: float) -> None:
    for number in range(20):
        conversation = Conversation(world, ScriptedModel(seed=7), datetime(2026, 5, 5, tzinfo=UTC), f"open {number}")
        answer, entries = conversation.say(question)
        assert entries["ambiguity_handling"].score >= least, answer


# --- a known rate of errors -------------------------------------------------------------------------------------------


def error_of(model: ScriptedModel, conversation: Conversation, said: str) -> str | None:
    """The error that the model draws for the turn."""
    messages = [*conversation.messages, {"role": "user", "content": said}]
    situation = Situation(conversation.name, conversation.repetition, len(conversation.history), now=conversation.now)
    return model.error(messages, TOOLS, situation)


def played(world: World, skill: Skill, number: int, seed: int) -> Iterator[tuple[str | None, float]]:
    """The error drawn and the accuracy scored for each turn about the weather."""
    model = ScriptedModel(seed=7, skill=skill)
    for at, (now, turns) in enumerate(conversations(seed, number)):
        conversation = Conversation(world, model, now, f"conversation {at}", evaluator=evaluator_of(ACCURACY))
        for said, city in turns:
            error = error_of(model, conversation, said)
            _, entries = conversation.say(said, city)
            if city is not None:
                yield error, entries["accuracy"].score


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.slow
def test_accuracy_is_below_one_exactly_if_an_error_was_drawn(world: World, kind: str) -> None:
    seen: Counter[str | None] = Counter()
    for error, accuracy in played(world, Skill(**{kind: 1.0}), number=60, seed=3):
        seen[error] += 1
        assert (accuracy < 1.0) == (error is not None)
    assert seen[kind] >= 40
    assert set(seen) <= {kind, None}


def test_ignored_context_leads_to_a_question_or_another_city(world: World) -> None:
    model = ScriptedModel(seed=7, skill=Skill(ignored_context=1.0))
    for number in range(20):
        conversation = Conversation(world, model, datetime(2026, 1, 15, tzinfo=UTC), f"{number}")
        conversation.say("I hate the cold.")
        answer, _ = conversation.say("What should I wear in Oslo?", "Oslo")
        assert "preferences" in answer
        answer, _ = conversation.say("And tomorrow?", "Oslo")
        assert "?" in answer or "Oslo" not in answer


@pytest.mark.slow
def test_wrong_temperature_costs_what_the_accuracy_rule_says(world: World) -> None:
    model = ScriptedModel(seed=7, skill=Skill(wrong_figure=1.0))
    draw = random.Random(4)
    for number in range(60):
        city = draw.choice(CITIES)
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=draw.randrange(24 * 365))
        answer, entries = Conversation(world, model, now, f"{number}", evaluator=evaluator_of(ACCURACY)).say(
            f"What's the weather in {city}?", city
        )
        assert entries["accuracy"].score == 0.7, f"{answer}: {entries['accuracy'].details}"


@pytest.mark.parametrize("text", ["0.8", "0.6"])
@pytest.mark.slow(seconds=5)
def test_share_of_right_answers_equals_the_skill(world: World, text: str) -> None:
    skill = Skill.parse(text)
    results = list(played(world, skill, number=120, seed=5))
    assert all((accuracy < 1.0) == (error is not None) for error, accuracy in results)
    share = sum(accuracy == 1.0 for _, accuracy in results) / len(results)
    # Four standard errors of the share.
    assert abs(share - float(text)) < 4 * (float(text) * (1 - float(text)) / len(results)) ** 0.5


# --- the skill itself -------------------------------------------------------------------------------------------------


def test_skill_is_parsed_and_formatted() -> None:
    assert Skill.parse("0.9") == Skill(any_error=0.1)
    assert Skill.parse(" wrong_figure=0.2, forgotten_tool=0.1 ") == Skill(wrong_figure=0.2, forgotten_tool=0.1)
    for text in ("0.9", "1", "0", "wrong_figure=0.2,forgotten_tool=0.1"):
        assert str(Skill.parse(text)) == text
        assert Skill.parse(str(Skill.parse(text))) == Skill.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1.5", "share of turns without an error, got 1.5"),
        ("high", "not a valid skill"),
        ("nan", "share of turns without an error, got nan"),
        ("wrong_figure=2", "must be a probability, got 2"),
        ("wrong_figure=x", "not a valid skill"),
        ("wrong_figur=0.1", "wrong_figure"),
        ("wrong_figure=0.1,wrong_figure=0.2", "twice"),
        ("wrong_figure=0.7,forgotten_tool=0.7", "more than 1"),
    ],
)
def test_invalid_skill_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Skill.parse(text)


def test_rate_of_a_kind_does_not_depend_on_the_others() -> None:
    skill = Skill(wrong_figure=0.2, ignored_context=0.1, forgotten_tool=0.3)
    for applicable in (set(ERRORS), {"forgotten_tool"}, {"wrong_figure", "forgotten_tool"}):
        drawn = Counter(skill.draw_error(1, ("scenario", 0, turn), applicable) for turn in range(4000))
        for kind in ERRORS:
            expected = getattr(skill, kind) if kind in applicable else 0.0
            assert abs(drawn[kind] / 4000 - expected) < 0.03
        assert abs(1 - drawn[None] / 4000 - skill.rate(applicable)) < 0.03


def test_any_error_is_drawn_uniformly_from_the_applicable_kinds() -> None:
    skill = Skill(any_error=0.4)
    drawn = Counter(
        skill.draw_error(1, ("scenario", 0, turn), ["wrong_figure", "forgotten_tool"]) for turn in range(4000)
    )
    assert drawn.keys() == {None, "wrong_figure", "forgotten_tool"}
    assert abs(drawn["wrong_figure"] / 4000 - 0.2) < 0.03
    assert skill.draw_error(1, ("scenario", 0, 0), []) is None


def test_draw_depends_only_on_seed_and_turn() -> None:
    skill = Skill(any_error=0.5)
    draws = [skill.draw_error(1, ("scenario", 0, turn), list(ERRORS)) for turn in range(50)]
    assert draws == [skill.draw_error(1, ("scenario", 0, turn), list(ERRORS)) for turn in range(50)]
    assert draws != [skill.draw_error(2, ("scenario", 0, turn), list(ERRORS)) for turn in range(50)]
    assert draws != [skill.draw_error(1, ("scenario", 1, turn), list(ERRORS)) for turn in range(50)]


def test_skill_describes_itself() -> None:
    assert "make no errors" in Skill().describe()
    assert "0.1 of the turns" in Skill.parse("0.9").describe()
    assert "wrong figure in 0.2" in Skill(wrong_figure=0.2).describe()
