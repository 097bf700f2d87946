"""A model server for tests whose responses are scripted: text and tool calls as server-sent events."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.chat.agents.http_server import Server, send, serving


def calling(name: str = "get_current_weather", arguments: object = None) -> dict[str, Any]:
    """A tool call."""
    given = {"city": "Oslo"} if arguments is None else arguments
    written = given if isinstance(given, str) else json.dumps(given)
    return {"type": "function", "function": {"name": name, "arguments": written}}


def saying(text: str, *calls: dict[str, Any]) -> bytes:
    """A response of the model, as a stream of server-sent events."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in re.findall(r"\S+\s*", text)]
    deltas += [
        {"tool_calls": [{"index": place, "id": f"call_{place}_UNIQUE", **call}]} for place, call in enumerate(calls)
    ]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_768_467_600, "model": "scripted"}
    return b"".join(f"data: {json.dumps({**base, **chunk})}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


@contextmanager
def model(moves: Sequence[bytes], *, delay: float = 0.0) -> Iterator[Server]:
    """A model that sends these responses, one for each request, and repeats the last."""
    made = 0

    def respond(handler: BaseHTTPRequestHandler, body: Any) -> None:
        nonlocal made
        move = moves[min(made, len(moves) - 1)].replace(b"UNIQUE", str(made).encode())
        made += 1
        time.sleep(delay)
        send(handler, move, content_type="text/event-stream")

    with serving(respond) as server:
        yield server
