"""Gates that `chat run` and `chat score` share: what scores must reach, and the reasons if they do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli._output import announce

if TYPE_CHECKING:
    from assay.runs.gates import RunGate

GATE = "Gate"

Require = Annotated[
    list[str] | None,
    typer.Option(
        help='Exit 1 unless it holds for each agent: "trials_passed>=0.9", "accuracy.low>=0.8", "quirks_handled>=0.8".',
        rich_help_panel=GATE,
    ),
]


def parsed_gate(
    fail_on: list[str] | None,
    require: list[str] | None,
    *,
    conditions: Sequence[str] | None = None,
    metrics: Iterable[str] | None = None,
    shares: Iterable[str] | None = None,
) -> RunGate | None:
    """What the scores must reach; None, and nothing imported, without demands. The rest is as in `RunGate.parsed`."""
    if not fail_on and not require:
        return None
    from assay.chat.scoring.tallies import AFTERWARDS
    from assay.runs.gates import FAIL_RUN_ON, RunGate

    return RunGate.parsed(
        fail_on or (),
        require or (),
        conditions=conditions or FAIL_RUN_ON,
        metrics=metrics,
        shares=AFTERWARDS if shares is None else shares,
    )


def announce_failures(failures: Iterable[str]) -> None:
    """Print why a gate fails, on standard error."""
    for failure in failures:
        announce(f"assay: gate: {failure}")
