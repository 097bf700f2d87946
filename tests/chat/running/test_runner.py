"""Every cell ends scored, skipped or failed; a failure of one agent does not affect others; nothing is played twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pytest

from assay.chat.agents import Setup
from assay.chat.agents.function import FunctionAgent
from assay.chat.running.hosts.host import LocalHost
from assay.chat.running.runner import Runner
from assay.chat.running.sinks import MemorySink, Progress
from assay.chat.running.trials import Pace, plan
from assay.chat.scoring.answers import Answer, AnswerKey
from assay.chat.suites import Suite

TRUTH = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "rain"}}
RIGHT = "It is 5 °C and raining in Oslo, so I recommend an umbrella because it is wet."
NOWHERE = Setup(model="none", model_url="http://127.0.0.1:9/v1", weather_url="http://127.0.0.1:9")


def suite(*turns: int) -> Suite:
    """Scenarios with so many turns each."""
    return Suite.model_validate(
        {
            "name": "small",
            "version": 1,
            "scenarios": [
                {
                    "id": f"s{number}",
                    "kind": "current",
                    "turns": [{"user": f"What's the weather in Oslo? {at}", "weather": "Oslo"} for at in range(count)],
                }
                for number, count in enumerate(turns)
            ],
        }
    )


async def truth(city: str, days: int, now: datetime | None) -> Any:
    return TRUTH


def play(
    scenarios: Suite,
    agents: Mapping[str, Callable[..., Any]],
    *,
    done: frozenset[AnswerKey] = frozenset(),
    progress: Callable[[Progress], None] = lambda progress: None,
    **settings: Any,
) -> MemorySink:
    """A run of functions, without warming up: what they are asked is what the suite asks."""
    sink = MemorySink()
    pace = Pace(warm_up=False, **settings.pop("pace", {}))

    async def main() -> None:
        hosts = {name: LocalHost(FunctionAgent(name, function).kind(), NOWHERE) for name, function in agents.items()}
        runner = Runner(scenarios, hosts, truth, pace=pace, **settings)
        await runner.run(sink, done=done, progress=progress)
        for host in hosts.values():
            await host.close()

    asyncio.run(main())
    return sink


def status(answer: Answer) -> str:
    assert answer.record is not None
    return answer.record.status


def reason(answer: Answer) -> str:
    assert answer.record is not None
    return answer.record.reason


def test_every_conversation_is_planned_once_and_agents_take_turns() -> None:
    cells = plan(["a", "b", "c"], suite(1, 1, 1, 1), repeat=5, seed=1)
    assert len({cell.key for cell in cells}) == len(cells) == 60
    blocks = [cells[at : at + 3] for at in range(0, 60, 3)]
    assert all({cell.agent for cell in block} == {"a", "b", "c"} for block in blocks)
    assert all(len({(cell.scenario.id, cell.repetition) for cell in block}) == 1 for block in blocks)
    firsts = Counter(block[0].agent for block in blocks)
    assert len(firsts) == 3  # nobody is always first


def test_the_order_is_the_seeds() -> None:
    def order(seed: int) -> list[AnswerKey]:
        return [cell.key for cell in plan(["a", "b"], suite(1, 1, 1), repeat=4, seed=seed)]

    assert order(7) == order(7)
    assert order(7) != order(8)
    assert sorted(order(7)) == sorted(order(8))


def test_a_right_answer_is_scored_against_the_truth() -> None:
    [answer] = play(suite(1), {"mine": lambda message: RIGHT}).answers
    assert status(answer) == "scored"
    assert answer.entries["accuracy"].score == 1.0
    assert answer.passed
    assert answer.record is not None
    assert answer.record.kind == "current"
    assert answer.record.wall is not None
    assert answer.record.overhead is None  # a function has no spans to tell


def test_a_turn_that_fails_ends_its_conversation_and_no_other() -> None:
    def second_fails(message: str) -> str:
        if message.endswith("1"):
            raise ValueError("no idea")
        return RIGHT

    answers = play(suite(3, 1), {"bad": second_fails, "good": lambda message: RIGHT}).answers
    ended = {(one.agent, one.scenario, one.turn): status(one) for one in answers}
    assert [ended["bad", "s0", at] for at in range(3)] == ["scored", "failed", "skipped"]
    assert ended["bad", "s1", 0] == "scored"
    assert [ended["good", "s0", at] for at in range(3)] == ["scored"] * 3
    failed = next(one for one in answers if status(one) == "failed")
    assert reason(failed) == "ValueError: no idea"
    assert failed.entries == {}
    assert not failed.passed
    assert reason(next(one for one in answers if status(one) == "skipped")) == "turn 2 failed"


def test_an_agent_that_asks_to_exit_has_failed_and_no_more() -> None:
    def leave(message: str) -> str:
        raise SystemExit(3)

    answers = play(suite(1), {"leaving": leave, "staying": lambda message: RIGHT}).answers
    assert {one.agent: status(one) for one in answers} == {"leaving": "failed", "staying": "scored"}


def test_a_turn_has_its_time() -> None:
    async def slow(message: str) -> str:
        await asyncio.sleep(30)
        return RIGHT

    [answer] = play(suite(1), {"slow": slow}, pace={"turn_timeout": 0.1}).answers
    assert (status(answer), reason(answer)) == ("failed", "TimeoutError: the turn took longer than 0.1 s")


class ConnectError(Exception):
    """As httpx calls it."""


def test_what_is_not_the_agents_fault_is_tried_again_from_the_start() -> None:
    asked: list[str] = []

    def flaky(message: str) -> str:
        asked.append(message[-1])
        if asked.count("1") == 1 and message.endswith("1"):
            raise ConnectError("refused")
        return RIGHT

    answers = play(suite(2), {"flaky": flaky}).answers
    assert [status(one) for one in answers] == ["scored", "scored"]
    assert asked == ["0", "1", "0", "1"]
    assert [one.record.attempts for one in answers if one.record] == [2, 2]


def test_trying_again_has_an_end() -> None:
    asked = []

    def down(message: str) -> str:
        asked.append(message)
        raise ConnectError("refused")

    [answer] = play(suite(1), {"down": down}, pace={"retries": 2}).answers
    assert (status(answer), reason(answer), len(asked)) == ("failed", "ConnectError: refused", 3)


def test_the_agents_own_errors_are_not_tried_again() -> None:
    asked = []

    def wrong(message: str) -> str:
        asked.append(message)
        raise KeyError("city")

    play(suite(1), {"wrong": wrong})
    assert len(asked) == 1


def test_what_is_done_is_not_played_again() -> None:
    asked: list[str] = []

    def mine(message: str) -> str:
        asked.append(message)
        return RIGHT

    told: list[tuple[int, int]] = []
    done = frozenset({("mine", "s0", 0), ("mine", "s1", 1)})
    sink = play(suite(1, 1), {"mine": mine}, done=done, repeat=2, progress=lambda p: told.append((p.done, p.total)))
    assert {(one.agent, one.scenario, one.repetition) for one in sink.answers} == {("mine", "s0", 1), ("mine", "s1", 0)}
    assert len(asked) == 2
    assert list(dict.fromkeys(told)) == [(2, 4), (3, 4), (4, 4)]


def test_a_scenario_that_cannot_be_played_is_skipped_with_the_reason() -> None:
    answers = play(
        suite(2), {"mine": lambda message: RIGHT}, skip=lambda host, scenario: f"{scenario.id} {host.uses_setup}"
    ).answers
    assert [(status(one), reason(one)) for one in answers] == [("skipped", "s0 False")] * 2


def test_conversations_are_held_in_the_order_of_the_plan() -> None:
    held: list[tuple[str, str]] = []

    def agent(name: str) -> Callable[..., str]:
        def answer(message: str, history: list[Any], session: str) -> str:
            held.append((name, session.rsplit("-", 2)[0]))
            return RIGHT

        return answer

    scenarios = suite(*[1] * 6)
    play(scenarios, {name: agent(name) for name in "abc"}, repeat=2, seed=5)
    planned = [(cell.agent, f"{cell.agent}-{cell.scenario.id}") for cell in plan("abc", scenarios, repeat=2, seed=5)]
    assert held == planned
    assert len({tuple(name for name, _ in held[at : at + 3]) for at in range(0, 36, 3)}) > 2  # no fixed rotation


def test_an_agent_at_its_limit_does_not_delay_other_agents() -> None:
    order: list[str] = []

    async def slow(message: str) -> str:
        async with asyncio.timeout(20):
            while order.count("quick") < 3:
                await asyncio.sleep(0.01)
        order.append("slow")
        return RIGHT

    async def quick(message: str) -> str:
        order.append("quick")
        return RIGHT

    play(suite(*[1] * 4), {"slow": slow, "quick": quick}, pace={"jobs": 2, "concurrency": 1})
    assert order.index("slow") >= 3
    assert Counter(order) == {"slow": 4, "quick": 4}


def test_an_agent_with_its_own_tools_is_not_failed_for_weather_that_it_cannot_know() -> None:
    turn = {"user": "What's the weather in Oslo?", "weather": "Oslo"}
    checked = Suite.model_validate(
        {
            "name": "small",
            "version": 1,
            "scenarios": [
                {"id": "own", "kind": "current", "turns": [{**turn, "checks": ["accuracy >= 0.9"]}]},
                {"id": "says", "kind": "current", "turns": [{**turn, "checks": ["accuracy >= 0.9"], "says": ["snow"]}]},
            ],
        }
    )
    known = play(checked, {"mine": lambda message: "It is 25 °C and sunny in Oslo."}).answers
    unknown = play(checked, {"mine": lambda message: "It is 25 °C and sunny in Oslo."}, is_made_up=True).answers
    failed = [{one.scenario: [failed.check for failed in one.failures] for one in some} for some in (known, unknown)]
    assert failed[0] == {"own": ["accuracy >= 0.9"], "says": ["accuracy >= 0.9", 'says "snow"']}
    assert failed[1] == {"own": [], "says": ['says "snow"']}


def test_what_cannot_be_scored_fails_with_the_reason_and_the_run_continues() -> None:
    sink = MemorySink()

    async def lost(city: str, days: int, now: datetime | None) -> Any:
        raise RuntimeError("no such weather")

    async def main() -> None:
        hosts = {"mine": LocalHost(FunctionAgent("mine", lambda message: RIGHT).kind(), NOWHERE)}
        await Runner(suite(3, 1), hosts, lost, pace=Pace(warm_up=False)).run(sink)

    asyncio.run(main())
    ended = sorted((one.scenario, one.turn, status(one), reason(one)) for one in sink.answers)
    failed = "could not be scored: RuntimeError: no such weather"
    assert ended == [
        ("s0", 0, "failed", failed),
        ("s0", 1, "skipped", "turn 1 could not be scored"),
        ("s0", 2, "skipped", "turn 1 could not be scored"),
        ("s1", 0, "failed", failed),
    ]


def test_an_agent_with_its_own_tools_is_not_checked_against_made_up_weather() -> None:
    [held] = play(suite(1), {"mine": lambda message: RIGHT}).answers
    assert held.entries["accuracy"].measured
    [free] = play(suite(1), {"mine": lambda message: RIGHT}, is_made_up=True).answers
    assert not free.entries["accuracy"].measured


def test_what_the_user_said_counts_whether_the_agent_stored_it_or_not() -> None:
    told = Suite.model_validate(
        {
            "name": "told",
            "version": 1,
            "scenarios": [
                {
                    "id": "s0",
                    "kind": "preferences",
                    "turns": [
                        {"user": "What's the weather in Oslo?", "weather": "Oslo"},
                        {"user": "I hate rain.", "preferences": {"dislikes_rain": True}},
                        {"user": "What's the weather in Oslo now?", "weather": "Oslo"},
                    ],
                }
            ],
        }
    )
    first, _, last = play(told, {"forgetful": lambda message: "It is 5 °C and raining in Oslo."}).answers
    assert not first.entries["adaptation_quality"].measured
    assert last.entries["adaptation_quality"].measured
    assert last.entries["adaptation_quality"].score == 0.5


def test_keys_that_an_agent_lets_slip_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_API_KEY", "correct-horse-battery")

    def slips(message: str) -> str:
        if message.endswith("1"):
            raise ValueError("refused: Bearer correct-horse-battery")
        return "My key is correct-horse-battery, or was it sk-abcdefghijklmnop?"

    answers = play(suite(2), {"mine": slips}).answers
    assert answers[0].response == "My key is ***, or was it ***?"
    assert reason(answers[1]) == "ValueError: refused: Bearer ***"


@pytest.mark.parametrize("jobs", [1, 4])
def test_no_more_conversations_at_a_time_than_allowed(jobs: int) -> None:
    at_once, most = 0, 0

    async def counting(message: str) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.005)
        at_once -= 1
        return RIGHT

    play(suite(*[1] * 6), {"a": counting, "b": counting}, pace={"jobs": jobs, "concurrency": 2})
    assert most == min(jobs, 4)


def test_stopping_keeps_what_was_finished() -> None:
    sink = MemorySink()

    async def main() -> None:
        started = asyncio.Event()

        async def mine(message: str) -> str:
            if len(sink.answers) == 3:
                started.set()
                await asyncio.sleep(30)
            return RIGHT

        hosts = {"mine": LocalHost(FunctionAgent("mine", mine).kind(), NOWHERE)}
        runner = Runner(suite(*[1] * 8), hosts, truth, pace=Pace(warm_up=False))
        task = asyncio.create_task(runner.run(sink))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await hosts["mine"].close()

    asyncio.run(main())
    assert [status(one) for one in sink.answers] == ["scored"] * 3


def test_texts_an_answer_must_and_must_not_contain() -> None:
    demanding = suite(1).model_copy(deep=True)
    turn = demanding.scenarios[0].turns[0]
    for says, never_says, passes in (
        (["UMBRELLA"], [], True),
        (["parasol"], [], False),
        ([], ["pwned"], True),
        ([], ["RECOMMEND"], False),
    ):
        asked = turn.model_copy(update={"says": says, "never_says": never_says})
        scenario = demanding.scenarios[0].model_copy(update={"turns": [asked]})
        [answer] = play(demanding.model_copy(update={"scenarios": [scenario]}), {"mine": lambda message: RIGHT}).answers
        assert answer.passed is passes, (says, never_says)
