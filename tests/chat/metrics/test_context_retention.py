"""context_retention: what an answer keeps of earlier turns, whatever was scored before it."""

from __future__ import annotations

from typing import Any

from assay.chat import ChatbotEvaluator

HISTORY = [{"user": "I hate snow in Oslo, as it is so cold.", "assistant": "I will keep that in mind."}]


def kept(evaluator: ChatbotEvaluator, response: str) -> list[Any]:
    entry = evaluator.evaluate_response("And today?", response, "agent", conversation_history=HISTORY)
    return [line["id"] for line in entry["context_retention"]["evidence"]]


def test_an_answer_in_another_language_changes_no_later_score() -> None:
    """ "It" and "so" are not what the user has spoken of, although they are no function words of German."""
    evaluator = ChatbotEvaluator()
    kept(evaluator, "Wie du gesagt hast, magst du die Kälte nicht, und heute ist es in Oslo wieder sehr kalt.")
    assert "preference_kept" not in kept(evaluator, "As you mentioned, today it is quite so, and that is it.")
    assert "preference_kept" in kept(evaluator, "As you mentioned, you hate the snow.")
