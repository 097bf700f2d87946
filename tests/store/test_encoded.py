"""Answers whose entries are shared are encoded as those that have their own."""

from __future__ import annotations

from typing import Any

from assay.store.encoded import EncodedAnswer, FrozenEntries

ENTRY = {
    "score": 0.5,
    "measured": True,
    "band": "good",
    "details": "",
    "evidence": [],
    "base": 0.5,
    "group": "",
    "v": 1,
}


def answer(metrics: dict[str, Any], at: int = 0) -> dict[str, Any]:
    where = {"agent": "bot", "scenario": "rome", "repetition": 0, "turn": at}
    return {**where, "query": "Rain?", "response": "No.", "passed": True, "metrics": metrics}


def test_shared_entries_are_encoded_once_and_as_any_others() -> None:
    shared = {"accuracy": ENTRY, "time": ENTRY | {"score": 1, "measured": False}}
    own = {"accuracy": ENTRY, "time": ENTRY | {"score": 0.25}}
    frozen = FrozenEntries()
    found = [EncodedAnswer.of(answer(one, at), frozen.encoded) for at, one in enumerate([shared, own, shared])]
    assert found == [EncodedAnswer.of(answer(one, at)) for at, one in enumerate([shared, own, shared])]
    assert found[0].values[3] is found[2].values[3]
    assert found[0].scores == [("accuracy", 0.5, True)]
    assert found[1].scores == [("accuracy", 0.5, True), ("time", 0.25, True)]
