"""Turns of baselines that are scored early do not change the order in which a store meets scenarios."""

from __future__ import annotations

from assay.chat.running.sinks import AgentsFirst, MemorySink
from assay.chat.scoring.answers import Answer


def _answer(agent: str, scenario: str, turn: int = 0) -> Answer:
    return Answer(
        agent=agent, scenario=scenario, repetition=0, turn=turn, query="?", response="!", entries={}, passed=True
    )


def test_a_baseline_waits_for_the_first_turn_of_an_agent_in_its_scenario() -> None:
    kept = MemorySink()
    sink = AgentsFirst(["stock"])
    sink.keep(_answer("stock", "b"))  # before there is a store
    sink.pass_on_to(kept, known=["c"])
    for answer in (
        *(_answer("stock", "b", 1), _answer("stock", "a"), _answer("stock", "c")),
        *(_answer("mine", "a"), _answer("mine", "b"), _answer("stock", "d")),
    ):
        sink.keep(answer)
    found = [(one.agent, one.scenario, one.turn) for one in kept.answers]
    assert found == [
        ("stock", "c", 0),
        ("mine", "a", 0),
        ("stock", "a", 0),
        ("mine", "b", 0),
        ("stock", "b", 0),
        ("stock", "b", 1),
    ]
    sink.release_all()
    assert [one.scenario for one in kept.answers][-1] == "d"
