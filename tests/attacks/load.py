"""Slow, greedy and malformed clients of the pages: others are answered meanwhile, and nothing is left open."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.server import bound_socket, serve_until_stopped
from assay.web.site import Site
from tests.attacks import Attack, Outcomes
from tests.attacks.files import spoiled

_SLOW = 150
_HALF = b"half of a body"
"""Ends requests whose client hangs up before the rest."""
_SECONDS_TO_RESPOND = 1.0
"""A request that was spoiled may be one that the server waits for the rest of."""
_SAID = "said.txt"
"""What the server prints in its terminal."""
_GOOD = b"GET /runs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n"
_POST = b"POST /runs/delete HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@contextmanager
def _served(folder: Path) -> Iterator[int]:
    """The pages over an empty store, in a process of their own; gives the port."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(str(folder / "runs.db"), theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join(10)


def _serve(path: str, pipe: object) -> None:
    with Path(path).with_name(_SAID).open("wb") as said:
        os.dup2(said.fileno(), 2)
    bound = bound_socket("127.0.0.1", 0)
    port = bound.getsockname()[1]
    with open_store(path) as store:
        app = make_app(Site(store), Access(port=port))
        serve_until_stopped(app, bound, started=lambda: pipe.send(port))  # type: ignore[attr-defined]


def _answers(port: int) -> str | None:
    """What is wrong with the answer to an ordinary request, if anything."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/runs")
        status = connection.getresponse().status
        return None if status == 200 else f"an ordinary request got {status}"
    except OSError as error:
        return f"an ordinary request got {type(error).__name__}"
    finally:
        connection.close()


def _malformed(port: int, chance: random.Random) -> Iterator[bytes]:
    good, post = _GOOD % port, _POST % port
    yield chance.randbytes(2000)
    yield spoiled(good, chance)
    yield spoiled(good, chance)
    yield good.replace(b"/runs", b"/" + b"a" * 70_000)
    yield good.replace(b"Connection", b"X-%s" % (b"y" * 70_000))
    yield good[:-2] + b"X: y\r\n" * 20_000 + b"\r\n"
    yield post + b"Content-Length: 99999999999999999999\r\n\r\nx"
    yield post + b"Content-Length: -1\r\n\r\nx"
    yield post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"
    yield post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + good
    yield post + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nx"
    yield post + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx"
    yield good.replace(b"/runs", b"/runs?page=" + b"9" * 3000)
    yield good.replace(b"/runs", b"/%00%ff%2e%2e%2f%2e%2e%2fetc/passwd")
    yield good.replace(b"GET", b"G\0T")
    yield good.replace(b"HTTP/1.1", b"HTTP/9.9")
    yield good.replace(b"127.0.0.1", b"127.0.0.1\r\nHost: evil.example")
    yield post + b"Content-Length: 100\r\n\r\n" + _HALF
    # Requests that the guard lets through, so that their bodies are read.
    ours = post + b"X-Assay: 1\r\n"
    yield ours + b"Content-Length: 100\r\n\r\n" + _HALF
    yield ours + b"Transfer-Encoding: chunked\r\n\r\n" + (b"8000\r\n" + b"a" * 0x8000 + b"\r\n") * 12 + b"0\r\n\r\n"
    parts = ours.replace(b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x")
    yield parts + _body(b"--x\r\nA\r\n")
    yield parts.replace(b"; boundary=x", b"") + _body(b"--x")
    yield ours.replace(b"/runs/delete", b"/live/x/say") + _body(b"[" * 100_000)
    for origin in (b"http://[", b"http://[::1", b"http://127.0.0.1:%d@evil.example" % port):
        yield post + b"Origin: " + origin + b"\r\n" + _body(b"run=x")


def _body(content: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(content) + content


def _send(port: int, raw: bytes) -> bytes:
    """The beginning of the response. A request that is not complete is hung up on instead of waiting for one."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as one:
        with suppress(OSError):
            one.sendall(raw)
        if raw.endswith(_HALF):
            return b""
        one.settimeout(_SECONDS_TO_RESPOND)
        with suppress(OSError):
            return one.recv(64)
    return b""


def hostile_clients(times: int, folder: Path) -> Outcomes:
    """Malformed requests while connections that send a byte at a time are open: none is obeyed, others are answered."""
    chance = random.Random(12)
    with _served(folder) as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(_SLOW)]
        stopped = threading.Event()

        def drip() -> None:
            for letter in _POST % port * 50:
                for one in slow:
                    with suppress(OSError):
                        one.send(bytes([letter]))
                if stopped.wait(0.2):
                    return

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        done = 0
        while done < times:
            for raw in _malformed(port, chance):
                first = _send(port, raw)
                obeyed = first.startswith((b"HTTP/1.1 5", b"HTTP/1.1 30")) and raw.startswith(b"POST")
                yield f"{raw[:60]!r} got {first[:40]!r}" if obeyed or b" 500 " in first else None
                done += 1
            yield _answers(port)
        stopped.set()
        dripping.join()
        for one in slow:
            one.close()
        yield _answers(port)
    said = (folder / _SAID).read_text("utf-8", "replace")
    yield f"clients fill the terminal: {said[-80:]!r}" if said else None


ATTACKS = [Attack("slow and malformed clients", hostile_clients, 1, 1_000, seconds=5)]
