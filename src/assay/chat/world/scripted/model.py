"""The scripted model: from the messages and tools of a request to a text or to tool calls.

A pure function of its seed, its skill, the situation and the request. A stand-in, with rules in place of understanding.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.chat.world import climate
from assay.chat.world.scripted import planning, talk
from assay.chat.world.scripted.cities import same_name
from assay.chat.world.scripted.context import Need, all_cities, understand
from assay.chat.world.scripted.conversation import Exchange, read_conversation
from assay.chat.world.scripted.insights import Liking
from assay.chat.world.scripted.planning import Toolbox, ToolUse
from assay.chat.world.scripted.skill import Skill
from assay.chat.world.scripted.weather_data import Now, Outlook, Trouble
from assay.chat.world.scripted.wording import Writer
from assay.chat.world.situation import Situation, chance

__all__ = ["Move", "ScriptedModel", "ToolUse"]

# Where the earlier city is passed over and there was no other, one of these is answered for.
_OTHER_CITIES = ("London", "Tokyo", "Madrid", "Toronto", "Sydney", "Cairo")
# A wrong figure is off by so much, in °C: always more than the 2 °C that accuracy forgives, rounding included.
_OFF_BY = (4.0, 9.0)
_LONGEST_ARGUMENT = 200


@dataclass(frozen=True, slots=True)
class Move:
    """What the model does: it says something, or wants tools called."""

    text: str | None = None
    calls: tuple[ToolUse, ...] = ()


class ScriptedModel:
    """Answers as an assistant for the weather would, erring as its skill says."""

    def __init__(self, seed: int = 42, skill: Skill | None = None) -> None:
        self.seed = seed
        self.skill = skill or Skill()
        self.climate = climate.Climate(seed)
        # Names of cities and stems of words are loaded now, and not while the first request waits.
        self.respond([{"role": "user", "content": "I hate the cold. What is it like in Oslo?"}], (), Situation())

    def respond(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        situation: Situation,
        *,
        tool_choice: str = "auto",
        parallel: bool = True,
    ) -> Move:
        """The next move. `tool_choice` is 'none', 'auto', 'required' or the name of the tool that must be called."""
        toolbox = Toolbox([] if tool_choice == "none" else tools)
        turn = _Turn(self, read_conversation(messages), toolbox, situation)
        move = turn.move()
        if tool_choice not in ("none", "auto"):
            move = turn.forced(move, tool_choice)
        return move if parallel or len(move.calls) < 2 else Move(calls=move.calls[:1])

    def error(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], situation: Situation
    ) -> str | None:
        """The kind of error that is drawn for the turn, or None: what the model will do wrong, told beforehand."""
        return _Turn(self, read_conversation(messages), Toolbox(tools), situation).error


class _Turn:
    """One request, with everything that is known at it."""

    def __init__(
        self, model: ScriptedModel, exchanges: Sequence[Exchange], toolbox: Toolbox, situation: Situation
    ) -> None:
        self.model = model
        self.exchanges = exchanges
        self.toolbox = toolbox
        self.situation = situation
        self.need, self.earlier = understand(exchanges)
        self.found = planning.gather(exchanges[-1], toolbox)
        self.liking = planning.known_liking(exchanges, [*self.earlier, self.need], toolbox)
        # Without a situation the conversation itself stands for the turn.
        self.key: tuple[object, ...] = (
            (situation.scenario, situation.repetition, situation.turn)
            if situation.scenario
            else ("", len(exchanges), exchanges[-1].said)
        )
        self.error = model.skill.errs(model.seed, self.key, self.applicable())

    def draw(self, purpose: str) -> random.Random:
        return chance(self.model.seed, *self.key, purpose)

    def applicable(self) -> set[str]:
        """The kinds of error that can occur in this turn, by what was known before it.

        What tools give during the turn must not matter: every call of the model has to come to the same.
        """
        need = self.need
        if need.is_about_weather:
            kinds = {"wrong_figure", "forgotten_tool"}
            if need.cities:
                kinds.add("needless_question")
            if need.city_is_remembered or not need.cities or (need.asks == "advice" and self.has_told):
                kinds.add("ignored_context")
            return kinds
        return {"forgotten_tool"} if need.asks == "recall" or need.request.insights else set()

    @property
    def has_told(self) -> bool:
        """Whether the user has told something about themselves in an earlier turn."""
        return any(need.request.insights for need in self.earlier)

    @property
    def cities(self) -> tuple[str, ...]:
        return self.need.cities or ((self.liking.home,) if self.liking.home else ())

    # --- what to do -------------------------------------------------------------------------------------------------

    def move(self) -> Move:
        need = self.need
        draw = self.draw("wording")
        if need.is_about_weather:
            return self.about_weather(Writer(draw, need, self.liking))
        if need.asks == "recall_city":
            return Move(talk.cities_asked(all_cities(self.earlier)))
        if need.asks == "recall" or need.request.insights:
            return self.about_user(draw)
        if need.request.reveals:
            return Move(draw.choice(talk.PRIVATE))
        return Move(draw.choice(talk.SOCIAL.get(need.request.social, talk.OFF_TOPIC)))

    def about_user(self, draw: random.Random) -> Move:
        forgets = self.error == "forgotten_tool"
        calls = self.calls(self.need)
        if calls and not forgets:
            return Move(calls=calls)
        if self.need.asks == "recall":
            asked = self.found.preferences
            has_failed = not forgets and (asked is None or asked.failure is not None)
            return Move(talk.known_about_user(draw, Liking() if forgets else self.liking, has_failed=has_failed))
        learned = self.found.learned
        is_kept = forgets or (learned is not None and learned.failure is None)
        return Move(talk.acknowledge(draw, self.need.request.insights, is_kept=is_kept))

    def about_weather(self, writer: Writer) -> Move:
        need = self.need
        match self.error:
            case "needless_question":
                return Move(writer.pick(*talk.ASK_NEEDLESSLY))
            case "forgotten_tool":
                city = self.cities[0] if self.cities else ""
                return Move(writer.invented(city, self.wrong_guess(city)))
            case "ignored_context":
                if need.cities and not need.city_is_remembered:
                    return Move(writer.pick(*talk.ASK_LIKES))
                if not need.cities or self.draw("another city").random() < 0.5:
                    return Move(writer.pick(*talk.ASK_CITY))
                need = writer.need = replace(need, cities=(self.another_city(),), compares=False)
        calls = self.calls(need)
        if calls:
            return Move(calls=calls)
        cities = need.cities or self.cities
        if not cities:
            return Move(" ".join(filter(None, [writer.told_back(), writer.pick(*talk.ASK_CITY)])))
        now, outlooks, troubles = self.collected(need, cities)
        if not (now or outlooks or troubles):
            return Move(writer.pick(*talk.NO_TOOLS))
        if self.error == "wrong_figure":
            off = self.off_by()
            now = [one.off_by(off) for one in now]
            outlooks = [replace(one, days=tuple(day.off_by(off) for day in one.days)) for one in outlooks]
        return Move(writer.answer(now, outlooks, troubles))

    def calls(self, need: Need) -> tuple[ToolUse, ...]:
        knows_user = planning.asked_before(self.exchanges, self.toolbox)
        return tuple(planning.next_calls(need, self.found, self.liking, self.toolbox, knows_user=knows_user))

    def collected(self, need: Need, cities: Sequence[str]) -> tuple[list[Now], list[Outlook], list[Trouble]]:
        """What this turn's calls gave for the cities, in their order."""
        now: list[Now] = []
        outlooks: list[Outlook] = []
        troubles: list[Trouble] = []
        for key in map(same_name, cities[: planning.MOST_CITIES]):
            current = self.found.now.get(key)
            outlook = self.found.outlook.get(key) if need.when.needs_forecast else None
            now += [current] if isinstance(current, Now) else []
            outlooks += [outlook] if isinstance(outlook, Outlook) else []
            failed = [result for result in (current, outlook) if isinstance(result, Trouble)]
            # That a city is unknown is said once, not once for each tool.
            troubles += failed[:1] if failed and failed[0].kind == "unknown_city" else failed
        return now, outlooks, troubles

    # --- errors -----------------------------------------------------------------------------------------------------

    def off_by(self) -> float:
        """How far figures are off in this turn, the same for all of them."""
        draw = self.draw("wrong figure")
        return round(draw.uniform(*_OFF_BY), 1) * draw.choice((-1, 1))

    def wrong_guess(self, city: str) -> float:
        """A plausible temperature that is wrong for sure: it has to be known what is right.

        Where the situation tells no time it is the machine's, as it is for the weather.
        """
        known = climate.find(city) if city else None
        start = self.situation.now or datetime.now(UTC)
        if known is None:
            return 20.0 + self.off_by()
        hours = range(0, 24 * (self.need.when.days + 1), 3) if self.need.when.needs_forecast else (0,)
        right = [self.model.climate.at(known, start + timedelta(hours=hour)).temperature for hour in hours]
        off = self.off_by()
        return (max(right) if off > 0 else min(right)) + off

    def another_city(self) -> str:
        asked = {same_name(city) for city in self.need.cities}
        options = [city for city in all_cities(self.earlier) if same_name(city) not in asked]
        options = options or [city for city in _OTHER_CITIES if same_name(city) not in asked]
        return self.draw("another city").choice(options)

    # --- a call that is demanded ------------------------------------------------------------------------------------

    def forced(self, move: Move, tool_choice: str) -> Move:
        """The move where a tool must be called: the one wanted anyway, else the named one or the first."""
        names = list(self.toolbox.parameters)
        if not names:
            return move
        name = tool_choice if tool_choice in names else None
        fitting = tuple(call for call in move.calls if name is None or call.name == name)
        return Move(calls=fitting or (self.demanded(name or names[0]),))

    def demanded(self, name: str) -> ToolUse:
        """A call of a tool that the conversation gives no reason for."""
        said = self.exchanges[-1].said[:_LONGEST_ARGUMENT]
        match self.toolbox.role_of(name):
            case planning.CURRENT | planning.FORECAST as role:
                return replace(self.toolbox.use(role, city=(*self.cities, "Helsinki")[0]), name=name)
            case planning.LEARN:
                return replace(self.toolbox.use(planning.LEARN, insight=said), name=name)
        return ToolUse(name, _filled(self.toolbox.parameters[name], said))


def _filled(schema: Mapping[str, Any], said: str) -> dict[str, Any]:
    """Arguments for a tool that nothing is known of but its schema."""
    plain = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    types = {name: known[name].get("type") if isinstance(known.get(name), Mapping) else None for name in names}
    return {name: plain.get(kind, said) if isinstance(kind, str) else said for name, kind in types.items()}
