"""A process that has imported an agent's framework and copies itself: workers that are ready at once (Linux).

Importing a framework takes seconds. If agents are started again and again, as by the page, one process imports the
framework once, builds nothing, and every worker of that agent is a copy of it: `python -m
assay.chat.running.hosts.template AGENT`, which reads requests from the socket that is its standard input. A template
that cannot be copied, because the import failed or started a thread, is not used: workers then start as usual.
"""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401  before OpenTelemetry, which uses it in a copy: the order of import is kept
import gc
import importlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.chat.agents import AGENTS
from assay.chat.agents.own import FRAMEWORKS
from assay.chat.running.processes.forking import Forked, run_copy

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec

# Importing a framework on a busy machine takes seconds; one that takes longer is left to a worker, which reports it.
_SECONDS_TO_IMPORT = 60.0
_LARGEST_PIECE = 2**20
_IS_READY = b"1"
# Variables that no framework reads; all others have to be those that the framework was imported under.
_READ_LATER = ("ASSAY_", "PYTEST_")
# Parts that frameworks import in their first turn, which is half of what they import at all.
_IMPORTED_LATER = {
    "anyio": ("anyio._backends._asyncio",),
    "google.adk": ("google.adk.auth.credential_manager", "google.adk.flows.llm_flows.auto_flow", "google.adk.workflow"),
    "httpx": ("httpcore",),
    "openai": ("openai.resources.chat",),
}


class _Key(NamedTuple):
    """What a template was made for: an agent, and the environment in which its framework was imported."""

    agent: str
    environment: frozenset[tuple[str, str]]


class Copy(Forked):
    """A copy of a template. The template is its parent, and writes its exit code into the pipe that is its handle."""

    def _exit_code(self) -> int | None:
        if not select.select([self.handle], [], [], 0)[0]:
            return None
        written = os.read(self.handle, 16)
        return int(written) if written else -9  # the template was killed, and its copies with it


class Template:
    """A template, from the process that asks it for copies. It ends with that process, and when it is closed."""

    def __init__(self, agent: str) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_SECONDS_TO_IMPORT)
        with theirs:
            # -P keeps the current folder off the path. In a new session, Ctrl-C at the terminal does not reach it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, agent],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._is_ready: bool | None = None

    def copy(self) -> Copy | None:
        """A new worker, which waits for what it is to build; None if the template cannot be copied.

        The first one waits until the template has imported the framework, which takes seconds.
        """
        with self._lock:
            try:
                if self._is_ready is None:
                    self._is_ready = self._socket.recv(1) == _IS_READY
                return self._copied() if self._is_ready else None
            except OSError:  # the template is gone, or takes too long
                self._is_ready = False
                return None

    def _copied(self) -> Copy:
        their_input, our_output = os.pipe()
        our_input, their_output = os.pipe()
        our_errors, their_errors = os.pipe()
        status, their_status = os.pipe()
        theirs = (their_input, their_output, their_errors, their_status)
        ours = (our_output, our_input, our_errors, status)
        try:
            request = json.dumps({"folder": os.getcwd(), "environment": dict(os.environ)}).encode()
            request = len(request).to_bytes(4, "big") + request
            sent = socket.send_fds(self._socket, [request], theirs)
            self._socket.sendall(request[sent:])
            pid = int.from_bytes(self._socket.recv(4), "big")
            if not pid:
                raise ConnectionError("the template has ended")
        except BaseException:
            for one in ours:
                os.close(one)
            raise
        finally:
            for one in theirs:
                os.close(one)
        return Copy(pid, *ours)

    def close(self) -> None:
        """End the template, and with it every copy that still runs."""
        self._process.kill()  # it may be importing, and has nothing to finish
        self._process.wait()
        self._socket.close()


class Templates:
    """The templates of this process, made when they are first used."""

    def __init__(self) -> None:
        self._made: dict[_Key, Template] = {}
        self._lock = threading.Lock()

    def of(self, agent: str) -> Template | None:
        """The template of a registered agent; None if it has none."""
        if _module_of(agent) is None:
            return None
        kept = ((name, value) for name, value in os.environ.items() if not name.startswith(_READ_LATER))
        key = _Key(agent, frozenset(kept))
        with self._lock:
            if key not in self._made:
                self._made[key] = Template(agent)
            return self._made[key]

    def close(self) -> None:
        """End all templates."""
        while self._made:
            self._made.popitem()[1].close()


class _InUse:
    """The templates that this process uses at the moment, shared by everything that asked for templates."""

    templates: Templates | None = None
    by = 0
    lock = threading.Lock()


@contextmanager
def use_templates() -> Iterator[None]:
    """While a `with` block runs, workers of registered agents are copies of templates, if the system can do that."""
    if not sys.platform.startswith("linux"):
        yield
        return
    with _InUse.lock:
        if _InUse.templates is None:
            _InUse.templates = Templates()
            atexit.register(_InUse.templates.close)
        _InUse.by += 1
    try:
        yield
    finally:
        with _InUse.lock:
            _InUse.by -= 1
            unused = _InUse.templates if not _InUse.by else None
            if unused is not None:
                _InUse.templates = None
        if unused is not None:
            unused.close()
            atexit.unregister(unused.close)


def template_of(spec: AgentSpec) -> Template | None:
    """The template that an agent's workers are copies of; None if templates are not used, or not for this agent."""
    templates = _InUse.templates
    agent = FRAMEWORKS[spec.framework].agent if spec.framework is not None else spec.agent
    return None if templates is None or agent is None or spec.version is not None else templates.of(agent)


def _module_of(agent: str) -> str | None:
    """The module of a bundled assistant, which imports its framework; None for an agent that is not bundled."""
    package = AGENTS.get(agent).open.__module__
    return f"{package}.assistant" if package.startswith("assay.chat.agents.") else None


def _serve(agent: str) -> None:
    """Import the framework and copy this process for each request, until the socket is closed."""
    # The collector would go through all of a framework's objects, again and again, and find nothing.
    gc.disable()
    requests = socket.socket(fileno=os.dup(0))
    from assay.chat.running.hosts import worker
    from assay.chat.running.tracing import Tracing

    Tracing()  # before the framework is imported, as in a worker
    importlib.import_module(_module_of(agent) or "")
    for package, parts in _IMPORTED_LATER.items():
        if package in sys.modules:
            with suppress(ImportError):  # another version has no such part
                for part in parts:
                    importlib.import_module(part)
    if len(os.listdir("/proc/self/task")) > 1:  # a thread is not copied, and what it has locked stays locked
        return
    gc.freeze()
    requests.sendall(_IS_READY)
    running: dict[int, tuple[int, int]] = {}
    """The number of each copy and the pipe for its exit code, by a file that can be read once it has ended."""
    while True:
        ready, _, _ = select.select([requests.fileno(), *running], [], [])
        for handle in ready:
            if handle in running:
                _report_end(handle, *running.pop(handle))
        if requests.fileno() in ready:
            request = _request(requests)
            if request is None:
                return
            details, pipes, status = request
            pid = os.fork()
            if pid == 0:
                try:
                    _enter(details)
                    run_copy(worker.play_conversations, (), pipes)
                finally:
                    os._exit(1)  # whatever happened: a copy must not answer requests
            for one in pipes:
                os.close(one)
            running[os.pidfd_open(pid)] = pid, status
            requests.sendall(pid.to_bytes(4, "big"))


def _request(requests: socket.socket) -> tuple[Mapping[str, Any], tuple[int, ...], int] | None:
    """Where a copy is to run, its standard streams and the pipe for its exit code; None if nobody asks any more."""
    sent, files, _, _ = socket.recv_fds(requests, _LARGEST_PIECE, 4)
    if not sent:
        return None
    size = 4 + int.from_bytes(sent[:4], "big")
    while len(sent) < size:
        piece = requests.recv(_LARGEST_PIECE)
        if not piece:
            return None
        sent += piece
    return json.loads(sent[4:]), tuple(files[:3]), files[3]


def _enter(details: Mapping[str, Any]) -> None:
    """Go to the folder and take over the environment of the process that asked."""
    with suppress(OSError):
        os.chdir(Path(details["folder"]))
    os.environ.clear()
    os.environ.update(details["environment"])
    gc.enable()


def _report_end(handle: int, pid: int, status: int) -> None:
    """Write the exit code of a copy before its number may be given to another process."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    code = 0 if ended is None else ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with suppress(OSError):  # nobody is there to read it
        os.write(status, str(code).encode())
    os.close(status)
    os.waitpid(pid, 0)
    os.close(handle)


if __name__ == "__main__":
    _serve(sys.argv[1])
