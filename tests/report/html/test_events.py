"""The page about events: every number of the report, and charts that add up to the data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from assay import events
from assay.errors import UsageError
from assay.events import EventStream, synthetic
from assay.report.html import events as page
from assay.types import Joint

TRUTH = synthetic.recording(episodes=3, seconds=6, seed=4)


@pytest.fixture(scope="module")
def reports() -> dict[str, events.EventReport]:
    models = {"good": synthetic.GOOD, "poor": synthetic.POOR}
    return {
        name: events.evaluate(synthetic.prediction(TRUTH, model), TRUTH, protocols=["owa", "sequence", "d2e"], reps=30)
        for name, model in models.items()
    }


def total(rows: list[dict[str, Any]], column: str, **where: str) -> float:
    return float(sum(row[column] for row in rows if all(row[key] == value for key, value in where.items())))


def test_the_page_holds_every_metric(reports: dict[str, events.EventReport]) -> None:
    text = page.render(reports)
    for result in reports["good"].protocols.values():
        assert result.label in text
        for metric in result.metrics:
            assert str(escape(metric.title)) in text
    for name in reports:
        assert name in text


def test_shares_of_a_chart_add_up_to_one(reports: dict[str, events.EventReport]) -> None:
    owa = {name: report.protocols["owa"] for name, report in reports.items()}
    times = {name: result.tally.total("times", Joint) for name, result in owa.items()}
    moves = {name: result.tally.total("moves", Joint) for name, result in owa.items()}
    for model in reports:
        for category in ("keyboard", "mouse_op", "mouse_nop", "screen"):
            assert total(page._time_errors(times), "share", model=model, category=category) == pytest.approx(1)
            assert total(page._confusion(owa), "share", model=model, truth=category) == pytest.approx(1)
        assert total(page._directions(moves), "share", model=model) == pytest.approx(1)
        rows, _, _ = page._displacements(moves)
        for axis in "xy":
            assert total(rows, "count", model=model, axis=axis) == moves[model].n
        assert total(page._over_position(times), "n", model=model) == times[model].n
    assert total(page._confusion(owa), "count", model="good") == len(TRUTH)


def test_bins_are_centred_on_no_error() -> None:
    late = {"m": Joint.of(np.zeros(3, np.int64), np.zeros(3, np.int64), np.array([-30, 0, 30]) * 1_000_000)}
    rows = page._time_errors(late)
    (middle,) = [row for row in rows if row["low_ms"] < 0 < row["high_ms"]]
    assert middle["low_ms"] == -middle["high_ms"]
    assert middle["share"] == pytest.approx(1 / 3)


def test_a_predicted_standstill_has_no_direction_to_draw() -> None:
    # Up against up, and up against nothing: one movement is drawn, straight ahead.
    moves = {"m": Joint.of(np.array([0, 0]), np.array([5, 5]), np.array([0, 0]), np.array([7, 0]))}
    drawn = [row for row in page._directions(moves) if row["share"]]
    assert [(row["low_deg"], row["high_deg"], row["share"]) for row in drawn] == [(-7.5, 7.5, 1.0)]


def test_a_report_with_nothing_to_draw_is_still_a_page(tmp_path: Path) -> None:
    frame = EventStream.from_events([{"kind": "screen", "ts": 0}])
    written = events.evaluate(frame, frame, protocols=["owa", "sequence", "d2e"]).html(tmp_path / "one.html")
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
