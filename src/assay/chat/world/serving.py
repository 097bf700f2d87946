"""Runs an ASGI app of the embedded world on loopback, in a thread, while a `with` block runs.

For agents on other machines it can listen on another address; it then answers only requests that contain a token.

Knows nothing about what the app serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import logging
import socket
import struct
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl

from assay.chat.world.situation import LONGEST_HEADERS
from assay.errors import AssayError, UsageError, missing_extra
from assay.loopback import is_loopback, leads_here

try:
    import uvicorn
except ImportError as error:
    raise missing_extra("uvicorn", "agents", "serve the embedded world") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
_START_SECONDS = 10.0
_STOP_SECONDS = 5.0
_OPEN_SECONDS = 1.0
"""How long connections that are open when a server is stopped may take to close."""


class LoopbackServer:
    """Serves an app while a `with` block runs. Requests still open at its end are cancelled."""

    def __init__(self, app: ASGIApp, host: str = LOOPBACK, token: str | None = None) -> None:
        """With a `token`, only requests that have it as their key are answered; other addresses than loopback need one.

        Raises UsageError if such an address has none.
        """
        if token is None and not is_loopback(host):
            raise UsageError(
                f"'{host}' is not a loopback address, and a server that others can reach needs a token",
                hint=f"Use {LOOPBACK}",
            )
        self._app: ASGIApp = _OwnHostApp(app) if token is None else _KeyedApp(app, token)
        self._stoppable_app: _StoppableApp | None = None
        self._host = host
        self._socket: socket.socket | None = None
        self._server: _PromptServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The server's base URL."""
        if self._socket is None:
            raise UsageError("the server is not running", hint="Use it in a with block")
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise UsageError("the server is already running", hint="Start another one")
        # Bound first, so that the port is known and no other process can take it.
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        # asyncio sets TCP_NODELAY only on sockets created with IPPROTO_TCP; without it each response takes 40 ms.
        self._socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind((self._host, 0))
        self._stoppable_app = _StoppableApp(self._app)
        config = uvicorn.Config(
            self._stoppable_app,
            loop="asyncio",
            http="h11",
            h11_max_incomplete_event_size=LONGEST_HEADERS,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            # The apps set this header themselves, from the simulated clock.
            date_header=False,
            server_header=False,
        )
        self._server = _PromptServer(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name=f"assay {self.url}", daemon=True
        )
        self._thread.start()
        end = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                self._stop()
                raise AssayError("the embedded server did not start")
            time.sleep(0.002)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._server is not None and self._thread is not None and self._stoppable_app is not None:
            # A response that is cut off in the middle breaks its declared length, which uvicorn would report.
            with _silent(self._thread):
                self._stoppable_app.stop()
                self._server.stop()
                self._thread.join(_STOP_SECONDS)
        if self._socket is not None:
            self._socket.close()
        self._socket = self._server = self._thread = self._stoppable_app = None


class _PromptServer(uvicorn.Server):
    """A server that stops at once. Uvicorn's own checks every 0.1 seconds whether to stop, and then waits 0.1 more."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = asyncio.Event()

    def stop(self) -> None:
        """Tell it to stop; may be called from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._told.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        # After the loop is known: whoever stops it earlier has set `should_exit` by then.
        if not await self.on_tick(0):
            await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        end = time.monotonic() + _OPEN_SECONDS
        while (self.server_state.connections or self.server_state.tasks) and time.monotonic() < end:
            await asyncio.sleep(0.002)
        for task in self.server_state.tasks:
            task.cancel()


@contextlib.contextmanager
def _silent(thread: threading.Thread) -> Iterator[None]:
    """Drop what uvicorn reports in a thread."""
    logger = logging.getLogger("uvicorn.error")

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread.ident

    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)


def _abort(receive: Receive, reset: bool) -> None:
    """Close the connection of a request at once, for apps that break off on purpose; ASGI itself has no such message.

    With `reset` the client gets a TCP reset instead of an end of the stream.
    """
    transport = _transport(receive)
    if reset:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _transport(receive: Receive) -> asyncio.Transport:
    """The connection of a request: uvicorn's own `receive` is a bound method."""
    transport: asyncio.Transport = receive.__self__.transport  # type: ignore[attr-defined]
    return transport


class _OwnHostApp:
    """Answers only requests that name a loopback host and do not come from a page of another host.

    A page in a browser can send requests to loopback, directly or under another host name that resolves to loopback.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            named = [f"//{headers.get(b'host', '')}", *([headers[b"origin"]] if b"origin" in headers else [])]
            if not all(map(_names_loopback, named)):
                await send(
                    {"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]}
                )
                await send({"type": "http.response.body", "body": b"this server answers to loopback only"})
                return
        await self._app(scope, receive, send)


class _KeyedApp:
    """Answers only requests that have a token where clients send their keys: in a header or in the query.

    No page of another host knows it, so the host does not matter.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not any(map(self._is_key, _keys_of(scope))):
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"this server needs a key"})
            return
        await self._app(scope, receive, send)

    def _is_key(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self._token)


def _keys_of(scope: Scope) -> Iterator[bytes]:
    """Whatever a request gives as its key."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            yield value.removeprefix(b"Bearer ")
        elif name in (b"x-api-key", b"api-key"):
            yield value
    for name, value in parse_qsl(scope["query_string"]):
        if name == b"appid":
            yield value


def _names_loopback(address: str) -> bool:
    try:
        return leads_here(address)
    except ValueError:
        return False


class _StoppableApp:
    """An app whose requests can all be cancelled at once, so that one that sleeps on purpose does not delay the end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """Cancel every request; may be called from any thread."""
        self._is_stopped = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._loop = asyncio.get_running_loop()
        scope["assay.abort"] = functools.partial(_abort, receive)
        progress = ""

        async def sending(message: Message) -> None:
            nonlocal progress
            if _transport(receive).is_closing():
                # The client has gone, and uvicorn hears of it in the next step of the loop; then it sends nothing more.
                # Until then, asyncio would warn of every piece that it cannot send.
                await asyncio.sleep(0)
            await send(message)
            progress = message["type"] if message.get("more_body") or message["type"].endswith("start") else "done"

        task = asyncio.create_task(self._run(scope, receive, sending))
        self._running.add(task)
        if self._is_stopped:
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled() or not self._is_stopped:
                task.cancel()
                raise
            # Cancelled by `stop`: finish the response properly, so that uvicorn logs no error.
            if not progress:
                await send({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
            if progress != "done":
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._running.discard(task)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
