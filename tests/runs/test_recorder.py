"""A run of agents grows turn by turn: what is kept stays, what was cut off is deleted, the rest is reported as done."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.store.runs import some_run

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.metric import Entry
from assay.chat.transcript import ToolCall
from assay.errors import StoreError, UnknownRunError
from assay.runs import ExperimentResult, load, load_answers
from assay.runs.recorder import Recorder
from assay.store import open_store
from assay.types import Case, Distribution, Run

TURNS = {"hello": 1, "long": 3}


def a_trial() -> Run:
    run = some_run("trial")
    settings = {
        "seed": 1,
        "metrics": {"accuracy": {"group": "functional", "version": "chat@1"}},
        "agents": [{"name": "b"}, {"name": "a"}],
        "suite": {"name": "greetings", "version": 1, "scenarios": list(TURNS)},
        "experience": {},
        "notes": [],
    }
    return replace(run, kind="experiment", settings=settings, tallies={}, seed=1)


def said(agent: str, scenario: str, turn: int, *, repetition: int = 0, score: float = 1.0, text: str = "dry") -> Answer:
    entry = Entry(score=score, measured=True, band="good", details="", evidence=[], base=1.0, group="functional")
    record = Record(
        kind="current",
        tool_calls=[ToolCall(name="get", arguments={"city": "Oslo"}, result={"t": 5}, duration=0.25)],
        model_calls=2,
        wall=0.5,
        model=0.25,
        tools=0.125,
        first_text=0.4,
        input_tokens=10,
        output_tokens=3,
    )
    return Answer(
        agent=agent,
        scenario=scenario,
        repetition=repetition,
        turn=turn,
        query="Is it wet?",
        response=text,
        entries={"accuracy": entry},
        passed=True,
        record=record,
    )


def failed(agent: str, scenario: str, turn: int) -> Answer:
    record = Record(status="failed", reason="ValueError: no", kind="current", wall=0.1)
    return Answer(
        agent=agent,
        scenario=scenario,
        repetition=0,
        turn=turn,
        query="Is it wet?",
        response="",
        entries={},
        passed=False,
        record=record,
    )


@pytest.mark.slow
def test_what_is_kept_comes_back_with_its_record(address: str) -> None:
    with open_store(address) as store:
        recorder = Recorder(store, a_trial())
        recorder.keep(said("a", "hello", 0))
        recorder.keep(failed("b", "hello", 0))
        recorder.flush()
        scored, broken = load_answers(recorder.id, store=store)
        assert scored.record == said("a", "hello", 0).record
        assert scored.record is not None
        assert scored.record.overhead == 0.125
        assert (broken.record, broken.entries, broken.passed) == (failed("b", "hello", 0).record, {}, False)


def test_conversations_that_are_whole_are_done_and_those_in_part_are_forgotten(address: str) -> None:
    with open_store(address) as store:
        recorder = Recorder(store, a_trial())
        recorder.keep(said("a", "hello", 0))
        recorder.keep(said("a", "long", 0))
        recorder.keep(said("a", "long", 1))
        for turn in range(3):
            recorder.keep(said("b", "long", turn, repetition=1))
        recorder.flush()
        assert Recorder(store, replace(a_trial(), id=recorder.id)).done(TURNS) == {("a", "hello", 0), ("b", "long", 1)}
        left = {(one.agent, one.scenario, one.repetition, one.turn) for one in load_answers(recorder.id, store=store)}
        assert left == {("a", "hello", 0, 0), *(("b", "long", 1, turn) for turn in range(3))}


def test_a_conversation_held_anew_takes_the_place_of_the_first(address: str) -> None:
    with open_store(address) as store:
        recorder = Recorder(store, a_trial())
        recorder.keep(said("a", "long", 0, text="first"))
        recorder.keep(said("a", "hello", 0, text="another"))
        recorder.drop("a", "long", 0)
        recorder.drop("nobody", "long", 0)
        recorder.drop("a", "unheard", 0)
        recorder.keep(said("a", "long", 0, text="second"))
        recorder.flush()
        assert {one.response for one in load_answers(recorder.id, store=store)} == {"another", "second"}


def test_a_turn_is_stored_soon_without_being_asked_for(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        recorder = Recorder(store, a_trial())
        recorder.keep(said("a", "hello", 0))
        while not load_answers(recorder.id, store=store):
            time.sleep(0.02)


def test_turns_are_written_together_and_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    with open_store(tmp_path / "runs.db") as store:
        recorder = Recorder(store, a_trial())
        recorder.done(TURNS)
        add = store.add_cases

        def counted(*given: Any, **more: Any) -> int:
            writes.append(1)
            return add(*given, **more)

        monkeypatch.setattr(store, "add_cases", counted)
        monkeypatch.setattr(store, "answers", None)  # nothing is read a second time
        for repetition in range(100):
            recorder.keep(said("a", "hello", 0, repetition=repetition))
        recorder.finish()
        assert len(recorder.answers()) == 100
    assert len(writes) < 10


def test_what_the_store_refuses_behind_the_runners_back_is_raised_by_the_next_call(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        recorder = Recorder(store, a_trial())
        store.delete(recorder.id)
        recorder.keep(said("a", "hello", 0))

        def keep_on() -> None:
            for repetition in count(1):
                time.sleep(0.02)
                recorder.keep(said("a", "hello", 0, repetition=repetition))

        with pytest.raises(UnknownRunError):
            keep_on()
        with pytest.raises(UnknownRunError):
            recorder.flush()


def test_tallies_are_made_at_the_end_from_everything_that_was_kept(address: str) -> None:
    with open_store(address) as store:
        recorder = Recorder(store, a_trial())
        for repetition, score in enumerate((1.0, 0.5, 0.5)):
            recorder.keep(said("a", "hello", 0, repetition=repetition, score=score))
        recorder.keep(failed("b", "hello", 0))
        with pytest.raises(StoreError, match="unfinished"):
            store.load(recorder.id)
        recorder.finish()
        run = store.load(recorder.id)
        states = run.tallies["a"][Case("hello")]
        assert states["accuracy"] == Distribution.of([0.5, 0.5, 1.0])
        assert states["overhead_ms"] == Distribution.of([125.0] * 3)
        assert states["wall_ms"] == Distribution.of([500.0] * 3)
        # What failed has no scores, and is seen as a trial that does not pass.
        assert run.tallies["b"][Case("hello")] == {
            "trials_passed": Distribution.of([0.0]),
            "turns_failed": Distribution.of([1.0]),
            "turns_skipped": Distribution.of([0.0]),
        }


def test_agents_come_in_the_order_in_which_they_were_named(address: str) -> None:
    with open_store(address) as store:
        recorder = Recorder(store, a_trial())
        recorder.keep(said("a", "long", 0))
        recorder.keep(said("a", "hello", 0))
        recorder.keep(said("b", "hello", 0))
        recorder.finish()
        run = store.load(recorder.id)
        assert list(run.tallies) == ["b", "a"]
        result = load(recorder.id, store=store)
        assert isinstance(result, ExperimentResult)
        assert [(one.agent, one.scenario) for one in result.answers] == [("b", "hello"), ("a", "hello"), ("a", "long")]


def test_a_run_is_filled_by_one_process_at_a_time(address: str) -> None:
    with open_store(address) as store, open_store(address) as another:
        recorder = Recorder(store, a_trial())
        with store.locked(recorder.id):
            with pytest.raises(StoreError, match="another process is filling run"), another.locked(recorder.id):
                pass
            with another.locked("some other run"):
                pass
        with another.locked(recorder.id):
            pass
