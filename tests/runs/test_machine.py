"""Recording a run inside an unpacked dataset must not run the programs that its `.git/config` names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.runs.machine import environment


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "data.jsonl").write_text("{}\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "data")
    return folder


def hostile(folder: Path, marker: Path) -> None:
    """Make every hook of git that this folder controls leave a mark."""
    script = folder / "script.sh"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> "{marker}"\ncat\n')
    script.chmod(0o755)
    (folder / ".gitattributes").write_text("*.jsonl filter=evil diff=evil\n")
    for key in (
        "core.fsmonitor", "core.pager", "pager.rev-parse", "filter.evil.clean", "filter.evil.process",
        "diff.evil.command", "diff.external", "core.sshCommand", "core.editor", "credential.helper",
        "gpg.program", "core.gitProxy",
    ):  # fmt: skip
        git(folder, "config", key, str(script))
    git(folder, "config", "alias.rev-parse", f"!{script}")
    git(folder, "config", "remote.origin.url", f"ext::{script}")
    git(folder, "config", "protocol.ext.allow", "always")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "extensions.partialClone", "origin")
    hooks = folder / ".git" / "hooks"
    for name in ("fsmonitor-watchman", "post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    (folder / "data.jsonl").write_text("{}\n{}\n")  # changed, so that filters would be asked
    marker.unlink(missing_ok=True)


def test_the_revision_is_that_of_the_current_folder(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    assert environment()["revision"] == git(checkout, "rev-parse", "HEAD")


def test_there_is_no_revision_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "revision" not in environment()


def test_nothing_that_a_hostile_folder_names_is_run(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "was-run"
    revision = git(checkout, "rev-parse", "HEAD")
    hostile(checkout, marker)
    monkeypatch.chdir(checkout)
    assert environment()["revision"] == revision
    assert not marker.exists(), marker.read_text()
    git(checkout, "diff", "--quiet", "HEAD")  # the folder is hostile indeed
    assert marker.exists()


def test_a_commit_that_is_missing_is_not_fetched(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A promisor remote may name a program as its address, which git runs to fetch an object that is not there."""
    marker = tmp_path / "was-run"
    hostile(checkout, marker)
    branch = git(checkout, "symbolic-ref", "HEAD")
    (checkout / ".git" / branch).write_text("1" * 40 + "\n")
    monkeypatch.chdir(checkout)
    environment()
    assert not marker.exists(), marker.read_text()
