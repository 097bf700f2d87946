"""Large JSON logs are read an element at a time, with the same scores and errors as in one piece."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, SourceError
from assay.logs import contents, read_logs
from assay.logs.streamed import StreamedList, streamed_object

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.json"))


@pytest.fixture
def _streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "largest_whole", lambda: 0)
    monkeypatch.setattr("assay.logs.streamed._PIECE", 7)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_streamed_and_whole_logs_have_the_same_scores(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_logs(path)
    monkeypatch.setattr(contents, "largest_whole", lambda: 0)
    monkeypatch.setattr("assay.logs.streamed._PIECE", 50)
    streamed = read_logs(path)
    assert streamed.answers == whole.answers
    assert streamed.summary_json() == whole.summary_json()


@pytest.mark.usefixtures("_streamed")
@pytest.mark.parametrize(
    "data",
    [
        {},
        {"a": []},
        {"a": {}, "b": {"c": {}, "d": []}},
        {
            "a": [1, -2.5, 1e300, True, None, "é😀\n", [[]], {"x": [{}]}],
            "b": 12,
            "c": {"d": [{"e": 1}, 3], "f": {"g": [1]}},
        },
        {"x": "y" * 5000, "z": [["w" * 3000] * 3]},
    ],
)
def test_every_object_is_the_same_as_in_one_piece(data: dict[str, Any], tmp_path: Path) -> None:
    for indent, ascii_only in ((None, True), (2, False)):
        file = tmp_path / "a.json"
        file.write_text(json.dumps(data, indent=indent, ensure_ascii=ascii_only), "utf-8")
        assert _plain(streamed_object(file, lambda text: None, 1 << 20, "a.json")) == data


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return list(value) if isinstance(value, StreamedList) else value


@pytest.mark.usefixtures("_streamed")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a"',
        '{"a":',
        '{"a": [1',
        '{"a": [1,]}',
        '{"a": 1} x',
        '{"a": 1, "a": 2}',
        '{"a": 1, "a": {"b": 1}}',
        "[1]",
        "{1: 2}",
    ],
)
def test_what_is_no_object_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"."):
        _plain(streamed_object(file, lambda text: None, 1 << 20, "a.json"))


@pytest.mark.slow
def test_a_log_larger_than_the_limit_is_read_and_its_memory_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is 1 MB, so that values may have 256 KB; the log has 3 MB, of which answers take little."""
    monkeypatch.setenv("ASSAY_MAX_MEMORY_MB", "1")
    row = {"success": True, "provider": "m", "score": 1, "testIdx": 0, "metadata": "x" * 20_000}
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"results": {"version": 3, "results": [row | {"testIdx": at} for at in range(150)]}}))
    assert os.path.getsize(file) > 3_000_000
    assert len(read_logs(file).answers) == 150
    for large, says in (("x" * 400_000, "an element of the log"), ([[]] * 50_000, "parsed JSON")):
        file.write_text(json.dumps({"results": {"results": [row, row | {"metadata": large}]}}))
        with pytest.raises(SourceError, match=says):
            read_logs(file)
    file.write_text(json.dumps({"results": {"results": [row]}, "a": "x" * 200_000, "b": "x" * 200_000}))
    with pytest.raises(SourceError, match="not in its lists"):
        read_logs(file)


def test_odd_repetitions_and_missing_scores_are_not_lies(tmp_path: Path) -> None:
    sample = {"version": 2, "eval": {"model": "m"}, "samples": []}
    sample["samples"] = [
        {"id": 1, "epoch": 10**30, "scores": {"x": {"value": [1]}}},
        {"id": 1, "epoch": 10**31, "scores": {}},
    ]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(sample))
    answers = read_logs(file).answers
    assert [answer.repetition for answer in answers] == [0, 1]
    assert answers[0].failures[0].says == "the log has no score for it"


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("case,score,score\na,1,0\n")
    with pytest.raises(AssayError, match="two columns have the same name"):
        read_logs(file)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SourceError, match="is a pipe"):
        read_logs(tmp_path / "pipe.csv")
