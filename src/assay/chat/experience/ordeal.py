"""A turn in which a tool fails, played where nothing else runs, and everything that can be seen of the failure.

This runs in a process of its own, started by `fault.py`: it listens to every logger and to both outputs.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import logging
import os
import re
import sys
import sysconfig
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import assay
from assay.chat.agents import Reply, Setup
from assay.chat.experience.source import TOOLS
from assay.chat.world.situation import Fault, Situation
from assay.chat.world.weather import WeatherClient

MESSAGE = "What is the weather like in Helsinki right now?"
_NOW = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)
_UNEXPECTED = "the mean of no measurements"
_FAILED = re.compile(r"fail|error|exception|raise", re.I)


def suffer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Both failures, one after the other: a service that answers with an error, and an exception nobody thought of."""
    return {kind: asyncio.run(_turn(given, kind)) for kind in ("expected", "unexpected")}


@dataclass(frozen=True, slots=True)
class Seen:
    """What came out of a turn, besides its answer."""

    records: list[logging.LogRecord] = field(default_factory=list)
    printed: dict[str, str] = field(default_factory=dict)


class Watched(WeatherClient):
    """The client of the weather service, which keeps what it raises; the traceback then tells who caught it."""

    raised: Exception | None = None

    async def current(self, city: str) -> dict[str, Any]:
        try:
            return await super().current(city)
        except Exception as error:
            self.raised = error
            raise


class Broken(Watched):
    """A client with a mistake in it."""

    async def current(self, city: str) -> dict[str, Any]:
        self.raised = ZeroDivisionError(_UNEXPECTED)
        raise self.raised


async def _turn(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    opener = _find(given["module"], given["name"])
    make, fault = (Watched, Fault("server_error")) if kind == "expected" else (Broken, None)
    weather = make(given["weather_url"], "none", timeout=2.0, retries=0, embedded=True)
    endpoints = {"model_url": given["model_url"], "weather_url": given["weather_url"]}
    setup = Setup(model="scripted", **endpoints).with_clients(weather=weather)
    reply: Reply | None = None
    died: Exception | None = None
    limit: asyncio.Timeout | None = None
    try:
        with _watching() as seen:
            try:
                # Opening imports the framework, for which the process has its own time.
                async with opener(setup) as agent, asyncio.timeout(given["seconds"]) as limit:
                    with Situation("developer experience", 0, 0, fault, _NOW).attached():
                        async for part in agent.answer(session="one", user="ada", message=MESSAGE):
                            reply = part if isinstance(part, Reply) else reply
            except Exception as error:
                died = error
    finally:
        await weather.aclose()
    if limit is not None and limit.expired():
        # A machine that is too busy says nothing of the agent.
        return {"absent": f"the turn took more than {given['seconds']:g} seconds"}
    if weather.raised is None:
        return {"absent": f"the agent did not come to ask for the weather{f': {died!r}' if died else ''}"}
    whose = _whose_by(Path(given["source"]) if given["source"] else None, [*map(Path, given["clients"])])
    return _describe(weather.raised, reply, died, seen, whose)


def _describe(
    error: Exception, reply: Reply | None, died: Exception | None, seen: Seen, whose: Callable[[str], str]
) -> dict[str, Any]:
    """What can be told of the failure, in words and counts that are the same each time."""
    # What the client of the model logs of its requests is not said by the framework, nor by the assistant.
    records = [record for record in seen.records if whose(record.pathname) in ("framework", "assistant")]
    framework = [record for record in records if whose(record.pathname) == "framework"]
    texts = {
        "log": "\n".join(map(_text, records)),
        "stdout": seen.printed["stdout"],
        "stderr": seen.printed["stderr"],
        "raised": "".join(traceback.format_exception(died)) if died else "",
    }
    everything = "\n".join(texts.values())
    calls = reply.tool_calls if reply and reply.tool_calls else ()
    return {
        "exception": type(error).__name__,
        "answered": reply is not None and bool(reply.text),
        "died_of": type(died).__name__ if died else None,
        "caught_by": "nobody" if died else _catcher(error, whose),
        "told_model": any(_names(error, f"{call.error} {call.result}") for call in calls) if reply else None,
        "named_in": {where: _names(error, text) for where, text in texts.items()},
        "named_by": _loggers(record for record in framework if _names(error, _text(record))),
        "failure_noted_by": _loggers(record for record in framework if _notes_failure(_text(record))),
        "records": dict(
            sorted(Counter(record.levelname for record in records if record.levelno > logging.DEBUG).items())
        ),
        "stdout_lines": len(texts["stdout"].splitlines()),
        "stderr_lines": len(texts["stderr"].splitlines()),
        "shows_type": type(error).__name__ in everything,
        "shows_message": str(error) in everything,
        "shows_tool": any(tool in everything for tool in TOOLS),
        "shows_place": any(whose(file) == "assistant" for file in _places(everything)),
    }


def _names(error: Exception, text: str) -> bool:
    return str(error) in text or type(error).__name__ in text


def _notes_failure(text: str) -> bool:
    """Whether a record says that a tool failed, if not why."""
    return _FAILED.search(text) is not None and any(tool in text for tool in TOOLS)


def _loggers(records: Iterable[logging.LogRecord]) -> list[str]:
    return sorted({f"{record.name} {record.levelname}" for record in records})


def _catcher(error: Exception, whose: Callable[[str], str]) -> str:
    """Who ended the exception's way: the outermost frame that it reached of the assistant or the framework.

    A frame of the assistant's that has no handler there did not end it: then the exception was taken from a task or a
    future above it, and those are the framework's.
    """
    place: TracebackType | None = error.__traceback__
    while place is not None:
        file = place.tb_frame.f_code.co_filename
        found = whose(file)
        if found == "framework" or (found == "assistant" and not _handles(file, place.tb_lineno)):
            return "framework"
        if found == "assistant":
            return "assistant"
        place = place.tb_next
    return "nobody"


def _handles(file: str, line: int) -> bool:
    """Whether a line of a file stands in a `try` that has a handler."""
    tries = (node for node in ast.walk(ast.parse(Path(file).read_bytes())) if isinstance(node, ast.Try))
    return any(
        inside.lineno <= line <= (inside.end_lineno or 0) for node in tries if node.handlers for inside in node.body
    )


def _whose_by(source: Path | None, clients: Sequence[Path]) -> Callable[[str], str]:
    """Whose code a file is: the assistant's, assay's, a client's that assay needs too, Python's, or a framework's."""
    site = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    python = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    folders = [
        *([("assistant", source)] if source else []),
        ("assay", Path(assay.__file__).parent),
        *(("client", client) for client in clients),
        # Inside Python's own folder, where there is no virtual environment: asked before it.
        *(("framework", folder) for folder in site),
        *(("python", folder) for folder in python),
    ]

    def whose(file: str) -> str:
        # A frozen module of the standard library has no file.
        path = Path(file)
        found = (name for name, folder in folders if path.is_relative_to(folder))
        return "python" if file.startswith("<") else next(found, "framework")

    return whose


def _places(text: str) -> Iterator[str]:
    """Files that a line is named of, in a traceback or as file:line."""
    for match in re.finditer(r'File "([^"\n]+)", line \d|(/[^\s":]+\.py):\d', text):
        yield match[1] or match[2]


def _text(record: logging.LogRecord) -> str:
    return logging.Formatter().format(record)


def _find(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@contextmanager
def _watching() -> Iterator[Seen]:
    """Keep every record of every logger, whatever its handlers are, and all that is written to both outputs."""
    seen = Seen()
    factory, root = logging.getLogRecordFactory(), logging.getLogger()
    level = root.level

    def keep(*arguments: Any, **further: Any) -> logging.LogRecord:
        record = factory(*arguments, **further)
        seen.records.append(record)
        return record

    logging.setLogRecordFactory(keep)
    # What is below a warning is not shown unless one asks for it, and Python's last resort still does not.
    root.setLevel(logging.DEBUG)
    try:
        with _output("stdout", 1, seen), _output("stderr", 2, seen):
            yield seen
    finally:
        root.setLevel(level)
        logging.setLogRecordFactory(factory)


@contextmanager
def _output(name: str, number: int, seen: Seen) -> Iterator[None]:
    """Keep what is written to a file descriptor, by Python or by anything below it."""
    stream = getattr(sys, name)
    stream.flush()
    before = os.dup(number)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            stream.flush()
            os.dup2(before, number)
            os.close(before)
            file.seek(0)
            seen.printed[name] = file.read().decode("utf-8", "replace")
