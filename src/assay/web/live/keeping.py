"""Stores a live conversation as a run, or writes it to a suite file as a scenario."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.chat.scoring.answers import Answer
from assay.chat.scoring.metric import METRICS
from assay.chat.scoring.scores import Scores
from assay.chat.scoring.tallies import tallies_of
from assay.errors import UsageError
from assay.runs.from_results import recorded_run
from assay.runs.summaries import keep_summary_of
from assay.store.store import Store
from assay.web.live.talking import LiveConversation

_TAG = "live"
_SUITE = "live"
_LONGEST_NAME = 60


def store_turn(store: Store, conversation: LiveConversation) -> str:
    """Add the answers of the last turn to the conversation's run, which stays open. Returns the run's id."""
    turn = conversation.turns[-1]
    if not conversation.run:
        words = " ".join(conversation.turns[0].message.split())
        name = words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1]}…"
        run = recorded_run(_scores(conversation), name=name.lstrip("@"), tags=[_TAG])
        conversation.run = store.begin(run)
        store.add_cases(run.id, {agent: {} for agent in conversation.agents})
    store.add_cases(conversation.run, {}, answers=[answer.to_row() for answer in turn.answers.values()])
    return conversation.run


def finish_run(store: Store, conversation: LiveConversation) -> str:
    """Complete the run, so that it can be looked at and compared. Returns its id."""
    if not conversation.run:
        raise UsageError("nothing was said yet", hint="Send a message first")
    _complete(store, conversation.run, _scores(conversation))
    return conversation.run


def finish_stored_run(store: Store, run_id: str) -> str:
    """Complete the run of a conversation whose server ended without doing so, with the answers that it stored."""
    entry = store.describe(run_id)
    if entry.complete:
        return run_id
    if entry.run.kind != "chat":
        raise UsageError(f"run {run_id} is not a live conversation", hint="Resume it, or delete it")
    answers = [Answer.from_json(row) for row in store.answers(run_id)]
    if not answers:
        raise UsageError(f"run {run_id} has no answer", hint="Delete it")
    _complete(store, run_id, _scores_of(answers))
    return run_id


def _complete(store: Store, run_id: str, scores: Scores) -> None:
    store.add_cases(run_id, tallies_of(scores.answers))
    store.finish(run_id)
    keep_summary_of(store, run_id, scores)


def _scores(conversation: LiveConversation) -> Scores:
    return _scores_of(
        [turn.answers[agent] for agent in conversation.agents for turn in conversation.turns if agent in turn.answers]
    )


def _scores_of(answers: Sequence[Answer]) -> Scores:
    used = {name for answer in answers for name in answer.entries}
    metrics = tuple(METRICS.get(name) for name in METRICS.names() if name in used)
    return Scores(tuple(answers), metrics)


def keep_scenario(folder: Path, conversation: LiveConversation, name: str) -> Path:
    """Write the conversation into the suite file of the folder as a scenario. Returns the file's path.

    The time, the city whose weather is true, and the fault and quirk of each turn are filled in; checks can be added by
    hand.
    """
    import yaml

    from assay.chat.suites import load_suite

    if not conversation.turns:
        raise UsageError("nothing was said yet", hint="Send a message first")
    scenario_id = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:_LONGEST_NAME] or conversation.id
    path = folder / f"{_SUITE}.yaml"
    suite: dict[str, Any] = {"name": _SUITE, "version": 1, "description": "Conversations kept from the page"}
    if path.exists():
        load_suite(path)  # a file that is not a suite is reported and not overwritten
        suite = yaml.safe_load(path.read_text(encoding="utf-8"))
    scenarios = suite.setdefault("scenarios", [])
    taken = {one["id"] for one in scenarios}
    unique = scenario_id
    number = 2
    while unique in taken:
        unique, number = f"{scenario_id}-{number}", number + 1
    turns = []
    for turn in conversation.turns:
        stated: dict[str, Any] = {"user": turn.message}
        if turn.city:
            stated["weather"] = turn.city
        if turn.fault:
            stated["fault"] = turn.fault
        if turn.quirk:
            stated["quirk"] = turn.quirk
        turns.append(stated)
    scenarios.append({"id": unique, "kind": "live", "clock": conversation.started.isoformat(), "turns": turns})
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_name("new-" + path.name)
    try:
        draft.write_text(yaml.safe_dump(suite, sort_keys=False, allow_unicode=True, width=110), encoding="utf-8")
        load_suite(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
