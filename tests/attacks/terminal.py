"""Escape sequences, marks that reverse a line, markup and halves of characters in everything that is shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.attacks import Attack, Outcomes
from tests.attacks.names import TURNS, transcript
from tests.command import assay_command

PAYLOADS = ("\x1b[2J\x1b]0;owned\x07", "\x9b31m", "\u202eevil", "a\rb", "\x08\x08", "\x7f", "[/b][link=x]", "\ud83d")
# What no output may contain: everything that a terminal obeys.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _fell(done: subprocess.CompletedProcess[str], what: str) -> str | None:
    shown = done.stdout + done.stderr
    found = OBEYED.search(shown)
    if found:
        return f"{what} shows {found[0]!r} in {shown[max(0, found.start() - 20) : found.start() + 20]!r}"
    return f"{what} ended in a traceback: {done.stderr[-200:]!r}" if "Traceback" in shown else None


def _commands(folder: Path, payload: str) -> Iterator[tuple[Any, ...]]:
    name = payload.replace("\0", "").replace("/", "∕").encode("utf-8", "replace").decode()
    file, store = folder / f"t{name}.jsonl", folder / "runs.db"
    called = {"agent": f"a{payload}", "scenario": f"s{payload}"}
    call = {"name": f"f{payload}", "arguments": {payload: payload}, "error": payload}
    turn = {"user": payload, "assistant": f"It is {payload} 20 °C.", "says": [f"x{payload}"], "tool_calls": [call]}
    file.write_text(transcript(**called, turns=[*TURNS, turn]), "utf-8")
    page = folder / f"p{name}.html"
    yield "chat", "score", file, "--store", store, "--name", f"n{name}", "--tag", f"t{name}", "--html", page
    yield "runs", "list", "--store", store
    yield "runs", "show", "@last", "--store", store
    yield "runs", "export", "@last", folder / f"x{name}.md", "--store", store
    yield "runs", "export", "@last", "-", "--store", store
    yield "runs", "tag", "@last", f"more{name}", "--store", store
    yield "runs", "show", f"no{name}", "--store", store
    yield "compare", "@last", f"{name}:a", "--store", store
    yield "chat", "score", file, "--metrics", name, "--no-store"
    yield "chat", "run", "--agents", name, "--no-store"
    yield "chat", "run", "--suite", name, "--no-store"
    yield "events", "decode", folder / f"missing{name}"
    row = {payload: payload, "text": "<EVENT_START><SCREEN><0><0><5><EVENT_END>", "episode": payload}
    events = folder / f"e{name}.jsonl"
    events.write_text(json.dumps(row) + "\n", "utf-8")
    yield "events", "decode", events
    yield "events", "decode", events, "--column", f"text={name}"
    yield "events", "decode", events, "--encoding", name
    yield "events", "decode", events, "--json", "-"
    broken = folder / f"b{name}.jsonl"
    broken.write_text(json.dumps({payload: 1}) + "\n", "utf-8")
    yield "events", "decode", broken
    yield "chat", "score", broken, "--no-store"
    yield "chat", name
    yield "chat", "score", file, f"--{name}"


def escapes_reach_the_terminal(times: int, folder: Path) -> Outcomes:
    """Payloads in agents, scenarios, answers, calls, tags, names of runs and files, columns, episodes and options."""
    for number, payload in enumerate(PAYLOADS[:times]):
        inside = folder / str(number)
        inside.mkdir()
        for words in _commands(inside, payload):
            yield _fell(assay_command(*words), f"{payload!r} in {' '.join(map(str, words[:2]))}")


def ascii_terminals(times: int, folder: Path) -> Outcomes:
    """A terminal that can only show ASCII."""
    file = folder / "t.jsonl"
    file.write_text(transcript(agent="Zoë", scenario="日本"), "utf-8")
    for words in (["chat", "score", str(file), "--no-store"], ["runs", "show", "Zoë"])[:times]:
        code = "import sys; from assay.cli import main; sys.argv[0] = 'assay'; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=os.environ | {"PYTHONIOENCODING": "ascii", "ASSAY_STORE": str(folder / "runs.db")},
            capture_output=True,
            check=False,
        )
        yield f"{words} ended in {done.stderr[-200:]!r}" if b"Error" in done.stderr else None


ATTACKS = [
    Attack("escapes in everything that is shown", escapes_reach_the_terminal, 1, len(PAYLOADS), seconds=4),
    Attack("ASCII terminals", ascii_terminals, 1, 2, seconds=3),
]
