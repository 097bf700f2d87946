"""The page in a real browser: every chart is drawn, nothing is complained about, nothing is wider than the screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.report.browser import CHARTS, DARK, LIGHT, Browser

from assay.report.html.elements import EMPTY, Markup, join
from assay.report.html.figures import Figures
from assay.report.html.page import document

HOSTILE = "</script><script>document.title='taken'</script> \u2028 <img src=x onerror=\"document.title='taken'\">"

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=5)]

Arguments = Callable[..., dict[str, dict[str, Any]]]


def written(path: Path, given: dict[str, dict[str, Any]], *, broken: str = "") -> Figures:
    figures = Figures()
    body = join(figures.add(name, **keywords) for name, keywords in given.items())
    if broken:
        figures.charts[broken][""]["layer"][0]["mark"] = "hologram"
    path.write_text(document(title="untouched", lead=EMPTY, body=body, charts=figures.charts), encoding="utf-8")
    return figures


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page with every chart."""

    figures: Figures
    dom: str
    console: list[str]
    scheme: str
    too_wide: int


@pytest.fixture(scope="module", params=["dark", "light", "phone"])
def seen(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    arguments: Arguments,
    browser: Browser,
) -> Seen:
    """Every chart, for one model and for two, and for those with troublesome names on a phone."""
    models, scheme = {
        "dark": (("one",), DARK),
        "light": (("one", "two"), LIGHT),
        "phone": ((HOSTILE, "a much longer name " * 4, "a-name-without-a-break-" * 5), LIGHT),
    }[request.param]
    path = tmp_path_factory.mktemp("page") / "report.html"
    figures = written(path, arguments(*models))
    width = 390 if request.param == "phone" else 1280
    with browser.page(path.as_uri(), width=width, scheme=scheme, done=CHARTS) as page:
        wide = page.value("document.documentElement.scrollWidth")
        return Seen(figures, page.dom, page.console, scheme, wide - width)


def test_every_chart_is_drawn_and_the_console_is_silent(seen: Seen) -> None:
    dom, charts = seen.dom, seen.figures.charts
    assert seen.console == []
    assert re.search(r'<html[^>]* data-charts="done"', dom)
    assert "data-error" not in re.sub(r"<script\b.*?</script>", "", dom, flags=re.DOTALL)
    assert "<title>untouched</title>" in dom
    shown = dict(
        re.findall(r'<figure id="chart-[^"]*" class="[^"]*" data-chart="([^"]*)"[^>]* data-rendered="(\d+)"', dom)
    )
    assert shown == {name: str(len(panels)) for name, panels in charts.items()}
    assert dom.count('<svg xmlns="http://www.w3.org/2000/svg"') == sum(map(len, charts.values()))
    # Each drawing speaks: its description is the label that a screen reader reads.
    assert dom.count('role="graphics-document"') == sum(map(len, charts.values()))


def test_the_charts_follow_the_scheme(seen: Seen) -> None:
    backgrounds = re.findall(r'<svg [^>]*background-color: ([^;"]*)', seen.dom)
    assert set(backgrounds) == {{LIGHT: "rgb(255, 255, 255)", DARK: "rgb(20, 23, 27)"}[seen.scheme]}


def test_nothing_is_wider_than_the_screen(seen: Seen) -> None:
    assert seen.too_wide == 0


def test_the_policy_stops_what_a_caller_forgot_to_escape(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "report.html"
    path.write_text(document(title="untouched", lead=EMPTY, body=Markup(HOSTILE)), encoding="utf-8")
    dom, _ = browser.opened(path)
    assert "<title>untouched</title>" in dom


def test_a_chart_that_cannot_be_drawn_shows_an_error_and_the_next_is_drawn(
    tmp_path: Path, arguments: Arguments, browser: Browser
) -> None:
    path = tmp_path / "report.html"
    every = arguments()
    written(path, {name: every[name] for name in ("comparability", "reliability")}, broken="comparability")
    dom, _ = browser.opened(path, done=CHARTS)
    assert re.search(r'data-chart="comparability"[^>]* data-error="[^"]+"', dom)
    assert "This chart could not be drawn" in dom
    assert re.search(r'data-chart="reliability"[^>]* data-rendered="[1-9]', dom)
