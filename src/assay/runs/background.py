"""Runs that a server plays in the background, each in a thread with its own event loop; and how far a run has come."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

from assay.errors import AssayError, RunInterruptedError, UsageError
from assay.redaction import redacted
from assay.store.store import Store

MOST_RUNS_AT_ONCE = 2
_SECONDS_TO_BEGIN = 20.0
_SECONDS_TO_STOP = 1.0


class StartedRuns:
    """The runs that this server plays now. Runs started elsewhere are only visible in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._playing: dict[str, _Playing] = {}
        self._failures: dict[str, str] = {}

    def start(self, experiment: Any, *, name: str) -> str:
        """Play a new run; returns its id as soon as the store has it."""
        from assay.runs.starting import start_run

        playing = _Playing()
        work = start_run(experiment, store=self._store, name=name, begun=playing.has_begun, keeps_refused=True)
        return self._play(playing, work)

    def resume(self, run_id: str) -> str:
        """Continue an unfinished run of agents."""
        from assay.runs.starting import resume_run

        if run_id in self.under_way:
            raise UsageError(f"run {run_id} is already in progress")
        playing = _Playing()
        work = resume_run(run_id, store=self._store, begun=playing.has_begun)
        return self._play(playing, work)

    @property
    def under_way(self) -> list[str]:
        """Ids of the runs that are being played here."""
        # Read by every page, in several threads: nothing is changed here.
        return [run_id for run_id, one in list(self._playing.items()) if one.is_alive]

    @property
    def state(self) -> tuple[Any, ...]:
        """Which runs are being played and which ended early: what is known here and not in the store."""
        return tuple(self.under_way), tuple(self._failures.items())

    def failure(self, run_id: str) -> str:
        """Why a run that was started here ended early; empty if it did not."""
        return self._failures.get(run_id, "")

    def stop(self, run_id: str) -> None:
        """Stop a run; its finished turns are stored, and it can be resumed."""
        if run_id not in self.under_way:
            raise UsageError(f"run {run_id} is not played by this server", hint="Stop it where it was started")
        self._playing[run_id].stop()

    def stop_all(self) -> None:
        """Stop every run, before the server ends."""
        for playing in self._playing.values():
            playing.stop(wait=False)
        end = time.monotonic() + _SECONDS_TO_STOP
        for playing in self._playing.values():
            playing.join(max(0.0, end - time.monotonic()))

    def _play(self, playing: _Playing, work: Coroutine[Any, Any, Any]) -> str:
        if len(self.under_way) >= MOST_RUNS_AT_ONCE:
            work.close()
            raise UsageError(f"{MOST_RUNS_AT_ONCE} runs are in progress", hint="Wait for one of them, or stop it")
        run_id = playing.begin(work, self._failures)
        self._playing = {one: known for one, known in self._playing.items() if known.is_alive} | {run_id: playing}
        self._failures.pop(run_id, None)
        return run_id


def progress_of(store: Store, run_id: str) -> tuple[int, int]:
    """Trials of the agents that are stored, and that are planned; 0 planned if the run does not say.

    As on the terminal, baselines do not count: they are played at the end and take no time.
    """
    settings = store.describe(run_id).run.settings
    suite = settings.get("suite")
    if not isinstance(suite, dict) or not isinstance(settings.get("agents"), list):
        return store.progress(run_id), 0
    total = len(suite.get("scenarios", ())) * len(settings["agents"]) * int(settings.get("repeat", 1))
    return store.progress(run_id, without=settings.get("baselines") or ()), total


class _Playing:
    """One run in its thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._thread: threading.Thread | None = None
        self._known = threading.Event()
        self._run_id = ""
        self._error: AssayError | None = None

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def has_begun(self, run_id: str) -> None:
        """The run is in the store."""
        self._run_id = run_id
        self._known.set()

    def begin(self, work: Coroutine[Any, Any, Any], failures: dict[str, str]) -> str:
        """Start the thread; returns the run's id, or raises the error that prevented the start."""
        self._thread = threading.Thread(target=self._main, args=(work, failures), daemon=True, name="assay run")
        self._thread.start()
        if not self._known.wait(_SECONDS_TO_BEGIN):
            self.stop(wait=False)
            raise UsageError(f"the run did not start within {_SECONDS_TO_BEGIN:g} s")
        if self._error is not None and not self._run_id:
            raise self._error
        return self._run_id

    def stop(self, *, wait: bool = True) -> None:
        if self._loop is not None and self._task is not None and self.is_alive:
            self._loop.call_soon_threadsafe(self._task.cancel)
        if wait:
            self.join(10.0)

    def join(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def _main(self, work: Coroutine[Any, Any, Any], failures: dict[str, str]) -> None:
        async def play() -> None:
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.ensure_future(work)
            await self._task

        try:
            asyncio.run(play())
        except (RunInterruptedError, asyncio.CancelledError):
            pass  # it was stopped; what was played is stored
        except AssayError as error:
            self._error = error
            failures[self._run_id] = redacted(str(error))
        except Exception as error:
            self._error = UsageError(f"the run failed: {type(error).__name__}: {redacted(str(error))}")
            failures[self._run_id] = str(self._error)
        finally:
            self._known.set()
