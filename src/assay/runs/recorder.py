"""Records an experiment while it is played: finished turns are stored in groups; finished trials are not repeated.

A turn is stored at most half a second after it was kept, and before the run says that it is done. A conversation is the
unit of resuming. An agent's memory of a conversation that was cut off was lost with its process, so such a conversation
is played again from its start, and its new turns replace the stored ones.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from assay.chat.scoring.answers import Answer, AnswerKey
from assay.chat.scoring.table import ScoreTable
from assay.chat.scoring.tallies import tallies_of
from assay.redaction import redacted_value
from assay.runs.loading import load_answers
from assay.store.encoded import EncodedAnswer, FrozenEntries
from assay.types import Run

if TYPE_CHECKING:
    from assay.store.contents import StoredTallies
    from assay.store.process import StoreProcess
    from assay.store.store import Store

# Seconds for which turns are collected before they are written in one transaction. A transaction costs as much as
# twenty turns, so short turns are cheaper together; the rest of the half second is for a disk that is busy.
_COLLECTED_FOR = 0.25


class StreamRecorder:
    """Stores the answers of a file while they are scored; the run can be loaded when it is finished."""

    def __init__(self, store: Store, run: Run) -> None:
        self._store = store
        self._settings = run.settings
        self.id = store.begin(run)

    def keep(self, answers: Iterable[Answer]) -> None:
        with _uninterrupted():
            self._store.add_cases(self.id, {}, answers=[answer.to_row() for answer in answers])

    def finish(self, table: ScoreTable, *, missing: Mapping[str, Any] | None = None) -> None:
        """Store the tallies of all answers, and complete the run; `missing` are transcripts that are not part of it."""
        if missing:
            self._store.change_settings(self.id, {**self._settings, "missing": redacted_value(missing)})
        for tallies in table.tallies():
            with _uninterrupted():
                self._store.add_cases(self.id, tallies)
        with _uninterrupted():
            self._store.finish(self.id)

    def discard(self) -> None:
        """Delete what was stored: scoring did not reach the end of the file."""
        self._store.delete(self.id)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until a transaction ends: inside one, it could leave the store locked when the run is deleted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


class Recorder:
    """A sink that stores the turns of one run. Any thread may keep turns; they are written by one at a time."""

    def __init__(self, store: Store | StoreProcess, run: Run, *, is_new: bool = False) -> None:
        """Start the run in the store, or continue it if it is open already; what `is_new` has nothing to continue."""
        self._store = store
        self._baselines = frozenset(run.settings.get("baselines", ()))
        self.id = store.begin(run)
        # Agents in the order in which they were named: the first is what the others are compared with.
        named = (*(spec["name"] for spec in run.settings["agents"]), *run.settings.get("baselines", ()))
        store.add_cases(self.id, {name: {} for name in named})
        self._answers: dict[AnswerKey, list[Answer]] | None = {} if is_new else None
        """What the run has, once `done` has read the stored part, so that nothing is read twice."""
        self._waiting: list[EncodedAnswer] = []
        self._entries = FrozenEntries()
        self._timer: threading.Timer | None = None
        self._failure: Exception | None = None
        self._state = threading.Lock()
        self._writer = threading.Lock()

    def keep(self, answer: Answer) -> None:
        """Keep a turn. A turn that cannot be stored is refused here; errors of the store are raised by a later call."""
        encoded = EncodedAnswer.of(answer.to_row(), self._entries.encoded)
        with self._state:
            if self._failure is not None:
                raise self._failure
            self._waiting.append(encoded)
            if self._answers is not None:
                self._answers.setdefault(answer.key, []).append(answer)
            if self._timer is None:
                self._timer = threading.Timer(_COLLECTED_FOR, self._flush_in_time)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write every turn that was kept; raises what the store raises."""
        with self._writer:
            with self._state:
                rows, self._waiting = self._waiting, []
                timer, self._timer = self._timer, None
                failure = self._failure
            if timer is not None:
                timer.cancel()
            if failure is not None:
                raise failure
            if rows:
                self._store.add_cases(self.id, {}, answers=rows)

    def _flush_in_time(self) -> None:
        """Flush in a separate thread. An error cannot be caught there, so the next call raises it."""
        try:
            self.flush()
        except Exception as error:
            with self._state:
                self._failure = error

    def drop(self, agent: str, scenario: str, repetition: int) -> None:
        self.flush()
        self._store.drop_conversation(self.id, agent, scenario, repetition)
        if self._answers is not None:
            self._answers.pop((agent, scenario, repetition), None)

    def done(self, turns: Mapping[str, int]) -> set[AnswerKey]:
        """The trials that are stored whole; `turns` is how many each scenario has. Partly stored trials are deleted."""
        if self._answers is None:
            self._answers = self._stored()
        whole = {key for key, answers in self._answers.items() if len(answers) == turns.get(key[1])}
        for key in self._answers.keys() - whole:
            self.drop(*key)
        return whole

    def answers(self) -> list[Answer]:
        """Every answer of the run, those of baselines too."""
        found = self._stored() if self._answers is None else self._answers
        return [answer for of_trial in found.values() for answer in of_trial]

    def finish(self, tallies: StoredTallies | None = None, summary: tuple[str, Any] | None = None) -> None:
        """Complete the run: from here on it can be loaded and compared. `tallies` are those of its agents, if known;
        `summary` is what lists show of it, with its version.

        Baselines have no tallies, because they are not compared as agents.
        """
        self.flush()
        if tallies is None:
            tallies = tallies_of(one for one in self.answers() if one.agent not in self._baselines)
        self._store.finish(self.id, tallies, summary)

    @property
    def has_played(self) -> bool:
        """Whether a turn of an agent was kept; baselines call no model and are played again at no cost."""
        return any(answer.agent not in self._baselines for answer in self.answers())

    def discard(self) -> None:
        """Delete the run: nothing was played that could be continued."""
        self.flush()
        self._store.delete(self.id)

    def _stored(self) -> dict[AnswerKey, list[Answer]]:
        self.flush()
        store: Any = self._store
        found: dict[AnswerKey, list[Answer]] = {}
        for answer in load_answers(self.id, store=store, baselines=True):
            found.setdefault(answer.key, []).append(answer)
        return found
