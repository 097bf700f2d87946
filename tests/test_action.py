"""The GitHub Action's own steps, run in a shell as the runner would, on a small repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import assay_command

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SUITE = """
name: sums
version: 1
scenarios:
  - {id: one, kind: sum, turns: [{user: What is 1 + 1?, says: ["2"]}]}
  - {id: two, kind: sum, turns: [{user: What is 2 + 2?, says: ["4"]}]}
"""
BOT = """
def answer(message):
    first, second = message[8:-1].split(" + ")
    return f"It is {int(first) + int(second)}."
"""


def inputs(**given: str) -> dict[str, str]:
    stated = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    return (
        stated
        | {"suite": "suite.yaml", "agents": "mine=bot:answer"}
        | {k.replace("_", "-"): v for k, v in given.items()}
    )


def value(text: str, given: dict[str, str]) -> str:
    """An expression of the Action in `env`, for the two forms it uses."""
    found = re.fullmatch(r"\$\{\{ (.*) \}\}", text)
    if found is None:
        return text
    if plain := re.fullmatch(r"inputs\.([\w-]+)", found[1]):
        return given[plain[1]]
    assert found[1] == "inputs.is-baseline == 'true' && inputs.baseline || 'candidate'"
    return given["baseline"] if given["is-baseline"] == "true" else "candidate"


def step(name: str, folder: Path, given: dict[str, str]) -> tuple[int, str, str]:
    """Exit code, what was printed, and the summary of a step."""
    [found] = [one for one in ACTION["runs"]["steps"] if one.get("id") == name]
    bin_folder = Path(sys.executable).parent
    environment = os.environ | {key: value(text, given) for key, text in found["env"].items()}
    environment |= {
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{folder}",
    }
    (folder / "summary").write_text("")
    # The runner's own way to call bash.
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr, (folder / "summary").read_text()


@pytest.mark.slow(seconds=8)
def test_the_steps_pass_and_fail_as_they_should(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "bot.py").write_text(BOT)
    main, candidate = inputs(is_baseline="true"), inputs(is_baseline="false", require="trials_passed>=0.4\n")
    code, said, _ = step("compare", tmp_path, candidate)
    assert (code, "no run called main yet" in said) == (0, True)
    code, said, summary = step("run", tmp_path, main)
    assert code == 0, said
    assert "mine" in summary
    # A change that loses a scenario: the run meets its own requirement, the comparison fails.
    (tmp_path / "bot.py").write_text(BOT.replace("int(second)", "int(second) + (first == str(2))"))
    code, said, _ = step("run", tmp_path, candidate)
    assert code == 0, said
    code, said, summary = step("compare", tmp_path, candidate)
    assert code == 1, said
    assert "two" in summary
    assert {file.name for file in (tmp_path / "assay-report").iterdir()} == {
        "run.html", "run.md", "trials.xml", "difference.html", "difference.md", "gate.xml",
    }  # fmt: skip
    assert (tmp_path / "output").read_text().splitlines()[-1] == "comment=assay-report/difference.md"
    # A suite that is not there is an error of the run, and text in an input is never run.
    broken = inputs(is_baseline="false", suite="missing.yaml; touch pwned")
    code, said, _ = step("run", tmp_path, broken)
    assert code != 0
    assert not (tmp_path / "pwned").exists()


def test_no_input_is_written_into_a_script() -> None:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert scripts
    assert all("${{" not in script for script in scripts)


def test_the_hook_checks_suites(tmp_path: Path) -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert re.search(hook["files"], "suites/weather.yaml")
    (tmp_path / "good.yaml").write_text(SUITE)
    (tmp_path / "bad.yaml").write_text(SUITE.replace("says", "sais"))
    words: list[Any] = hook["entry"].split()[1:]
    assert assay_command(*words, str(tmp_path / "good.yaml")).returncode == 0
    bad = assay_command(*words, str(tmp_path / "good.yaml"), str(tmp_path / "bad.yaml"))
    assert (bad.returncode, "says" in bad.stderr) == (2, True), bad.stderr
