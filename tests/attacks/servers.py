"""Requests of a page in a browser to the servers on loopback: under another name, or from another origin."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.chat.world.serving import LoopbackServer
from tests.attacks import Attack, Outcomes

# Headers, and whether the server may answer.
REQUESTS: list[tuple[dict[str, str], bool]] = [
    ({}, True),
    ({"Host": "localhost"}, True),
    ({"Host": "127.0.0.1:1"}, True),
    ({"Host": "[::1]"}, True),
    ({"Origin": "http://localhost:3000"}, True),
    ({"Host": "evil.example"}, False),
    ({"Host": "evil.example:80"}, False),
    ({"Host": "127.0.0.1.evil.example"}, False),
    ({"Host": "localhost.evil.example"}, False),
    ({"Host": "127.0.0.1@evil.example"}, False),
    ({"Host": "0.0.0.0"}, False),
    ({"Host": ""}, False),
    ({"Host": "[::1"}, False),
    ({"Host": "10.0.0.1"}, False),
    ({"Origin": "http://evil.example"}, False),
    ({"Origin": "null"}, False),
]


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"secret"})


def browser_requests(times: int, folder: Path) -> Outcomes:
    """Names that lead to loopback, and origins of other pages."""
    with LoopbackServer(_app) as server:
        where = urlsplit(server.url)
        for headers, allowed in REQUESTS:
            connection = HTTPConnection(where.hostname or "", where.port or 0, timeout=10)
            connection.request("GET", "/", headers=headers)
            answered = connection.getresponse().read() == b"secret"
            connection.close()
            yield None if answered is allowed else f"{headers} was {'answered' if answered else 'refused'}"


ATTACKS = [Attack("pages that drive loopback servers", browser_requests, 1, 1)]
