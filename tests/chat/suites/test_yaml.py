"""YAML files that people write are plain data, without surprises, and every error has its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from assay.chat.yamlfile import load_yaml, parse_yaml, validated
from assay.errors import SourceError

# --- YAML without surprises ------------------------------------------------------------------------------------------


@pytest.fixture(params=["in C", "in Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers, of which one or the other is installed."""
    if request.param == "in Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML was built without libyaml")
    return str(request.param)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ["no", "yes", "on", "off", "y", "12:30", "2026-01-15", "007", "0x1F", "1_000", ".inf"])
def test_words_are_words(text: str) -> None:
    assert parse_yaml(f"a: {text}", "f").data == {"a": text}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("-5", -5), ("0", 0), ("1.5", 1.5), ("1e3", 1000.0), ("true", True), ("False", False), ("~", None)],
)
def test_numbers_and_truth_values_are_what_they_are(text: str, value: object) -> None:
    found = parse_yaml(f"a: {text}\nb: '{text}'\n", "f").data
    assert found == {"a": value, "b": text}
    assert type(found["a"]) is type(value)


@pytest.mark.usefixtures("parser")
def test_keys_are_text() -> None:
    assert parse_yaml("no: 1\n5: 2\n~: 3\n", "f").data == {"no": 1, "5": 2, "~": 3}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice"),
        ("a: 1\nb: {c: 1, c: 2}\n", 2, "'c' is given twice"),
        ("a: &x 1\nb: *x\n", 1, "alias"),
        ("a: *x\n", 1, "alias"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "tag"),
        ("a: 1\nb: !mine x\n", 2, "tag"),
        ("a: 1\nb: ! x\n", 2, "tag"),
        ("a: 1\n<<: {b: 2}\n", 2, "merge"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\nb:\n\tc: 2\n", 3, "a tab is used where spaces are needed"),
        ("a: 1\nb: c: d\n", 2, "in quotes"),
        ("a: 1\nb: 'open\n", 2, "quotation mark is not closed"),
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: 1\nb: @x\n", 2, "in quotes"),
        ("a: 1\n? [b]\n: c\n", 2, "Keys are text"),
        ("a: 1\nb: \x07\n", 2, "U+0007"),
        ("a: 1\nb: \ud800\n", 2, "U+D800"),
        ("a: 1\nb: " + "[" * 100, 2, "nested more than"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_yaml(text, "f.yaml")
    assert caught.value.where == f"f.yaml:{line}"
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ['a: "\\ud800"', 'a: "\\UFFFFFFFF"', "%FOO\n\n", "a: 1\n b: 2\n", "- 1\nb: 2\n"])
def test_any_other_error_is_one_sentence_too(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_yaml(text, "f.yaml")
    assert "\n" not in str(caught.value)


def test_a_bomb_of_aliases_does_not_go_off() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 8)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    with pytest.raises(SourceError, match="alias"):
        parse_yaml("\n".join(lines), "f")


@given(st.text(alphabet=st.sampled_from(list("ab:- \n\t[]{},'\"#&*!|>%@`?~01.")), max_size=60))
@pytest.mark.slow
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_yaml(text, "f")
    except SourceError as error:
        where = error.where
    else:
        where = "f"
        json.dumps(found.data)
    assert where is not None
    assert where.startswith("f")


@given(
    st.recursive(
        st.text() | st.integers(-9, 9) | st.booleans() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
@pytest.mark.slow
def test_what_yaml_writes_comes_back(data: Any) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, default_style='"')
    # In this style everything is quoted and tagged; the tags say nothing new.
    plain = re.sub(r"!!(int|bool|null|float) \"([^\"]*)\"", r"\2", text)
    assert parse_yaml(plain, "f").data == data


def test_every_node_knows_its_line() -> None:
    found = parse_yaml("a: 1\nb:\n  - c: 2\n    d: >-\n      e\n  - 3\n", "f")
    paths = {("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 0, "d"): 4, ("b", 1): 6}
    assert {path: found.line(path) for path in paths} == paths
    assert found.line(("b", 0, "x", 5)) == 3, "what is not there is where it would be"
    assert found.where(("b", 1)) == "f:6"


def test_files_are_utf_8_of_a_sensible_size(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes("\ufeffa: é\n".encode())
    assert load_yaml(file).data == {"a": "é"}
    for raw, says in ((b"a: 1\nb: \xe9\n", "is not UTF-8 text"), (b"a: " + b"x" * 5 * 2**20, "is larger than 4 MB")):
        file.write_bytes(raw)
        with pytest.raises(SourceError, match=says):
            load_yaml(file)
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(SourceError, match="cannot be read"):
            load_yaml(path)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    user: str
    times: int = 0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    turns: list[Inner] | None = None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "turns:\n- usr: x\n",
            "f:2: turns[0].usr: there is no such key. Did you mean 'user'? Known: times, user. 1 more",
        ),
        ("turns:\n- user: 5\n", "f:2: turns[0].user: must be text, got the number 5. Put it in quotes"),
        ("turns:\n- user: true\n", "f:2: turns[0].user: must be text, got true. Put it in quotes"),
        ("turns:\n- times: 1\n", "f:2: turns[0].user: must be given"),
        ("turns:\n- user: x\n  times: two\n", "f:3: turns[0].times: must be a whole number, got 'two'"),
        ("turns: x\n", "f:1: turns: must be a list, got 'x'"),
        ("turns:\n- user: x\n- y\n", "f:3: turns[1]: must be a table of keys and values, got 'y'"),
        ("- a\n", "f:1: the file: must be a table of keys and values, got a list"),
        ("", "f:1: the file: must be a table of keys and values, got empty"),
    ],
)
def test_a_model_is_held_to_with_line_and_field(text: str, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        validated(parse_yaml(text, "f"), Outer)
    assert str(caught.value).startswith(says)
