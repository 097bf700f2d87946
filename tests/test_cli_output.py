"""What all commands write in the same way: JSON, files and the closing lines."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.cli import _output
from assay.errors import UsageError


def test_undefined_numbers_become_null(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    _output.write_json({"a": [float("nan"), 1.5], "b": (float("inf"), {"c": -float("inf")}), "d": "NaN"}, target)
    assert json.loads(target.read_text()) == {"a": [None, 1.5], "b": [None, {"c": None}], "d": "NaN"}


def test_json_is_indented_by_two_and_ends_with_a_newline(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    _output.write_json({"city": "Zürich"}, target)
    assert target.read_bytes() == '{\n  "city": "Zürich"\n}\n'.encode()


def test_half_a_surrogate_pair_survives_a_round_trip(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    _output.write_json(["\ud83d"], target)
    assert json.loads(target.read_text()) == ["\ud83d"]


def test_a_dash_is_standard_output_and_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    _output.write_json([1], "-")
    printed = capsys.readouterr()
    assert json.loads(printed.out) == [1]
    assert printed.err == ""


def test_standard_output_need_not_be_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    _output.write_json("Zürich", "-")
    assert raw.getvalue() == '"Zürich"\n'.encode()


def test_standard_output_may_take_text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    _output.write_json("Zürich", "-")
    assert text.getvalue() == '"Zürich"\n'


def test_a_written_file_is_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "summary.md"
    _output.write_text("text", target)
    assert target.read_text() == "text"
    assert capsys.readouterr().err == f"Written: {target}\n"


def test_a_file_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the file: Is a directory") as caught:
        _output.write_text("text", tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_folders_are_checked_before_the_work(tmp_path: Path) -> None:
    _output.check_outputs(None, "-", tmp_path / "report.html", "report.json")
    with pytest.raises(UsageError, match="folder does not exist"):
        _output.check_outputs(tmp_path / "missing" / "report.html")


def test_a_stored_run_is_announced_with_what_shows_more_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    _output.announce_run(None)
    _output.announce_run("ab12")
    _output.announce_run("ab12", see_also=["assay runs show ab12", "assay compare ab12"])
    assert capsys.readouterr().err == (
        "Stored as run ab12.\nStored as run ab12. See also: assay runs show ab12; assay compare ab12\n"
    )


def test_commands_that_show_more_of_a_run_name_its_store_without_a_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _output.announce_run("ab12", see_also=["assay compare ab12"], store=Path("my runs.db"))
    assert capsys.readouterr().err == ("Stored as run ab12. See also: assay compare ab12 --store 'my runs.db'\n")
    assert _output.store_option(None) == ""
    assert _output.store_option("postgresql://me:secret@host:5432/runs") == " --store postgresql://me@host:5432/runs"
    assert _output.store_option("postgresql://host:5432/runs") == " --store postgresql://host:5432/runs"


def test_the_time_left_does_not_rest_on_one_conversation_or_on_the_start_of_an_agent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.0, 30.0, 36.0, 42.0])
    monkeypatch.setattr(_output, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    with _output.conversation_progress() as update:
        for done, starting in ((0, ""), (0, "adk"), (0, ""), (1, ""), (3, "")):
            update(SimpleNamespace(done=done, total=9, counts=Counter(), starting=starting))  # type: ignore[arg-type]
    assert capsys.readouterr().err.splitlines() == [
        "0/9 conversations",
        "starting adk …",
        "0/9 conversations",
        "1/9 conversations",
        "3/9 conversations, about 24 s left",
    ]


def test_progress_in_a_log_is_lines_with_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.0, 1.0, 6.0, 9.0])
    monkeypatch.setattr(_output, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    with _output.conversation_progress() as update:
        for done, starting in ((0, "adk"), (0, ""), (1, ""), (2, ""), (4, "")):
            counts = Counter({"scored": done} if done else {})
            update(SimpleNamespace(done=done, total=4, counts=counts, starting=starting))  # type: ignore[arg-type]
    assert capsys.readouterr().err.splitlines() == [
        "starting adk …",
        "0/4 conversations",
        "2/4 conversations (turns: 2 scored), about 6 s left",
        "4/4 conversations (turns: 4 scored)",
    ]
