"""A page holds whatever text it is given without running it, fetches nothing, and has scripts only for charts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.charts import CHARTS
from assay.report.html.elements import EMPTY, join
from assay.report.html.figures import Figures
from assay.report.html.page import document, embed_json, figure, table

HOSTILE = "</script><script>alert(1)</script><!-- \" onload='x' & \u2028\u2029 </style> ]]>"
Arguments = Callable[..., dict[str, dict[str, Any]]]


class Reader(HTMLParser):
    """What a browser would see: the scripts and the addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = tag
        if tag == "script":
            self.scripts.append("")
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "data", "srcset"}]

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data


def charted(arguments: Arguments, *models: str) -> str:
    figures = Figures()
    body = join(figures.add(name, **given) for name, given in arguments(*models).items())
    return document(title="t", lead=EMPTY, body=body, charts=figures.charts)


def test_text_cannot_leave_its_place() -> None:
    text = join([HOSTILE])
    assert not set("<>\"'") & set(text)
    body = table([HOSTILE], [[HOSTILE]], label=HOSTILE) + figure("x", HOSTILE, HOSTILE)
    page = document(title=HOSTILE, lead=text, body=body)
    assert Reader(page).scripts == []
    assert "<script" not in page


def test_names_of_models_cannot_leave_the_charts(arguments: Arguments) -> None:
    page = charted(arguments, HOSTILE, "other")
    scripts = Reader(page).scripts
    # The data, three libraries, and our own script: the hostile name added none and ended none.
    assert len(scripts) == 5
    assert HOSTILE in json.loads(scripts[0])["kinds_confusion"]
    assert page.count("</script>") == 5


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), lambda inner: st.lists(inner)))
@pytest.mark.slow
def test_embedded_json_means_what_it_meant(value: object) -> None:
    text = embed_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_json_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        embed_json({"value": number})


def test_nothing_of_ours_points_to_the_network(arguments: Arguments) -> None:
    page = charted(arguments)
    reader = Reader(page)
    assert reader.addresses == ["data:,"]
    assert not {"iframe", "img", "object", "embed", "base", "form"} & set(reader.tags)
    data, *_libraries, ours = reader.scripts
    markup = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
    for part in (data, ours, markup):
        assert not re.search(
            r"(?:https?:)?//[a-z0-9]|url\(|@import|fetch\(|XMLHttpRequest|sendBeacon", part.replace("/*", "")
        )


def test_the_policy_allows_the_scripts_by_hash_and_nothing_else(arguments: Arguments) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', charted(arguments))
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(policy).split("; "))
    assert rules["default-src"] == "'none'"
    assert len(rules["script-src"].split()) == 4
    assert all(source.startswith("'sha256-") for source in rules["script-src"].split())
    assert "connect-src" not in rules


def test_a_page_without_charts_has_no_scripts() -> None:
    page = document(title="t", lead=EMPTY, body=figure("x", "title", "how", nothing="no <events>"))
    assert "<script" not in page
    assert "script-src 'none'" in html.unescape(page)
    assert "nothing to draw: no &lt;events&gt;" in page


def test_a_figure_without_rows_gives_the_reason_and_needs_no_chart() -> None:
    figures = Figures()
    shown = figures.add("direction_errors", rows=[])
    assert f"nothing to draw: {CHARTS['direction_errors'].nothing}" in shown
    assert "nothing to draw: the mouse rested" in figures.add("direction_errors", rows=[], nothing="the mouse rested")
    assert figures.charts == {}


def test_the_same_chart_can_be_shown_twice(arguments: Arguments) -> None:
    figures = Figures()
    body = "".join(figures.add("comparability", **arguments()["comparability"]) for _ in range(3))
    assert list(figures.charts) == ["comparability", "comparability--2", "comparability--3"]
    assert len(set(re.findall(r' id="([^"]*)"', body))) == len(re.findall(r' id="([^"]*)"', body))


def test_a_chart_needs_a_figure() -> None:
    with pytest.raises(ValueError, match="has no figure"):
        document(title="t", lead=EMPTY, body=EMPTY, charts={"lost": {}})


def test_numbers_are_flush_right_and_rows_have_a_name() -> None:
    shown = table(["name", "value", "note"], [["a", "1", "x"]], numeric={1})
    assert '<th scope="col">name</th><th scope="col" class="num">value</th><th scope="col">note</th>' in shown
    assert '<tr><th scope="row">a</th><td class="num">1</td><td>x</td></tr>' in shown
    assert 'class="scroll" role="group" tabindex="0"' in shown


def test_each_shipped_script_has_its_licence_and_no_source_map() -> None:
    static = resources.files("assay.report").joinpath("static")
    readme = static.joinpath("README.md").read_text(encoding="utf-8")
    for name in ("vega", "vega-lite", "vega-embed"):
        script = static.joinpath(f"{name}.min.js").read_text(encoding="utf-8")
        assert "sourceMappingURL" not in script
        assert "Redistribution and use" in static.joinpath(f"LICENSE-{name}.txt").read_text(encoding="utf-8")
        (version,) = re.findall(rf"\| `{name}` \| (\S+) \|", readme)
        assert f'"{version}"' in script
