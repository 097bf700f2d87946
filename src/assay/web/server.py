"""Runs the application until Ctrl-C: binds first, prints the address, opens the browser, and cleans up at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Container
from urllib.parse import urlencode

import h11
import uvicorn
from starlette.types import ASGIApp

from assay.errors import UsageError
from assay.web.safety import Access, is_this_machine

_SECONDS_TO_END = 1
# A thread that renders a page cannot be stopped; it is waited for this long after everything else has ended.
_SECONDS_FOR_PAGES = 0.5
_SECONDS_KEPT_ALIVE = 60
_SHORTEST_TOKEN = 16


def access_for(host: str, port: int, token: str | None) -> Access:
    """Who may use a server at this address; raises UsageError if others could reach it without a token."""
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise UsageError(
            f"the token is too short: {len(token)} characters",
            hint=f"Give at least {_SHORTEST_TOKEN} that nobody can guess; openssl rand -hex 16 prints some",
        )
    if token is None and not is_this_machine(host):
        raise UsageError(
            f"'{host}' can be reached from other machines, so a token is needed",
            hint=f"Add --token with at least {_SHORTEST_TOKEN} characters that nobody can guess "
            "(openssl rand -hex 16 prints some), or leave --host out",
        )
    return Access(host, port, token)


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket at the address; raises UsageError if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets created with IPPROTO_TCP; without it each response takes 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror}", hint="Choose another port with --port; 0 finds one"
        ) from error
    return bound


def url_of(access: Access) -> str:
    """The address to open, with the token if there is one."""
    host = f"[{access.host}]" if ":" in access.host else access.host
    query = f"?{urlencode({'token': access.token})}" if access.token else ""
    return f"http://{host}:{access.port}/{query}"


def serve_until_stopped(app: ASGIApp, bound: socket.socket, *, started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM. `started` is called when requests are answered."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        # Longer than a busy server may take to return to a connection; browsers close theirs themselves.
        timeout_keep_alive=_SECONDS_KEPT_ALIVE,
    )
    server = _Server(config, started)
    # Anyone could fill the terminal with tracebacks.
    logging.getLogger("uvicorn.error").addFilter(_is_our_own)
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    # uvicorn raises the signal again after it has ended; for a user Ctrl-C is the normal end.
    before = set(threading.enumerate())
    with contextlib.suppress(KeyboardInterrupt):
        server.run([bound])
    _leave_pages(before)


def _is_our_own(record: logging.LogRecord) -> bool:
    """Whether a message is neither about a client that breaks the protocol while it is answered, nor about a page that
    was still being rendered when the server ended.
    """
    if str(record.msg).startswith("Cancel %s running task"):
        return False
    return not (record.exc_info and isinstance(record.exc_info[1], h11.ProtocolError | asyncio.CancelledError))


def _leave_pages(before: Container[threading.Thread]) -> None:
    """End the process at once if a thread still renders a page: Python itself would wait for it.

    A thread that is cut off leaves nothing half-written: the store takes a change as a whole or not at all.
    """
    deadline = time.monotonic() + _SECONDS_FOR_PAGES
    for thread in threading.enumerate():
        if thread not in before and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                os._exit(0)


class _Server(uvicorn.Server):
    """A server that reports when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # A browser may take long to start, and must not keep the first page waiting.
        threading.Thread(target=self._say_started, daemon=True).start()
