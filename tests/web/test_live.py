"""Agents side by side: answers stream, are scored and stored, and a conversation becomes a run and a scenario."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.report.agent_scores import scores
from tests.report.browser import Browser
from tests.web.accessibility import violations
from tests.web.conftest import experiment
from tests.web.test_browser import opened

from assay.chat import run
from assay.chat.agents.spec import AgentSpec
from assay.chat.suites import Suite, load_suite
from assay.errors import UsageError
from assay.runs import load, load_answers, open_store
from assay.web.live.hosting import LiveAgents, checked_choice
from assay.web.live.keeping import finish_run, finish_stored_run, keep_scenario, store_turn
from assay.web.live.routes import Live, _text
from assay.web.live.talking import LiveTalk, city_in, known_from
from assay.web.site import Site

ROOT = Path(__file__).parents[2]
BOTS = tuple(AgentSpec(name=name, function="tests.web.bot:answer") for name in ("first", "second"))


@pytest.mark.parametrize(
    ("message", "city"),
    [
        ("What's the weather in Helsinki?", "Helsinki"),
        ("Is it nice in new york", ""),
        ("Is New York's weather better than Oslo's?", "New York City"),
        ("Nothing of the kind", ""),
    ],
)
def test_the_city_of_a_message_is_the_first_that_it_names(message: str, city: str) -> None:
    found = city_in(message)
    assert found == city or (city and found.startswith("New York") and city.startswith("New York"))


@pytest.mark.parametrize(
    ("sentence", "known"), [("", None), ("nothing", {}), ("hates the cold", {"dislikes_cold": True})]
)
def test_what_agents_remember_of_the_user_can_be_replaced(sentence: str, known: dict[str, bool] | None) -> None:
    assert known_from(sentence) == known
    with pytest.raises(UsageError, match="says nothing about the user"):
        known_from("blue green")


def test_only_known_agents_are_talked_to_and_not_too_many() -> None:
    assert checked_choice(["a", "a", "b"], ["a", "b"], 5) == ["a", "b"]
    with pytest.raises(UsageError, match="no agent called 'c'"):
        checked_choice(["c"], ["a"], 5)
    with pytest.raises(UsageError, match="choose 1 to 2 agents, got 0"):
        checked_choice([], ["a"], 2)


def test_an_address_is_taken_only_where_nobody_else_can_type_one() -> None:
    agents = LiveAgents(BOTS, takes_addresses=True)
    assert agents.add("mine", "http://127.0.0.1:9/v1", "json") == "mine"
    assert agents.specs()["mine"].form == "json"
    for name, url, why in (
        ("mine", "http://127.0.0.1:9/v1", "already"),
        ("other", "file:///etc/passwd", "http"),
        ("other", "http://user:hunter2@127.0.0.1/v1", "password"),
        ("<b>", "http://127.0.0.1:9/v1", "valid agent name"),
    ):
        with pytest.raises(UsageError, match=why) as refused:
            agents.add(name, url, "openai")
        assert "hunter2" not in str(refused.value)
    with pytest.raises(UsageError, match="cannot be added by their address"):
        LiveAgents(BOTS).add("mine", "http://127.0.0.1:9/v1", "openai")


async def collected(said: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in said]


@pytest.mark.slow
def test_agents_are_opened_before_the_first_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:{ROOT}")

    async def main() -> None:
        agents = LiveAgents([*BOTS, AgentSpec(name="absent", function="tests.web.no_such_bot:answer")])
        agents.prepare(["first", "absent"])
        await asyncio.gather(*agents._preparing.values())
        host = await agents.host("first")
        assert host._worker is not None
        assert host._worker.is_alive
        # One that is still opening does not hold up the end.
        agents.prepare(["second"])
        await asyncio.sleep(0)
        await agents.close()
        assert not host._worker

    asyncio.run(main())


@pytest.mark.slow(seconds=6)
def test_a_conversation_is_scored_stored_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:{ROOT}")

    async def main() -> None:
        agents = LiveAgents(BOTS)
        try:
            talk = LiveTalk(agents)
            conversation = talk.start(["first", "second"])
            said = await collected(talk.say(conversation, "What's the weather in Oslo?"))
            assert said[0] == ("turn", {"turn": 0, "city": "Oslo"})
            assert sorted(data["agent"] for kind, data in said if kind == "answer") == ["first", "second"]
            answer = conversation.turns[0].answers["first"]
            assert answer.response.startswith("<i>You said</i>: What's the weather")
            assert answer.entries["accuracy"].measured
            with open_store(tmp_path / "live.db") as store:
                store_turn(store, conversation)
                failed = await collected(talk.say(conversation, "Please crash", "server_error"))
                assert [kind for kind, _ in failed if kind != "asked"] == ["turn", "answer", "answer"]
                assert "asked to <b>fail</b>" in str(conversation.turns[1].answers["second"].record)
                store_turn(store, conversation)
                # A reader who leaves cancels what is under way, and the next message is answered.
                slow = talk.say(conversation, "Be slow")
                await anext(slow)
                await slow.aclose()
                await collected(talk.say(conversation, "Hello again"))
                store_turn(store, conversation)
                run_id = finish_run(store, conversation)
                answers = load_answers(run_id, store=store)
                assert len(answers) == 6
                assert load(run_id, store=store).subject == "chat"
            with pytest.raises(UsageError, match="characters"):
                await anext(talk.say(conversation, " "))
            with pytest.raises(UsageError, match="no fault called"):
                await anext(talk.say(conversation, "x", "meteor"))
            kept = keep_scenario(tmp_path / "suites", conversation, "Oslo, now!")
            keep_scenario(tmp_path / "suites", conversation, "Oslo, now!")
            with monkeypatch.context() as changed:
                changed.setattr("assay.chat.suites.load_suite", _refuse)
                with pytest.raises(UsageError, match="not valid"):
                    keep_scenario(tmp_path / "suites", conversation, "Oslo, later")
            assert [path.name for path in (tmp_path / "suites").iterdir()] == [kept.name]  # no draft is left behind
            suite = load_suite(kept)
            assert [scenario.id for scenario in suite.scenarios] == ["oslo-now", "oslo-now-2"]
            assert suite.scenarios[0].turns[1].fault == "server_error"
        finally:
            await agents.close()

    asyncio.run(main())
    # The saved conversations are a suite; their fault is one of the embedded services, which a function does not use.
    with pytest.raises(UsageError, match="the fault server_error cannot reach an agent that has its own model"):
        run(tmp_path / "suites" / "live.yaml", {"mine": lambda message: "It is 21 °C in Oslo."}, baselines=False)


@pytest.mark.slow(seconds=4)
def test_a_conversation_whose_server_was_killed_is_finished_from_its_run(tmp_path: Path) -> None:
    store, agent = tmp_path / "runs.db", ("--agents", "mine=tests.web.bot:answer")
    with (
        serving(store, *agent) as (base, _),
        httpx.Client(base_url=base, headers={"x-assay": "1"}, timeout=60) as client,
    ):
        conversation = client.post("/live", data={"agent": "mine"}).headers["location"]
        told = client.post(f"{conversation}/say", json={"message": "What's the weather in Oslo?"}).text
        run_id = json.loads(told.partition("event: stored\ndata: ")[2].partition("\n")[0])["run"]
        # The process is killed here, before anyone finishes the conversation.
    with (
        serving(store, *agent) as (base, _),
        httpx.Client(base_url=base, headers={"x-assay": "1"}, timeout=60) as client,
    ):
        page = client.get(f"/runs/{run_id}").text
        assert f'action="/runs/{run_id}/finish"' in page
        assert client.post(f"/runs/{run_id}/finish").headers["location"] == f"/runs/{run_id}"
        page = client.get(f"/runs/{run_id}").text
        assert f'action="/runs/{run_id}/finish"' not in page
        assert "task completion" in page
        # One that goes on here is finished as its own button does it; a second time changes nothing.
        conversation = client.post("/live", data={"agent": "mine"}).headers["location"]
        told = client.post(f"{conversation}/say", json={"message": "Is it cold in Oslo?"}).text
        other = json.loads(told.partition("event: stored\ndata: ")[2].partition("\n")[0])["run"]
        for _ in range(2):
            assert client.post(f"/runs/{other}/finish").status_code == 303
        assert "over" in client.get(conversation).text
    with open_store(store) as opened_store:
        assert [entry.complete for entry in opened_store.list()] == [True, True]
    assert len(load_answers(run_id, store=store)) == 1
    assert load(run_id, store=store).subject == "chat"


def test_a_run_of_agents_is_resumed_and_not_finished_early(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        run_id = experiment(store, scores(("google-adk",), seed=3, scenarios=2), "going on", finish=False)
        with pytest.raises(UsageError, match="is not a live conversation"):
            finish_stored_run(store, run_id)
        assert not store.describe(run_id).complete


def _refuse(path: Path) -> Suite:
    """Loads a suite unless it is a draft."""
    if path.name.startswith("new-"):
        raise UsageError("the suite is not valid")
    return load_suite(path)


def test_half_a_character_of_a_message_is_replaced() -> None:
    assert _text({"message": "Oslo \ud83c"}, "message").encode() == "Oslo \ufffd".encode()


def test_what_goes_wrong_during_a_turn_is_told_in_the_stream(tmp_path: Path) -> None:
    async def said() -> AsyncGenerator[Any, None]:
        yield "turn", {"turn": 0, "city": ""}
        raise RuntimeError("the disk is on fire")

    async def main() -> bytes:
        with open_store(tmp_path / "live.db") as store:
            live = Live(Site(store, BOTS))
            events = said()
            told = live._told(LiveTalk(live._agents).start(["first"]), events, await anext(events))
            return b"".join([event async for event in told])

    told = asyncio.run(main()).decode()
    assert "event: error" in told
    assert "terminal" in told
    assert "on fire" not in told, "what happened is for who runs the server"


@contextmanager
def serving(store: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command itself, in a process."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "assay.cli", "serve", "--store", str(store), "--port", "0", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert " at http://127.0.0.1:" in line, line
        yield line.split(" at ")[1].split("/ ")[0], process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.browser
@pytest.mark.frameworks
@pytest.mark.slow(seconds=10)
def test_a_reader_talks_to_two_frameworks_and_ctrl_c_leaves_nothing_behind(browser: Browser, tmp_path: Path) -> None:
    store, agents = tmp_path / "runs.db", tmp_path / "agents.yaml"
    # The scripted model is free; here it is not.
    named = "agents: [{name: echo, function: 'tests.web.bot:answer'}]"
    agents.write_text(f"{named}\nprices: {{assay-scripted: {{input: 1000, output: 2000}}}}\n", encoding="utf-8")
    words = ("--agents", str(agents), "--suites", str(tmp_path / "suites"))
    with serving(store, *words) as (base, process), opened(browser, base) as tab:
        tab.open("/live?agent=google-adk&agent=pydantic-ai")
        tab.follow("document.querySelector('.starting button').click()")
        turns = [
            ("What's the weather in Oslo?", "", ""),
            ("And <i>now</i>?", "server_error", ""),
            ("And in Lima?", "", "empty_answer"),
        ]
        for turn, (message, fault, quirk) in enumerate(turns, 1):
            tab.value(f"document.querySelector('textarea').value = {json.dumps(message)}")
            tab.value(f"document.querySelector('[name=fault]').value = {json.dumps(fault)}")
            tab.value(f"document.querySelector('[name=quirk]').value = {json.dumps(quirk)}")
            tab.value("document.querySelector('[data-live=form]').requestSubmit()")
            tab.wait(f"document.documentElement.dataset.turns === '{turn}'")
        assert tab.value("document.querySelectorAll('.live-turn .agent [data-agent] .measures').length") == 6
        assert tab.value("document.querySelectorAll('.asked')[1].textContent") == "And <i>now</i>?"
        assert tab.value("document.querySelectorAll('.said mark').length") > 0, "evidence, in the answer's own words"
        assert tab.value("document.querySelectorAll('.truth .badge').length") == 2, "a fault and a quirk"
        assert tab.value("/[0-9] cost/.test(document.querySelector('.measures').textContent)")
        # Each step of the sequence, by keyboard.
        stepped = "[...document.querySelectorAll('.stepped')].find((one) => one.querySelector('svg'))"
        tab.value(f"for (let up = {stepped}; up; up = up.parentElement) if (up.matches('details')) up.open = true")
        for _ in range(2):
            tab.value(f"{stepped}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight', bubbles: true}}))")
        assert "2 of" in tab.value(f"{stepped}.querySelector('output').textContent")
        assert tab.value(f"{stepped}.querySelectorAll('.now').length") == 1
        # An opinion: a thumb, a score, a comment; still there when the page is loaded again.
        tab.value("document.querySelector('.thumb').click()")
        tab.value("document.querySelector('[data-score=\"4\"]').click()")
        comment = "document.querySelector('.opinion input')"
        tab.value(f"{comment}.value = 'clear'; {comment}.dispatchEvent(new Event('change', {{bubbles: true}}))")
        tab.wait("document.querySelector('.opinion').dataset.stored === 'true'")
        # A message that is refused is back in its box, and no column waits for its answer.
        tab.value("window.fetch = async () => new Response(JSON.stringify({error: 'not now'}), {status: 400})")
        tab.value("document.querySelector('textarea').value = 'And then?'")
        tab.value("document.querySelector('[data-live=form]').requestSubmit()")
        tab.wait("document.querySelector('[data-live=status]').textContent === 'not now'")
        assert tab.value("document.querySelector('textarea').value") == "And then?"
        assert tab.value("document.querySelectorAll('.live-turn').length") == 3
        tab.open(tab.value("location.pathname"))
        assert tab.value("document.querySelector('[data-score=\"4\"]').ariaPressed") == "true"
        assert tab.value(f"{comment}.value") == "clear"
        assert tab.value("document.documentElement.scrollWidth") == 1280
        assert violations(tab) == []
        here = tab.value("location.pathname")
        tab.value("document.querySelector('form[action$=scenario] input').value = 'Oslo, then Lima'")
        tab.follow("document.querySelector('form[action$=scenario] button').click()")
        tab.open(here)
        tab.follow("document.querySelector('form[action$=finish] button').click()")
        assert tab.value("document.querySelectorAll('a.cell').length") == 2
        # Another agent, by the address that a reader types.
        tab.open("/live")
        tab.value("document.querySelector('[name=url]').value = 'http://127.0.0.1:9/v1'")
        tab.value("document.querySelector('[name=name]').value = 'typed'")
        tab.follow("document.querySelector('.by-address button').click()")
        assert tab.value("document.querySelector('.agents [value=typed]').checked")
        assert tab.console == []
        assert {one for one in tab.requests if not one.startswith((base, "data:"))} == set()
        children = _children(process.pid)
        assert children
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{child}").exists() for child in children):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(httpx.ConnectError):
            httpx.get(base)
    with open_store(store) as kept:
        [entry] = kept.list()
        assert (entry.complete, entry.run.tags) == (True, ("live",))
        [review] = kept.reviews(entry.run.id)
        assert (review["passed"], review["score"], review["comment"]) == (True, 4, "clear")
    [scenario] = load_suite(tmp_path / "suites" / "live.yaml").scenarios
    assert (scenario.id, [turn.quirk for turn in scenario.turns]) == ("oslo-then-lima", [None, None, "empty_answer"])


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [int(child) for child in found]
