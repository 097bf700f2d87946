"""A store in a process of its own, for a command that fills one run: it imports the database's packages and opens the
store while the command does other things, and writes while the command goes on.

What is written, in which order and in which transactions is decided by the command, which waits for each answer: when a
call returns, it is stored. If the command ends, whatever it has sent is written, and the process ends.
"""

from __future__ import annotations

import itertools
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Self

from assay.errors import AssayError, StoreError
from assay.store.starting import start_store_process

if TYPE_CHECKING:
    from assay.recorded import Run
    from assay.store.contents import EncodedTallies, StoredTallies
    from assay.store.encoded import AnswerRow, EncodedAnswer

_SIZE = struct.Struct("<Q")
_SECONDS_TO_CLOSE = 30.0


class StoreProcess:
    """The command's end: the part of `Store` with which a run is filled. Any thread may call."""

    def __init__(self, address: str | None, process: subprocess.Popen[bytes] | None = None) -> None:
        """Start the process, unless it was, which does not touch the store yet. The address is the default one for
        None.
        """
        self._process = process or start_store_process()
        self._one_call = threading.Lock()
        self._numbers = itertools.count(1)
        self._address = address

    def opened(self) -> Self:
        """Open the store; raises what `open_store` raises."""
        with self._one_call:
            self._send(0, self._address)
            self._answer(0)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def release(self) -> None:
        """Nothing more will be sent: let it write what it was sent, and end, without waiting for it."""
        with self._one_call:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def close(self) -> None:
        """Let it write what it was sent, and wait until it has ended."""
        self.release()
        with self._one_call:
            try:
                self._process.wait(_SECONDS_TO_CLOSE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    # --- the part of `Store` --------------------------------------------------------------------------------------

    def begin(self, run: Run) -> str:
        return str(self._call("begin", run))

    def add_cases(
        self, run_id: str, tallies: StoredTallies, *, answers: Iterable[AnswerRow | EncodedAnswer] = ()
    ) -> int:
        return int(self._call("add_cases", run_id, _encoded(tallies), answers=list(answers)))

    def drop_conversation(self, run_id: str, agent: str, scenario: str, repetition: int) -> int:
        return int(self._call("drop_conversation", run_id, agent, scenario, repetition))

    def change_settings(self, run_id: str, settings: Mapping[str, Any]) -> None:
        self._call("change_settings", run_id, settings)

    def finish(self, run_id: str, tallies: StoredTallies = MappingProxyType({}), summary: Any = None) -> None:
        self._call("finish", run_id, _encoded(tallies), summary)

    def delete(self, ref: str) -> str:
        return str(self._call("delete", ref))

    @contextmanager
    def locked(self, run_id: str) -> Iterator[None]:
        self._call("lock", run_id)
        try:
            yield
        finally:
            self._call("unlock", run_id)

    # --- messages -------------------------------------------------------------------------------------------------

    def _call(self, name: str, *values: Any, **named: Any) -> Any:
        with self._one_call:
            number = next(self._numbers)
            self._send(number, (name, values, named))
            return self._answer(number)

    def _send(self, number: int, message: Any) -> None:
        assert self._process.stdin is not None
        try:
            _write(self._process.stdin, (number, message))
        except OSError as error:
            raise self._ended() from error

    def _answer(self, number: int) -> Any:
        """The answer to a call; one to a call that was interrupted is skipped."""
        assert self._process.stdout is not None
        while True:
            try:
                found = _read(self._process.stdout)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                raise self._ended() from error
            if found is None:
                raise self._ended()
            answered, value, failure = found
            if answered == number:
                break
        if failure is not None:
            raise failure
        return value

    def _ended(self) -> StoreError:
        return StoreError(
            f"the process that writes to the store has ended, with exit code {self._process.poll()}",
            hint="What was stored before is still there",
        )


def _encoded(tallies: StoredTallies) -> EncodedTallies:
    """States as bytes: their arrays would take longer to send than to encode."""
    from assay.store.encoding import encode_states

    return {
        group: {case: encode_states(states) for case, states in by_case.items()} for group, by_case in tallies.items()
    }


def _write(pipe: IO[bytes], message: Any) -> None:
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_SIZE.pack(len(body)))
    pipe.write(body)
    pipe.flush()


def _read(pipe: IO[bytes]) -> Any:
    """The next message; None at the end."""
    size = pipe.read(_SIZE.size)
    return pickle.loads(pipe.read(_SIZE.unpack(size)[0])) if len(size) == _SIZE.size else None


# --- the other process ----------------------------------------------------------------------------------------------


def serve_store(source: IO[bytes], out: IO[bytes]) -> None:
    """Open the store that the first message names, and answer calls until the input ends."""
    # Before the first message: the address is not needed for it. If something is missing, opening the store says so.
    with suppress(ImportError):
        import sqlalchemy.dialects.sqlite  # noqa: F401

        import assay.store.store  # noqa: F401
    from assay.store import open_store

    first = _read(source)
    if first is None:
        return
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(first[1]))
        except Exception as error:
            _write(out, (0, None, _sendable(error)))
            return
        _write(out, (0, store.address, None))
        locks: dict[str, ExitStack] = {}

        def lock(run_id: str) -> None:
            with ExitStack() as held:
                held.enter_context(store.locked(run_id))
                locks[run_id] = stack.enter_context(held.pop_all())

        def unlock(run_id: str) -> None:
            locks.pop(run_id).close()

        while (message := _read(source)) is not None:
            number, (name, values, named) = message
            call = {"lock": lock, "unlock": unlock}.get(name) or getattr(store, name)
            answer: tuple[int, Any, Exception | None]
            try:
                answer = (number, call(*values, **named), None)
            except Exception as error:
                answer = (number, None, _sendable(error))
            with suppress(BrokenPipeError):  # nobody waits for it any more, but the rest is written
                _write(out, answer)


def _sendable(error: Exception) -> Exception:
    if isinstance(error, AssayError):
        return error
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an exception of another package whose arguments cannot be sent
        return StoreError(f"the store failed: {type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    import gc
    import os

    from assay.store import process

    gc.freeze()
    gc.set_threshold(100_000, 20, 20)  # rows have no cycles
    # Answers go to the pipe, and whatever is printed to standard error, so that the two cannot mix.
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        process.serve_store(sys.stdin.buffer, pipe)
    # The store is closed, and the command waits: to free every module, Python would take a tenth of a second.
    sys.stderr.flush()
    os._exit(0)
