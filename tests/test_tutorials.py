"""A newcomer who follows a tutorial arrives: every command works in an empty folder and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command import assay_command
from tests.tutorials import FAILS, PAGES, follow


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_newcomer_arrives(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def called(words: list[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        if words[0] == "assay":
            return assay_command(*words[1:])
        assert words[0] == "python"
        monkeypatch.setattr(sys, "argv", words[1:])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            runpy.run_path(words[1], run_name="__main__")
        return subprocess.CompletedProcess(words, 0, out.getvalue(), "")

    # What stands under a comment serves, or takes real frameworks; `python -m tests.tutorials` plays those too.
    assert follow(page, tmp_path, called, lambda step: bool(step.comment) and step.comment != FAILS) >= 5


def test_a_wrong_page_would_be_seen(tmp_path: Path) -> None:
    def said(words: list[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(
            words, int(words[0] == "false"), f"{variables.get('X')} says\n  {words[1]}", ""
        )

    def tried(text: str) -> int:
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        return follow(page, tmp_path, said, lambda step: False)

    assert tried('```console\nexport X=it\necho "a b"\n```\n\n```text\nit says a b\n```\n') == 1
    assert tried(f"<!-- {FAILS} -->\n```console\nfalse a\n```\n") == 1
    for wrong in ("```console\necho a\n```\n\n```text\nb\n```\n", "```console\nfalse a\n```\n"):
        with pytest.raises(AssertionError):
            tried(wrong)
    tried('```python title="kept.py"\nx = 1\n```\n')
    assert (tmp_path / "kept.py").read_text(encoding="utf-8") == "x = 1\n"
