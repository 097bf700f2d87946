"""Records an experiment while it is played: every finished turn is stored at once; finished trials are not repeated.

A conversation is the unit of resuming. An agent's memory of a conversation that was cut off died with its process, so
such a conversation is played again from its start, and its new turns replace the stored ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from assay.chat.scoring.answers import Answer, AnswerKey
from assay.chat.scoring.table import ScoreTable
from assay.chat.scoring.tallies import tallies_of
from assay.runs.loading import load_answers
from assay.store.store import Store
from assay.types import Run


class StreamRecorder:
    """Stores the answers of a file while they are scored; the run can be loaded when it is finished."""

    def __init__(self, store: Store, run: Run) -> None:
        self._store = store
        self.id = store.begin(run)

    def keep(self, answers: Iterable[Answer]) -> None:
        self._store.add_cases(self.id, {}, answers=[answer.to_row() for answer in answers])

    def finish(self, table: ScoreTable) -> None:
        """Store the tallies of all answers, and complete the run."""
        for tallies in table.tallies():
            self._store.add_cases(self.id, tallies)
        self._store.finish(self.id)

    def discard(self) -> None:
        """Delete what was stored: scoring did not reach the end of the file."""
        self._store.delete(self.id)


class Recorder:
    """A sink that stores the turns of one run."""

    def __init__(self, store: Store, run: Run) -> None:
        """Start the run in the store, or continue it if it is open already."""
        self._store = store
        self._baselines = frozenset(run.settings.get("baselines", ()))
        self.id = store.begin(run)
        # Agents in the order in which they were named: the first is what the others are compared with.
        store.add_cases(self.id, {spec["name"]: {} for spec in run.settings["agents"]})

    def keep(self, answer: Answer) -> None:
        self._store.add_cases(self.id, {}, answers=[answer.to_row()])

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self._store.drop_conversation(self.id, agent, scenario, repetition)

    def done(self, turns: Mapping[str, int]) -> set[AnswerKey]:
        """The trials that are stored whole; `turns` is how many each scenario has. Partly stored trials are deleted."""
        found = Counter(answer.key for answer in self._answers())
        whole = {key for key, count in found.items() if count == turns.get(key[1])}
        for key in found.keys() - whole:
            self.drop(*key)
        return whole

    def finish(self) -> list[Answer]:
        """Complete the run: from here on it can be loaded and compared. Gives its answers, those of baselines too.

        Baselines have no tallies, because they are not compared as agents.
        """
        answers = self._answers()
        self._store.add_cases(self.id, tallies_of(one for one in answers if one.agent not in self._baselines))
        self._store.finish(self.id)
        return answers

    def _answers(self) -> list[Answer]:
        return load_answers(self.id, store=self._store, baselines=True)
