"""A run of agents as it grows: every finished turn is kept at once, and what was kept is not done again.

A conversation is the unit of resuming. An agent's memory of one that was cut off died with its process, so such a
conversation is held anew, and its turns take the place of those that were kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.chat.running.runner import Key
from assay.chat.scoring.scores import Answer
from assay.store.recording import tallies_of
from assay.store.runs import Store
from assay.types import Run


class Recorder:
    """A sink for the turns of one run."""

    def __init__(self, store: Store, run: Run) -> None:
        """Begin the run, or go on with it where it is open already."""
        self._store = store
        self.id = store.begin(run)
        # Agents in the order in which they were named: the first is what the others are compared with.
        store.add_cases(self.id, {spec["name"]: {} for spec in run.settings["agents"]})

    def keep(self, answer: Answer) -> None:
        self._store.add_cases(self.id, {}, answers=[answer])

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self._store.drop_conversation(self.id, agent, scenario, repetition)

    def done(self, turns: Mapping[str, int]) -> set[Key]:
        """The conversations that are whole; `turns` is how many each scenario has. Those in part are forgotten."""
        found: dict[Key, int] = {}
        for answer in self._store.answers(self.id):
            key = (answer.agent, answer.scenario, answer.repetition)
            found[key] = found.get(key, 0) + 1
        whole = {key for key, count in found.items() if count == turns.get(key[1])}
        for key in found.keys() - whole:
            self.drop(*key)
        return whole

    def finish(self) -> None:
        """Make the run complete: from here on it can be loaded and compared."""
        self._store.add_cases(self.id, tallies_of(self._store.answers(self.id)))
        self._store.finish(self.id)
