"""A process that this one starts and talks to in JSON lines: how it is started, what it sends, why it ended.

`pipe.py` is the other end. The process runs in a new session: Ctrl-C at the terminal reaches only the process that
started it, and whatever it starts and leaves behind can be ended with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from assay.chat.running.processes.descendants import Descendant, descendants
from assay.chat.running.processes.forking import Forked
from assay.redaction import redacted

_SECONDS_TO_CLOSE = 5.0
_LAST_LINES = 20
_LONGEST_LINE = 20_000
_LONGEST_SHOWN = 500
_LARGEST_MESSAGE = 64 * 2**20
# Seconds between two checks of whether the process has ended.
_LOOK_EVERY = 0.2


async def start_module(module: str, python: str = sys.executable) -> asyncio.subprocess.Process:
    """Run a module with pipes to it, in a new session."""
    # -P keeps the current folder off the path: a folder called `agents` there would hide the OpenAI Agents SDK.
    return await asyncio.create_subprocess_exec(
        *(python, "-P", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LARGEST_MESSAGE,
        start_new_session=True,
    )


class ForkedProcess:
    """A copy of this process that was made before its event loop, used like an `asyncio.subprocess.Process`."""

    def __init__(self, forked: Forked) -> None:
        self._forked = forked
        self.pid = forked.pid
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._transports: list[asyncio.BaseTransport] = []
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connected(cls, forked: Forked) -> ForkedProcess:
        """The process with its pipes in the running event loop."""
        process = cls(forked)
        loop = asyncio.get_running_loop()
        process.stdout = await process._reader(forked.stdout)
        process.stderr = None if forked.stderr is None else await process._reader(forked.stderr)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, forked.stdin)
        process.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        process._transports.append(transport)
        loop.add_reader(forked.handle, process._reap)
        return process

    async def _reader(self, pipe: Any) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=_LARGEST_MESSAGE)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._transports.append(transport)
        return reader

    def _reap(self) -> None:
        """Ask for its exit code, once it has ended."""
        asyncio.get_running_loop().remove_reader(self._forked.handle)
        code = self._forked.poll()
        if not self._ended.done():
            self._ended.set_result(0 if code is None else code)

    @property
    def returncode(self) -> int | None:
        return self._forked.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        self._forked.kill()

    def close_pipes(self) -> None:
        for transport in self._transports:
            transport.close()


class ChildProcess:
    """The starter's end of a process that reads and writes JSON lines."""

    is_lost = False
    """Whether its machine was lost: never, since it is this one."""

    def __init__(self, process: asyncio.subprocess.Process | ForkedProcess) -> None:
        self.stopped = ""
        """Why it was killed; empty if it was not."""
        self._process = process
        self._stderr: deque[str] = deque(maxlen=_LAST_LINES)
        self._descendants: set[Descendant] = set()
        self._tasks = [asyncio.create_task(self._drain_stderr()), asyncio.create_task(self._end_children())]

    @classmethod
    async def started(cls, module: str, python: str = sys.executable) -> ChildProcess:
        """Run a module that connects to this process with `pipe.connect`."""
        return cls(await start_module(module, python))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None and not self.stopped

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message; nothing happens if the process has ended, which `messages` reports."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def messages(self) -> AsyncGenerator[dict[str, Any]]:
        """The messages of the process, until its output ends. A line that is not a message ends the process."""
        assert self._process.stdout is not None
        while line := await self._line(self._process.stdout):
            if self.stopped:  # what comes after a broken line cannot be relied on
                continue
            message = _message(line)
            if message is None:
                self.kill(f"wrote a line into the runner's pipe that is not a message: {line[:80]!r}")
            else:
                yield message

    async def ending(self) -> str:
        """Wait until the process has ended, and say why."""
        code = await self._process.wait()
        return self.stopped or self._how_it_ended(code)

    def kill(self, reason: str) -> None:
        """End the process at once, as the system would, without a chance to write anything."""
        self.stopped = reason
        if self._process.returncode is None:
            self._descendants |= descendants(self._process.pid)
            self._process.kill()

    async def close(self) -> None:
        """Close its input, wait until it has ended, and end what it has left behind."""
        if self._process.returncode is None:
            self._descendants |= descendants(self._process.pid)
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _SECONDS_TO_CLOSE)
        except TimeoutError:
            self.kill("did not close")
            await self._process.wait()
        self._kill_group()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Pipes that are still open would be closed by the garbage collector, after the event loop.
        if isinstance(self._process, ForkedProcess):
            self._process.close_pipes()
            await asyncio.sleep(0)
            return
        transport: asyncio.SubprocessTransport | None = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
            await asyncio.sleep(0)

    async def _line(self, stdout: asyncio.StreamReader) -> bytes:
        """The next line; one that is too long ends the process, and so the lines."""
        while True:
            try:
                return await stdout.readline()
            except ValueError:  # so StreamReader reports a line above its limit
                self.kill(f"sent a message of more than {_LARGEST_MESSAGE >> 20} MB")

    async def _drain_stderr(self) -> None:
        """Keep the last lines of standard error: they say why the process ended."""
        assert self._process.stderr is not None
        left = b""
        while piece := await self._process.stderr.read(_LONGEST_LINE):
            *lines, left = (left + piece).split(b"\n")
            left = left[:_LONGEST_LINE]
            self._stderr += [line.decode("utf-8", "replace").rstrip()[:_LONGEST_LINE] for line in lines]
        if left:
            self._stderr.append(left.decode("utf-8", "replace").rstrip())

    async def _end_children(self) -> None:
        """Once the process has ended, end its children: one that holds its pipe open would look like a slow agent."""
        while self._process.returncode is None:
            await asyncio.sleep(_LOOK_EVERY)
        await asyncio.sleep(_LOOK_EVERY)  # what it wrote last is still to be read
        self._kill_group()

    def _kill_group(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        for one in self._descendants:
            one.kill()

    def _how_it_ended(self, code: int) -> str:
        how = f"with exit code {code}"
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            how = f"by {names.get(-code, f'signal {-code}')}"
        # All lines together: a key may be broken over several.
        lines = redacted("\n".join(self._stderr)).splitlines()
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"its process ended {how}" + (f"; its last line was: {last[:_LONGEST_SHOWN]}" if last else "")


def _message(line: bytes) -> dict[str, Any] | None:
    """The message of a line; None for a line that the process did not mean to send."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(message, dict) and isinstance(message.get("job", 0), int)
    return message if known else None
