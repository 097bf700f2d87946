"""Growth over a long conversation: an exponent that is known by construction comes out as it went in."""

from __future__ import annotations

import pytest

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.outcomes.growth import growth_of
from assay.chat.suites import load_suite


def conversation(turns: int, *, tokens: list[int], own: list[float], memory: list[int]) -> list[Answer]:
    """Turns of two model calls each, with so many tokens in both, and the framework's own time in seconds."""
    return [
        Answer(
            agent="a", scenario="long", repetition=0, turn=at, query="?", response="!", entries={}, passed=True,
            record=Record(
                model_calls=2, input_tokens=2 * tokens[at], wall=1.0 + own[at], model=1.0, tools=0.0, memory=memory[at]
            ),
        )
        for at in range(turns)
    ]  # fmt: skip


def test_what_grows_with_the_turns_has_exponent_one_and_what_does_not_has_none() -> None:
    n = 60
    answers = conversation(
        n,
        tokens=[100 * (at + 1) for at in range(n)],
        own=[0.020 + 0.0001 * (at % 2) for at in range(n)],
        memory=[2**20 + 3072 * at + 64 * (at % 2) for at in range(n)],
    )
    found = growth_of(answers, "a")
    assert found is not None
    assert found.turns == n
    # The first ten turns send 100 to 1,000 tokens, the last ten 5,100 to 6,000.
    assert found.tokens == (550.0, 5550.0)
    assert found.tokens_exponent is not None
    assert found.tokens_exponent.value == pytest.approx(1.0)
    assert found.own_exponent is not None
    assert found.own_exponent.value == pytest.approx(0.0, abs=0.01)
    assert found.memory_kb is not None
    assert found.memory_kb.value == pytest.approx(3.0, abs=0.01)
    assert found.trimmed_at is None


def test_a_history_that_becomes_shorter_is_trimmed_from_that_turn() -> None:
    tokens = [1000 + 100 * at for at in range(20)] + [1500] * 10
    answers = conversation(30, tokens=tokens, own=[0.01] * 30, memory=[2**20] * 30)
    found = growth_of(answers, "a")
    assert found is not None
    # 2,900 tokens in turn 20, and 1,500 in turn 21.
    assert found.trimmed_at == 21


def test_short_conversations_say_nothing() -> None:
    assert growth_of(conversation(19, tokens=[1] * 19, own=[0.1] * 19, memory=[1] * 19), "a") is None
    assert growth_of([], "a") is None


def test_the_suite_has_a_conversation_of_two_hundred_turns() -> None:
    assert {scenario.id: len(scenario.turns) for scenario in load_suite("long").scenarios} == {
        "long-60": 60,
        "long-200": 200,
    }
