"""A comparison as text: a table for the terminal in 80 columns, and a Markdown summary for a pull request.

Only lays out what is in a comparison; computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.compare import Comparison, Line, Measure, Outcome
from assay.report.numbers import number

_STYLES = {"better": "bold green", "worse": "bold red", "same": "", "inconclusive": "yellow"}
_MARKS = {"better": "✅ better", "worse": "❌ worse", "same": "same", "inconclusive": "❔ inconclusive"}
_CHANGES = 5


def table(comparisons: Sequence[Comparison]) -> RenderableType:
    """One comparison in full, or several candidates beside their baseline."""
    if len({comparison.baseline.label for comparison in comparisons}) == 1 and len(comparisons) > 1:
        return _beside(comparisons)
    parts: list[RenderableType] = []
    for comparison in comparisons:
        parts += ["", _alone(comparison), *_changes(comparison)]
    return Group(*parts[1:])


def _alone(comparison: Comparison) -> RenderableType:
    grid = _grid()
    for name, justify in (("metric", "left"), ("values", "right"), ("difference", "right"), ("p", "right")):
        grid.add_column(name, justify=justify, no_wrap=name == "p")  # type: ignore[arg-type]
    grid.add_column("verdict")
    for part, lines in _parts(comparison):
        grid.add_row(Text(part, style="bold"))
        for line in lines:
            grid.add_row(
                Text(f"  {_title(line.measure)}"), _values(line), _difference(line), p_value(line), _call(line)
            )
    return Group(Text(headline(comparison), style="bold"), Text(matching(comparison), style="dim"), grid)


def _beside(comparisons: Sequence[Comparison]) -> RenderableType:
    grid = _grid()
    grid.add_column("metric")
    grid.add_column(Text(comparisons[0].baseline.label), justify="right")
    for comparison in comparisons:
        grid.add_column(Text(comparison.candidate.label), justify="right")
    seen = dict.fromkeys((ln.measure.part, ln.measure.key) for comparison in comparisons for ln in comparison.lines)
    found = [{(ln.measure.part, ln.measure.key): ln for ln in comparison.lines} for comparison in comparisons]
    part = ""
    for key in seen:
        if key[0] != part:
            part = key[0]
            grid.add_row(Text(part, style="bold"))
        lines = [by_key.get(key) for by_key in found]
        one = next(line for line in lines if line is not None)
        cells = [Text("–") if line is None else _short(line) for line in lines]
        grid.add_row(Text(f"  {_title(one.measure)}"), Text(_number(one.baseline.value, one.measure)), *cells)
    heads = [Text(matching(comparison), style="dim") for comparison in comparisons]
    return Group(Text(f"Against {comparisons[0].baseline.label}", style="bold"), *heads, grid)


def _short(line: Line) -> Text:
    if line.verdict.difference is None:
        return Text("unmeasured", style="dim")
    text = Text(signed(line.verdict.difference, line.measure.unit) + "\n")
    return text.append(line.verdict.call, style=_STYLES.get(line.verdict.call, "dim"))


def _changes(comparison: Comparison) -> list[RenderableType]:
    """The cases that changed most, for the metrics that got a verdict worth looking into."""
    called = {ln.measure: ln for ln in comparison.lines if ln.verdict.call in ("better", "worse")}
    entries = [entry for entry in comparison.cases if entry.measure in called and entry.changes]
    if not entries:
        return []
    grid = _grid()
    grid.add_column("changed most")
    grid.add_column("values", justify="right")
    for entry in entries[:3]:
        better = entry.improvement.value
        ahead = "" if better is None else f"; a case is better with probability {better:.2f}"
        grid.add_row(Text(f"{entry.measure.title}: {entry.n_changed:,} of {entry.improvement.n:,}{ahead}", "bold"))
        for change in entry.changes[:_CHANGES]:
            unit = entry.measure.unit
            values = f"{number(change.baseline, unit)} → {number(change.candidate, unit)}"
            grid.add_row(Text(f"  {change.case.name}"), values)
    return ["", grid]


def _grid() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")


def _call(line: Line) -> Text:
    verdict = line.verdict
    if verdict.call in ("unmeasured", "descriptive"):
        return Text(verdict.reason or verdict.call, style="dim italic")
    text = Text(verdict.call, style=_STYLES[verdict.call])
    if verdict.n_needed is not None:
        text.append(f"\n~{verdict.n_needed:,} cases", style="dim")
    elif verdict.reason:
        text.append(f"\n{verdict.reason}", style="dim")
    return text


def _values(line: Line) -> str:
    return f"{_number(line.baseline.value, line.measure)} → {_number(line.candidate.value, line.measure)}"


def _difference(line: Line) -> Text:
    verdict = line.verdict
    if verdict.difference is None:
        return Text("–")
    text = Text(signed(verdict.difference, line.measure.unit))
    if verdict.low is not None and verdict.high is not None:
        ends = f"{signed(verdict.low, line.measure.unit)}, {signed(verdict.high, line.measure.unit)}"
        text.append(f"\n[{ends}]", style="dim")
    return text


# --- Markdown ------------------------------------------------------------------------------------------------------


def markdown(comparisons: Sequence[Comparison], failures: Sequence[Outcome] = ()) -> str:
    """A summary that reads well in a pull request: what failed, then a table for each comparison."""
    parts = []
    if failures:
        parts.append("**The gate failed.**\n\n" + "\n".join(f"- {_escaped(failed.failure)}" for failed in failures))
    for comparison in comparisons:
        rows = ["| metric | baseline | candidate | difference | p | verdict |", "|---|--:|--:|--:|--:|---|"]
        for line in comparison.lines:
            verdict, measure = line.verdict, line.measure
            call = _MARKS.get(verdict.call, f"{verdict.call}: {verdict.reason}")
            if verdict.n_needed is not None:
                call += f" (~{verdict.n_needed:,} cases would decide)"
            difference = str(_difference(line)).replace("\n", " ")
            values = [_number(line.baseline.value, measure), _number(line.candidate.value, measure)]
            cells = [_title(measure), *values, difference, p_value(line), call]
            rows.append(f"| {' | '.join(map(_escaped, cells))} |")
        notes = "".join(f"\n\n> {_escaped(note)}" for note in comparison.notes)
        parts.append(
            f"### {_escaped(headline(comparison))}\n\n{_escaped(matching(comparison))}{notes}\n\n" + "\n".join(rows)
        )
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    for mark in ("\\", "|", "<", "`", "*", "_", "["):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


# --- words that every form shares ----------------------------------------------------------------------------------


def headline(comparison: Comparison) -> str:
    """Who is compared with whom, and the count of calls."""
    calls = comparison.calls
    counted = ", ".join(f"{calls[call]} {call}" for call in ("better", "worse", "same", "inconclusive") if calls[call])
    return f"{comparison.candidate.label} against {comparison.baseline.label}: {counted or 'no verdicts'}"


def matching(comparison: Comparison) -> str:
    """How many cases are paired, how many are not, and what the intervals rest on."""
    case = "scenarios" if comparison.kind == "chat" else "episodes"
    only = [
        f"{n:,} only in the {side}"
        for n, side in ((comparison.n_baseline_only, "baseline"), (comparison.n_candidate_only, "candidate"))
        if n
    ]
    left = f"; not matched: {' and '.join(only)}" if only else ""
    return (
        f"{comparison.n_common:,} common {case}{left}. {comparison.level:.0%} intervals, resampled by "
        f"{comparison.unit}; p after Holm's correction."
    )


def p_value(line: Line) -> str:
    """The adjusted p-value, as far as it can be told."""
    p = line.verdict.p_adjusted
    return "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def signed(value: float, unit: str = "") -> str:
    """A difference, with its sign."""
    text = number(value, unit)
    return text if value <= 0 else f"+{text}"


def _title(measure: Measure) -> str:
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def _number(value: float | None, measure: Measure) -> str:
    return "–" if value is None else number(value, measure.unit)


def _parts(comparison: Comparison) -> list[tuple[str, list[Line]]]:
    names = dict.fromkeys(line.measure.part for line in comparison.lines)
    return [(name, [line for line in comparison.lines if line.measure.part == name]) for name in names]
