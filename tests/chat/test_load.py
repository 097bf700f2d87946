"""Many conversations at once: canaries stay with their session, figures follow from what was measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.command import assay_command

from assay.chat.load.canaries import RECALL, Canaries, canaries_in
from assay.chat.load.plan import LoadPlan, PlannedStep
from assay.chat.load.results import EMPTY_ANSWER, AgentLoad, LoadStep, figure_of
from assay.compare import compare, side_of
from assay.errors import UsageError
from assay.report.html.load import page
from assay.report.load_words import isolation_words, knee_words, leak_words
from assay.report.terminal.load import tables
from assay.runs import load as load_run
from assay.runs import record
from assay.runs.load_tests import LoadResult, load_test
from assay.runs.summaries import RunSummary
from assay.types import Distribution

HERE = Path(__file__).parent
PLAN = LoadPlan(users=(1, 4), turns=3, least_turns=6, leak_sessions=40)


@pytest.fixture(scope="module")
def played() -> Iterator[LoadResult]:
    """Three agents under a small load, each in a process of its own."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), before or ""])
    names: dict[str, Any] = {name: f"load_agents:{name}" for name in ("careful", "mixed_up", "failing")}
    try:
        yield load_test(names, plan=PLAN)
    finally:
        os.environ["PYTHONPATH"] = before or ""


def agent(result: LoadResult, name: str) -> AgentLoad:
    found = next(load for load in result.loads if load.agent == name)
    assert not found.failure
    return found


# --- plan and canaries ----------------------------------------------------------------------------------------------


def test_a_step_of_few_users_has_several_conversations_for_each() -> None:
    # 200 turns of 4 are 50 conversations: 50 for one user, 5 for ten, 1 for fifty and for two hundred.
    each = {step.users: step.each for step in LoadPlan().steps()}
    assert each == {1: 50, 10: 5, 50: 1, 200: 1}


def test_sessions_have_unique_names() -> None:
    names = [
        name for step in LoadPlan(repeat=2).steps() for user in range(step.users) for name in step.sessions_of(user)
    ]
    assert len(set(names)) == len(names) == 2 * (50 + 50 + 50 + 200)


@pytest.mark.parametrize("users", [(), (0,), (10, 1), (5, 5), (2000,)])
def test_users_that_make_no_steps_are_refused(users: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="users must be"):
        LoadPlan(users=users)


def test_a_canary_of_another_session_is_found_in_any_text() -> None:
    ada, ben = Canaries.of(1, "ada"), Canaries.of(1, "ben")
    assert Canaries.of(1, "ada") == ada != Canaries.of(2, "ada")
    assert ada.messages(3)[0].count(ada.secret.capitalize()) == 1
    assert ada.messages(3)[2] == RECALL
    text = f"You are {ada.secret.upper()}, and {ben.preference} is yours"
    assert ada.foreign_in(text) == {ben.preference} == ada.foreign_in(text.encode())
    assert canaries_in("nobody here, not even in a quiz about Zurich") == set()


# --- figures --------------------------------------------------------------------------------------------------------


def step(users: int, *, seconds: float, walls: list[float], repetition: int = 0, breaches: int = 0) -> LoadStep:
    return LoadStep(
        users=users, repetition=repetition, conversations=users, finished=users, planned_turns=len(walls) + 1,
        sessions=4, seconds=seconds, cpu_seconds=0.5, service_cpu_seconds=0.2, stall=0.03, asked=1, recalled=1,
        breach_count=breaches, rss_before=100 * 2**20, rss_peak=120 * 2**20, rss_open=100 * 2**20 + 8192,
        rss_closed=100 * 2**20, walls=Distribution.of(walls), own=Distribution.of([]),
    )  # fmt: skip


def test_figures_of_a_step_by_hand() -> None:
    one = step(2, seconds=2.0, walls=[100.0, 200.0, 300.0, 400.0])
    # 4 turns in 2 s; 0.5 s of CPU over 4 turns; 8 kB over 4 sessions; one of 5 turns was not answered.
    expected = {
        "throughput": 2.0,
        "p50_ms": 250.0,
        "cpu_ms": 125.0,
        "session_kb": 2.0,
        "peak_mb": 120.0,
        "stall_ms": 30.0,
        "error_share": 0.2,
        "breaches": 0.0,
        "own_p95_ms": None,
    }
    assert {name: figure_of(one, name) for name in expected} == expected
    assert (one.services_busy, one.agent_busy) == (0.1, 0.25)


def test_a_step_in_which_neither_side_could_use_a_core_is_named() -> None:
    # Half a second of CPU time in one second with ten users waiting; with one user that is no sign of anything.
    walls = [100.0] * 4
    steps = [step(users, seconds=1.0, walls=walls) for users in (1, 10)] + [step(50, seconds=0.55, walls=walls)]
    assert AgentLoad("a", steps).starved == [10]


def test_the_knee_is_where_throughput_stops_rising_and_waiting_does_not() -> None:
    # 10, 19, 20 and 20 turns a second: from 10 users on, more users only wait longer.
    rates = {1: (10, 100), 10: (19, 500), 50: (20, 2500), 200: (20, 10_000)}
    steps = [step(users, seconds=1.0, walls=[float(wait)] * rate) for users, (rate, wait) in rates.items()]
    assert AgentLoad("a", steps).knee == 10
    assert AgentLoad("a", steps[:2]).knee is None
    assert AgentLoad("a", steps[:1]).knee is None


def test_a_knee_that_rests_on_a_busy_machine_is_unsure() -> None:
    # With ten users neither side could use a core in full: that throughput fell there says nothing about the agent.
    steps = [step(1, seconds=0.55, walls=[100.0] * 4), step(10, seconds=1.0, walls=[500.0] * 4)]
    load = AgentLoad("a", steps)
    assert (load.knee, load.starved, load.knee_is_unsure) == (1, [10], True)
    assert knee_words(load) == "1 user, at 7.3 turns/s; unsure, the machine was busy"
    two = LoadResult(loads=[load, replace(load, agent="b")], plan=LoadPlan(users=(1, 10)))
    (said,) = two.cautions  # once for all agents
    assert "(a with 10 users; b with 10 users)" in said
    assert "look worse than they are" in said
    shown = page(two)
    assert shown.index("Something else kept the machine busy") < shown.index("Throughput against users")
    idle = AgentLoad("a", [replace(one, cpu_seconds=one.seconds) for one in steps])
    assert (idle.knee, idle.knee_is_unsure) == (1, False)
    assert LoadResult(loads=[idle], plan=LoadPlan(users=(1, 10))).cautions == []


def test_a_leak_is_the_slope_over_rounds_without_the_first() -> None:
    # 3 kB stay for each session, a page more or less; the first round filled a cache of a megabyte.
    rounds = [(10 * at, 2**20 + 1024 * (30 * at + (1, -1, -1, 1)[at % 4] - 1000 * (not at)), 100) for at in range(8)]
    leak = AgentLoad("a", [], closes=True, rounds=rounds).leak
    assert leak is not None
    assert leak.value == pytest.approx(3.0, abs=0.1)
    assert leak.low is not None
    assert leak.low > 0
    assert AgentLoad("a", [], closes=True, rounds=rounds[:2]).leak is None


def test_what_was_never_answered_is_not_measured() -> None:
    # 50 turns were asked and none was answered: no throughput, and no statement about isolation, knee or leak.
    dead = [replace(step(users, seconds=1.0, walls=[]), asked=0, recalled=0) for users in (1, 2)]
    load = AgentLoad("dead", dead, closes=True, rounds=[(10 * at, 2**20, 100) for at in range(8)])
    assert [figure_of(one, "breaches") for one in dead] == [None, None]
    for words in (isolation_words(load), knee_words(load), leak_words(load)):
        assert words.startswith("–")
    result = LoadResult(loads=[load], plan=LoadPlan(users=(1, 2)), specs=[{"name": "dead"}])
    assert result.to_json()["load"]["dead"]["breaches"] is None
    # A word of another session in a request to the model is a breach, answered or not.
    assert figure_of(step(2, seconds=1.0, walls=[], breaches=1), "breaches") == 1.0


def test_a_text_that_is_always_empty_is_no_answer() -> None:
    silent = replace(step(1, seconds=1.0, walls=[1.0] * 4), errors={EMPTY_ANSWER: 4})
    assert figure_of(silent, "breaches") is None
    assert AgentLoad("silent", [silent]).answered == []


def test_the_knee_is_looked_for_where_turns_were_answered() -> None:
    steps = [step(users, seconds=1.0, walls=walls) for users, walls in ((1, [9.0]), (5, [9.0] * 5), (9, []))]
    assert knee_words(AgentLoad("a", steps)) == "not reached with 5 users"
    assert knee_words(AgentLoad("a", steps[::2])).startswith("–")


def test_one_user_is_a_user_and_an_error_is_named_once() -> None:
    alone = replace(
        step(1, seconds=1.0, walls=[9.0]),
        errors={"KeyError": 2, EMPTY_ANSWER: 1},
        examples={"KeyError": "KeyError: 'city'", EMPTY_ANSWER: "no text for: Hello!"},
    )
    result = LoadResult(loads=[AgentLoad("a", [alone])], plan=LoadPlan(users=(1,)), specs=[{"name": "a"}])
    with Console(width=120) as console, console.capture() as capture:
        console.print(tables(result))
    shown = capture.get()
    assert "1 users" not in shown
    assert "a, 1 user: 2 × KeyError: 'city'" in shown
    assert "a, 1 user: 1 × empty answer: no text for: Hello!" in shown


def test_a_load_test_of_an_endpoint_that_is_not_there_stops_at_once(tmp_path: Path) -> None:
    done = assay_command(
        "chat", "load", "--agents", "d=http://127.0.0.1:9/v1", "--users", "1,2", "--store", tmp_path / "runs.db",
        "--require", "breaches==0",
    )  # fmt: skip
    assert done.returncode == 2
    assert "the endpoint of 'd' cannot be used" in done.stderr
    assert "1 user at once" not in done.stderr
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.slow
def test_an_agent_that_answers_nothing_is_not_measured_and_fails_the_command() -> None:
    words = ("chat", "load", "--agents", "hopeless=load_agents:hopeless", "--users", "1", "--no-store")
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = assay_command(*words, environment={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 1
    shown = " ".join(done.stdout.split())
    assert "none of the first 5 conversations was answered: RuntimeError: nobody is here" in shown
    assert "kept" not in done.stdout


# --- agents in processes of their own -------------------------------------------------------------------------------


@pytest.mark.slow(seconds=8)
def test_sessions_of_a_careful_agent_stay_apart(played: LoadResult) -> None:
    found = agent(played, "careful")
    assert [one.users for one in found.steps] == [1, 4]
    assert [one.turns for one in found.steps] == [6, 12]
    assert found.breach_count == 0
    assert all(one.asked == one.recalled == one.conversations for one in found.steps)
    assert all(one.error_share == 0 for one in found.steps)
    assert found.closes
    assert [closed for closed, _, _ in found.rounds] == [10, 20, 30, 40, 50, 60, 70, 80]


@pytest.mark.slow(seconds=5)
def test_an_agent_that_mixes_sessions_up_is_found_out(played: LoadResult) -> None:
    found = agent(played, "mixed_up")
    alone, together = found.steps
    assert alone.breach_count == 0
    assert together.breach_count > 0
    assert {breach["where"] for breach in together.breaches} == {"text"}
    assert together.recalled < together.asked


@pytest.mark.slow
def test_a_turn_that_fails_ends_its_conversation_and_has_its_kind(played: LoadResult) -> None:
    _, together = agent(played, "failing").steps
    # Each of 4 users: a greeting is answered, the question for the weather fails, the third turn is never asked.
    assert (together.turns, dict(together.errors)) == (4, {"KeyError": 4})
    assert together.error_share == pytest.approx(8 / 12)
    assert "no weather" in together.examples["KeyError"]


@pytest.mark.slow
def test_a_load_test_is_stored_shown_and_exported_as_it_was(played: LoadResult, tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    run = record(played, store=store, name="calm")
    again = load_run("calm", store=store)
    assert isinstance(again, LoadResult)
    assert again.rows() == played.rows()
    assert again.to_json()["load"] == played.to_json()["load"]
    shown = assay_command("runs", "show", "calm", "--store", store).stdout
    assert "knee, memory, isolation and leaks" in shown
    assert "BROKEN" in shown
    exported = tmp_path / "load.json"
    assert assay_command("runs", "export", run, exported, "--store", store).returncode == 0
    assert json.loads(exported.read_text())["load"]["failing"]["steps"][1]["errors"] == {"KeyError": 4}


@pytest.mark.slow
def test_the_page_has_the_three_charts_and_names_the_breach(played: LoadResult, tmp_path: Path) -> None:
    text = played.html(tmp_path / "load.html").read_text()
    for chart in ("load_throughput", "load_waiting", "memory_by_sessions"):
        assert f'data-chart="{chart}"' in text
    assert "canary of another" in text
    assert "KeyError" in text


def test_steps_are_compared_over_their_repetitions() -> None:
    def result(factor: float) -> LoadResult:
        steps = [
            step(users, seconds=factor * (1 + 0.01 * at), walls=[factor * (50.0 + at)] * 20, repetition=at)
            for at in range(4)
            for users in (1, 10)
        ]
        plan = LoadPlan(users=(1, 10), repeat=4)
        return LoadResult(loads=[AgentLoad("a", steps)], plan=plan, specs=[{"name": "a"}])

    found = compare(side_of(result(1.0).as_run()), side_of(result(2.0).as_run()))
    line = found.line("p95_ms@10")
    # Medians of 50, 51, 52 and 53 ms are 51.5 ms on average, and twice that.
    assert (line.baseline.value, line.candidate.value) == (51.5, 103.0)
    assert line.verdict.call == "worse"
    assert found.line("throughput@1").verdict.call == "worse"


@pytest.mark.slow
def test_lists_show_the_throughput_with_most_users(played: LoadResult) -> None:
    summary = RunSummary.of(played)
    assert [(one.group, one.key) for one in summary.headlines] == [(agent, "throughput@4") for agent in played.agents]
    first = played.loads[0]
    assert summary.headlines[0].value == first.typical(4, "throughput")
    assert RunSummary.from_json(summary.to_json()) == summary


@pytest.mark.slow
def test_a_step_that_was_played_once_has_a_difference_and_no_verdict(played: LoadResult) -> None:
    run = played.as_run()
    found = compare(side_of(run, "careful"), side_of(run, "mixed_up"))
    assert found.line("throughput@4").verdict.call == "inconclusive"
    assert any("--repeat" in note for note in found.notes)


def test_conditions_are_read_before_anything_is_played() -> None:
    wrong = assay_command("chat", "load", "--require", "p95@50<1", "--agents", "google-adk")
    assert (wrong.returncode, "no figure called 'p95'" in wrong.stderr) == (2, True)
    wrong = assay_command("chat", "load", "--require", "p95_ms@7<1", "--agents", "google-adk")
    assert (wrong.returncode, "not played" in wrong.stderr) == (2, True)


def test_planned_sessions_of_a_user_follow_each_other() -> None:
    assert PlannedStep(3, 0, 2).sessions_of(1) == ["load-3-0-1-0", "load-3-0-1-1"]
