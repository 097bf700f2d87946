"""What one agent returns, however strange, is stored or fails only that turn; the others are scored, and a run that was
cut off continues.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.chat.running.test_runner import NOWHERE, RIGHT, suite, truth
from tests.runs.test_recorder import a_trial

from assay.chat import Reply
from assay.chat.agents.function import FunctionAgent
from assay.chat.running.hosts.host import LocalHost
from assay.chat.running.runner import Runner
from assay.chat.running.trials import Pace
from assay.errors import StoreError
from assay.runs import load_answers
from assay.runs.recorder import Recorder
from assay.store import open_store
from assay.store.store import Store
from assay.types import Run

CIRCLE: dict[str, Any] = {"a": 1}
CIRCLE["again"] = CIRCLE
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]

STRANGE: dict[str, Any] = {
    "nan": math.nan,
    "infinity": [math.inf, {"x": -math.inf}],
    "bytes": b"\xff\x00",
    "set": {"b", "a"},
    "object": object,
    "keys": {1: "a", None: "b", (1, 2): "c", b"k": "d"},
    "surrogate": "a\ud800b",
    "nul": "a\x00b",
    "circle": CIRCLE,
    "deep": DEEP,
    "long integer": 10**5000,
}


def gives(value: Any) -> Callable[[str], dict[str, Any]]:
    def answer(message: str) -> dict[str, Any]:
        text = RIGHT + (value if isinstance(value, str) else "")
        return {"text": text, "tool_calls": [{"name": "get", "arguments": {"x": value}, "result": value}]}

    return answer


def good(message: str) -> str:
    return RIGHT


def the_run(agents: list[str], scenarios: int) -> Run:
    settings = {**a_trial().settings} | {
        "agents": [{"name": agent} for agent in agents],
        "suite": {"scenarios": ["s0"]},
    }
    return replace(a_trial(), settings=settings)


def carry_out(store: Store, run: Run, agents: dict[str, Any], **more: Any) -> Recorder:
    recorder = Recorder(store, run)

    async def main() -> None:
        hosts = {name: LocalHost(FunctionAgent(name, function).kind(), NOWHERE) for name, function in agents.items()}
        runner = Runner(suite(2), hosts, truth, pace=Pace(warm_up=False), **more)
        await runner.run(recorder, done=recorder.done({"s0": 2}))
        for host in hosts.values():
            await host.close()

    asyncio.run(main())
    return recorder


def statuses(store: Store, run: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for answer in load_answers(run, store=store):
        assert answer.record is not None
        found.setdefault(answer.agent, []).append(answer.record.status)
    return found


def test_strange_values_are_stored_and_everyone_is_scored(tmp_path: Path) -> None:
    agents = {"good": good, **{name: gives(value) for name, value in STRANGE.items()}}
    with open_store(tmp_path / "runs.db") as store:
        recorder = carry_out(store, the_run(list(agents), 1), agents)
        assert statuses(store, recorder.id) == {name: ["scored", "scored"] for name in agents}
        for answer in load_answers(recorder.id, store=store):
            json.dumps(answer.to_json(), allow_nan=False)
        recorder.finish()
        assert set(store.load(recorder.id).tallies) == set(agents)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text=None),  # type: ignore[arg-type]
        Reply(text="ok", input_tokens="many", output_tokens="few"),  # type: ignore[arg-type]
        Reply(text="ok", input_tokens=math.nan, output_tokens=1),  # type: ignore[arg-type]
        Reply(text="ok", tool_calls=(object(),)),  # type: ignore[arg-type]
    ],
)
def test_an_account_that_is_none_fails_its_turn_alone_with_a_true_reason(tmp_path: Path, reply: Reply) -> None:
    agents = {"good": good, "odd": lambda message: reply}
    with open_store(tmp_path / "runs.db") as store:
        recorder = carry_out(store, the_run(list(agents), 1), agents)
        found = statuses(store, recorder.id)
        assert found == {"good": ["scored", "scored"], "odd": ["failed", "skipped"]}
        reason = next(
            one.record.reason for one in load_answers(recorder.id, store=store) if one.agent == "odd" and one.record
        )
        assert "Error" in reason


class Picky(Recorder):
    """A sink that cannot keep what one agent says, as any store might not in some way nobody thought of."""

    def keep(self, answer: Any) -> None:
        if answer.agent == "odd" and answer.response:
            raise ValueError("Out of range float values are not JSON compliant: nan")
        super().keep(answer)


def test_a_turn_that_cannot_be_stored_fails_alone_and_the_run_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = {"good": good, "odd": good}
    with open_store(tmp_path / "runs.db") as store:
        run = the_run(list(agents), 1)
        monkeypatch.setitem(globals(), "Recorder", Picky)
        recorder = carry_out(store, run, agents)
        assert statuses(store, recorder.id) == {"good": ["scored", "scored"], "odd": ["failed", "skipped"]}
        reasons = [
            one.record.reason for one in load_answers(recorder.id, store=store) if one.agent == "odd" and one.record
        ]
        assert reasons == [
            "could not be stored: ValueError: Out of range float values are not JSON compliant: nan",
            "turn 1 could not be stored",
        ]
        again = carry_out(store, replace(run, id=recorder.id), agents)  # nothing is left to do
        assert again.done({"s0": 2}) == {("good", "s0", 0), ("odd", "s0", 0)}


class Full(Recorder):
    """A store on a full disk."""

    def keep(self, answer: Any) -> None:
        raise StoreError("the disk is full")


def test_a_store_that_fails_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "runs.db") as store:
        monkeypatch.setitem(globals(), "Recorder", Full)
        with pytest.raises(StoreError, match="the disk is full"):
            carry_out(store, the_run(["good"], 1), {"good": good})
