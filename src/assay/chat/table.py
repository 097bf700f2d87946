"""The table of scored transcripts for the terminal. Lays out what `scoring` has; computes nothing."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.chat.metric import band
from assay.chat.scoring import KS, Scores
from assay.types import Estimate

_STYLES = {"poor": "red", "acceptable": "yellow", "good": "green", "excellent": "bold green"}


def table(scores: Scores) -> RenderableType:
    """One table for each agent: metrics by group, each with mean, interval, measured and unmeasured counts."""
    return Group(*(_agent(scores, agent) for agent in scores.agents), _passes(scores))


def _agent(scores: Scores, agent: str) -> Table:
    lines = [line for line in scores.lines() if line.agent == agent]
    level = next((line.estimate.level for line in lines), 0.95)
    shown = Table(
        title=f"{escape(agent)} · {level:.0%} intervals, resampled by scenario",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    shown.add_column("metric")
    for column in ("mean", "interval", "band"):
        shown.add_column(column, justify="right")
    shown.add_column("measured", justify="right")
    shown.add_column("not", justify="right")
    for group in dict.fromkeys(line.group for line in lines):
        shown.add_row(Text(group, style="italic dim"))
        for line in (line for line in lines if line.group == group):
            estimate = line.estimate
            name = band(round(estimate.value, 2)) if estimate.value is not None else ""
            shown.add_row(
                f"  {escape(line.metric)}",
                "–" if estimate.value is None else f"{estimate.value:.2f}",
                interval(estimate),
                Text(name, style=_STYLES.get(name, "")),
                str(estimate.n),
                str(estimate.n_skipped),
            )
    return shown


def interval(estimate: Estimate) -> str:
    """Both ends, or a word on why there are none."""
    if estimate.value is None:
        return "nothing measured"
    if estimate.low is None or estimate.high is None:
        return "one scenario"
    return f"{estimate.low:.2f} … {estimate.high:.2f}"


def _passes(scores: Scores) -> Table:
    shown = Table(
        title="All of k repetitions pass (pass^k), and at least one does (pass@k)",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
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
