"""The end of the server while a page is being rendered: nothing is written to the terminal, and nobody waits for it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

# A server whose page of metrics is finished only after the server has closed everything else, or never.
_SERVER = """
import sys, threading
from pathlib import Path
from assay.store import open_store
from assay.web.app import make_app
from assay.web.pages import reference
from assay.web.safety import Access
from assay.web.server import bound_socket, serve_until_stopped
from assay.web.site import Site

closed, view = threading.Event(), reference.reference_view

def rendered():
    print("rendering", flush=True)
    (threading.Event() if sys.argv[2] == "never" else closed).wait()
    return view()

class Closing(Site):
    def close(self):
        super().close()
        closed.set()

reference.reference_view = rendered
with open_store(Path(sys.argv[1])) as store, bound_socket("127.0.0.1", 0) as bound:
    port = bound.getsockname()[1]
    app = make_app(Closing(store), Access("127.0.0.1", port))
    serve_until_stopped(app, bound, started=lambda: print(port, flush=True))
"""
_SECONDS = 60.0


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("finished", ["late", "never"])
def test_a_page_that_is_being_rendered_neither_delays_the_end_nor_writes_to_the_terminal(
    finished: str, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", _SERVER, str(tmp_path / "runs.db"), finished]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            with socket.create_connection(("127.0.0.1", int(port))) as reader:
                reader.sendall(f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                assert server.stdout.readline() == "rendering\n"
                server.send_signal(signal.SIGINT)
                _, said = server.communicate(timeout=_SECONDS)
        finally:
            server.kill()
    assert (server.returncode, said) == (0, "")
