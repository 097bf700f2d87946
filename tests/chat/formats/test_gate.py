"""`assay chat score` as a gate in CI: exit codes and reasons, for files that are read whole and in parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import assay_command

TRUTH = {"product": "Tent", "price": 89.9}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three trials of one agent, of which two pass."""
    asked = {"role": "user", "content": "How much is the Tent?"}
    lines = [
        {"agent": "bot", "messages": [asked, {"role": "assistant", "content": said}], "truth": TRUTH}
        for said in ("The Tent costs €89.90.", "It costs €89.90.", "")
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.mark.parametrize("parts", [(), ("--workers", "1")])
@pytest.mark.parametrize(
    ("gate", "reasons"),
    [
        ((), []),
        (("--require", "trials_passed>=0.6"), []),
        (("--fail-on", "checks"), ["bot: 1 of 3 trials does not pass"]),
        (
            ("--require", "trials_passed>=0.9", "--require", "accuracy>=0.5", "--fail-on", "checks"),
            ["bot: 1 of 3 trials does not pass", "bot: trials_passed>=0.9 is not met: the value is 0.6667 (n = 3)"],
        ),
    ],
)
def test_transcripts_are_a_gate(file: Path, parts: tuple[str, ...], gate: tuple[str, ...], reasons: list[str]) -> None:
    out = file.with_name("out.md")
    done = assay_command("chat", "score", file, "--domain", "shop", "--no-store", "--markdown", out, *parts, *gate)
    told = [line.removeprefix("assay: gate: ") for line in done.stderr.splitlines() if ": gate: " in line]
    assert (done.returncode, told) == (int(bool(reasons)), reasons)
    assert "pass^k" in done.stdout
    assert out.exists()


def test_a_gate_that_transcripts_cannot_fail_is_refused(file: Path) -> None:
    for gate, says in (
        (("--fail-on", "errors"), "cannot fail on 'errors'. Use: checks"),
        (("--fail-on", "checks,skipped"), "cannot fail on 'skipped'. Use: checks"),
        (("--require", "acuracy>=1"), "there is no metric called 'acuracy'. Did you mean 'accuracy'?"),
        (("--require", "judge>=0.5"), "there is no metric called 'judge'"),
    ):
        done = assay_command("chat", "score", file, "--domain", "shop", "--no-store", *gate)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
