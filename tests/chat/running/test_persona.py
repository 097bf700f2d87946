"""A simulated user: what they say follows from the seed and from the answers, and what is stored is the check."""

from __future__ import annotations

import pytest

from assay.chat import run
from assay.chat.agents import AGENTS
from assay.chat.running.users.persona import PersonaUser
from assay.chat.suites import load_suite, read_suite
from assay.chat.yamlfile import parse_yaml
from assay.errors import SourceError

GOAL = {"dislikes_cold": True, "outdoor_activities": True}


def talk(answers: list[str], seed: int = 1) -> list[str]:
    """What the user says to these answers, one after another."""
    user = PersonaUser(GOAL, "Oslo", seed=seed, key="a test")
    given: list[str | None] = [None, *answers]
    return [user.next(answer) for answer in given]


def test_a_user_who_is_understood_states_each_thing_once_and_then_asks() -> None:
    said = talk(["Noted: cold and hiking."] * 4)
    assert sorted("cold" in words for words in said[:2]) == [False, True]
    assert said[2] == "What do you know about me?"
    assert said[3:] == ["What should I wear in Oslo today?", "Should I go outside in Oslo?"]


def test_what_is_not_acknowledged_is_repeated_in_other_words() -> None:
    first, again, third, *_ = talk(["Pardon?"] * 3)
    told = [
        words.rpartition(": ")[2].removeprefix("Hi! ").removeprefix("By the way, ") for words in (first, again, third)
    ]
    assert len(set(told)) == 3


def test_what_the_assistant_left_out_is_repeated() -> None:
    said = talk(["Noted: cold and hiking."] * 2 + ["You hate the cold.", "Hiking, I see.", "You hike and hate cold."])
    # After the check, only hiking is missing; then it is checked once more.
    assert "hiking" in said[3]
    assert said[4] == "What do you know about me?"
    assert "Oslo" in said[5]


def test_the_same_seed_gives_the_same_user() -> None:
    assert talk(["Pardon?"] * 5) == talk(["Pardon?"] * 5)
    assert len({tuple(talk(["Pardon?"] * 5, seed=seed)) for seed in range(8)}) > 1


SUITE = (
    "name: x\nversion: 1\nscenarios:\n- id: a\n  kind: persona\n  persona: {goal: {dislikes_cold: true}, patience: 3}\n"
)


def test_a_persona_replaces_turns_and_its_goal_is_the_last_state() -> None:
    [scenario] = read_suite(parse_yaml(SUITE, "x.yaml")).scenarios
    assert [turn.state for turn in scenario.turns] == [{}, {}, {"dislikes_cold": True}]
    assert len(load_suite("personas").scenarios) == 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("dislikes_cold: true", "dislikes_cold: false", "no words for dislikes_cold: false"),
        (
            "dislikes_cold",
            "dislikes_cald",
            "no goal of a persona called 'dislikes_cald'. Did you mean 'dislikes_cold'?",
        ),
        ("patience: 3", "patience: 1", "greater than or equal to 2"),
        ("  persona:", "  turns: [{user: Hi}]\n  persona:", "both turns and a persona"),
    ],
)
def test_a_wrong_persona_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_suite(parse_yaml(SUITE.replace(old, new), "x.yaml"))
    assert words in str(caught.value)


@pytest.mark.frameworks
@pytest.mark.slow(seconds=5)
@pytest.mark.skipif("pydantic-ai" not in AGENTS.names(), reason="needs Pydantic AI")
def test_a_persona_reaches_its_goal_and_is_skipped_for_an_agent_with_its_own_memory() -> None:
    suite = load_suite("personas").select(ids=["persona-hiker"])
    agents = {"pydantic-ai": "pydantic-ai", "mine": lambda message: "Noted."}
    result = run(suite, agents, baselines=False)
    reached = [answer for answer in result.answers if answer.agent == "pydantic-ai"]
    assert all(answer.passed for answer in reached), [answer.failures for answer in reached]
    assert {"hik" in answer.query.casefold() for answer in reached[:2]} == {True, False}
    skipped = [answer.record.reason for answer in result.answers if answer.agent == "mine" and answer.record]
    assert set(skipped) == {"what an agent with its own memory has stored at the end is unknown"}
