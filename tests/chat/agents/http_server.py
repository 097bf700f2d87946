"""An HTTP server on loopback whose responses, down to the bytes, are set by a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[BaseHTTPRequestHandler, Any], None]


@dataclass
class Server:
    """The server's URL and the requests it received."""

    url: str
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)


@contextmanager
def serving(respond: Respond) -> Iterator[Server]:
    """Run a server that calls `respond` for every request, which writes the response itself."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.asked.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
            respond(self, body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    # Clients may close the connection early; tests do that on purpose.
    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    listening = Quiet(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{listening.server_port}")
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def send(handler: BaseHTTPRequestHandler, body: bytes, *, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"content_type": "application/json", "content_length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)
