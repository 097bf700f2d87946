"""Runs a turn in which a tool fails, and reports everything that can be seen of the failure.

This runs in a separate process, started by `fault_injection.py`: it captures every logger, stdout and stderr.
"""

from __future__ import annotations

import ast
import asyncio
import gc
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
from assay.chat.experience.source import ASSISTANT_TOOLS
from assay.chat.world.faults import Fault
from assay.chat.world.situation import Situation
from assay.chat.world.weather import WeatherClient

MESSAGE = "What is the weather like in Helsinki right now?"
_NOW = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)
_UNEXPECTED = "the mean of no measurements"
_FAILED = re.compile(r"fail|error|exception|raise", re.I)


def run_fault_probe(given: Mapping[str, Any]) -> dict[str, Any]:
    """Run both failures, one after the other: a service that answers with an error, and an unexpected exception."""
    return {kind: asyncio.run(_run_turn(given, kind)) for kind in ("expected", "unexpected")}


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """Log records and printed output of a turn."""

    records: list[logging.LogRecord] = field(default_factory=list)
    printed: dict[str, str] = field(default_factory=dict)


class RecordingWeatherClient(WeatherClient):
    """A weather client that stores the exception it raises; the traceback then shows who caught it."""

    raised: Exception | None = None

    async def current(self, city: str) -> dict[str, Any]:
        try:
            return await super().current(city)
        except Exception as error:
            self.raised = error
            raise


class BrokenWeatherClient(RecordingWeatherClient):
    """A weather client with a bug."""

    async def current(self, city: str) -> dict[str, Any]:
        self.raised = ZeroDivisionError(_UNEXPECTED)
        raise self.raised


async def _run_turn(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    opener = _resolve(given["module"], given["name"])
    make, fault = (RecordingWeatherClient, Fault("server_error")) if kind == "expected" else (BrokenWeatherClient, None)
    weather = make(given["weather_url"], "none", timeout=2.0, retries=0, embedded=True)
    endpoints = {"model_url": given["model_url"], "weather_url": given["weather_url"]}
    setup = Setup(model="scripted", **endpoints).with_clients(weather=weather)
    reply: Reply | None = None
    raised: Exception | None = None
    limit: asyncio.Timeout | None = None
    try:
        with _capture() as captured:
            try:
                # Opening imports the framework; the timeout of the process covers that. Imports create no garbage, and
                # looking for it takes a fifth of their time; the turn is run with the collector on.
                gc.disable()
                async with opener(setup) as agent, asyncio.timeout(given["seconds"]) as limit:
                    gc.freeze()
                    gc.enable()
                    with Situation("developer experience", 0, 0, fault, _NOW).attached():
                        async for part in agent.answer(session="one", user="ada", message=MESSAGE):
                            reply = part if isinstance(part, Reply) else reply
            except Exception as error:
                raised = error
    finally:
        gc.enable()
        await weather.aclose()
    if limit is not None and limit.expired():
        # A busy machine must not count as a failure of the agent.
        return {"absent": f"the turn took more than {given['seconds']:g} seconds"}
    if weather.raised is None:
        return {"absent": f"the agent did not request the weather{f': {raised!r}' if raised else ''}"}
    owner_of_file = _code_owner_by_file(
        Path(given["source"]) if given["source"] else None, [*map(Path, given["clients"])]
    )
    return _describe(weather.raised, reply, raised, captured, owner_of_file)


def _describe(
    error: Exception,
    reply: Reply | None,
    raised: Exception | None,
    captured: CapturedOutput,
    owner_of_file: Callable[[str], str],
) -> dict[str, Any]:
    """Describe the failure with values that are the same in every run."""
    # Log records of the model's client come neither from the framework nor from the assistant.
    records = [record for record in captured.records if owner_of_file(record.pathname) in ("framework", "assistant")]
    framework = [record for record in records if owner_of_file(record.pathname) == "framework"]
    texts = {
        "log": "\n".join(map(_text, records)),
        "stdout": captured.printed["stdout"],
        "stderr": captured.printed["stderr"],
        "raised": "".join(traceback.format_exception(raised)) if raised else "",
    }
    everything = "\n".join(texts.values())
    calls = reply.tool_calls if reply and reply.tool_calls else ()
    return {
        "exception": type(error).__name__,
        "answered": reply is not None and bool(reply.text),
        "died_of": type(raised).__name__ if raised else None,
        "caught_by": "nobody" if raised else _caught_by(error, owner_of_file),
        "told_model": any(_mentions(error, f"{call.error} {call.result}") for call in calls) if reply else None,
        "named_in": {where: _mentions(error, text) for where, text in texts.items()},
        "named_by": _loggers(record for record in framework if _mentions(error, _text(record))),
        "failure_noted_by": _loggers(record for record in framework if _mentions_failure(_text(record))),
        "records": dict(
            sorted(Counter(record.levelname for record in records if record.levelno > logging.DEBUG).items())
        ),
        "stdout_lines": len(texts["stdout"].splitlines()),
        "stderr_lines": len(texts["stderr"].splitlines()),
        "shows_type": type(error).__name__ in everything,
        "shows_message": str(error) in everything,
        "shows_tool": any(tool in everything for tool in ASSISTANT_TOOLS),
        "shows_place": any(owner_of_file(file) == "assistant" for file in _traceback_files(everything)),
    }


def _mentions(error: Exception, text: str) -> bool:
    return str(error) in text or type(error).__name__ in text


def _mentions_failure(text: str) -> bool:
    """Whether a record says that a tool failed, even if not why."""
    return _FAILED.search(text) is not None and any(tool in text for tool in ASSISTANT_TOOLS)


def _loggers(records: Iterable[logging.LogRecord]) -> list[str]:
    return sorted({f"{record.name} {record.levelname}" for record in records})


def _caught_by(error: Exception, owner_of_file: Callable[[str], str]) -> str:
    """Who caught the exception: the owner of the outermost frame of the assistant or the framework that it reached.

    If that is the assistant's and has no handler at that line, the exception was taken from a task or a future, which
    are the framework's.
    """
    place: TracebackType | None = error.__traceback__
    while place is not None:
        file = place.tb_frame.f_code.co_filename
        found = owner_of_file(file)
        if found == "framework" or (found == "assistant" and not _handles(file, place.tb_lineno)):
            return "framework"
        if found == "assistant":
            return "assistant"
        place = place.tb_next
    return "nobody"


def _handles(file: str, line: int) -> bool:
    """Whether a line of a file is inside a `try` with a handler."""
    tries = (node for node in ast.walk(ast.parse(Path(file).read_bytes())) if isinstance(node, ast.Try))
    return any(
        inside.lineno <= line <= (inside.end_lineno or 0) for node in tries if node.handlers for inside in node.body
    )


def _code_owner_by_file(source: Path | None, clients: Sequence[Path]) -> Callable[[str], str]:
    """A function from a file to its owner: assistant, assay, client (which assay needs too), python or framework."""
    site = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    python = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    folders = [
        *([("assistant", source)] if source else []),
        ("assay", Path(assay.__file__).parent),
        *(("client", client) for client in clients),
        # Without a virtual environment these are inside Python's own folder, so they are checked first.
        *(("framework", folder) for folder in site),
        *(("python", folder) for folder in python),
    ]

    def owner_of_file(file: str) -> str:
        # Frozen modules of the standard library have no file.
        path = Path(file)
        found = (name for name, folder in folders if path.is_relative_to(folder))
        return "python" if file.startswith("<") else next(found, "framework")

    return owner_of_file


def _traceback_files(text: str) -> Iterator[str]:
    """Files that a text refers to with a line number, in a traceback or as file:line."""
    for match in re.finditer(r'File "([^"\n]+)", line \d|(/[^\s":]+\.py):\d', text):
        yield match[1] or match[2]


def _text(record: logging.LogRecord) -> str:
    return logging.Formatter().format(record)


def _resolve(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@contextmanager
def _capture() -> Iterator[CapturedOutput]:
    """Capture every record of every logger, whatever its handlers, and everything written to stdout and stderr."""
    captured = CapturedOutput()
    factory, root = logging.getLogRecordFactory(), logging.getLogger()
    level = root.level

    def keep(*arguments: Any, **further: Any) -> logging.LogRecord:
        record = factory(*arguments, **further)
        captured.records.append(record)
        return record

    logging.setLogRecordFactory(keep)
    # Records below WARNING are captured too; Python's handler of last resort still does not print them.
    root.setLevel(logging.DEBUG)
    try:
        with _capture_output("stdout", 1, captured), _capture_output("stderr", 2, captured):
            yield captured
    finally:
        root.setLevel(level)
        logging.setLogRecordFactory(factory)


@contextmanager
def _capture_output(name: str, number: int, captured: CapturedOutput) -> Iterator[None]:
    """Capture what is written to a file descriptor, by Python or by native code."""
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
            captured.printed[name] = file.read().decode("utf-8", "replace")
