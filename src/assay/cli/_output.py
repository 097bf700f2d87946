"""Output that all commands share: JSON, other files, progress, notes and the closing lines.

Results go to standard output, everything else to standard error. This module does not know what a command computes.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.errors import UsageError
from assay.outputs import refuse_inputs, write_bytes
from assay.plural import counted
from assay.shown import escaped, shown_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from assay.chat.running.sinks import Progress

OUTPUT = "Output"
"""The heading of these options in the help of a command."""
JsonOut = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="OUT", help="Write everything as JSON; - for standard output.", rich_help_panel=OUTPUT
    ),
]
HtmlReport = Annotated[
    Path | None,
    typer.Option("--html", metavar="OUT", help="Write a report that opens offline.", rich_help_panel=OUTPUT),
]
TrialsJUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="OUT", help="Write JUnit XML: a test for each scenario and agent.", rich_help_panel=OUTPUT
    ),
]
TrialsMarkdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown", metavar="OUT", help="Write a summary with the checks that failed.", rich_help_panel=OUTPUT
    ),
]

_INDENT = 2
_SECONDS_BETWEEN_LINES = 5.0
_PASSWORD = re.compile(r"(?<=[^/]):[^/@]*(?=@)")
"""Of an address such as `postgresql://user:password@host/runs`, with its colon."""


# --- files ----------------------------------------------------------------------------------------------------------


def write_json(content: object, target: str | Path) -> None:
    """Write JSON to a file, or to standard output if the target is '-'. NaN and infinities become null."""
    import json

    def dumps(value: object) -> str:
        return json.dumps(value, indent=_INDENT, ensure_ascii=False, allow_nan=False)

    try:
        text = dumps(content)
    except ValueError:
        text = dumps(_finite(content))
    write_text(escaped(text) + "\n", target)


def write_text(text: str, target: str | Path) -> None:
    """Write text to a file, or to standard output if the target is '-'."""
    # Half a surrogate pair cannot be encoded; inside JSON its escape has the same meaning.
    content = text.encode("utf-8", "backslashreplace")
    if str(target) == "-":
        # Bytes, if the stream takes them: a terminal that is not set to UTF-8 must not end the command.
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(content.decode("utf-8"))
        else:
            sys.stdout.flush()
            binary.write(content)
        sys.stdout.flush()
    else:
        write_file(target, lambda: write_bytes(target, content))


def write_file(target: str | Path, write: Callable[[], object]) -> None:
    """Write a file by calling `write`, and announce it. Raises UsageError if it cannot be written."""
    try:
        write()
    except OSError as error:
        raise UsageError(f"cannot write the file: {error.strerror or error}", where=str(target)) from error
    announce(f"Written: {target}")


def check_outputs(*targets: str | Path | None, inputs: Sequence[str | Path | None] = ()) -> None:
    """Raise UsageError for a target that cannot be written, before hours of work are lost to a wrong path.

    Its folder must exist, and it must be neither an input nor another target.
    """
    files = [target for target in targets if target is not None and str(target) != "-"]
    for number, target in enumerate(files):
        refuse_inputs(target, [str(one) for one in inputs if one is not None])
        if Path(target).absolute() in {Path(one).absolute() for one in files[:number]}:
            raise UsageError("two outputs have the same name", where=str(target), hint="Choose another for one of them")
        folder = Path(target).absolute().parent
        if not folder.is_dir():
            raise UsageError("the folder does not exist", where=str(target), hint="Create it first")
        if Path(target).is_dir():
            raise UsageError("is a folder", where=str(target), hint="Name a file")


def _finite(value: Any) -> Any:
    """The same value with None in place of NaN and infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value


# --- lines on standard error ----------------------------------------------------------------------------------------


def announce(line: str) -> None:
    """Print one line on standard error."""
    print(line, file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a note that changes how to read the results."""
    announce(f"note: {text}")


def announce_run(run_id: str | None, *, see_also: Sequence[str] = (), store: str | Path | None = None) -> None:
    """Print the id under which the run was stored, if it was, and commands that show more about it, in that store."""
    if run_id is not None:
        commands = "; ".join(f"{command}{store_option(store)}" for command in see_also)
        announce(f"Stored as run {run_id}." + (f" See also: {commands}" if commands else ""))


def store_option(store: str | Path | None) -> str:
    """The option with which a further command finds the store, without its password; empty for the default store."""
    return f" --store {shlex.quote(_PASSWORD.sub('', str(store)))}" if store else ""


# --- progress -------------------------------------------------------------------------------------------------------


@contextmanager
def byte_progress() -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A bar for each phase with its rate and the time left, if standard error is a terminal; otherwise nothing.

    It moves several times per second, whether or not something was reported.
    """
    if not sys.stderr.isatty():
        yield None
        return
    with phase_bars() as (_, update):
        yield update


@contextmanager
def compiling_announced() -> Iterator[None]:
    """Says so if loops have to be compiled first, if standard error is a terminal: it takes a while, once."""
    if not sys.stderr.isatty():
        yield
        return
    from assay.events.compiled import cache_folder, told_of_compiling

    words = f"Compiling for this processor: once after installation, up to half a minute. Kept in {cache_folder()}"
    with told_of_compiling(lambda: announce(words)):
        yield


@contextmanager
def phase_bars(console: Console | None = None) -> Iterator[tuple[Bar, Callable[[str, int, int | None], None]]]:
    """The bars of `byte_progress` and the function that moves them."""
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console or shown_console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, amount="")
            bar.update(tasks[phase], completed=done, total=total)
            speed = bar.tasks[bar.task_ids.index(tasks[phase])].speed
            bar.update(tasks[phase], amount=amount_done(phase, done, total, speed))

        yield bar, update


def amount_done(phase: str, done: int, total: int | None, speed: float | None) -> str:
    """How much of a phase is done, how much there is, and the rate: '3.1 MB of 9.6 MB, 2.0 MB/s'."""
    unit = {"scoring": "pairs", "resampling": "figures", "shards": "shards"}.get(phase)
    numbers = [f"{value:,.0f}" if unit else _megabytes(value) for value in (done, total, speed) if value is not None]
    if unit == "shards" and speed is not None:
        numbers[-1] = f"{speed:,.3g}"  # a shard may take minutes
    words = numbers[0] + ("" if total is None else f" of {numbers[1]}") + (f" {unit}" if unit else "")
    return words if speed is None else f"{words}, {numbers[-1]}/s"


def _megabytes(n: float) -> str:
    return f"{n / 1e6:,.1f} MB"


class ShardLines:
    """Progress by shard as lines for logs: one every few seconds, with the rate and the time left."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None
        self._next_line_at = 0.0

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if phase != "shards" or total is None:
            return
        now = time.monotonic()
        if self._start is None:
            self._start = (now, done)
            self._next_line_at = now + _SECONDS_BETWEEN_LINES
            return
        if now < self._next_line_at:
            return
        self._next_line_at = now + _SECONDS_BETWEEN_LINES
        rate = (done - self._start[1]) / (now - self._start[0])
        left = f", about {(total - done) / rate:,.0f} s left" if rate else ""
        announce(f"{done:,} of {total:,} shards, {rate:,.3g}/s{left}")


@contextmanager
def conversation_progress() -> Iterator[Callable[[Progress], None]]:
    """A bar that counts conversations, if standard error is a terminal; otherwise a line every few seconds."""
    console = shown_console(stderr=True)
    if not console.is_terminal:
        yield _ProgressLines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("conversations", total=None)

        def update(progress: Progress) -> None:
            failed = progress.counts["failed"]
            words = f"conversations, {counted(failed, 'turn')} failed" if failed else "conversations"
            bar.update(task, total=progress.total, completed=progress.done, description=_starting(progress) or words)

        yield update


class _ProgressLines:
    """Progress as lines for logs: one every few seconds, with the time left at the pace so far."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None
        self._next_line_at = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.starting:
            announce(_starting(progress))
            self._start = None  # starting an agent takes longer than a conversation, and happens once
            return
        now = time.monotonic()
        if self._start is None:
            self._start = (now, progress.done)
        if now < self._next_line_at and progress.done < progress.total:
            return
        self._next_line_at = now + _SECONDS_BETWEEN_LINES
        finished = progress.done - self._start[1]
        seconds_each = (now - self._start[0]) / finished if finished > 1 else None
        left = ""
        if seconds_each is not None and progress.done < progress.total:
            left = f", about {seconds_each * (progress.total - progress.done):.0f} s left"
        ended = ", ".join(f"{count} {status}" for status, count in sorted(progress.counts.items()))
        turns = f" (turns: {ended})" if ended else ""
        announce(f"{progress.done}/{progress.total} conversations{turns}{left}")


def _starting(progress: Progress) -> str:
    return f"starting {progress.starting} …" if progress.starting else ""
