"""The scripted model: from the messages and tools of a request to a text or to tool calls.

A pure function of its seed, its skill, the situation and the request. A stand-in, with rules in place of understanding.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.chat.world.scripted import planning
from assay.chat.world.scripted.cities import reader, same_name
from assay.chat.world.scripted.conversation import Exchange, read_conversation
from assay.chat.world.scripted.insights import Liking
from assay.chat.world.scripted.planning import Findings, Toolbox, ToolUse
from assay.chat.world.scripted.skill import Skill
from assay.chat.world.scripted.understanding import Need, understand
from assay.chat.world.scripted.weather_data import Now, Outlook, Trouble
from assay.chat.world.scripted.wording import Writer
from assay.chat.world.situation import Situation, chance

__all__ = ["Move", "ScriptedModel", "ToolUse"]

# Where the earlier city is passed over, one of these is answered for.
_OTHER_CITIES = ("London", "Tokyo", "Madrid", "Toronto", "Sydney", "Cairo")
# A wrong figure is off by so much, in °C: always more than the 2 °C that accuracy forgives, rounding included.
_OFF_BY = (4.0, 9.0)


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
        reader()  # now, and not while the first request waits

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
        exchanges = read_conversation(messages)
        turn = _Turn(self, exchanges, Toolbox([] if tool_choice == "none" else tools), situation)
        move = turn.move()
        if tool_choice not in ("none", "auto") and tools:
            move = turn.forced(move, tool_choice, tools)
        if len(move.calls) > 1 and not parallel:
            return Move(calls=move.calls[:1])
        return move


class _Turn:
    """One request, with everything that is known at it."""

    def __init__(
        self, model: ScriptedModel, exchanges: Sequence[Exchange], toolbox: Toolbox, situation: Situation
    ) -> None:
        self.model = model
        self.exchanges = exchanges
        self.toolbox = toolbox
        self.need, self.earlier = understand(exchanges)
        self.found = planning.gather(exchanges[-1], toolbox)
        self.liking = planning.known_liking(exchanges, [*self.earlier, self.need], toolbox)
        self.knows_user = planning.asked_before(exchanges, toolbox)
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
        """The kinds of error that can occur in this turn, by what was known before it."""
        need = self.need
        if need.asks in ("weather", "advice"):
            kinds = {"wrong_figure", "forgotten_tool"}
            if need.cities:
                kinds.add("needless_question")
            if need.city_is_remembered or not need.cities or (need.asks == "advice" and self.told_before):
                kinds.add("ignored_context")
            return kinds
        if need.asks == "recall" or need.request.insights:
            return {"forgotten_tool"}
        return set()

    @property
    def told_before(self) -> bool:
        """Whether the user has told a preference in an earlier turn."""
        return any(need.request.insights for need in self.earlier)

    def move(self) -> Move:
        need = self.need
        writer = Writer(self.draw("wording"), need, self.liking)
        if need.asks in ("weather", "advice"):
            return self.about_weather(writer)
        if need.asks == "recall_city":
            return Move(writer.cities_asked(_all_cities(self.earlier)))
        if need.asks == "recall":
            calls = self.calls(need)
            if calls and self.error != "forgotten_tool":
                return Move(calls=tuple(calls))
            failed = self.found.preferences is None or self.found.preferences.failure is not None
            if self.error == "forgotten_tool":
                writer.liking = Liking()
            return Move(writer.known_about_user(failed and self.error is None))
        if need.request.insights:
            calls = self.calls(need)
            if calls and self.error != "forgotten_tool":
                return Move(calls=tuple(calls))
            learned = self.found.learned
            kept = self.error == "forgotten_tool" or (learned is not None and learned.failure is None)
            return Move(writer.acknowledge(need.request.insights, kept=kept))
        if need.request.reveals:
            return Move(writer.reply_to_reveal())
        return Move(writer.small_talk())

    def about_weather(self, writer: Writer) -> Move:
        need = self.need
        match self.error:
            case "needless_question":
                return Move(writer.ask_needlessly())
            case "forgotten_tool":
                cities = need.cities or ((self.liking.home,) if self.liking.home else ())
                return Move(
                    writer.invented(cities[0] if cities else "", need.when.days if need.when.needs_forecast else 0)
                )
            case "ignored_context":
                if need.cities and not need.city_is_remembered:
                    return Move(writer.ask_likes())
                if not need.cities or self.draw("another city").random() < 0.5:
                    return Move(writer.ask_city())
                need = replace(need, cities=(self.another_city(),), compares=False)
                writer.need = need
        calls = self.calls(need)
        if calls:
            return Move(calls=tuple(calls))
        cities = need.cities or ((self.liking.home,) if self.liking.home else ())
        if not cities:
            return Move(_with_thanks(writer, writer.ask_city()))
        now, outlooks, troubles = self.collected(need, cities)
        if self.error == "wrong_figure":
            draw = self.draw("wrong figure")
            off = round(draw.uniform(*_OFF_BY), 1) * draw.choice((-1, 1))
            now = [one.off_by(off) for one in now]
            outlooks = [replace(one, days=tuple(day.off_by(off) for day in one.days)) for one in outlooks]
        if not now and not outlooks and not troubles:
            return Move(
                "I have no way to look up the weather here, so I can't tell you. However, you can check a weather site instead."
            )
        return Move(_with_thanks(writer, writer.answer(now, outlooks, troubles)))

    def calls(self, need: Need) -> list[ToolUse]:
        return planning.next_calls(need, self.found, self.liking, self.toolbox, knows_user=self.knows_user)

    def another_city(self) -> str:
        asked = {same_name(city) for city in self.need.cities}
        before = [city for city in _all_cities(self.earlier) if same_name(city) not in asked]
        options = before or [city for city in _OTHER_CITIES if same_name(city) not in asked]
        return self.draw("another city").choice(options)

    def collected(self, need: Need, cities: Sequence[str]) -> tuple[list[Now], list[Outlook], list[Trouble]]:
        """What this turn's calls gave for the cities, in their order."""
        found: Findings = self.found
        now: list[Now] = []
        outlooks: list[Outlook] = []
        troubles: list[Trouble] = []
        for city in cities[: planning.MOST_CITIES]:
            key = same_name(city)
            results = [found.now.get(key) if need.when.needs_current else None]
            results.append(found.outlook.get(key) if need.when.needs_forecast else None)
            for result in results:
                if isinstance(result, Now):
                    now.append(result)
                elif isinstance(result, Outlook):
                    outlooks.append(result)
                elif isinstance(result, Trouble) and not any(
                    t.city == result.city and t.kind == result.kind for t in troubles
                ):
                    troubles.append(result)
        return now, outlooks, troubles

    def forced(self, move: Move, tool_choice: str, tools: Sequence[Mapping[str, Any]]) -> Move:
        """The move where a tool must be called: the one wanted anyway, else the named one or the first."""
        names = list(self.toolbox.parameters)
        name = tool_choice if tool_choice in names else None
        fitting = tuple(call for call in move.calls if name is None or call.name == name)
        if fitting or not names:
            return Move(calls=fitting) if fitting else move
        chosen = name or names[0]
        role = self.toolbox.role_of(chosen)
        city = (self.need.cities or ((self.liking.home,) if self.liking.home else ()) or ("Helsinki",))[0]
        arguments: dict[str, Any] = {}
        if role in (planning.CURRENT, planning.FORECAST):
            arguments["city"] = city
        elif role == planning.LEARN:
            arguments["insight"] = (
                "; ".join(one.told for one in self.need.request.insights) or self.exchanges[-1].said[:200]
            )
        if role and self.toolbox.has(role):
            return Move(calls=(replace(self.toolbox.use(role, **arguments), name=chosen),))
        return Move(calls=(ToolUse(chosen, _filled(self.toolbox.parameters[chosen], self.exchanges[-1].said)),))


def _with_thanks(writer: Writer, text: str) -> str:
    """An answer after what was told or said besides the question."""
    if writer.need.request.insights:
        return f"{writer.pick('Noted that', 'I will remember that')} {' and that '.join(one.echoed for one in writer.need.request.insights)}. {text}"
    return text


def _all_cities(needs: Sequence[Need]) -> list[str]:
    found: dict[str, str] = {}
    for need in needs:
        for city in need.cities:
            found.setdefault(same_name(city), city)
    return list(found.values())


def _filled(schema: Mapping[str, Any], said: str) -> dict[str, Any]:
    """Arguments for a tool that nothing is known of but its schema."""
    plain: dict[str, Any] = {
        "string": said[:200],
        "integer": 1,
        "number": 1.0,
        "boolean": True,
        "array": [],
        "object": {},
    }
    properties = schema.get("properties") or {}
    return {
        name: plain.get((properties.get(name) or {}).get("type", "string"), said[:200])
        for name in schema.get("required") or ()
    }
