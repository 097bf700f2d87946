"""The bundled weather suite: what it covers, and that an assistant without mistakes passes it."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter

import pytest
from tests.chat.gaming import BOTS, played_by
from tests.chat.reference_assistant import play

from assay.chat.evaluator import METRIC_NAMES, ChatbotEvaluator
from assay.chat.scoring.scores import Scores, score
from assay.chat.suites import Scenario, load_suite
from assay.chat.world.cities import find_city
from assay.chat.world.embedded import World
from assay.chat.world.faults import FAULTS
from assay.chat.world.scripted import Skill
from assay.compare.skill import skill_over

# --- the weather suite -----------------------------------------------------------------------------------------------

WEATHER = load_suite("weather")
KINDS = [
    "current", "forecast", "advice", "context", "preferences", "ambiguity", "failure", "repeats", "paraphrases",
    "comparison", "units", "small_talk", "injection",
]  # fmt: skip


def identify(scenario: Scenario) -> str:
    return scenario.id


def test_it_has_enough_of_each_kind() -> None:
    kinds = Counter(scenario.kind for scenario in WEATHER.scenarios)
    assert list(kinds) == KINDS
    assert min(kinds.values()) >= 4
    assert len(WEATHER.scenarios) >= 70
    assert sum(len(scenario.turns) for scenario in WEATHER.scenarios) >= 110


def test_it_has_every_fault() -> None:
    faults = {str(scenario.fault_of(at)) for scenario in WEATHER.scenarios for at in range(len(scenario.turns))}
    assert {fault.split("*")[0] for fault in faults} - {"None"} == set(FAULTS)
    assert {"timeout*1", "server_error*1", "rate_limited*1", "model_error*1", "model_rate_limited*1"} <= faults


def test_it_travels_through_the_year_and_the_world() -> None:
    months = {clock.month for scenario in WEATHER.scenarios if (clock := WEATHER.clock_of(scenario))}
    assert months == set(range(1, 13))
    assert len(cities()) >= 60


def cities() -> set[str]:
    turns = [turn for scenario in WEATHER.scenarios for turn in scenario.turns]
    asked = {call.arguments["city"] for turn in turns for call in turn.calls or () if "city" in call.arguments}
    return asked | {turn.weather.city for turn in turns if turn.weather is not None}


def test_every_city_is_known_to_the_reader_of_answers() -> None:
    """A city that scoring does not recognise cannot be remembered, compared or asked for."""
    evaluator = ChatbotEvaluator(names=WEATHER.names, metrics=["accuracy"])

    def is_known(city: str) -> bool:
        return bool(evaluator.context(f"weather in {city}", "", "").question.places)

    assert {city for city in cities() if not is_known(city)} == set()


def test_every_city_but_one_is_in_the_embedded_world() -> None:
    assert {city for city in cities() if find_city(city) is None} == {"Atlantis"}


@pytest.mark.parametrize("scenario", WEATHER.scenarios, ids=identify)
def test_every_turn_demands_something(scenario: Scenario) -> None:
    assert scenario.id.startswith(scenario.kind.replace("_", "-"))
    for at, turn in enumerate(scenario.turns):
        assert turn.checks or turn.says or turn.never_says
        fault = scenario.fault_of(at)
        if fault is not None and fault.kind == "injection":
            assert turn.never_says == ["PWNED"]
        if scenario.kind == "injection":
            assert "PWNED" in turn.never_says
        if any(check.metric == "accuracy" and check.value > 0 for check in turn.checks):
            assert turn.weather is not None, "accuracy needs a truth"


# --- the weather suite, played ---------------------------------------------------------------------------------------

TURNS = sum(len(scenario.turns) for scenario in WEATHER.scenarios)


@functools.cache
def played(seed: int, *kinds: str, **errors: float) -> Scores:
    """The suite on an assistant without a framework, with the embedded weather and the scripted model."""
    with World(seed=seed, skill=Skill(**errors)) as world:
        return score(asyncio.run(play(WEATHER.select(kinds=kinds or None), world)))


def failed(scores: Scores) -> set[str]:
    return {f"{answer.scenario} turn {answer.turn}" for answer in scores.answers if not answer.passed}


@pytest.mark.slow
def test_an_agent_without_mistakes_passes() -> None:
    # With another seed, in the five frameworks: tests/test_cli_agents.py
    scores = played(1)
    assert len(scores.answers) == TURNS
    wrong = failed(scores)
    assert len(wrong) <= 0.05 * TURNS, wrong


@pytest.mark.slow
def test_every_metric_of_an_answer_is_measured_often_enough() -> None:
    measured = {name: set[str]() for name in METRIC_NAMES}
    for answer in played(1).answers:
        for name, entry in answer.entries.items():
            if entry.measured:
                measured[name].add(answer.scenario)
    of_the_source = {"implementation_effort", "integration_simplicity", "debuggability"}
    assert {name for name, scenarios in measured.items() if len(scenarios) < 8} == of_the_source


LOOKED_UP = ("current", "forecast", "advice", "repeats", "paraphrases", "injection")


@pytest.mark.parametrize(
    ("error", "kinds", "most"),
    [
        ("wrong_figure", LOOKED_UP, 0.05),
        ("forgotten_tool", LOOKED_UP, 0.05),
        ("needless_question", LOOKED_UP, 0.05),
        # It can only show from the second turn on.
        ("ignored_context", ("context",), 0.75),
    ],
)
@pytest.mark.slow
def test_a_model_that_makes_mistakes_does_not(error: str, kinds: tuple[str, ...], most: float) -> None:
    """Each error that the scripted model can make is seen where it matters."""
    passed = [answer.passed for answer in played(1, *kinds, **{error: 1.0}).answers]
    assert sum(passed) <= most * len(passed)


# --- bots without skill ----------------------------------------------------------------------------------------------

MOST_PASSED = 0.1
"""The share of scenarios that a bot may pass which does not look at what it is asked."""


@functools.cache
def gamed(name: str) -> Scores:
    with World(seed=1) as world:
        return score(played_by(name, WEATHER, world))


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.slow
def test_no_bot_without_skill_is_above_the_honest_agent(name: str) -> None:
    """On no metric of answers but the response time: who says nothing true is fast."""
    honest, bot = played(1), gamed(name)
    found = skill_over(honest, bot)
    above = {one.metric: (one.value, one.best) for one in found.metrics if one.value > one.best + 1e-9}
    assert above.keys() <= {"response_time"}, above


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.slow
def test_no_bot_without_skill_passes(name: str) -> None:
    passed = [scenario for scenario, trials in gamed(name).trials(name).items() if all(trials.values())]
    assert len(passed) <= MOST_PASSED * len(WEATHER.scenarios), passed


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answers() -> None:
    part = WEATHER.select(limit=13)
    with World(seed=5) as world:
        first, second = (asyncio.run(play(part, world)) for _ in range(2))
    assert [[turn.assistant for turn in one.turns] for one in first] == [
        [turn.assistant for turn in one.turns] for one in second
    ]
