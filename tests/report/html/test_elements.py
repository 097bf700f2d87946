"""HTML is a separate type: text is always escaped, and only `Markup` passes through."""

from __future__ import annotations

import ast
import html
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join, section, with_options

FOLDER = Path(str(resources.files("assay.report").joinpath("html")))
# The two modules that may turn text into markup: one escapes it, the other reads files of the package and writes JSON.
MAKERS = {"elements.py", "page.py"}


class Parsed(HTMLParser):
    """Start tags with their attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", "<i>", element("b", "&")) == "<p>&lt;i&gt;<b>&amp;</b></p>"
    assert join(["<", EMPTY, element("b", "x")], " & ") == "&lt; &amp;  &amp; <b>x</b>"
    assert isolated("<a>") == "<bdi>&lt;a&gt;</bdi>"
    assert section("<t>", element("p", "x"), anchor="a") == '<section id="a"><h2>&lt;t&gt;</h2><p>x</p></section>'
    assert details("<t>", EMPTY) == "<details><summary>&lt;t&gt;</summary></details>"


def test_no_line_ends_within_an_option() -> None:
    said = with_options("<b> run --suite x")
    assert said == '&lt;b&gt; run <span class="option">--suite</span> x'


def test_attributes_are_written_as_html_spells_them() -> None:
    shown = element("input", class_="a b", aria_label='"<', for_="x", disabled=True, hidden=False, title=None, value=0)
    assert shown == '<input class="a b" aria-label="&#34;&lt;" for="x" disabled value="0">'


@pytest.mark.parametrize("name", ["", "b>", "a b", 'a"', "ON CLICK", "-a", "1"])
def test_what_is_not_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a tag or an attribute"):
        element(name)
    with pytest.raises(ValueError, match="is not the name of a tag or an attribute"):
        element("p", **{name: "x"})


@given(st.text(), st.text())
@pytest.mark.slow
def test_any_text_comes_back_from_its_element_and_its_attribute(text: str, attribute: str) -> None:
    parsed = Parsed(element("p", text, title=attribute))
    assert [tag for tag, _ in parsed.tags] == ["p"]
    assert parsed.tags[0][1]["title"] == attribute
    assert parsed.text == text


def test_a_string_made_from_markup_is_text_again() -> None:
    # An f-string loses the type; the worst that follows is text that is escaped twice, never markup that is not.
    assert element("p", f"{element('b', 'x')}") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


def made_from_text(source: str) -> list[int]:
    """Lines that make markup from anything but a literal, or put a tag into a string of their own."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Markup":
            if not all(isinstance(argument, ast.Constant) for argument in node.args):
                lines.append(node.lineno)
        elif isinstance(node, ast.JoinedStr):
            literal = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            if re.search(r"</?[a-z]", literal):
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_two_modules_make_markup_from_text(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if path.name not in MAKERS:
        assert made_from_text(source) == []
    assert "html.escape" not in source


def test_the_check_would_see_unescaped_text() -> None:
    assert made_from_text('a = Markup(f"{x}")\nb = Markup("<b>")\nc = f"<p>{x}</p>"\nd = f"{x} < 3"') == [1, 3]


@pytest.mark.slow
def test_a_missing_escape_is_a_type_error(tmp_path: Path) -> None:
    from mypy import api

    # A copy of the module alone: mypy would otherwise read the whole package and what it imports.
    (tmp_path / "elements.py").write_text((FOLDER / "elements.py").read_text(encoding="utf-8"), encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from elements import Markup, element, section\n"
        "def name(agent: str) -> Markup:\n"
        "    return f'<b>{agent}</b>'\n"
        "section('title', 'body')\n"
        "section('title', element('p', 'body'))\n"
    )
    found, _, status = api.run(["--strict", "--no-incremental", "--config-file=", str(wrong)])
    assert status == 1, found
    assert re.findall(r"wrong\.py:(\d+): error", found) == ["3", "4"]


def test_entities_are_not_written_twice() -> None:
    assert html.unescape(element("p", Markup("&amp;"))) == "<p>&</p>"
