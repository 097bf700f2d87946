"""What a store promises, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select
from tests.store.conftest import MakeRun
from tests.store.forked import exit_codes, kill_writers, resume_run, write_runs
from tests.store.runs import some_run, states_of

from assay.errors import StoreError, UnknownRunError, UsageError
from assay.runs import load
from assay.store import open_store, schema
from assay.store.encoding import encode_states
from assay.store.ids import new_id
from assay.store.store import Store
from assay.types import Case, Ratio


def answer(agent: str = "bot", scenario: str = "rain", repetition: int = 0, turn: int = 0) -> dict[str, Any]:
    entry = {"score": 0.8, "measured": True, "band": "good", "details": "Ünïcode\0.", "evidence": [{"start": 1}]}
    other = {"score": 0.5, "measured": False, "band": "acceptable", "details": "", "evidence": []}
    return {
        "agent": agent,
        "scenario": scenario,
        "repetition": repetition,
        "turn": turn,
        "query": "Rain?",
        "response": "No\0",
        "passed": False,
        "failures": [{"check": "says", "says": "no\0", "words": "Ünïcode"}],
        "metrics": {"accuracy": entry, "other": other},
        "record": None,
    }


@pytest.mark.slow
def test_a_run_comes_back_as_it_was(store: Store, make_run: MakeRun) -> None:
    run = make_run("mine")
    assert store.save(run) == run.id
    back = store.load(run.id)
    assert replace(back, tallies={}) == replace(run, tallies={})
    assert list(back.tallies) == ["owa", "d2e"]
    for group, by_case in run.tallies.items():
        assert list(back.tallies[group]) == list(by_case)
        for case, states in by_case.items():
            kept = dict(back.tallies[group][case])
            assert kept.pop("values").values.tolist() == states["values"].values.tolist()  # type: ignore[union-attr]
            assert kept == {name: state for name, state in states.items() if name != "values"}


def test_a_run_of_no_cases_is_a_run(store: Store, make_run: MakeRun) -> None:
    run = store.load(store.save(make_run(cases=0, groups=())))
    assert run.tallies == {}


def test_a_run_is_stored_once(store: Store, make_run: MakeRun) -> None:
    run = make_run()
    store.save(run)
    with pytest.raises(StoreError, match="already"):
        store.save(run)
    assert len(store.list()) == 1


def test_a_failure_in_the_middle_of_saving_leaves_nothing(store: Store, make_run: MakeRun) -> None:
    run = make_run()
    bad = replace(run, tallies={"owa": {Case("a"): {"x": Ratio(1, 2)}, Case("b"): {"x": "no state"}}})  # type: ignore[dict-item]
    with pytest.raises(KeyError):
        store.save(bad)
    assert store.list() == []
    assert store.save(run) == run.id


def test_a_run_filled_case_by_case_is_the_run_saved_whole(store: Store, make_run: MakeRun) -> None:
    run = make_run(cases=7)
    store.begin(run)
    for group, by_case in run.tallies.items():
        for case, states in by_case.items():
            assert store.add_cases(run.id, {group: {case: states}}) == 1
    store.finish(run.id)
    whole = replace(run, id=new_id())
    store.save(whole)
    first, second = store.load(run.id), store.load(whole.id)
    assert list(first.tallies) == list(second.tallies)
    assert {g: list(by_case) for g, by_case in first.tallies.items()} == {
        g: list(by_case) for g, by_case in second.tallies.items()
    }
    assert [entry.cases for entry in store.list()] == [7, 7]


def test_a_run_is_completed_with_its_last_tallies_and_its_summary(store: Store, make_run: MakeRun) -> None:
    run = make_run(cases=4)
    store.begin(run)
    store.finish(run.id, run.tallies, ("1", {"figures": []}))
    whole = replace(run, id=new_id())
    store.save(whole)
    first, second = (store.load(one.id).tallies for one in (run, whole))
    assert {g: {case: encode_states(one) for case, one in by_case.items()} for g, by_case in first.items()} == {
        g: {case: encode_states(one) for case, one in by_case.items()} for g, by_case in second.items()
    }
    assert store.summaries([run.id], "1") == {run.id: {"figures": []}}


def test_writing_a_case_again_changes_nothing(store: Store, make_run: MakeRun) -> None:
    run = make_run(cases=4)
    store.begin(run)
    assert store.add_cases(run.id, run.tallies, answers=[answer()]) == 8
    assert store.begin(run) == run.id
    assert store.done(run.id) == {(group, case) for group, by_case in run.tallies.items() for case in by_case}
    other = {group: {key: {"right": Ratio(0, 99)} for key in by_case} for group, by_case in run.tallies.items()}
    assert store.add_cases(run.id, other, answers=[answer(), answer(turn=1)]) == 0
    store.finish(run.id)
    store.finish(run.id)
    assert store.load(run.id).tallies["owa"][Case("case 1", "s1")]["right"] == Ratio(1, 2)
    assert store.answers(run.id) == [answer(), answer(turn=1)]


def test_an_unfinished_run_is_listed_and_never_loaded(store: Store, make_run: MakeRun) -> None:
    old, new = make_run("nightly"), make_run("nightly")
    store.save(old)
    store.begin(new)
    store.add_cases(new.id, new.tallies)
    assert [(entry.run.id, entry.complete) for entry in store.list()] == [(new.id, False), (old.id, True)]
    assert store.describe("@last").run.id == store.describe("nightly").run.id == old.id
    with pytest.raises(StoreError, match="unfinished: 3 cases"):
        store.load(new.id)
    store.finish(new.id)
    assert store.describe("@last").run.id == store.describe("nightly").run.id == new.id


def test_a_finished_run_cannot_grow(store: Store, make_run: MakeRun) -> None:
    run = make_run()
    store.save(run)
    with pytest.raises(StoreError, match="finished"):
        store.add_cases(run.id, {"owa": {Case("more"): states_of(1)}})
    with pytest.raises(StoreError, match="finished"):
        store.begin(run)
    with pytest.raises(UnknownRunError):
        store.add_cases(new_id(), {})
    with pytest.raises(UnknownRunError):
        store.finish(new_id())


def test_answers_come_back_with_their_entries(store: Store, make_run: MakeRun) -> None:
    said = [answer(agent, scenario, n) for agent in ("a", "b") for scenario in ("rain", "snow") for n in range(3)]
    run = store.save(make_run(kind="chat"), answers=said)
    assert store.answers(run) == said


def test_entries_that_measured_nothing_come_back_each_as_it_was(store: Store, make_run: MakeRun) -> None:
    nothing = {"score": 0.5, "measured": False, "band": "acceptable", "details": "Not measured: no truth."}
    whole = {**nothing, "evidence": [], "base": 0.5, "group": "functional", "version": "chat@1"}
    entries = [
        {"a": whole, "b": whole},
        {"a": {**whole, "details": "Not measured: no calls."}, "b": {**whole, "base": 0.0}},
        {"a": {**whole, "extra": 1}, "b": {**whole, "details": ["not", "hashable"]}},
    ]
    said = [{**answer(turn=at), "metrics": one} for at, one in enumerate(entries * 2)]
    run = store.save(make_run(kind="chat"), answers=said)
    assert store.answers(run) == said


def test_only_measured_scores_have_a_row_for_sql(store: Store, make_run: MakeRun) -> None:
    store.save(make_run(kind="chat"), answers=[answer()])
    with store._database.reading() as connection:
        rows = connection.execute(select(schema.scores.c.metric, schema.scores.c.score, schema.scores.c.measured)).all()
    assert [tuple(row) for row in rows] == [("accuracy", 0.8, True)]


def _attach(store: Store, name: str) -> None:
    """A file kept with each run, as the first versions could."""
    with store._database.writing() as connection:
        for number in (1, 2):
            row = {"run": number, "name": name, "media_type": "text/plain", "content": b"x"}
            connection.execute(insert(schema.artefacts).values(row))


def test_deleting_a_run_deletes_all_its_rows(store: Store, make_run: MakeRun) -> None:
    kept, gone = make_run("kept"), make_run("gone")
    for run in (kept, gone):
        store.save(run, answers=[answer()])
    _attach(store, "a file of an older assay")
    assert store.delete("gone") == gone.id
    assert [entry.run.id for entry in store.list()] == [kept.id]
    assert store.load(kept.id).tallies.keys() == kept.tallies.keys()
    with store._database.reading() as connection:
        for table in ("runs", "cases", "tallies", "turns", "scores", "artefacts", "tags"):
            rows = connection.exec_driver_sql(
                f"SELECT count(*) FROM {table} WHERE {'number' if table == 'runs' else 'run'} = 2"
            )
            assert rows.scalar() == 0, table


def test_tags_come_and_go(store: Store, make_run: MakeRun) -> None:
    run, other = store.save(make_run()), store.save(make_run())
    assert store.tag(run, "good", "baseline", "good") == ("baseline", "first", "good")
    assert store.tag(run, remove=["first", "never"]) == ("baseline", "good")
    assert store.load(run).tags == ("baseline", "good")
    assert [entry.run.id for entry in store.list(tag="good")] == [run]
    assert [entry.run.id for entry in store.list(tag="first")] == [other]
    for wrong in ("", " ", "@last"):
        with pytest.raises(UsageError):
            store.tag(run, wrong)


def test_lists_are_newest_first_and_can_be_narrowed(store: Store, make_run: MakeRun) -> None:
    ids = [store.save(make_run(name, kind=kind)) for name, kind in (("a", "events"), ("b", "chat"), ("a", "chat"))]
    assert [entry.run.id for entry in store.list()] == ids[::-1]
    assert [entry.run.id for entry in store.list(name="a")] == [ids[2], ids[0]]
    assert [entry.run.id for entry in store.list(kind="chat", limit=1)] == [ids[2]]
    assert store.list()[0].run.tallies == {}


def test_a_run_is_found_by_id_prefix_name_and_age(store: Store, make_run: MakeRun) -> None:
    runs = [replace(make_run(name), id=run_id) for name, run_id in (("x", "aaa1"), ("y", "aab2"), ("x", "abc3"))]
    for run in runs:
        store.save(run)
    assert store.describe("aaa1").run.id == store.describe("aaa").run.id == store.describe("AAA").run.id == "aaa1"
    assert store.describe("x").run.id == "abc3"
    assert [store.describe(f"@last~{n}").run.id for n in range(3)] == ["abc3", "aab2", "aaa1"]
    with pytest.raises(UnknownRunError, match=r"'aa' is the beginning of several runs: aab2 \(y\), aaa1 \(x\)"):
        store.describe("aa")
    with pytest.raises(UnknownRunError, match="@last~3 needs 4 complete runs, and there are 3"):
        store.describe("@last~3")


@pytest.mark.parametrize(
    "ref", ["", "@", "@lasts", "@last~", "%", "_", "a%", "x'; DROP TABLE runs; --", "\0", "\ud800"]
)
def test_a_reference_to_no_run_is_an_error(store: Store, make_run: MakeRun, ref: str) -> None:
    store.save(make_run("baseline"))
    with pytest.raises(UnknownRunError):
        store.describe(ref)


def test_an_unknown_name_hints_at_the_nearest(store: Store, make_run: MakeRun) -> None:
    with pytest.raises(UnknownRunError, match="The newest are: none"):
        store.load("baseline")
    run = store.save(make_run("baseline"))
    with pytest.raises(UnknownRunError, match=rf"Did you mean 'baseline'\? The newest are: {run} \(baseline\)"):
        store.load("basline")
    pending = make_run("pending")
    store.begin(pending)
    with pytest.raises(UnknownRunError, match=f"'pending' is unfinished. Its id is {pending.id}"):
        store.load("pending")


def test_names_cannot_look_like_references(store: Store, make_run: MakeRun) -> None:
    with pytest.raises(UsageError):
        store.save(make_run("@last"))
    assert store.list() == []


def test_ids_sort_by_time() -> None:
    ids = [new_id() for _ in range(200)]
    assert ids == sorted(set(ids))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(texts=st.lists(st.text(st.characters(), max_size=12), min_size=3, max_size=3))
@pytest.mark.slow
def test_any_text_is_kept(store: Store, texts: list[str]) -> None:
    """Zero bytes, lone surrogates, escape characters: models say them, and file names hold them."""
    name, case, said = texts
    run = replace(some_run(name.lstrip("@")), tallies={case: {Case(case, said): {"a": Ratio(1, 2)}}}, command=said)
    store.save(run, answers=[answer(agent=case, scenario=case) | {"response": said, "query": name}])
    back = store.load(run.id)
    assert (back.name, back.command, back.tallies) == (run.name, said, run.tallies)
    kept = [(row["agent"], row["scenario"], row["query"], row["response"]) for row in store.answers(run.id)]
    assert kept == [(case, case, name, said)]


@pytest.mark.slow(seconds=5)
def test_processes_that_open_and_write_at_once_keep_every_run_whole(address: str) -> None:
    """Three processes race for the making of the tables, and then for every write."""
    assert exit_codes(write_runs, [(address, number) for number in range(3)]) == [0, 0, 0]
    with open_store(address) as store:
        found = store.list()
        assert len(found) == 3 * 5 * 2
        for entry in found:
            cases = 30 if entry.run.name.startswith("whole") else 9
            assert entry.complete
            assert entry.cases == cases
            assert [len(by_case) for by_case in store.load(entry.run.id).tallies.values()] == [cases, cases]


@pytest.mark.slow(seconds=5)
def test_two_that_resume_one_run_do_nothing_twice(address: str) -> None:
    run = some_run("shared", cases=40)
    with open_store(address) as store:
        store.begin(run)
    assert exit_codes(resume_run, [(address, run.id, step) for step in (1, -1)]) == [0, 0]
    with open_store(address) as store:
        store.finish(run.id)
        assert {group: set(by_case) for group, by_case in store.load(run.id).tallies.items()} == {
            group: set(by_case) for group, by_case in run.tallies.items()
        }


@pytest.mark.slow(seconds=5)
def test_kills_at_any_moment_lose_and_duplicate_nothing(address: str, tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    assert exit_codes(kill_writers, [(address, 25, target)]) == [0]
    found = json.loads(target.read_text(encoding="utf-8"))
    assert found["kills"] == 25
    assert found["in_the_middle"] >= 10, found


def test_a_mistyped_path_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    missing = tmp_path / "mistyped.db"
    with pytest.raises(StoreError, match="there is no store here"):
        open_store(missing, create=False)
    with pytest.raises(StoreError, match="there is no store here"):
        load("a", store=missing)
    assert not missing.exists()
    open_store(missing).close()
    open_store(f"sqlite:///{missing}", create=False).close()


def test_a_run_is_being_filled_while_any_process_has_locked_it(store: Store, address: str) -> None:
    run = some_run("mine")
    store.begin(run)
    assert not store.is_being_filled(run.id)
    with open_store(address) as other:
        with other.locked(run.id):
            assert store.is_being_filled(run.id)
            assert other.is_being_filled(run.id)
            assert not store.is_being_filled("another")
        deadline = time.monotonic() + 10  # PostgreSQL frees it once it has noticed that the connection is gone
        while store.is_being_filled(run.id) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not store.is_being_filled(run.id)
        with store.locked(run.id):  # to look for a lock does not take it
            pass
