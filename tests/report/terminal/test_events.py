"""Numbers and tables as people read them."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from assay import events
from assay.events import synthetic
from assay.report.numbers import interval, number
from assay.report.terminal import events as terminal

TRUTH = synthetic.recording(episodes=3, seconds=3, seed=4)
PREDICTED = synthetic.prediction(TRUTH, synthetic.POOR)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.98765, "", "0.988"),
        (1.0, "", "1.000"),
        (21707.0, "", "21,707"),
        (12.345, "ms", "12.3"),
        (-12.345, "ms", "−12.3"),
        (12345.6, "ms", "12,346"),
        (1.0432, "×", "1.043"),
        (0.0, "%", "0.0"),
        (-0.0, "", "0.000"),
        (-0.04, "ms", "0.0"),
        (-0.06, "ms", "−0.1"),
    ],
)
def test_numbers_have_as_many_digits_as_a_reader_can_use(value: float, unit: str, text: str) -> None:
    assert number(value, unit) == text


def test_both_ends_of_an_interval() -> None:
    assert interval(-1.0, 2.5, "ms") == "[−1.0, 2.5]"


def printed(reports: dict[str, events.EventReport], *, full: bool = False, width: int = 80) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(terminal.events(reports, full=full))
    return out.getvalue().splitlines()


def report(interval: str | None = None) -> events.EventReport:
    return events.evaluate(PREDICTED, TRUTH, protocols=["owa", "sequence", "d2e"], reps=30, interval=interval)


@pytest.mark.parametrize("full", [False, True])
def test_one_report_fits_80_columns_and_groups_its_metrics(full: bool) -> None:
    lines = printed({"": report()}, full=full)
    assert max(map(len, lines)) <= 80
    groups = [line.strip() for line in lines if line and not line.startswith(" ")]
    for group in ("Comparability", "Timing", "Movement", "Actions"):
        assert group in groups


def test_every_figure_is_shown_in_full() -> None:
    one = report()
    lines = printed({"": one}, full=True, width=200)
    titles = [metric.title for result in one.protocols.values() for metric in result.metrics if metric.listed]
    assert sum(line.startswith("  ") for line in lines) == len(titles)


def test_the_unit_of_resampling_is_stated() -> None:
    assert any("intervals by episode" in line for line in printed({"": report()}))
    assert any("intervals by event" in line for line in printed({"": report("event")}))
    # Only what is kept in order can be resampled in order; shares are always by event.
    assert any("intervals by event and reference" in line for line in printed({"": report("reference")}))


def test_models_are_shown_side_by_side() -> None:
    lines = printed({"a model": report(), "another [bold]model": report()})
    assert max(map(len, lines)) <= 80
    assert any("a model" in line and "another [bold]model" in line for line in lines)


def test_the_verdict_opens_in_words_and_assay_is_the_first_table() -> None:
    truth = synthetic.recording(episodes=8, seconds=3, seed=4)
    one = events.evaluate(synthetic.prediction(truth, synthetic.POOR), truth, protocols=["owa", "assay"], reps=30)
    lines = printed({"": one})
    assert lines[0].strip() == "Verdict"
    assert lines[1].startswith("✓  Better than the best trivial baseline")
    assert max(map(len, lines)) <= 80
    # Every finding is shown, and what does not fit on a line goes on below its text, not below its mark.
    shown = "\n".join(lines)
    assert sum(line[:3] in ("✓  ", "✗  ", "•  ") for line in lines) == len(one.verdict)
    assert shown.index("assay@1") < shown.index("owa@1")


def test_each_of_several_models_has_its_verdict() -> None:
    one = events.evaluate(PREDICTED, TRUTH, protocols=["assay"], reps=30)
    lines = printed({"first": one, "[red]second": one, "third": one})
    assert [line.strip() for line in lines if line.startswith("Verdict")] == [
        "Verdict on first",
        "Verdict on [red]second",
        "Verdict on third",
    ]
    assert max(map(len, lines)) <= 80


def test_the_json_opens_with_the_verdict() -> None:
    one = events.evaluate(PREDICTED, TRUTH, protocols=["owa", "assay"], reps=30)
    content = one.to_json()
    assert list(content)[:2] == ["assay", "verdict"]
    assert content["verdict"] == one.verdict
    assert {finding["protocol"] for finding in one.verdict} == {"assay@1"}
    assert one.verdict[0]["kind"] == "skill"
    assert f"F1 {one.flat('assay')['f1']:.3f}" in one.verdict[0]["text"]
