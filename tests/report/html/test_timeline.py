"""Small timelines: what happened stands where it happened, and each outcome has a shape of its own."""

from __future__ import annotations

import re
from typing import Any

from assay.report.html.events.paths import pointer_path
from assay.report.html.events.timeline import episode_outline, hidden_keys, moment_timeline, outcome_legend


def action(ms: int, key: str, press: bool | None, outcome: str, partner_ms: int | None = None) -> dict[str, Any]:
    label = f"{key} {'press' if press else 'release'}"
    return {"ms": ms, "label": label, "key": key, "press": press, "outcome": outcome, "partner_ms": partner_ms, "n": 1}


def moment(true: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> dict[str, Any]:
    return {"start_ms": 4000, "length_ms": 2000, "true": true, "predicted": predicted}


def test_each_outcome_has_its_shape() -> None:
    true = [action(0, "A", True, "matched", 20), action(500, "A", False, "missed")]
    predicted = [action(20, "A", True, "matched", 0), action(1500, "C", False, "extra")]
    true.append(action(900, "B", True, "substituted", 910))
    predicted.append(action(910, "C", True, "substituted", 900))
    drawn = moment_timeline(moment(true, predicted))
    # Discs and rings are circles of different classes; a triangle has three corners, a diamond four.
    assert re.findall(r'<circle[^>]* class="outcome (\w+)"', drawn) == ["matched", "missed", "matched"]
    polygons = re.findall(r'<polygon points="([^"]*)" class="outcome (\w+)"', drawn)
    corners = [(len(points.split()), name) for points, name in polygons]
    assert sorted(corners) == [(3, "extra"), (4, "substituted"), (4, "substituted")]
    assert re.findall(r'class="link (\w+)"', drawn) == ["matched", "substituted"]
    for outcome in ("matched", "missed", "extra", "substituted"):
        assert f"outcome {outcome}" in outcome_legend()


def test_time_runs_to_the_right_from_the_start_of_the_window() -> None:
    drawn = moment_timeline(moment([action(0, "A", True, "missed"), action(2000, "A", False, "missed")], []))
    left, right = (float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn))
    assert (left, right) == (84.0, 352.0)
    assert re.findall(r'class="tick"[^>]*>([^<]*)', drawn) == ["4.0", "4.5", "5.0", "5.5", "6.0 s"]
    # Held from press to release.
    assert re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn) == [("84.0", "268.0")]


def test_a_hold_that_continues_reaches_the_edge_of_the_window() -> None:
    before = moment_timeline(moment([action(1000, "A", False, "missed")], []))
    after = moment_timeline(moment([action(1000, "A", True, "missed")], []))
    assert re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', before) == [("84.0", "134.0")]
    assert re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', after) == [("218.0", "134.0")]


def test_keys_without_room_are_counted_and_those_with_errors_stay() -> None:
    fine = [action(at, f"K{at}", True, "matched", at) for at in range(12)]
    crowded = moment([*fine, action(1900, "WRONG", True, "missed")], [])
    assert hidden_keys(crowded) == 4
    assert "WRONG" in moment_timeline(crowded)


def test_names_of_keys_are_text() -> None:
    drawn = moment_timeline(moment([action(0, "<b>&", True, "missed")], []))
    assert "<b>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn


def test_the_outline_is_empty_if_nothing_happened() -> None:
    none, one = [0] * 48, [1] + [0] * 47
    sides = {"true": {"matched": one, "substituted": none, "missed": none},
             "predicted": {"matched": one, "substituted": none, "extra": [0] * 47 + [2]}}  # fmt: skip
    drawn = episode_outline({"outline": sides, "seconds": 30.0, "matched": 1, "missed": 0, "extra": 2})
    assert re.findall(r'class="block (\w+)"', drawn) == ["matched", "matched", "extra"]
    heights = [float(height) for height in re.findall(r'<rect[^>]* height="([\d.]+)"', drawn)]
    assert heights == [12.5, 12.5, 26.0]  # two are twice as high as one, less the edge


def test_paths_keep_their_proportions() -> None:
    # A true path of 300 by 100 pixels and a prediction that stands still.
    path = {"points": [[0, 0, 0, 0, 0], [1, 300, 0, 0, 0], [2, 300, 100, 0, 0]], "path_error_px": 200.0}
    drawn = pointer_path(path)
    (true,) = re.findall(r'points="([^"]*)" class="path true"', drawn)
    (x0, y0), (x1, y1), (x2, y2) = ([float(part) for part in corner.split(",")] for corner in true.split())
    assert (y1 - y0, x2 - x1) == (0, 0)
    assert abs((x1 - x0) - 3 * (y2 - y1)) < 0.3
    assert "100 px" in drawn
