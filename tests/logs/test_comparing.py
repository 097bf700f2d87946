"""Logs of other tools in comparisons, in the store and at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import UsageError
from assay.logs import read_logs
from assay.logs.directions import lower_is_better
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("name", "is_lower"),
    [
        ("latency", True),
        ("latencyMs", True),
        ("cost_usd", True),
        ("input tokens", True),
        ("val_loss", True),
        ("word_error_rate", True),
        ("WER", True),
        ("time", True),
        ("seconds_per_token", True),
        ("tokens_per_second", False),
        ("on_time", False),
        ("uptime", False),
        ("terror", False),
        ("error_recovery", False),
        ("token_f1", False),
        ("answer", False),
    ],
)
def test_names_tell_what_is_better_by_whole_words(name: str, is_lower: bool) -> None:
    assert lower_is_better(name) is is_lower


@pytest.fixture(scope="module")
def faster(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two tables: the second has the same answers, and needs ten milliseconds less for each."""
    folder = tmp_path_factory.mktemp("tables")
    for name, less in (("a", 0), ("b", 10)):
        rows = [f"{case},{case % 2},{100 - less + case % 7},{case % 3}" for case in range(40)]
        (folder / f"{name}.csv").write_text("\n".join(["case,right,latency,steps", *rows]), encoding="utf-8")
    return [str(folder / f"{name}.csv") for name in "ab"]


def test_less_latency_is_better_and_the_table_says_so(faster: list[str]) -> None:
    done = assay_command("compare", *faster)
    assert "1 better" in done.stdout
    assert "lower is better" in done.stdout
    assert "Lower is better for latency." in done.stderr


def test_the_direction_can_be_stated(faster: list[str]) -> None:
    [found] = compare(*faster, lower=["steps"], higher=["latency"])
    assert (found.line("latency").verdict.call, found.line("steps").measure.better) == ("worse", "lower")
    with pytest.raises(UsageError, match="there is no score called 'speed'"):
        compare(*faster, lower=["speed"])


def test_whole_numbers_pair_however_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,score\n1,1\n2,0\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("case,score\n1.0,1\n2.0,1\n", encoding="utf-8")
    rows = [{"case": 1.0, "score": 1}, {"case": 2.0, "score": 0}]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for other in ("b.csv", "c.jsonl"):
        [found] = compare(str(tmp_path / "a.csv"), str(tmp_path / other))
        assert found.n_common == 2
    # Versions are names: 1.0 and 1 are not the same case if one log has both.
    (tmp_path / "d.csv").write_text("case,score\n1,1\n1.0,0\n", encoding="utf-8")
    assert [answer.scenario for answer in read_logs(tmp_path / "d.csv").answers] == ["1", "1.0"]


def test_one_case_is_too_few_and_says_so(tmp_path: Path) -> None:
    for name, score in (("a", 1), ("b", 0)):
        (tmp_path / f"{name}.csv").write_text(f"case,score\n1,{score}\n", encoding="utf-8")
    done = assay_command("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert "1 common scenario." in done.stdout
    assert "1 common case: too few to compare" in done.stdout
