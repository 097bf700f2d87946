"""The table of scored conversations for the terminal. Lays out what `scoring` has; computes nothing."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.chat.scoring.metric import band
from assay.chat.scoring.scores import KS, Scores
from assay.report.terminal import plain_table
from assay.report.terminal.outcomes import failure_lines
from assay.types import Estimate

_PASS_TITLE = "pass^k: all of k repetitions pass · pass@k: at least one does"
_PASS_CAPTION = "over the scenarios with at least k repetitions"
_STYLES = {"poor": "red", "acceptable": "yellow", "good": "green", "excellent": "bold green"}


def conversations(scores: Scores) -> RenderableType:
    """One table for each agent: metrics by group, each with mean, interval, measured and unmeasured counts.

    Then the checks that failed, and the repetitions that pass.
    """
    parts: list[RenderableType] = []
    for agent in scores.agents:
        parts += [_agent(scores, agent), ""]
    for failed in failure_lines(scores):
        parts += [failed, ""]
    return Group(*parts, Text(_PASS_TITLE, style="bold"), _passes(scores), Text(_PASS_CAPTION, style="dim"))


def _agent(scores: Scores, agent: str) -> Table:
    lines = [line for line in scores.lines() if line.agent == agent]
    level = next((line.estimate.level for line in lines), 0.95)
    shares = {metric.name for metric in scores.metrics if metric.scale in ("binary", "share")}
    shown = plain_table(f"{escape(agent)} · {100 * level:g}% intervals by scenario")
    shown.add_column("metric")
    for column in ("mean", "interval", "band"):
        shown.add_column(column, justify="right")
    shown.add_column("measured", justify="right")
    shown.add_column("not", justify="right")
    for group in dict.fromkeys(line.group for line in lines):
        shown.add_row(Text(group, style="bold"))
        for line in (line for line in lines if line.group == group):
            estimate = line.estimate
            name = band(round(estimate.value, 2)) if estimate.value is not None and line.metric in shares else ""
            shown.add_row(
                f"  {escape(line.metric)}",
                "–" if estimate.value is None else f"{estimate.value:.2f}",
                _ends(estimate),
                Text(name, style=_STYLES.get(name, "")),
                str(estimate.n),
                str(estimate.n_skipped),
            )
    return shown


def _ends(estimate: Estimate) -> Text:
    """Both ends, or a word on why there are none."""
    if estimate.value is None:
        return Text("nothing measured", style="italic")
    if estimate.low is None or estimate.high is None:
        return Text("one scenario", style="italic")
    return Text(f"[{estimate.low:.2f}, {estimate.high:.2f}]")


def _passes(scores: Scores) -> Table:
    shown = plain_table("")
    shown.add_column("agent")
    shown.add_column("")
    known = [k for k in KS if any(scores.passes(agent)["pass^k"][k].value is not None for agent in scores.agents)]
    for k in known:
        shown.add_column(f"k={k}", justify="right")
    for agent in scores.agents:
        for name, by_k in scores.passes(agent).items():
            cells = ["–" if (value := by_k[k].value) is None else f"{value:.2f}" for k in known]
            shown.add_row(escape(agent), name, *cells)
    return shown


def tables(scores: Scores, *, full: bool = False) -> RenderableType:
    """The tables of scored conversations; they are always shown in full."""
    return conversations(scores)
