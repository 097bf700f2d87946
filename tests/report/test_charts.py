"""Charts are valid Vega-Lite, say what they show, share the axes that are compared, and draw nothing from nothing."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest

from assay.report import charts
from assay.report.charts import CATEGORY_ORDER, CHARTS

PARTS = (
    *(charts.actions, charts.agreement, charts.timing, charts.movement, charts.kinds),
    *(charts.comparison, charts.agents, charts.history, charts.load),
)
Arguments = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture(scope="session")
def vega_lite() -> jsonschema_rs.Draft7Validator:
    schema = resources.files("altair").joinpath("vegalite/v6/schema/vega-lite-schema.json").read_text(encoding="utf-8")
    # Names such as `Dict<number>` are not quoted in its references, as the standard demands.
    return jsonschema_rs.Draft7Validator(json.loads(schema, object_hook=_with_quoted_reference))


def _with_quoted_reference(part: dict[str, Any]) -> dict[str, Any]:
    return part | {"$ref": quote(part["$ref"], safe="#/")} if isinstance(part.get("$ref"), str) else part


@pytest.mark.parametrize("models", [("one",), ("one", "two"), ("a", "b", "c", "d", "e", "f", "g")])
@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.slow
def test_every_chart_is_valid_vega_lite(
    name: str, models: tuple[str, ...], arguments: Arguments, vega_lite: jsonschema_rs.Draft7Validator
) -> None:
    panels = CHARTS[name].draw(**arguments(*models)[name])
    assert panels
    for spec in panels.values():
        assert [error.message for error in vega_lite.iter_errors(spec)] == []
        assert spec["width"] == "container"
        assert spec["description"]


def test_the_schema_refuses_what_is_not_vega_lite(
    arguments: Arguments, vega_lite: jsonschema_rs.Draft7Validator
) -> None:
    (spec,) = charts.comparability(**arguments()["comparability"]).values()
    spec["layer"][0]["mark"]["type"] = "hologram"
    assert list(vega_lite.iter_errors(spec))


def test_every_public_function_is_in_the_registry_with_its_words() -> None:
    functions = {
        name
        for module in PARTS
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and thing.__module__ == module.__name__ and not name.startswith("_")
    }
    assert set(CHARTS) == functions
    for chart in CHARTS.values():
        assert chart.title
        assert chart.how_to_read.endswith(".")
        assert len(chart.how_to_read.split()) >= 8
        assert chart.nothing


@pytest.mark.parametrize("name", CHARTS)
def test_charts_take_keywords_only_and_name_their_fields(name: str, arguments: Arguments) -> None:
    function = CHARTS[name].draw
    assert {p.kind for p in inspect.signature(function).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    for field in arguments()[name]["rows"][0]:
        assert f"`{field}`" in (function.__doc__ or ""), field


@pytest.mark.parametrize("name", CHARTS)
def test_no_rows_give_no_panels(name: str, arguments: Arguments) -> None:
    assert CHARTS[name].draw(**{**arguments()[name], "rows": []}) == {}


@pytest.mark.parametrize("name", CHARTS)
def test_drawing_leaves_the_rows_as_they_were(name: str, arguments: Arguments) -> None:
    given = arguments()[name]
    before = copy.deepcopy(given)
    CHARTS[name].draw(**given)
    assert given == before


@pytest.mark.parametrize("name", ["comparability", "time_error_distribution"])
def test_a_category_has_one_colour_in_every_chart_of_one_model(name: str, arguments: Arguments) -> None:
    panels = CHARTS[name].draw(**arguments("one")[name])
    colours = [scale for spec in panels.values() for scale in scales(spec) if scale.get("range") == "category"]
    assert colours
    for scale in colours:
        assert tuple(scale["domain"][:4]) == CATEGORY_ORDER


@pytest.mark.parametrize("name", ["direction_errors", "displacement", "kinds_confusion"])
def test_panels_of_two_models_share_their_scales(name: str, arguments: Arguments) -> None:
    every = [list(scales(spec)) for spec in CHARTS[name].draw(**arguments("one", "two")[name]).values()]
    assert len(every) >= 2
    assert all(some == every[0] for some in every)


def test_a_histogram_falls_to_zero_if_bins_are_missing() -> None:
    bins = [
        {"model": "m", "category": "screen", "low_ms": low, "high_ms": low + 10, "share": 0.5} for low in (0, 10, 40)
    ]
    (spec,) = charts.time_error_distribution(rows=bins).values()
    corners = [(row["ms"], row["share"]) for row in spec["layer"][0]["data"]["values"]]
    # Up at 0, on at 10, down at 20, up again at 40, down at 50.
    assert corners == [(0, 0.5), (10, 0.5), (20, 0), (40, 0.5), (50, 0)]


@pytest.mark.parametrize(("most", "outer"), [(0.07, 0.08), (0.1, 0.1), (0.3, 0.4), (1.0, 1.0), (0.0, 0.01)])
def test_the_outer_ring_of_a_rose_holds_the_longest_wedge(most: float, outer: float) -> None:
    rows = [{"model": "m", "low_deg": 0, "high_deg": 10, "share": most}]
    (spec,) = charts.direction_errors(rows=rows).values()
    rings = [row["share"] for row in spec["layer"][0]["data"]["values"]]
    assert rings == [pytest.approx(outer / 4), pytest.approx(outer)]


def test_an_axis_of_shares_starts_at_zero() -> None:
    rows = [{"model": "m", "category": "screen", "value": 0.93, "low": 0.88, "high": 0.97, "n": 10}]
    (spec,) = charts.comparability(rows=rows).values()
    assert {tuple(scale["domain"]) for scale in scales(spec) if scale["domain"][-1] == 1} == {(0, 1)}


def test_half_and_twice_as_far_are_equally_far_from_the_middle(arguments: Arguments) -> None:
    panel = charts.movement_agreement(**arguments("one")["movement_agreement"])["Scale"]
    ((low, high),) = {tuple(scale["domain"]) for scale in scales(panel) if scale.get("type") == "log"}
    assert low * high == pytest.approx(1)


def test_curves_say_how_many_actions_they_rest_on(arguments: Arguments) -> None:
    assert list(charts.f1_by_tolerance(**arguments("one", "two")["f1_by_tolerance"])) == [
        "n = 1,200 actions of both sides"
    ]
    given = arguments("one", "two")["f1_by_shift"]
    rows = [{**row, "n": 7} if row["model"] == "two" else row for row in given["rows"]]
    assert list(charts.f1_by_shift(**{**given, "rows": rows})) == ["n, actions of both sides: one 1,200, two 7"]


def test_labels_of_baselines_do_not_overlap(arguments: Arguments) -> None:
    given = arguments("one")["f1_by_tolerance"]
    (panel,) = charts.f1_by_tolerance(**given).values()
    (labels,) = [layer for layer in panel["layer"] if layer["mark"].get("type") == "text"]
    heights = sorted(row["label_at"] for row in labels["data"]["values"])
    assert heights[1] - heights[0] == pytest.approx(0.055)


def scales(part: Any) -> Iterator[dict[str, Any]]:
    """Every scale of a specification, wherever it is."""
    if isinstance(part, dict):
        if "scale" in part and "domain" in part["scale"]:
            yield part["scale"]
        for inner in part.values():
            yield from scales(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from scales(inner)
