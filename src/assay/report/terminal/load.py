"""The tables of a load test for the terminal. Lays out what was measured; computes nothing."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.chat.load.results import AgentLoad
from assay.plural import counted
from assay.report.load_words import error_words, isolation_words, knee_words, leak_words, memory_words
from assay.report.terminal import plain, plain_table
from assay.report.text import shorten
from assay.runs.load_tests import LoadResult

# Figure, heading, digits after the point. The second list is what 80 columns have no room for.
_COLUMNS = (
    ("throughput", "turns/s", 1),
    ("p50_ms", "p50", 0),
    ("p95_ms", "p95", 0),
    ("p99_ms", "p99", 0),
    ("own_p50_ms", "own p50", 0),
    ("own_p95_ms", "own p95", 0),
    ("cpu_ms", "CPU ms", 1),
    ("stall_ms", "stall", 0),
)
_FULL = (
    ("own_p99_ms", "own p99", 0),
    ("peak_mb", "peak MB", 0),
    ("session_kb", "kB/session", 1),
    ("error_share", "errors", 3),
)


def tables(result: LoadResult, *, full: bool = False) -> RenderableType:
    """A table of steps for each agent, then knee, memory, isolation and leaks of all."""
    parts: list[RenderableType] = []
    for load in result.loads:
        parts += [_steps(load, full) if load.steps else Text(f"{load.agent}: {plain(load.failure)}", style="red"), ""]
    if any(load.steps for load in result.loads):
        parts += [_summary(result), ""]
    for load in result.loads:
        parts += _errors(load)
    parts += [Text(note, style="dim") for note in result.notes]
    return Group(*parts)


def _steps(load: AgentLoad, full: bool) -> Group:
    # On a line of its own: inside the table the title would wrap if the table is narrow.
    title = Text(f"{plain(load.agent)} · times of a turn in ms; own is the framework's share", style="bold")
    table = plain_table("")
    table.add_column("users", justify="right")
    shown = (*_COLUMNS, *(_FULL if full else ()))
    for _, heading, _ in shown:
        table.add_column(heading, justify="right")
    for users in load.users:
        cells = [_cell(load.typical(users, name), digits) for name, _, digits in shown]
        mark = "bold" if users == load.knee else ""
        table.add_row(f"{users:,}", *cells, style=mark)
    if load.failure:
        table.caption = Text(shorten(plain(load.failure), 300), style="red")
    return Group(title, table)


def _summary(result: LoadResult) -> Table:
    table = plain_table("knee, memory, isolation and leaks")
    table.add_column("agent", no_wrap=True)
    table.add_column("")
    table.add_column("", overflow="fold")
    for load in result.loads:
        if not load.steps:
            continue
        session = load.typical(load.users[-1], "session_kb")
        rows = {
            "knee": knee_words(load),
            "memory": f"{memory_words(load)}, {_cell(session, 0)} kB per session",
            "isolation": isolation_words(load),
            "leak": leak_words(load),
        }
        for at, (name, words) in enumerate(rows.items()):
            style = "bold red" if words.startswith("BROKEN") else ""
            table.add_row(escape(load.agent) if not at else "", Text(name, style="dim"), Text(words, style=style))
    return table


def _errors(load: AgentLoad) -> list[RenderableType]:
    """Errors by kind and number of users, each with an example."""
    counts: Counter[tuple[int, str]] = Counter()
    examples: dict[str, str] = {}
    for step in load.steps:
        for kind, times in step.errors.items():
            counts[step.users, kind] += times
            examples.setdefault(kind, step.examples.get(kind, ""))
    return [
        Text(
            f"{load.agent}, {counted(users, 'user')}: {times:,} × "
            f"{shorten(error_words(plain(kind), plain(examples[kind])), 180)}"
        )
        for (users, kind), times in sorted(counts.items())
    ]


def _cell(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
