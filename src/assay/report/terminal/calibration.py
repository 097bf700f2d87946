"""How far judge and metrics agree with human labels, for the terminal. Lays out what `scoring.calibration` has."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from assay.chat.scoring.calibration import Agreement, Calibration, Position
from assay.chat.scoring.passing import PASS_MARK
from assay.plural import counted
from assay.report.terminal import plain, plain_table
from assay.types import Estimate


def calibration_tables(found: Calibration) -> RenderableType:
    """Agreement and errors, then bias by length and corrected scores, then bias by position."""
    labels = f"{counted(found.labels, 'label')} of {counted(found.answers, 'answer')}"
    lead = f"{labels}; good is a score of {PASS_MARK} or more"
    parts: list[RenderableType] = [Text(lead, style="bold")]
    if found.agreements:
        parts += ["", *_agreement(found.agreements), "", *_corrected(found.agreements)]
    if found.position is not None:
        parts += ["", *_position(found.position)]
    return Group(*parts)


def _agreement(agreements: tuple[Agreement, ...]) -> tuple[RenderableType, ...]:
    shown = plain_table("")
    shown.add_column("metric", overflow="ellipsis", no_wrap=True, max_width=26)
    for column in ("n", "κ", "interval", "both", "too kind", "too strict", "neither"):
        shown.add_column(column, justify="right", no_wrap=True)
    for one in agreements:
        cells = (one.both, one.too_kind, one.too_strict, one.neither)
        shown.add_row(Text(plain(one.metric)), str(one.n), _value(one.kappa), _ends(one.kappa), *map(str, cells))
    title = "Agreement with people · κ: 1 full, 0 no better than chance; then answers called good"
    return Text(title, style="bold"), shown


def _corrected(agreements: tuple[Agreement, ...]) -> tuple[RenderableType, ...]:
    shown = plain_table("")
    shown.add_column("metric", overflow="ellipsis", no_wrap=True, max_width=26)
    for column in ("mean", "corrected", "interval", "if twice as long", "interval"):
        shown.add_column(column, justify="right", no_wrap=True)
    for one in agreements:
        mean = "–" if one.mean is None else f"{one.mean:.2f}"
        bias = one.length_bias
        row = (mean, _value(one.corrected), _ends(one.corrected), _value(bias, signed=True), _ends(bias, signed=True))
        shown.add_row(Text(plain(one.metric)), *row)
        for agent, estimate in one.by_agent.items():
            shown.add_row(Text(plain(f"  {agent}"), "dim"), "", _value(estimate), _ends(estimate))
    title = "Estimated human mean of all answers · each mean corrected for its errors on the labelled ones"
    return Text(title, style="bold"), shown


def _position(found: Position) -> tuple[RenderableType, ...]:
    title = "Pairs, compared in both orders"
    said = (
        f"{counted(found.pairs, 'pair')}: decided like people {found.agreed}, against people {found.opposed}, by "
        f"position {found.flipped}. Of the orders without a tie, the answer shown first is preferred in a share of "
        f"{_value(found.first)} {_ends(found.first)}; 0.50 means no bias."
    )
    return Text(title, style="bold"), Text(said)


def _value(estimate: Estimate, *, signed: bool = False) -> str:
    if estimate.value is None:
        return "–"
    return f"{estimate.value:+.2f}" if signed else f"{estimate.value:.2f}"


def _ends(estimate: Estimate, *, signed: bool = False) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{estimate.low:+.2f}, {estimate.high:+.2f}]" if signed else f"[{estimate.low:.2f}, {estimate.high:.2f}]"
