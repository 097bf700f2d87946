"""Entries that were sent before arrive as the same objects, and every row arrives as it was sent."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from assay.chat.running import sent_entries
from assay.chat.running.sent_entries import Receiver, ScoringOutcome, Sender
from assay.chat.scoring.answers import FailedCheck
from assay.chat.scoring.metric import Entry


def entry(score: float, details: str = "No rule fired.", evidence: tuple[dict[str, Any], ...] = ()) -> Entry:
    return Entry(score=score, measured=True, details=details, evidence=list(evidence))


def arrived(sender: Sender, receiver: Receiver, *outcomes: ScoringOutcome) -> list[ScoringOutcome]:
    return receiver.outcomes(pickle.loads(pickle.dumps(sender.message(outcomes))))


def test_every_outcome_arrives_as_it_was_sent() -> None:
    failures = (FailedCheck("says 42", "it does not"),)
    outcomes: list[ScoringOutcome] = [
        ({"accuracy": entry(0.5), "time": entry(1.0)}, (), None),
        "the truth cannot be read",
        ({"accuracy": entry(0.5), "time": entry(0.2)}, failures, None),
        ({}, failures, None),
    ]
    sender, receiver = Sender(), Receiver()
    assert arrived(sender, receiver, *outcomes) == outcomes
    assert arrived(sender, receiver, *outcomes[::-1]) == outcomes[::-1]


def test_equal_rows_of_any_message_are_one_object_and_are_sent_once() -> None:
    sender, receiver = Sender(), Receiver()
    (first,) = arrived(sender, receiver, ({"accuracy": entry(0.5), "time": entry(1.0)}, (), None))
    message = sender.message([({"accuracy": entry(0.5), "time": entry(1.0)}, (), None)])
    assert message == (False, [], [], [(0, (), None)])
    (again,) = receiver.outcomes(message)
    (other,) = arrived(sender, receiver, ({"accuracy": entry(0.5), "time": entry(0.9)}, (), None))
    rows = [one[0] for one in (first, again, other) if not isinstance(one, str)]
    assert rows[1] is rows[0]
    assert rows[2] is not rows[0]
    assert rows[2]["accuracy"] is rows[0]["accuracy"]


def test_entries_with_the_same_sentence_and_other_words_are_told_apart() -> None:
    words = [entry(0.5, "Says why.", ({"words": said, "start": 0},)) for said in ("because", "since", "because")]
    outcomes: list[ScoringOutcome] = [({"advice": one}, (), None) for one in words]
    assert arrived(Sender(), Receiver(), *outcomes) == outcomes


def test_what_is_kept_is_forgotten_on_both_sides_before_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_entries, "_MOST_KEPT", 10)
    sender, receiver = Sender(), Receiver()
    for at in range(100):
        outcomes: list[ScoringOutcome] = [
            ({"accuracy": entry(at / 100, str(at)), "time": entry(1.0)}, (), None),
            ({"accuracy": entry(0.5)}, (), None),
        ]
        assert arrived(sender, receiver, *outcomes) == outcomes
        assert len(sender._entries) + len(sender._rows) + len(receiver._entries) + len(receiver._rows) < 60
