"""Logs of other tools in comparisons, in the store and at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.logs import read_logs
from assay.runs import compare, load, record
from tests.command import assay_command

SAMPLES = Path(__file__).parent / "samples"


def test_two_logs_are_compared_without_a_store() -> None:
    [found] = compare(str(SAMPLES / "inspect-good.eval"), str(SAMPLES / "inspect-poor.json"))
    line = found.line("includes")
    # Sums 1 and 2 are right both times, 3 once; the last three never.
    assert line.verdict.difference == pytest.approx((0 + 0 - 0.5 - 1 - 1 - 1) / 6)
    assert (line.n_cases, line.measure.part) == (6, "Inspect")
    assert line.verdict.low == -1.0  # six cases would allow less, but no difference of shares is
    assert found.line("brevity").verdict.difference == pytest.approx(0)


def test_a_clear_difference_is_decided_and_what_has_no_partner_is_named(tmp_path: Path) -> None:
    # B is right in 10 of 40 cases where A is wrong, and in one case slower; one case each has no partner.
    for name, right, own in (("a", 25, "only-a"), ("b", 35, "only-b")):
        rows = [
            {"case": f"c{at}", "score": int(at < right), "seconds": 2.0 if name == "a" else 1.0 + (at == 3)}
            for at in range(40)
        ]
        rows.append({"case": own, "score": 1, "seconds": 9.0})
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    sides = [read_logs(tmp_path / f"{name}.jsonl", agent="m", lower=["seconds"]) for name in "ab"]
    store = tmp_path / "runs.db"
    for name, scores in zip("ab", sides, strict=True):
        record(scores, store=store, name=name)
    [found] = compare("a", "b", store=store)
    score, seconds = found.line("score"), found.line("seconds")
    assert (score.baseline.value, score.candidate.value) == (25 / 40, 35 / 40)
    assert (score.verdict.difference, score.verdict.call) == (10 / 40, "better")
    assert seconds.verdict.difference == pytest.approx(-39 / 40)
    assert seconds.verdict.call == "better"  # lower is
    assert any("only-a" in note and "only-b" in note for note in found.notes)
    assert load("a", store=store).rows() == sides[0].rows()


def test_the_command_line_imports_and_compares(tmp_path: Path) -> None:
    store = f"--store={tmp_path / 'runs.db'}"
    files = [str(SAMPLES / f"inspect-{model}.eval") for model in ("good", "poor")]
    done = assay_command("import", *files, "--name", "sums", "--html", str(tmp_path / "x.html"), store)
    assert done.returncode == 0, done.stderr
    assert "includes binary, brevity share" in done.stderr
    assert "mockllm/poor" in (tmp_path / "x.html").read_text(encoding="utf-8")
    shown = assay_command("runs", "show", "sums", store)
    assert (shown.returncode, "inspect-good.eval" in shown.stdout) == (0, True)
    compared = json.loads(assay_command("compare", "sums", "--json", "-", store).stdout)
    assert compared["comparisons"][0]["candidate"]["agent"] == "mockllm/poor"
    gate = assay_command("compare", *files, "--require", "includes>=0.9")
    assert gate.returncode == 1
    assert "includes" in gate.stderr
