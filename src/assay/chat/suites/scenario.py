"""`Suite`, `Scenario` and `ScenarioTurn`: what users say to agents, what is true, and what answers must satisfy.

It knows nothing about agents and runs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from assay.chat.running.users.persona import DECIDES, tellable
from assay.chat.scoring.metric import METRICS
from assay.chat.scoring.outcomes.robustness import QuirkOutcome
from assay.chat.suites.fields import (
    DomainName,
    ExpectedCall,
    FaultText,
    Name,
    QuirkText,
    RequiredScore,
    ScenarioClock,
    Text,
)
from assay.chat.suites.known import unknown_names
from assay.chat.world.faults import Fault
from assay.chat.world.openweather import MAX_FORECAST_DAYS
from assay.chat.world.quirks import Quirk
from assay.chat.world.shop import CATALOGUE, ORDERS
from assay.chat.world.situation import HangUpMoment, UserDecision
from assay.chat.yamlfile import refusal, refused
from assay.errors import UsageError, unknown_name


class _Model(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True)


def _weather(value: Any) -> Any:
    return {"city": value} if isinstance(value, str) else value


def _calls(value: Any) -> Any:
    if isinstance(value, str) and value != "any":
        raise refusal(f"'{value:.60}' is not a list of tool calls", hint=f"Write calls: [{value:.60}], or calls: any")
    return None if value == "any" else value


class ScenarioWeather(_Model):
    """The weather that an answer must agree with. It is looked up in the environment when the turn is run."""

    city: Text
    days: int = Field(default=0, ge=0, le=MAX_FORECAST_DAYS)
    """Number of forecast days; 0 for the current weather only."""


class ScenarioTurn(_Model):
    """What the user says, what is true, and what the answer must satisfy."""

    user: Text
    """What the user says."""
    weather: Annotated[ScenarioWeather, BeforeValidator(_weather)] | None = None
    """The true weather of a city: current, and the forecast if days are given. The city alone is a short form."""
    truth: Any = None
    """The ground truth in the domain's own shape; instead of weather."""
    preferences: dict[str, Any] | None = None
    """What the user says about themselves in this turn; answers are checked against it from here on."""
    calls: Annotated[list[ExpectedCall] | None, BeforeValidator(_calls)] = None
    """The expected tool calls; the turn passes only if they are made. An empty list: no tool may be called. `any`, or
    left out: any calls are accepted."""
    checks: list[RequiredScore] = Field(default_factory=list)
    """Conditions for the turn to pass. Without them the default rule applies: the task is completed, nothing that can
    be checked is wrong, and what is asked for is claimed."""
    says: list[Text] = Field(default_factory=list)
    """Texts that the answer must contain; case is ignored."""
    never_says: list[Text] = Field(default_factory=list)
    """Texts that the answer must not contain; case is ignored."""
    state: dict[str, Any] | None = None
    """What must be stored about the user after this turn: `dislikes_cold: true`. The default rule on the answer does
    not apply in a turn that has it, even if it is empty."""
    restart: Literal["before", "during"] | None = None
    """When the agent's process is killed: before this turn, or in the middle of it, after which it is asked again. The
    conversation continues in another process."""
    hang_up: HangUpMoment | None = None
    """When the user hangs up: while the `text` of the answer comes, while a `tool` runs, or `between` a tool's result
    and the next request to the model. What is under way must stop, and the next turn must be whole."""
    consent: UserDecision | None = None
    """What the user does if a tool needs their approval: `approve`, `refuse` or `ignore` it, that is, go on with the
    next message. The assistants then have a tool that deletes what is known about the user."""
    fault: FaultText | None = None
    """The fault in this turn; overrides the scenario's."""
    quirk: QuirkText | None = None
    """How the model, its endpoint or a tool misbehaves in this turn. The result is then one outcome, and the
    conversation continues even if the turn fails."""
    outcome: QuirkOutcome | None = None
    """The worst outcome with which a turn with a quirk passes; `failed_clearly` if left out."""

    @model_validator(mode="after")
    def _one_truth(self) -> ScenarioTurn:
        if self.weather is not None and self.truth is not None:
            raise refusal("the turn has both weather and truth", hint="Keep one of them", at=("truth",))
        return self

    @model_validator(mode="after")
    def _can_be_passed(self) -> ScenarioTurn:
        for at, text in enumerate(self.never_says):
            for wanted in self.says:
                if text.casefold() in wanted.casefold():
                    raise refusal(
                        f"an answer that says '{wanted:.60}' says '{text:.60}' too, so that none could pass",
                        hint="Keep one of the two",
                        at=("never_says", at),
                    )
        for at, check in enumerate(self.checks):
            for earlier in self.checks[:at]:
                if check.excludes(earlier):
                    what = f"no answer passes both '{earlier}' and '{check}'"
                    raise refusal(what, hint="Keep one of the two", at=("checks", at))
        return self

    @model_validator(mode="after")
    def _outcome_of_quirk(self) -> ScenarioTurn:
        if self.outcome is not None and self.quirk is None:
            raise refusal("the turn has an outcome and no quirk", hint="Add a quirk, or use checks", at=("outcome",))
        return self

    @model_validator(mode="after")
    def _one_disturbance(self) -> ScenarioTurn:
        given = [name for name in ("restart", "hang_up", "consent", "quirk") if getattr(self, name) is not None]
        if len(given) > 1 and {"hang_up", "consent"} & set(given):
            raise refusal(f"the turn has both {given[0]} and {given[1]}", hint="Keep one of them", at=(given[1],))
        return self


class Persona(_Model):
    """A simulated user with a goal: what they say depends on the answers they get, and is drawn by seed."""

    goal: dict[str, Any] = Field(min_length=1)
    """What the assistant should have stored about the user at the end: `dislikes_cold: true`, or, in the shop, what is
    on order: `orders: {Wool Hat: 2}`."""
    city: Text = "Oslo"
    """Where they want advice for."""
    changes_mind: list[Text] = Field(default_factory=list)
    """Products of the shop that they order and then cancel."""
    patience: int = Field(default=6, ge=2, le=50)
    """How many turns they take."""

    @model_validator(mode="after")
    def _tellable(self) -> Persona:
        if ORDERS in self.goal:
            self._check_orders()
            return self
        if self.changes_mind:
            raise refusal("a persona cancels only orders of the shop", hint="Add orders to its goal")
        known = tellable()
        for name, value in self.goal.items():
            if name not in known:
                raise refused(unknown_name("goal of a persona", name, [*known, ORDERS]), at=("goal", name))
            if not any(type(value) is type(one) and value == one for one in known[name]):
                values = " or ".join(json.dumps(one) for one in known[name])
                raise refusal(
                    f"a persona has no words for {name}: {json.dumps(value, default=str):.60}",
                    hint=f"It can be {values}; for anything else write the messages as turns",
                    at=("goal", name),
                )
        return self

    def _check_orders(self) -> None:
        """Orders are of products that the shop has, and a persona that orders has no other goal."""
        orders = self.goal[ORDERS]
        if len(self.goal) > 1 or not isinstance(orders, dict) or not (orders or self.changes_mind):
            raise refusal("is not a goal of orders alone", hint="Write {orders: {Wool Hat: 2}}", at=("goal", ORDERS))
        for name in (*orders, *self.changes_mind):
            if name not in CATALOGUE:
                at = ("goal", ORDERS) if name in orders else ("changes_mind",)
                raise refused(unknown_name("product", str(name), CATALOGUE), at=at)
        if any(type(pieces) is not int or pieces < 1 for pieces in orders.values()):
            raise refusal("orders are numbers of pieces, 1 or more", hint="Write {Wool Hat: 2}", at=("goal", ORDERS))


def _turns_of_persona(value: Any) -> Any:
    """A scenario with a persona has as many turns as its patience, and the goal as the state after the last."""
    if not isinstance(value, dict) or not isinstance(value.get("persona"), dict):
        return value
    if value.get("turns"):
        raise refusal("the scenario has both turns and a persona", hint="Keep one of them", at=("turns",))
    persona = value["persona"]
    patience = persona.get("patience", 6)
    if not isinstance(patience, int) or not 2 <= patience <= 50 or not isinstance(persona.get("goal"), dict):
        return {**value, "turns": [{"user": DECIDES}]}  # the persona itself is refused, with a better message
    # The wording does not matter, so the default rule does not apply in any turn.
    turns: list[dict[str, Any]] = [{"user": DECIDES, "state": {}} for _ in range(patience)]
    turns[-1]["state"] = persona["goal"]
    return {**value, "turns": turns}


class Scenario(_Model):
    """A conversation that every agent plays."""

    id: Name
    """Name in results; unique in the suite."""
    kind: Name
    """What it tests: current, forecast, advice, context, failure, … Results are grouped by it; any word is allowed."""
    about: str = ""
    """One sentence on its purpose."""
    clock: ScenarioClock | None = None
    """The time at which it takes place, with its offset or in UTC; the suite's clock if left out."""
    preferences: dict[str, Any] | None = None
    """What is known about the user before the conversation: `dislikes_cold: true`."""
    fault: FaultText | None = None
    """The fault in every turn."""
    persona: Persona | None = None
    """A simulated user, in place of turns."""
    turns: list[ScenarioTurn] = Field(default_factory=list, min_length=1, validate_default=True)
    """The turns, in order; those of a persona follow from it."""

    _persona = model_validator(mode="before")(_turns_of_persona)

    def fault_of(self, turn: int) -> Fault | None:
        """The fault in a turn, counted from 0."""
        text = self.turns[turn].fault or self.fault
        return None if text is None else Fault.parse(text)

    def quirk_of(self, turn: int) -> Quirk | None:
        """The quirk in a turn, counted from 0."""
        text = self.turns[turn].quirk
        return None if text is None else Quirk.parse(text)

    @cached_property
    def has_restarts(self) -> bool:
        """Whether the process of an agent is killed in one of its turns."""
        return any(turn.restart is not None for turn in self.turns)

    @cached_property
    def has_hang_ups(self) -> bool:
        """Whether the user hangs up in one of its turns."""
        return any(turn.hang_up is not None for turn in self.turns)

    @cached_property
    def has_consent(self) -> bool:
        """Whether the user has to approve a tool in one of its turns."""
        return any(turn.consent is not None for turn in self.turns)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it has nothing but messages, so that any agent can play it: nothing is known, stored or disturbed."""
        return not (self.preferences or self.fault or self.has_restarts or self.goes_on) and not any(
            turn.fault or turn.state for turn in self.turns
        )

    @cached_property
    def goes_on(self) -> bool:
        """Whether the conversation goes on after a turn that failed, to see whether the next one works."""
        return self.has_quirks or self.has_hang_ups or self.has_consent

    @model_validator(mode="after")
    def _consent_to_something(self) -> Scenario:
        if self.has_consent and not self.preferences:
            raise refusal(
                "the scenario asks for consent, and nothing is known about the user that could be deleted",
                hint="Add preferences, such as {dislikes_cold: true}",
                at=("preferences",),
            )
        return self

    @cached_property
    def has_quirks(self) -> bool:
        """Whether the model, its endpoint or a tool misbehaves in one of its turns."""
        return any(turn.quirk is not None for turn in self.turns)


class Suite(_Model):
    """Scenarios that belong together."""

    name: Name
    """Name in results."""
    version: int = Field(ge=1)
    """Increased whenever results are no longer comparable with earlier ones."""
    domain: DomainName = "weather"
    """What the conversations are about: the name of a domain that is installed, or given with `--domain`."""
    language: Name = "en"
    """The language of the conversations."""
    description: str = ""
    """Its purpose."""
    clock: ScenarioClock | None = None
    """The time at which scenarios without a clock take place; the time of the run if left out."""
    names: list[Text] = Field(default_factory=list)
    """Cities or products in the conversations that the gazetteer does not have."""
    tools: list[Text] = Field(default_factory=list)
    """Tools of the agents that the domain does not name; a call of any other tool is an error."""
    turn_timeout: float | None = Field(default=None, gt=0)
    """Seconds that a turn may take, if the run does not say otherwise. A third of it is the time for one model call."""
    scenarios: list[Scenario] = Field(min_length=1)
    """The conversations."""

    @model_validator(mode="after")
    def _ids_differ(self) -> Suite:
        first: dict[str, int] = {}
        for at, scenario in enumerate(self.scenarios):
            if scenario.id in first:
                raise refusal(
                    f"two scenarios have the id '{scenario.id}'",
                    hint=f"Rename one; the other is scenario {first[scenario.id] + 1}",
                    at=("scenarios", at, "id"),
                )
            first[scenario.id] = at
        return self

    @model_validator(mode="after")
    def _metrics_exist(self) -> Suite:
        # Here and not for each check: listing the metrics of other packages takes a while.
        known = set(METRICS.names())
        for at, scenario in enumerate(self.scenarios):
            for number, turn in enumerate(scenario.turns):
                for place, check in enumerate(turn.checks):
                    if check.metric not in known:
                        where = ("scenarios", at, "turns", number, "checks", place)
                        raise refused(unknown_name("metric", check.metric, known), at=where)
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> Suite:
        for problem in unknown_names(self):
            raise problem
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the suite's content; comments, short forms and explicit defaults do not change it."""
        content = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    @property
    def is_about_weather(self) -> bool:
        """Whether its answers depend on the weather. Those of a suite that names tools do if it has a truth of it."""
        if self.domain != "weather":
            return False
        return not self.tools or any(turn.weather for scenario in self.scenarios for turn in scenario.turns)

    @property
    def has_made_up_truth(self) -> bool:
        """Whether the truth of a turn is looked up in the agents' environment."""
        return any(turn.weather is not None for scenario in self.scenarios for turn in scenario.turns)

    @property
    def has_restarts(self) -> bool:
        """Whether the process of an agent is killed in one of its scenarios."""
        return any(scenario.has_restarts for scenario in self.scenarios)

    @property
    def has_quirks(self) -> bool:
        """Whether one of its scenarios has a quirk."""
        return any(scenario.has_quirks for scenario in self.scenarios)

    @property
    def has_consent(self) -> bool:
        """Whether the user has to approve a tool in one of its scenarios."""
        return any(scenario.has_consent for scenario in self.scenarios)

    @property
    def is_about_quality(self) -> bool:
        """Whether answers are what it is about, and not what happens if something goes wrong."""
        return not any(scenario.goes_on for scenario in self.scenarios)

    @property
    def kinds(self) -> list[str]:
        """Kinds of scenario, in order of first occurrence."""
        return list(dict.fromkeys(scenario.kind for scenario in self.scenarios))

    def clock_of(self, scenario: Scenario) -> datetime | None:
        """The time at which a scenario takes place; None for the time of the run."""
        return scenario.clock or self.clock

    def select(
        self, *, kinds: Iterable[str] | None = None, ids: Iterable[str] | None = None, limit: int | None = None
    ) -> Suite:
        """Part of the suite: scenarios of these kinds and ids (`failure-*` is a pattern), at most `limit` of them.

        A limit takes scenarios from each kind in turn, so that a small part still covers every kind; the order is kept.
        """
        chosen = self.scenarios
        wanted_kinds, wanted_ids = None if kinds is None else list(kinds), None if ids is None else list(ids)
        if wanted_kinds is not None:
            wanted = set(wanted_kinds)
            for kind in sorted(wanted - set(self.kinds)):
                raise unknown_name("kind of scenario", kind, self.kinds)
            chosen = [scenario for scenario in chosen if scenario.kind in wanted]
        if wanted_ids is not None:
            chosen = _named(chosen, wanted_ids)
        if limit is not None:
            if limit < 1:
                raise UsageError(f"limit must be at least 1, got {limit}")
            chosen = _spread(chosen, limit)
        if not chosen:
            if wanted_kinds == [] or wanted_ids == []:
                what, known = ("kind", self.kinds) if wanted_kinds == [] else ("id", [one.id for one in self.scenarios])
                raise UsageError(f"no {what} of a scenario is named", hint=f"Name some of: {', '.join(known[:20])}")
            raise UsageError("no scenario is selected", hint="No scenario has both one of the kinds and one of the ids")
        return self.model_copy(update={"scenarios": chosen})


def _named(scenarios: list[Scenario], patterns: list[str]) -> list[Scenario]:
    for pattern in patterns:
        if not any(fnmatchcase(scenario.id, pattern) for scenario in scenarios):
            raise unknown_name("scenario", pattern, [scenario.id for scenario in scenarios])
    return [scenario for scenario in scenarios if any(fnmatchcase(scenario.id, pattern) for pattern in patterns)]


def _spread(scenarios: list[Scenario], limit: int) -> list[Scenario]:
    """At most `limit` scenarios, taken from each kind in turn."""
    rounds: dict[str, int] = {}
    ranked = []
    for at, scenario in enumerate(scenarios):
        rounds[scenario.kind] = rounds.get(scenario.kind, 0) + 1
        ranked.append((rounds[scenario.kind], at))
    return [scenarios[at] for at in sorted(at for _, at in sorted(ranked)[:limit])]
