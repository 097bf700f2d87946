"""Stored runs as lists, headers, and exports to JSON, Parquet and HTML.

Lays out what a run holds and what can be recomputed from it; scores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from assay import __version__
from assay.errors import missing_extra
from assay.outputs import replacing
from assay.report.numbers import spelled_out
from assay.runs.results import ExperimentResult, rebuilt, scores_of
from assay.types import Distribution, InOrder, Joint, Moments, Ratio, Run, State

if TYPE_CHECKING:
    from assay.result import Result
    from assay.store.encoded import AnswerRow
    from assay.store.store import StoredRun

_DIGEST_SHOWN = 12
# Too long for a line of a table; exports have them.
_NOT_SHOWN = frozenset({"details", "experience", "metrics", "notes"})


def listing(found: Sequence[StoredRun]) -> RenderableType:
    """A line for each run."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("id", "name", "kind", "created", "cases", "tags", ""):
        table.add_column(column, justify="right" if column == "cases" else "left", no_wrap=column == "id")
    for entry in found:
        run = entry.run
        created = run.created[:16].replace("T", " ")
        state = Text("damaged" if entry.damaged else "" if entry.complete else "unfinished", style="yellow")
        table.add_row(run.id, Text(run.name), run.kind, created, f"{entry.cases:,}", Text(", ".join(run.tags)), state)
    return table


def run_details(entry: StoredRun) -> RenderableType:
    """Settings, inputs and environment of a run."""
    run = entry.run
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    rows = {
        "run": f"{run.id} {run.name}".strip(),
        "tags": ", ".join(run.tags),
        "created": run.created,
        "state": "complete" if entry.complete else "unfinished: cases may be missing",
        "cases": f"{entry.cases:,}",
        "scored by": ", ".join(f"{name}@{version}" for name, version in run.versions.items()),
        "command": run.command,
    }
    for side, read in run.inputs.items():
        digest = read.get("sha256")
        rows[side] = f"{read.get('source', '')}" + (f"  sha256 {digest[:_DIGEST_SHOWN]}…" if digest else "")
    shown = {key: value for key, value in run.settings.items() if key not in _NOT_SHOWN}
    rows["settings"] = ", ".join(f"{key}={value}" for key, value in spelled_out(shown).items())
    rows["environment"] = ", ".join(f"{key} {value}" for key, value in run.environment.items())
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(value))
    return table


def header(entry: StoredRun) -> dict[str, Any]:
    """Everything but tallies and answers, ready for JSON."""
    run = entry.run
    return {
        "id": run.id,
        "kind": run.kind,
        "name": run.name,
        "tags": list(run.tags),
        "created": run.created,
        "complete": entry.complete,
        "cases": entry.cases,
        "command": run.command,
        "settings": dict(run.settings),
        "seed": run.seed,
        "versions": dict(run.versions),
        "inputs": dict(run.inputs),
        "environment": dict(run.environment),
    }


def to_json(entry: StoredRun, run: Run, answers: Sequence[AnswerRow]) -> dict[str, Any]:
    """Everything: header, numbers, tallies, answers."""
    content: dict[str, Any] = {"assay": __version__, "run": header(entry)}
    result = rebuilt(run, answers).to_json()
    # Everything else about settings and inputs is in the header.
    shown = (
        "verdict",
        "protocols",
        "estimates",
        "details",
        "warnings",
        "protocol",
        "summary",
        "passes",
        "baselines",
        "decision",
        "costs",
        "effects",
        "answers",
        "plan",
        "load",
    )
    content |= {key: result[key] for key in shown if key in result}
    content["tallies"] = tallies_json(run)
    return content


def tallies_json(run: Run, *, case: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """The tallies of a run by protocol or agent, ready for JSON; those of one case if it is named."""
    return {
        group: [
            {
                "case": one.name,
                "stratum": one.stratum,
                "states": {name: _state_json(state) for name, state in states.items()},
            }
            for one, states in by_case.items()
            if case is None or one.name == case
        ]
        for group, by_case in run.tallies.items()
    }


def for_ci(result: Result, form: str, *, suite: str = "") -> str:
    """Trials and failed checks of scored conversations or of agents, as 'junit' or 'markdown'.

    `suite` is what conversations from a file are called; a run of agents knows its suite.
    """
    from assay.report.export.junit import trials_junit
    from assay.report.export.markdown import trials_markdown

    if not isinstance(result, ExperimentResult):
        scores = scores_of(result)
        write = trials_junit if form == "junit" else trials_markdown
        return write(scores, suite=suite or "conversations")
    if form == "junit":
        return trials_junit(result.scores, suite=result.suite)
    return trials_markdown(
        result.scores,
        skill=result.skill(),
        suite=result.suite,
        decision=result.decision(),
        effects=result.effects(),
        incomplete="" if result.incomplete is None else result.incomplete.words(),
    )


def _state_json(state: State) -> dict[str, Any]:
    if isinstance(state, Ratio):
        return {"kind": "ratio", "hits": state.hits, "total": state.total}
    if isinstance(state, Moments):
        return {"kind": "moments", "n": state.n, "total": state.total, "squares": state.squares}
    if isinstance(state, Distribution):
        return {"kind": "distribution", "values": state.values.tolist(), "counts": state.counts.tolist()}
    if isinstance(state, Joint):
        columns = [column.tolist() for column in state.columns]
        return {"kind": "joint", "columns": columns, "counts": state.counts.tolist()}
    return {"kind": "in_order", "values": state.values.tolist()}


def to_parquet(run: Run, answers: Sequence[AnswerRow], path: str) -> None:
    """A row for each case and state; for conversations, a row for each answer and metric, without baselines."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise missing_extra("pyarrow", "events", "write Parquet") from error
    baselines = run.settings.get("baselines", ())
    rows = [
        _score_row(answer, metric)
        for answer in answers
        if answer["agent"] not in baselines
        for metric in answer["metrics"]
    ]
    if not rows:
        rows = [
            {"group": group, "case": case.name, "stratum": case.stratum, "state": name} | _state_row(state)
            for group, by_case in run.tallies.items()
            for case, states in by_case.items()
            for name, state in states.items()
        ]
    table = pa.Table.from_pylist([{"run": run.id, **row} for row in rows], schema=_arrow_schema(pa, bool(answers)))
    with replacing(path) as new:
        pq.write_table(table.replace_schema_metadata({"assay_run": run.id, "assay_command": run.command}), new)


def _arrow_schema(pa: Any, conversations: bool) -> Any:
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    if conversations:
        columns = {
            **dict.fromkeys(("run", "agent", "scenario"), text),
            **dict.fromkeys(("repetition", "turn"), whole),
            **dict.fromkeys(("query", "response"), text),
            "passed": pa.bool_(),
            "metric": text,
            "score": real,
            "measured": pa.bool_(),
            "run_details": text,
        }
    else:
        columns = {
            **dict.fromkeys(("run", "group", "case", "stratum", "state", "kind"), text),
            "values": pa.list_(pa.list_(real)),
            "counts": pa.list_(whole),
        }
    return pa.schema(list(columns.items()))


def _score_row(answer: AnswerRow, metric: str) -> dict[str, Any]:
    entry = answer["metrics"][metric]
    return {
        "agent": answer["agent"],
        "scenario": answer["scenario"],
        "repetition": answer["repetition"],
        "turn": answer["turn"],
        "query": answer["query"],
        "response": answer["response"],
        "passed": answer["passed"],
        "metric": metric,
        "score": entry["score"],
        "measured": entry["measured"],
        "run_details": entry.get("run_details", ""),
    }


def _state_row(state: State) -> dict[str, Any]:
    """`values` holds columns: one for a distribution, several for a joint one, single numbers for the others.

    They are 64-bit floats here, and sums of squares may exceed what those represent exactly; JSON has every digit.
    """
    if isinstance(state, Ratio):
        return {"kind": "ratio", "values": [[state.hits], [state.total]], "counts": []}
    if isinstance(state, Moments):
        sums = (state.n, state.total, state.squares)
        return {"kind": "moments", "values": [[float(part)] for part in sums], "counts": []}
    if isinstance(state, InOrder):
        return {"kind": "in_order", "values": [state.values.tolist()], "counts": []}
    kind, columns = ("joint", state.columns) if isinstance(state, Joint) else ("distribution", (state.values,))
    return {"kind": kind, "values": [column.tolist() for column in columns], "counts": state.counts.tolist()}
