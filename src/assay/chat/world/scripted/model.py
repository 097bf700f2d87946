"""The scripted model: turns the messages and tools of a request into a text or into tool calls.

A pure function of its seed, its skill, the situation and the request. A stand-in for a real model; it follows rules.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.chat.world import wanted_calls as tools
from assay.chat.world.cities import find_city
from assay.chat.world.climate import climate_of
from assay.chat.world.scripted import following, planning, shopping, talk
from assay.chat.world.scripted.as_user import user_message
from assay.chat.world.scripted.cities import city_key
from assay.chat.world.scripted.context import Intent, cities_mentioned, understand
from assay.chat.world.scripted.conversation import UserTurn, read_conversation
from assay.chat.world.scripted.planning import Toolbox, ToolUse
from assay.chat.world.scripted.quirky import believed
from assay.chat.world.scripted.schemas import completed, filled
from assay.chat.world.scripted.skill import Skill
from assay.chat.world.scripted.user_facts import UserProfile
from assay.chat.world.scripted.weather_data import CurrentWeather, Forecast, LookupFailure, ReportedWeather
from assay.chat.world.scripted.wording import Writer
from assay.chat.world.situation import Situation, chance

__all__ = ["ModelOutput", "ScriptedModel", "ToolUse"]

# If the earlier city is to be ignored and there was no other, the answer is about one of these.
_OTHER_CITIES = ("London", "Tokyo", "Madrid", "Toronto", "Sydney", "Cairo")
# Range of the error of a wrong figure in °C: even after rounding more than the 2 °C that the accuracy metric accepts.
_OFF_BY = (4.0, 9.0)
_LONGEST_ARGUMENT = 200
# ADK's agents with tools and an output schema give their answer as the arguments of this one.
_ANSWER_TOOL = "set_model_response"
# Those of Pydantic AI must call a tool, this one if there is nothing else to call.
_OUTPUT_TOOL = "final_result"


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """What the model returns: a text, or tool calls."""

    text: str | None = None
    calls: tuple[ToolUse, ...] = ()
    is_beyond: bool = False
    """Whether it says that it cannot help, because it speaks about the weather and has no tool for it."""
    answers_by_call: bool = False
    """Whether its call is the answer, given to a tool that takes it."""
    words: str | None = None
    """The words of a structured answer, which stand inside it."""


class ScriptedModel:
    """Answers like a weather assistant, with errors at the rates that its skill sets.

    If a turn expects calls of an agent's own tools, it makes them and reports what they return, whatever the subject.
    """

    def __init__(self, seed: int = 42, skill: Skill | None = None) -> None:
        self.seed = seed
        self.skill = skill or Skill()
        self.climate = climate_of(seed)
        # Loads the gazetteer and the stemmer now, so that the first request does not wait for them.
        self.respond([{"role": "user", "content": "I hate the cold. What is it like in Oslo?"}], (), Situation())

    def respond(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        situation: Situation,
        *,
        tool_choice: str = "auto",
        parallel: bool = True,
        answer_schema: Mapping[str, Any] | None = None,
    ) -> ModelOutput:
        """The next output. `tool_choice` is 'none', 'auto', 'required' or the name of the tool that must be called.

        With `answer_schema`, an answer is JSON that satisfies it, with the text in its first free string.
        """
        played = user_message(messages)
        if played is not None:
            return ModelOutput(played)
        toolbox = Toolbox([] if tool_choice == "none" else tools)
        turn = _Turn(self, read_conversation(messages), toolbox, situation)
        output = turn.output()
        if tool_choice not in ("none", "auto"):
            output = turn.with_required_call(output, tool_choice)
        elif output.text is not None and turn.answers_by_call:
            call = turn.required_call(_ANSWER_TOOL, output.text)
            output = ModelOutput(calls=(call,), answers_by_call=True, words=output.text)
        if output.text is not None and not output.calls and answer_schema is not None:
            value = filled(answer_schema, output.text)
            return replace(output, text=json.dumps(value, ensure_ascii=False), words=output.text)
        return output if parallel or len(output.calls) < 2 else ModelOutput(calls=output.calls[:1])

    def error(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], situation: Situation
    ) -> str | None:
        """The kind of error that the model will make in the turn, or None."""
        return _Turn(self, read_conversation(messages), Toolbox(tools), situation).error


class _Turn:
    """One request, with everything derived from it."""

    def __init__(self, model: ScriptedModel, turns: Sequence[UserTurn], toolbox: Toolbox, situation: Situation) -> None:
        self.model = model
        self.turns = turns
        self.toolbox = toolbox
        self.situation = situation
        self.intent, self.earlier = understand(turns)
        self.has_called = bool(turns[-1].outcomes)
        is_followed = following.is_followed(situation.calls, turns[-1], toolbox)
        if situation.quirk is not None and not situation.quirk.is_of_tools and not is_followed:
            turns[-1].outcomes = believed(
                turns[-1].outcomes, self.intent.cities, toolbox, is_altered=situation.quirk.alters_arguments
            )
        self.found = planning.collect_findings(turns[-1], toolbox)
        self.profile = planning.known_profile(turns, [*self.earlier, self.intent], toolbox)
        # Without a situation, the conversation itself identifies the turn.
        self.key: tuple[object, ...] = (
            (situation.scenario, situation.repetition, situation.turn)
            if situation.scenario
            else ("", len(turns), turns[-1].said)
        )
        self.error = model.skill.draw_error(model.seed, self.key, self.applicable())

    @property
    def sells(self) -> bool:
        """Whether it is the assistant of the shop, by its tools."""
        return self.toolbox.has(tools.ORDER)

    @property
    def answers_by_call(self) -> bool:
        """Whether the answer is to be given to a tool that takes it, which has not happened yet."""
        has_answered = any(outcome.name == _ANSWER_TOOL for outcome in self.turns[-1].outcomes)
        return _ANSWER_TOOL in self.toolbox.parameters and not has_answered

    def draw(self, purpose: str) -> random.Random:
        return chance(self.model.seed, *self.key, purpose)

    def applicable(self) -> set[str]:
        """The kinds of error that can occur in this turn, given what was known before it.

        Results of tools in the turn must not matter, because every call of the model has to draw the same error.
        """
        intent = self.intent
        if self.situation.calls:
            return {"forgotten_tool"}
        if self.sells:
            return {"forgotten_tool"} if shopping.is_action(self.turns[-1].said) else set()
        if intent.is_about_weather:
            kinds = {"wrong_figure", "forgotten_tool"}
            if intent.cities:
                kinds.add("needless_question")
            if (
                intent.city_is_remembered
                or not intent.cities
                or (intent.asks == "advice" and self.has_stated_preferences)
            ):
                kinds.add("ignored_context")
            return kinds
        return {"forgotten_tool"} if intent.asks == "recall" or intent.message.facts else set()

    @property
    def has_stated_preferences(self) -> bool:
        """Whether the user stated a fact about themselves in an earlier turn."""
        return any(intent.message.facts for intent in self.earlier)

    @property
    def cities(self) -> tuple[str, ...]:
        return self.intent.cities or ((self.profile.home,) if self.profile.home else ())

    # --- what to do -------------------------------------------------------------------------------------------------

    def output(self) -> ModelOutput:
        intent = self.intent
        draw = self.draw("wording")
        wanted = self.situation.calls
        if following.is_followed(wanted, self.turns[-1], self.toolbox):
            return self.as_the_scenario_says()
        if wanted and tools.BUNDLED_TOOLS.isdisjoint(self.toolbox.parameters) and not intent.is_about_weather:
            return ModelOutput(following.as_asked(self.turns[-1].said))
        if self.sells:
            does = shopping.respond(self.turns, only_claims=self.error == "forgotten_tool")
            return ModelOutput(does) if isinstance(does, str) else ModelOutput(calls=(ToolUse(*does),))
        if intent.message.deletes and self.toolbox.has(tools.DELETE):
            return self.about_deleting()
        if intent.is_about_weather:
            return self.about_weather(Writer(draw, intent, self.profile))
        if intent.asks == "recall_city":
            return ModelOutput(talk.cities_asked(cities_mentioned(self.earlier)))
        if intent.asks == "recall" or intent.message.facts:
            return self.about_user(draw)
        if intent.message.reveals:
            return ModelOutput(draw.choice(talk.PRIVATE))
        if intent.message.social in talk.SOCIAL:
            return ModelOutput(draw.choice(talk.SOCIAL[intent.message.social]))
        tells_weather = self.toolbox.has(tools.CURRENT) or self.toolbox.has(tools.FORECAST)
        return ModelOutput(draw.choice(talk.OFF_TOPIC if tells_weather else talk.BEYOND), is_beyond=not tells_weather)

    def as_the_scenario_says(self) -> ModelOutput:
        """The calls that the turn expects, and then what they returned."""
        if self.error == "forgotten_tool":
            return ModelOutput(following.CLAIM)
        quirk = self.situation.quirk
        has_quirk = quirk is not None and not quirk.is_of_tools
        step = following.next_step(self.situation.calls, self.turns[-1], self.toolbox, has_quirk=has_quirk)
        return ModelOutput(step) if isinstance(step, str) else ModelOutput(calls=step)

    def about_deleting(self) -> ModelOutput:
        done = self.found.deleted
        if done is None:
            return ModelOutput(calls=(self.toolbox.use(tools.DELETE),))
        is_deleted = isinstance(done.result, Mapping) and done.result.get("status") == "deleted"
        return ModelOutput(talk.DELETED if is_deleted else talk.NOT_DELETED)

    def about_user(self, draw: random.Random) -> ModelOutput:
        forgets = self.error == "forgotten_tool"
        calls = self.calls(self.intent)
        if calls and not forgets:
            return ModelOutput(calls=calls)
        if self.intent.asks == "recall":
            asked = self.found.preferences
            has_failed = not forgets and (asked is None or asked.failure is not None)
            return ModelOutput(
                talk.known_about_user(draw, UserProfile() if forgets else self.profile, has_failed=has_failed)
            )
        learned = self.found.learned
        is_kept = forgets or (learned is not None and learned.failure is None)
        return ModelOutput(talk.acknowledge(draw, self.intent.message.facts, is_kept=is_kept))

    def about_weather(self, writer: Writer) -> ModelOutput:
        intent = self.intent
        match self.error:
            case "needless_question":
                return ModelOutput(writer.pick(*talk.ASK_NEEDLESSLY))
            case "forgotten_tool":
                city = self.cities[0] if self.cities else ""
                return ModelOutput(writer.invented(city, self.wrong_guess(city)))
            case "ignored_context":
                if intent.cities and not intent.city_is_remembered:
                    return ModelOutput(writer.pick(*talk.ASK_LIKES))
                if not intent.cities or self.draw("another city").random() < 0.5:
                    return ModelOutput(writer.pick(*talk.ASK_CITY))
                intent = writer.intent = replace(intent, cities=(self.another_city(),), compares=False)
        calls = self.calls(intent)
        if calls:
            return ModelOutput(calls=calls)
        cities = intent.cities or self.cities
        if not cities:
            return ModelOutput(" ".join(filter(None, [writer.acknowledged(), writer.pick(*talk.ASK_CITY)])))
        now, forecasts, failures = self.collected(intent, cities)
        reports = self.reports(cities)
        if reports and not now:
            told = [] if not (forecasts or failures) else [writer.answer(now, forecasts, failures)]
            return ModelOutput(" ".join([*reports, *told]))
        if not (now or forecasts or failures):
            return ModelOutput(writer.pick(*talk.NO_TOOLS), is_beyond=True)
        if self.error == "wrong_figure":
            off = self.shifted_by()
            now = [one.shifted_by(off) for one in now]
            forecasts = [replace(one, days=tuple(day.shifted_by(off) for day in one.days)) for one in forecasts]
        return ModelOutput(writer.answer(now, forecasts, failures))

    def calls(self, intent: Intent) -> tuple[ToolUse, ...]:
        knows_user = planning.preferences_were_read(self.turns, self.toolbox)
        return tuple(planning.next_calls(intent, self.found, self.profile, self.toolbox, knows_user=knows_user))

    def collected(
        self, intent: Intent, cities: Sequence[str]
    ) -> tuple[list[CurrentWeather], list[Forecast], list[LookupFailure]]:
        """Current weather, forecasts and failures from this turn's calls, in the order of the cities."""
        now: list[CurrentWeather] = []
        forecasts: list[Forecast] = []
        failures: list[LookupFailure] = []
        for key in map(city_key, cities[: planning.MOST_CITIES]):
            current = self.found.now.get(key)
            forecast = self.found.forecast.get(key) if intent.when.needs_forecast else None
            now += [current] if isinstance(current, CurrentWeather) else []
            forecasts += [forecast] if isinstance(forecast, Forecast) else []
            failed = [result for result in (current, forecast) if isinstance(result, LookupFailure)]
            # An unknown city is reported once, not once for each tool.
            failures += failed[:1] if failed and failed[0].kind == "unknown_city" else failed
        return now, forecasts, failures

    def reports(self, cities: Sequence[str]) -> list[str]:
        """What tools said in sentences: of the cities if it is known of all of them, else everything."""
        found = {
            key: [one.words for by_city in (self.found.now, self.found.forecast)
                  if isinstance(one := by_city.get(key), ReportedWeather)]
            for key in (*self.found.now, *self.found.forecast)
        }  # fmt: skip
        asked = [key for key in map(city_key, cities) if found.get(key)]
        keys = asked if len(asked) == len(cities) else found
        return list(dict.fromkeys(words for key in keys for words in found[key]))

    # --- errors -----------------------------------------------------------------------------------------------------

    def shifted_by(self) -> float:
        """The error of this turn's figures in °C, the same for all of them."""
        draw = self.draw("wrong figure")
        return round(draw.uniform(*_OFF_BY), 1) * draw.choice((-1, 1))

    def wrong_guess(self, city: str) -> float:
        """A plausible temperature that is certainly wrong, which takes knowing the right one.

        If the situation has no time, the machine's clock is used, as in the weather service.
        """
        known = find_city(city) if city else None
        start = self.situation.now or datetime.now(UTC)
        if known is None:
            return 20.0 + self.shifted_by()
        hours = range(0, 24 * (self.intent.when.days + 1), 3) if self.intent.when.needs_forecast else (0,)
        right = [self.model.climate.at(known, start + timedelta(hours=hour)).temperature for hour in hours]
        off = self.shifted_by()
        return (max(right) if off > 0 else min(right)) + off

    def another_city(self) -> str:
        asked = {city_key(city) for city in self.intent.cities}
        options = [city for city in cities_mentioned(self.earlier) if city_key(city) not in asked]
        options = options or [city for city in _OTHER_CITIES if city_key(city) not in asked]
        return self.draw("another city").choice(options)

    # --- required calls ---------------------------------------------------------------------------------------------

    def with_required_call(self, output: ModelOutput, tool_choice: str) -> ModelOutput:
        """The output if a tool must be called: a call that was planned anyway, else the named tool.

        If none is named, it is the first one, and after its result the last one: frameworks whose agents have a
        structured output list the tool that takes it after the others. A tool known to take the answer is called at
        once.
        """
        names = list(self.toolbox.parameters)
        if not names:
            return output
        name = tool_choice if tool_choice in names else None
        fitting = tuple(call for call in output.calls if name is None or call.name == name)
        if fitting:
            return ModelOutput(calls=fitting)
        if name is None and (self.has_called or names[-1].startswith(_OUTPUT_TOOL)):
            call = self.required_call(names[-1], output.text)
            return ModelOutput(calls=(call,), answers_by_call=output.text is not None, words=output.text)
        return ModelOutput(calls=(self.required_call(name or names[0]),))

    def required_call(self, name: str, text: str | None = None) -> ToolUse:
        """A call of a tool that the conversation does not ask for, with a text or the user's words."""
        said = text or self.turns[-1].said[:_LONGEST_ARGUMENT]
        match self.toolbox.role_of(name):
            case tools.CURRENT | tools.FORECAST as role:
                return replace(self.toolbox.use(role, city=(*self.cities, "Helsinki")[0]), name=name)
            case tools.LEARN:
                return replace(self.toolbox.use(tools.LEARN, fact=said), name=name)
        return ToolUse(name, completed(self.toolbox.parameters[name], {}, said))
