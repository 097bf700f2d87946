"""The page in a real browser: every chart is drawn, nothing is complained about, nothing is wider than the screen."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def written(path: Path, arguments: Arguments, *models: str, broken: bool = False) -> tuple[Path, Figures]:
    figures = Figures()
    body = join(figures.add(name, **given) for name, given in arguments(*models).items())
    if broken:
        figures.charts["comparability"][""]["layer"][0]["mark"] = "hologram"
    path.write_text(document(title="untouched", lead=EMPTY, body=body, charts=figures.charts), encoding="utf-8")
    return path, figures


@pytest.mark.parametrize(
    ("models", "scheme"), [(("one",), DARK), (("one", "two"), LIGHT), ((HOSTILE, "a much longer name " * 4), LIGHT)]
)
def test_every_chart_is_drawn_and_the_console_is_silent(
    models: tuple[str, ...], scheme: str, tmp_path: Path, arguments: Arguments, browser: Browser
) -> None:
    path, figures = written(tmp_path / "report.html", arguments, *models)
    dom, console = browser.opened(path, scheme=scheme, done=CHARTS)
    assert console == []
    assert re.search(r'<html[^>]* data-charts="done"', dom)
    assert "data-error" not in re.sub(r"<script\b.*?</script>", "", dom, flags=re.DOTALL)
    assert "<title>untouched</title>" in dom
    shown = dict(
        re.findall(r'<figure id="chart-[^"]*" class="[^"]*" data-chart="([^"]*)"[^>]* data-rendered="(\d+)"', dom)
    )
    assert shown == {name: str(len(panels)) for name, panels in figures.charts.items()}
    assert dom.count('<svg xmlns="http://www.w3.org/2000/svg"') == sum(map(len, figures.charts.values()))
    # Each drawing speaks: its description is the label that a screen reader reads.
    assert dom.count('role="graphics-document"') == sum(map(len, figures.charts.values()))


def test_the_policy_stops_what_a_caller_forgot_to_escape(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "report.html"
    path.write_text(document(title="untouched", lead=EMPTY, body=Markup(HOSTILE)), encoding="utf-8")
    dom, _ = browser.opened(path)
    assert "<title>untouched</title>" in dom


def test_the_charts_follow_the_scheme(tmp_path: Path, arguments: Arguments, browser: Browser) -> None:
    path, _ = written(tmp_path / "report.html", arguments)
    backgrounds = [
        re.findall(r'<svg [^>]*background-color: ([^;"]*)', browser.opened(path, scheme=scheme, done=CHARTS)[0])
        for scheme in (LIGHT, DARK)
    ]
    assert set(backgrounds[0]) == {"rgb(255, 255, 255)"}
    assert set(backgrounds[1]) == {"rgb(20, 23, 27)"}


def test_a_chart_that_cannot_be_drawn_shows_an_error(tmp_path: Path, arguments: Arguments, browser: Browser) -> None:
    path, _ = written(tmp_path / "report.html", arguments, broken=True)
    dom, _ = browser.opened(path, done=CHARTS)
    assert re.search(r'data-chart="comparability"[^>]* data-error="[^"]+"', dom)
    assert "This chart could not be drawn" in dom


def test_nothing_is_wider_than_a_phone(tmp_path: Path, arguments: Arguments, browser: Browser) -> None:
    path, _ = written(tmp_path / "report.html", arguments, "one", "a-name-without-a-break-" * 5)
    # A window of a headless browser cannot be as narrow as a phone; a frame can.
    frame = tmp_path / "phone.html"
    frame.write_text(
        f'<iframe src="{path.name}" width="390" height="800"></iframe><script>'
        "onload = async () => { const inside = document.querySelector('iframe').contentDocument.documentElement;"
        "while (inside.dataset.charts !== 'done') await new Promise((next) => setTimeout(next, 50));"
        "document.body.dataset.width = inside.scrollWidth; };</script>",
        encoding="utf-8",
    )
    dom, console = browser.opened(frame, done="document.body.dataset.width")
    assert console == []
    assert 'data-width="390"' in dom
