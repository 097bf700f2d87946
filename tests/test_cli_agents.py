"""`assay chat run` as a user runs it: real frameworks, real processes, killed and resumed, watched at every socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.chat.agents import AGENTS
from assay.chat.suites import load_suite
from assay.chat.world.embedded import World
from assay.runs import load_answers
from assay.store import open_store
from tests.command import assay_command

GUARD = Path(__file__).parent / "chat" / "guard"
FIVE = ("agent-framework", "google-adk", "langgraph", "openai-agents", "pydantic-ai")
RESUMED = ("agent-framework", "pydantic-ai")
TIMES = ("wall", "first_text", "model", "tools", "overhead")


def clean(store: Path) -> dict[str, str]:
    """As on a user's machine, with no key at all."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "OPENWEATHER"))}
    return kept | {"ASSAY_STORE": str(store)}


def environment(store: Path, **more: str) -> dict[str, str]:
    """The same with the guard in every process."""
    return clean(store) | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(GUARD), os.environ.get("PYTHONPATH")])),
        "ASSAY_SOCKET_LOG": str(store.with_suffix(".sockets")),
        **more,
    }


def assay(store: Path, *words: str, check: bool = True, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in this process; agents are in processes of their own all the same."""
    done = assay_command(*words, environment=clean(store), cwd=cwd)
    assert not check or done.returncode == 0, done.stderr
    return done


def started(
    store: Path, *words: str, output: int = subprocess.DEVNULL, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """The command in a process of its own, which can be watched, interrupted and killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "assay.cli", *words],
        env=environment(store),
        cwd=cwd,
        stdout=output,
        stderr=output,
        text=True,
    )


@cache
def contents(store: Path, run: str = "@last") -> dict[tuple[str, str, int, int], Any]:
    """What a finished run says, without times and without what hangs on them."""
    with open_store(store) as opened:
        found = {}
        for answer in load_answers(run, store=opened):
            assert answer.record is not None
            record = answer.record.model_dump(mode="json")
            calls = [{key: value for key, value in call.items() if key != "duration"} for call in record["tool_calls"]]
            kept = {key: value for key, value in record.items() if key not in TIMES} | {"tool_calls": calls}
            scores = {name: entry for name, entry in answer.entries.items() if name != "response_time"}
            key = (answer.agent, answer.scenario, answer.repetition, answer.turn)
            assert key not in found, "a turn is kept once"
            found[key] = (answer.query, answer.response, answer.passed, scores, kept)
        return found


def outside(store: Path) -> list[str]:
    """What the guard noted, from at least the runner and one worker."""
    lines = store.with_suffix(".sockets").read_text(encoding="utf-8").splitlines()
    assert sum(line.endswith("watched") for line in lines) >= 2
    return [line for line in lines if not line.endswith("watched")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole suite on all five frameworks, once."""
    store = tmp_path_factory.mktemp("whole") / "runs.db"
    words = ("chat", "run", "--no-experience", "--name", "whole", "--json", str(store.with_suffix(".json")))
    with started(store, *words, output=subprocess.PIPE) as process:
        told, complaint = process.communicate(timeout=900)
    assert process.returncode == 0, complaint
    assert "overall" in told.lower()
    return store


def test_five_frameworks_ship() -> None:
    assert tuple(AGENTS.names()) == FIVE


@pytest.mark.frameworks
@pytest.mark.slow(seconds=90)
def test_the_whole_suite_ends_with_every_cell_scored_skipped_or_failed(whole: Path) -> None:
    suite = load_suite("weather")
    found = contents(whole)
    turns = sum(len(scenario.turns) for scenario in suite.scenarios)
    assert len(found) == 5 * turns
    for (agent, scenario, _, turn), (_, response, _, scores, record) in found.items():
        where = f"{agent} {scenario} {turn}"
        if record["status"] == "scored":
            assert len(scores) == 14, where
            assert response, where
        else:
            assert record["reason"], where
            assert not scores, where
    ended = Counter((agent, record["status"]) for (agent, *_), (*_, record) in found.items())
    for agent in FIVE:
        # What cannot be answered is a turn whose model is out for good; everything else is.
        assert ended[agent, "scored"] >= 0.9 * turns, ended


@pytest.mark.frameworks
@pytest.mark.slow
def test_nothing_connects_beyond_loopback(whole: Path) -> None:
    assert outside(whole) == []


def test_the_guard_sees_what_it_should(tmp_path: Path) -> None:
    code = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError as e: print(e)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path / "x.db"), capture_output=True, text=True, check=True
    )
    assert "beyond loopback" in done.stdout
    assert "192.0.2.1" in (tmp_path / "x.sockets").read_text()


@pytest.mark.frameworks
@pytest.mark.slow
def test_spans_and_frameworks_agree_on_every_turn(whole: Path) -> None:
    for key, (*_, record) in contents(whole).items():
        if record["status"] == "scored":
            assert record["own_tool_calls"] == len(record["tool_calls"]), key
            assert record["own_tokens"] == record["input_tokens"] + record["output_tokens"], key


@pytest.mark.frameworks
@pytest.mark.slow
def test_a_model_that_never_errs_is_always_accurate(whole: Path) -> None:
    # How often one that errs is accurate: tests/chat/running/test_error_rate.py
    kinds = {scenario.id: scenario.kind for scenario in load_suite("weather").scenarios}
    found = {
        key: scores["accuracy"].score
        for key, (_, _, _, scores, record) in contents(whole).items()
        if record["status"] == "scored"
        and kinds[key[1]] in ("current", "forecast", "context", "units")
        and scores["accuracy"].measured
    }
    assert Counter(agent for agent, *_ in found).keys() == set(FIVE)
    assert len(found) >= 5 * 40
    assert set(found.values()) == {1.0}


def part_of(whole: Path, agents: tuple[str, ...], limit: int) -> dict[tuple[str, str, int, int], Any]:
    """What the whole run says of these agents in the scenarios that a run with this limit has."""
    chosen = {scenario.id for scenario in load_suite("weather").select(limit=limit).scenarios}
    return {key: said for key, said in contents(whole).items() if key[0] in agents and key[1] in chosen}


@pytest.mark.frameworks
@pytest.mark.slow(seconds=20)
def test_the_same_seed_gives_the_same_transcripts_and_scores(whole: Path, tmp_path: Path) -> None:
    # Again in another order, with several conversations at a time, and without the other scenarios: every kind of
    # scenario. The two other frameworks are run a second time by the test below.
    store = tmp_path / "again.db"
    kinds = len(load_suite("weather").kinds)
    agents = tuple(agent for agent in FIVE if agent not in RESUMED)
    words = ("--no-experience", "--jobs", "3", "--limit", str(kinds), "--agents", ",".join(agents))
    done = assay(store, "chat", "run", *words)
    assert "Up to 3 conversations ran at a time" in " ".join(done.stdout.split())
    first, second = part_of(whole, agents, kinds), contents(store)
    assert len(second) >= len(agents) * kinds
    assert first.keys() == second.keys()
    differing = [key for key in first if first[key] != second[key]]
    assert differing == []


@pytest.mark.frameworks
@pytest.mark.slow(seconds=20)
def test_killed_half_way_and_resumed_is_as_if_nothing_had_happened(whole: Path, tmp_path: Path) -> None:
    limit = 10
    killed = tmp_path / "killed.db"
    undisturbed = part_of(whole, RESUMED, limit)
    words = ("chat", "run", "--no-experience", "--agents", ",".join(RESUMED), "--limit", str(limit))
    with started(killed, *words) as process:
        _wait_for_trials(killed, 6)
        process.send_signal(signal.SIGKILL)
    before = _kept(killed)
    assert 0 < len(before) < len(undisturbed)
    told = assay(killed, "chat", "run", "--resume", "@unfinished").stderr
    assert "conversations" in told
    assert contents(killed) == undisturbed
    # What was whole is as it was, times and all: it was not done again.
    after = _kept(killed)
    turns = {scenario.id: len(scenario.turns) for scenario in load_suite("weather").scenarios}
    counts = Counter(key[:3] for key in before)
    finished = [key for key in before if counts[key[:3]] == turns[key[1]]]
    assert finished
    assert [before[key] for key in finished] == [after[key] for key in finished]
    [run] = open_store(killed).list()
    assert run.complete


@pytest.mark.frameworks
@pytest.mark.slow(seconds=15)
def test_ctrl_c_stops_cleanly_and_prints_how_to_resume(tmp_path: Path) -> None:
    store = tmp_path / "stopped.db"
    words = ("chat", "run", "--no-experience", "--agents", "agent-framework")
    with started(store, *words, output=subprocess.PIPE) as process:
        _wait_for_trials(store, 3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    [run] = open_store(store).list()
    assert f"assay chat run --resume {run.run.id}" in said
    refused = assay(store, "compare", run.run.id, check=False)
    assert refused.returncode == 2
    assert "unfinished" in refused.stderr


@pytest.mark.frameworks
@pytest.mark.slow(seconds=5)
def test_ctrl_c_while_developer_experience_is_measured_stops_at_once_and_says_so(tmp_path: Path) -> None:
    store = tmp_path / "measuring.db"
    words = ("chat", "run", "--agents", "langgraph,pydantic-ai", "--limit", "2")
    with started(store, *words, output=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert "measuring developer experience: langgraph" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines() == ["Stopped. Nothing was stored."]  # and the second agent is not measured
    assert open_store(store).list() == []


@pytest.mark.frameworks
@pytest.mark.slow
def test_an_agent_that_is_not_installed_is_skipped_with_the_command_that_installs_it(tmp_path: Path) -> None:
    store = tmp_path / "missing.db"
    hidden = tmp_path / "hidden"
    (hidden / "agents").mkdir(parents=True)
    (hidden / "agents" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'agents'\")\n")
    surroundings = environment(store)
    surroundings["PYTHONPATH"] = os.pathsep.join([str(hidden), surroundings["PYTHONPATH"]])
    words = ("chat", "run", "--no-experience", "--agents", "openai-agents,pydantic-ai", "--limit", "3")
    done = assay_command(*words, environment=surroundings)
    assert done.returncode == 0, done.stderr
    ended = {(agent, record["status"]) for (agent, *_), (*_, record) in contents(store).items()}
    assert ended == {("openai-agents", "skipped"), ("pydantic-ai", "scored")}
    reasons = {record["reason"] for (agent, *_), (*_, record) in contents(store).items() if agent == "openai-agents"}
    assert 'pip install "assay-agents[openai-agents]"' in next(iter(reasons))


@pytest.mark.frameworks
@pytest.mark.slow
def test_a_finished_run_compares_its_agents_and_two_runs_compare_by_agent(whole: Path, tmp_path: Path) -> None:
    verdicts = json.loads(assay(whole, "compare", "whole", "--json", "-").stdout)
    assert [pair["candidate"]["agent"] for pair in verdicts["comparisons"]] == list(FIVE[1:])
    full = json.loads(assay(whole, "compare", "whole", "--full", "--json", "-").stdout)
    measured = {line["metric"]: line for line in full["comparisons"][0]["verdicts"]}
    assert measured["overhead_ms"]["unit"] == "ms"
    assert measured["overhead_ms"]["better"] == "lower"
    assert {line["metric"] for line in verdicts["comparisons"][0]["verdicts"]}.isdisjoint({"overhead_ms", "wall_ms"})


@pytest.mark.frameworks
@pytest.mark.slow
def test_a_stored_run_is_shown_and_exported_as_it_was(whole: Path) -> None:
    assert "overall" in assay(whole, "runs", "show", "whole").stdout.lower()
    page = whole.with_suffix(".html")
    assay(whole, "runs", "export", "whole", str(page))
    text = page.read_text(encoding="utf-8")
    assert "stand-in" in text
    assert "google-adk" in text
    data = json.loads(whole.with_suffix(".json").read_text(encoding="utf-8"))
    assert len(data["answers"]) == len(contents(whole))
    assert data["notes"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--agents", "gogle-adk"], "Did you mean 'google-adk'?"),
        (["--suite", "whether"], "Did you mean 'weather'?"),
        (["--kinds", "curent"], "Did you mean 'current'?"),
        (["--skill", "lots"], "lots"),
        (["--model-url", "http://127.0.0.1:9/v1"], "--model"),
        (["--model", "x", "--model-url", "ftp://x"], "http"),
        (["--model", "x"], "OPENAI_API_KEY"),
        (["--model", "x", "--skill", "0.5"], "--skill applies to the scripted model"),
        (["--html", "no/such/folder/x.html"], "the folder does not exist"),
        (["--json", "no/such/folder/x.json"], "the folder does not exist"),
        (["--weather", "cloudy"], "embedded or openweather"),
        (["--weather", "openweather"], "OPENWEATHER_API_KEY"),
        (["--resume", "nothing"], "there is no run 'nothing'"),
        (["--resume", "@unfinished"], "no unfinished run"),
        (["--resume", "x", "--repeat", "3"], "--repeat cannot be combined with --resume"),
    ],
)
def test_a_wrong_call_gives_one_sentence(tmp_path: Path, words: list[str], told: str) -> None:
    store = tmp_path / "none.db"
    if "--resume" not in words:
        words = ["--no-experience", "--limit", "1", *words]
    done = assay(store, "chat", "run", *words, check=False)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    if store.exists():
        assert open_store(store).list() == []  # nothing was begun that could not go on


@pytest.mark.frameworks
@pytest.mark.slow
def test_a_real_model_by_address_takes_the_place_of_the_embedded_one(tmp_path: Path) -> None:
    store = tmp_path / "real.db"
    with World(seed=1) as elsewhere:
        done = assay_command(
            *("chat", "run", "--no-experience", "--agents", "pydantic-ai", "--model", "some-model"),
            *("--scenarios", "current-helsinki,failure-model-error"),
            environment=environment(
                store, OPENAI_BASE_URL=elsewhere.model_url, OPENAI_API_KEY="not-to-be-kept-anywhere"
            ),
        )
    assert done.returncode == 0, done.stderr
    ended = {scenario: record for (_, scenario, *_), (*_, record) in contents(store).items()}
    assert ended["current-helsinki"]["status"] == "scored"
    assert ended["current-helsinki"]["model_calls"] == 2
    assert ended["failure-model-error"]["reason"] == "the fault model_error needs the scripted model"
    assert "some-model" in done.stdout
    assert "stand-in" not in done.stdout
    for file in tmp_path.iterdir():
        assert b"not-to-be-kept" not in file.read_bytes()


@pytest.mark.slow
def test_if_nothing_could_be_scored_the_reason_is_printed_and_the_exit_code_is_1(tmp_path: Path) -> None:
    (tmp_path / "my_bot.py").write_text("def answer(message):\n    raise LookupError('no key')\n")
    (tmp_path / "my_other.py").write_text("import nothing_of_that_name\n")
    words = ("chat", "run", "--agents", "mine=my_bot:answer,other=my_other:answer", "--limit", "2", "--no-experience")
    done = assay_command(*words, environment=environment(tmp_path / "runs.db"), cwd=tmp_path)
    assert done.returncode == 1
    assert "mine: 2 turns failed: LookupError: no key" in done.stderr
    assert "other: 2 turns failed: 'my_other' needs the module 'nothing_of_that_name'" in done.stderr


@pytest.mark.frameworks
@pytest.mark.slow
def test_an_agent_object_that_cannot_be_played_stops_a_run_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "my_bot.py").write_text(
        "from dataclasses import dataclass\nfrom pydantic_ai import Agent\n\n"
        "@dataclass\nclass Bank:\n    customer: int\n\nagent = Agent('openai:gpt-5.2', deps_type=Bank)\n"
    )
    for pointer, says in (
        (
            "my_bot:agent",
            "the agent needs dependencies of type Bank, which cannot be created without arguments. Name a",
        ),
        ("my_bot:Bank", "'my_bot:Bank' is of type type, not"),
    ):
        words = ("chat", "run", "--agents", f"mine=pydantic-ai:{pointer}", "--limit", "2", "--no-experience")
        done = assay_command(*words, environment=environment(tmp_path / "runs.db"), cwd=tmp_path)
        assert done.returncode == 2
        assert f"assay: the agent 'mine' cannot be used, so nothing was played: {says}" in done.stderr
    with open_store(tmp_path / "runs.db") as store:
        assert list(store.list()) == []


@pytest.mark.parametrize(
    ("pointer", "says"),
    [
        ("my_bot:anser", "'my_bot' has no 'anser'. Did you mean 'answer'?"),
        ("my_bto:answer", "there is no module 'my_bto'. Did you mean 'my_bot'? It must be installed, or be in"),
    ],
)
@pytest.mark.slow
def test_a_misspelt_function_stops_a_run_before_anything_is_played(tmp_path: Path, pointer: str, says: str) -> None:
    (tmp_path / "my_bot.py").write_text("def answer(message):\n    return 'Hello!'\n")
    words = ("chat", "run", "--agents", f"mine=my_bot:answer,other={pointer}", "--limit", "2", "--no-experience")
    done = assay_command(*words, environment=environment(tmp_path / "runs.db"), cwd=tmp_path)
    assert done.returncode == 2
    assert f"assay: the agent 'other' cannot be found, so nothing was played: {says}" in done.stderr
    with open_store(tmp_path / "runs.db") as store:
        assert list(store.list()) == []


@pytest.mark.parametrize(
    ("pointer", "says"),
    [
        ("half:answer", "'half' cannot be imported: SyntaxError: '(' was never closed (half.py, line 1)"),
        ("my_bot:number", "'my_bot:number' is of type int, not a function. Point at a function"),
        ("my_bot:silent", "the function of the agent 'mine' has no parameter for the message. Add a parameter"),
        ("my_bot:three", "the function of the agent 'mine' has an unknown parameter 'c'. Give it a default."),
    ],
)
@pytest.mark.slow
def test_a_function_that_cannot_be_called_stops_a_run_before_anything_is_played(
    tmp_path: Path, pointer: str, says: str
) -> None:
    (tmp_path / "half.py").write_text("def answer(message:\n")
    (tmp_path / "my_bot.py").write_text(
        "number = 5\ndef silent(): return 'Hello!'\ndef three(a, b, c): return 'Hello!'\n"
    )
    words = ("chat", "run", "--agents", f"mine={pointer}", "--limit", "2", "--no-experience")
    done = assay_command(*words, environment=environment(tmp_path / "runs.db"), cwd=tmp_path)
    assert done.returncode == 2
    assert f"assay: the agent 'mine' cannot be used, so nothing was played: {says}" in done.stderr
    with open_store(tmp_path / "runs.db") as store:
        assert list(store.list()) == []


@pytest.mark.slow
def test_a_run_is_resumed_by_its_name_and_by_one_process_at_a_time(tmp_path: Path) -> None:
    store, held = tmp_path / "named.db", tmp_path / "held"
    # An agent that waits after five answers, warm-up included, so that the first run is sure to be still going on.
    (tmp_path / "my_bot.py").write_text(
        "import pathlib, time\n"
        "asked = []\n"
        "def answer(message):\n"
        "    asked.append(message)\n"
        f"    while len(asked) > 5 and pathlib.Path({str(held)!r}).exists(): time.sleep(0.02)\n"
        "    return 'I cannot say.'\n",
        encoding="utf-8",
    )
    held.touch()
    words = ("chat", "run", "--no-experience", "--agents", "mine=my_bot:answer", "--limit", "12", "--name", "mine")
    with started(store, *words, cwd=tmp_path) as process:
        _wait_for_trials(store, 1)
        second = assay(store, "chat", "run", "--resume", "mine", check=False)
        assert second.returncode == 2
        assert "another process is filling run" in second.stderr
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    held.unlink()
    with open_store(store) as opened:
        [run] = opened.list()
        assert not run.complete
    assert assay(store, "chat", "run", "--resume", "mine", cwd=tmp_path).returncode == 0


def _kept(store: Path) -> dict[tuple[str, str, int, int], Any]:
    """Every turn with its record, times too; none where the store is not there yet."""
    if not store.exists():
        return {}
    with open_store(store) as opened:
        runs = opened.list()
        answers = load_answers(runs[0].run.id, store=opened) if runs else []
    return {(one.agent, one.scenario, one.repetition, one.turn): (one.response, one.record) for one in answers}


def _wait_for_trials(store: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if store.exists():
            with open_store(store) as opened:
                runs = opened.list()
                if runs and opened.progress(runs[0].run.id) >= count:
                    return
    raise AssertionError("the run did not get going")
