"""The command line: thin. It parses, calls, prints, and turns errors meant for users into one sentence and exit code 2.

Results go to standard output, progress and warnings to standard error. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from assay.cli import _early  # noqa: F401 — starts a process while the rest is imported

# isort: split
import atexit
import copy
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import typer

from assay import __version__
from assay.cli import chat, compare, completion, decide, demo, doctor, events, import_logs, init, mcp, runs, serve
from assay.cli._help import group_options
from assay.cli._process import ended_at_once, ended_cleanly, open_closed_streams
from assay.errors import AssayError
from assay.extras import explained
from assay.redaction import redacted
from assay.shown import visible_streams

app = typer.Typer(
    name="assay",
    help="Scores AI agents: what they do on a desktop, and what they say in conversations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing boxes would triple the time until help appears
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(events.app, name="events")
app.add_typer(chat.app, name="chat")
app.command("compare")(compare.compare)
app.command("decide")(decide.decide)
app.command("import")(import_logs.import_logs)
app.add_typer(runs.app, name="runs")
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("init")(init.init)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("completion")(completion.completion)
group_options(app)


_COLLECT_AFTER = 20_000  # objects


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
    ),
) -> None:
    if debug:
        os.environ["ASSAY_DEBUG"] = "1"


def main() -> None:
    """Entry point of the `assay` command."""
    # Imports and results create very many objects and hardly any garbage; by default, looking for it takes a seventh of
    # the time of a short command.
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    if completion.VARIABLE in os.environ:
        completion.prepare()
    # The last thing before the end. Python would otherwise search all objects for cycles, half a second of work after
    # large imports, to free what ends with the process anyway.
    atexit.register(gc.freeze)
    open_closed_streams()
    with ended_at_once(), ended_cleanly(), visible_streams():
        _run()


def _called(whole: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The commands that these words may call. Typer would build all of them first, which takes a tenth of a second."""
    groups = [group for group in whole.registered_groups if words and group.name == words[0]]
    commands = [command for command in whole.registered_commands if words and command.name == words[0]]
    if not groups and not commands:  # an option comes first, or there is no such command, and an error lists all
        return whole
    chosen = copy.copy(whole)
    chosen.registered_commands = commands
    chosen.registered_groups = [copy.copy(group) for group in groups]
    for group in chosen.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance = _called(group.typer_instance, words[1:])
    return chosen


def _run() -> None:
    try:
        is_completion = completion.VARIABLE in os.environ
        called = app if is_completion else _called(app, sys.argv[1:])
        called(complete_var=completion.VARIABLE)
    except AssayError as error:
        _exit_with(str(error))
    except BrokenPipeError:
        _exit_unread()
    except SystemExit:
        # So typer marks the streams if it met that error first; its exit code 1 would look like a gate that failed.
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":
            _exit_unread()
        raise
    except OSError as error:
        # A file that cannot be opened or written is not a bug in assay: a full disk, a missing folder.
        _exit_with(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        missing = explained(error) if isinstance(error, ModuleNotFoundError) else None
        if missing is not None:
            _exit_with(str(missing))
        # An error in assay itself. Not exit code 1, which would look like a gate that failed.
        print(redacted(traceback.format_exc()), file=sys.stderr)
        _exit_with(f"this is an error in assay itself: {type(error).__name__}. Please report it")


def _exit_unread() -> NoReturn:
    """The program that reads our output has closed the pipe. Python would raise again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)


def _exit_with(sentence: str) -> NoReturn:
    """One sentence and exit code 2; 1 is for verdicts. With --debug, the traceback too."""
    if os.environ.get("ASSAY_DEBUG"):
        print(redacted(traceback.format_exc()), file=sys.stderr)
    print(f"assay: {redacted(sentence)}", file=sys.stderr)
    sys.exit(2)
