"""Files of tokenizers and tables that are wrong in ways that a change of bytes does not find."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssayError, ColumnError
from assay.events.codecs import codec
from assay.events.sources import ReadOptions, read
from assay.events.sources._tokenizer import Tokens

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[" * 3000,
        "9" * 5000,
        '{"a": 1, "b": 1}',
        '{"model": {"vocab": {"a": 1, "b": 1}}}',
        '{"model": {"vocab": [[], "x", [5]]}}',
        '{"added_tokens": [{"id": "x", "content": 5}, 7], "model": {}}',
        '{"added_tokens": {"a": 1}, "model": 5}',
    ],
)
def test_a_wrong_tokenizer_file_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(text)
    with pytest.raises(AssayError):
        Tokens.of(str(file))


def test_an_added_token_takes_the_place_of_one_with_its_id(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text('{"model": {"vocab": {"a": 1, "b": 2}}, "added_tokens": [{"id": 2, "content": "<END>"}, 7]}')
    assert Tokens.of(str(file)) == Tokens.of({"a": 1, "<END>": 2})


def test_a_tokenizer_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MAX_MEMORY_MB", "1")
    with pytest.raises(AssayError, match="larger than"):
        Tokens.of("/dev/zero")


def test_two_columns_of_one_name_are_refused_if_they_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f'text,text\n"{KEY}","{KEY}"\n')
    with pytest.raises(ColumnError, match="two columns are called 'text'"):
        list(read(str(file), ReadOptions(codec("hierarchical"))))
    file.write_text(f'text,x,x\n"{KEY}",1,2\n')
    assert sum(map(len, read(str(file), ReadOptions(codec("hierarchical"))))) == 1
