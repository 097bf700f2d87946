"""The page about events: every number of the report, and charts that add up to the data."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from assay import events
from assay.errors import UsageError
from assay.events import EventStream, synthetic
from assay.events.protocols import every_protocol
from assay.report.html import events as page
from assay.report.html.events import pairs
from assay.types import Joint

TRUTH = synthetic.recording(episodes=3, seconds=6, seed=4)


@pytest.fixture(scope="module")
def reports() -> dict[str, events.EventReport]:
    models = {"good": synthetic.GOOD, "poor": synthetic.POOR}
    return {
        name: events.evaluate(synthetic.prediction(TRUTH, model), TRUTH, protocols=every_protocol(), reps=30)
        for name, model in models.items()
    }


def total(rows: list[dict[str, Any]], column: str, **where: str) -> float:
    return float(sum(row[column] for row in rows if all(row[key] == value for key, value in where.items())))


def test_the_page_contains_every_metric(reports: dict[str, events.EventReport]) -> None:
    text = page.render(reports)
    for result in reports["good"].protocols.values():
        assert result.label in text
        for metric in result.metrics:
            assert (str(escape(metric.title)) in text) == metric.listed
    for name in reports:
        assert name in text


def test_shares_of_a_chart_add_up_to_one(reports: dict[str, events.EventReport]) -> None:
    owa = {name: report.protocols["owa"] for name, report in reports.items()}
    times = {name: result.tally.total("times", Joint) for name, result in owa.items()}
    moves = {name: result.tally.total("moves", Joint) for name, result in owa.items()}
    for model in reports:
        for category in ("keyboard", "mouse_op", "mouse_nop", "screen"):
            assert total(pairs._time_errors(times), "share", model=model, category=category) == pytest.approx(1)
            assert total(pairs._confusion(owa), "share", model=model, truth=category) == pytest.approx(1)
        assert total(pairs._directions(moves), "share", model=model) == pytest.approx(1)
        rows, _, _ = pairs.displacement_rows({name: pairs._by_axis(joint) for name, joint in moves.items()})
        for axis in "xy":
            assert total(rows, "count", model=model, axis=axis) == moves[model].n
        assert total(pairs._over_position(owa), "n", model=model) == times[model].n
    assert total(pairs._confusion(owa), "count", model="good") == len(TRUTH)


def test_bins_are_centred_on_no_error() -> None:
    late = {"m": Joint.of(np.zeros(3, np.int64), np.zeros(3, np.int64), np.array([-30, 0, 30]) * 1_000_000)}
    rows = pairs._time_errors(late)
    (middle,) = [row for row in rows if row["low_ms"] < 0 < row["high_ms"]]
    assert middle["low_ms"] == -middle["high_ms"]
    assert middle["share"] == pytest.approx(1 / 3)


def test_a_predicted_standstill_has_no_direction_to_draw() -> None:
    # Up against up, and up against nothing: one movement is drawn, straight ahead.
    moves = {"m": Joint.of(np.array([0, 0]), np.array([5, 5]), np.array([0, 0]), np.array([7, 0]))}
    drawn = [row for row in pairs._directions(moves) if row["share"]]
    assert [(row["low_deg"], row["high_deg"], row["share"]) for row in drawn] == [(-7.5, 7.5, 1.0)]


def test_a_report_with_nothing_to_draw_is_still_a_page(tmp_path: Path) -> None:
    frame = EventStream.from_events([{"kind": "screen", "ts": 0}])
    written = events.evaluate(frame, frame, protocols=every_protocol()).html(tmp_path / "one.html")
    text = written.read_text(encoding="utf-8")
    assert "undefined" in text
    assert not re.search(r"\bnan\b", re.sub(r"<script.*?</script>", "", text, flags=re.S), re.I)


def test_a_prediction_with_nothing_comparable_is_still_a_page(tmp_path: Path) -> None:
    truth = EventStream.from_events([{"kind": "screen", "ts": 0}] * 3)
    report = events.evaluate(EventStream.from_events([None] * 3), truth, protocols=["owa"])
    assert report.html(tmp_path / "none.html").exists()


def test_a_folder_that_is_not_there_is_an_error_of_use(reports: dict[str, events.EventReport], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the report"):
        reports["good"].html(tmp_path / "no" / "where.html")


# --- assay@1 ---------------------------------------------------------------------------------------------------------


def sections(text: str) -> list[str]:
    return re.findall(r"<h2>([^<]*)</h2>", text)


def test_the_verdict_opens_the_page_and_assay_comes_first(reports: dict[str, events.EventReport]) -> None:
    given = {name: dataclasses.replace(report, warnings=["a warning"]) for name, report in reports.items()}
    text = page.render(given)
    assert sections(text)[:4] == ["Verdict", "Read this first", "assay@1", "owa@1"]
    for report in reports.values():
        for finding in report.verdict:
            assert str(escape(finding["text"])) in text


def test_a_report_without_assay_has_no_verdict() -> None:
    text = page.page(events.evaluate(synthetic.prediction(TRUTH, synthetic.GOOD), TRUTH, protocols=["owa"], reps=20))
    assert sections(text)[0] == "owa@1"


def test_every_key_has_a_row_that_can_be_sorted(reports: dict[str, events.EventReport]) -> None:
    report = reports["poor"]
    text = page.page(report)
    keys = report.protocols["assay"].details["keys"]
    (table,) = re.findall(r'<table class="sortable">.*?</table>', text, re.S)
    assert table.count("<tr>") == len(keys) + 1
    assert table.count("<button") == 7
    for row in keys:
        assert f'data-value="{escape(row["key"])}"' in table
    # What is undefined has no value to sort by, and is never a 0.
    undefined = sum(row[name] is None for row in keys for name in ("precision", "recall", "f1", "hold_iou"))
    assert table.count('<td class="num" data-value="">–</td>') == undefined


def test_moments_episodes_and_paths_are_drawn(reports: dict[str, events.EventReport]) -> None:
    known = reports["poor"].protocols["assay"].details
    text = page.page(reports["poor"])
    assert len(re.findall(r'aria-label="Timeline: ', text)) == min(6, len(known["moments"]))
    assert len(re.findall(r'aria-label="Outline: ', text)) == min(6, len(known["episodes"]))
    assert len(re.findall(r'aria-label="Paths of the pointer, ', text)) == len(known["paths"])


def test_every_protocol_has_charts(reports: dict[str, events.EventReport]) -> None:
    text = page.render(reports)
    for name in (
        *("f1_by_tolerance", "f1_by_shift", "action_outcomes", "comparability", "shares_right", "shares_right--2"),
        *("digits_right", "movement_agreement", "binned_movement"),
    ):
        assert f'data-chart="{name}"' in text


def test_a_perfect_prediction_has_no_worst_moments() -> None:
    text = page.page(events.evaluate(TRUTH, TRUTH, protocols=["assay"], reps=20))
    assert "Worst moments" not in text
    assert "Worst episodes" not in text
    assert "Key by key" in text
