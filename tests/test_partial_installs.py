"""An installation with some extras only: what it has works, and for what it has not it names the command to install.

Missing packages are simulated by an import hook in one process for each installation, which runs all commands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assay.extras import MODULES, explained

ROOT = Path(__file__).parents[1]
COMMANDS = (
    "--version",
    "chat score t.jsonl",
    "chat score t.jsonl --no-store",
    "chat agents",
    "chat suites",
    "chat run --agents mine=bot:answer --no-store",
    "chat load",
    "events eval a.jsonl b.jsonl",
    "runs list",
    "runs trend x",
    "compare x y",
    "compare a.csv a.csv",
    "serve",
    "mcp",
    "demo",
    "doctor",
    "init",
)
WORKING = {
    *("--version", "chat score t.jsonl", "chat score t.jsonl --no-store", "chat agents", "compare a.csv a.csv"),
    *("demo", "doctor", "init"),
}
# What Python users call, each with the extra that installs what it needs; an empty one for none. `run` is called too.
NAMES = {
    "assay.chat.run": "agents",
    "assay.chat.score": "",
    "assay.compare.compare": "",
    "assay.events.compute_metrics_for_event": "events",
    "assay.logs.read_logs": "",
    "assay.runs.compare": "",
    "assay.runs.open_store": "",
    "assay.runs.run": "agents",
    "assay.stats.iqm": "",
}
# Every other package that an extra installs is missing.
_PROCESS = """
import importlib.abc, json, os, sys
given = json.loads(sys.argv[1])
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{module}.") for module in given["missing"]):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
sys.meta_path.insert(0, Missing())
sys.path.insert(0, given["root"])
from tests.command import assay_command
said = {}
for words in given["commands"]:
    done = assay_command(*words.split())
    said[words] = [done.returncode, done.stdout + done.stderr]
import assay
for path in given["names"]:
    found = assay
    try:
        for name in path.split(".")[1:]:
            found = getattr(found, name)
        if name == "run":
            found("weather", {"mine": str}, limit=1)
        said[path] = [0, ""]
    except Exception as error:
        said[path] = [1, f"{type(error).__name__}: {error}"]
print("\\n" + json.dumps(said))
"""


def said_with(folder: Path, *extras: str) -> dict[str, tuple[int, str]]:
    """What each command returns and prints with the packages of these extras only."""
    turn = {"user": "What is the weather in Oslo?", "assistant": "It is 5°C in Oslo."}
    (folder / "t.jsonl").write_text(json.dumps({"agent": "a", "scenario": "s", "turns": [turn]}), "utf-8")
    (folder / "a.csv").write_text("case,score\n1,1\n2,0\n", "utf-8")
    (folder / "bot.py").write_text("def answer(message):\n    return 'It is 5°C.'\n", "utf-8")
    missing = [module for extra, modules in MODULES.items() if extra not in extras for module in modules]
    given = json.dumps({"missing": missing, "commands": COMMANDS, "names": list(NAMES), "root": str(ROOT)})
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_STORE"}
    environment |= {"XDG_DATA_HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, given],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {words: (code, text) for words, (code, text) in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Without extras; conversations are scored by every installation."""
    return said_with(tmp_path_factory.mktemp("bare"), "chat")


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.slow(seconds=0.2)
def test_without_extras_each_command_works_or_says_what_to_install(
    bare: dict[str, tuple[int, str]], words: str
) -> None:
    code, text = bare[words]
    assert "Traceback" not in text
    assert "error in assay itself" not in text
    if words in WORKING:
        assert code == 0
    else:
        assert code == 2
        assert 'Install it with: pip install "assay-agents[' in text


@pytest.mark.parametrize(("name", "extra"), NAMES.items())
@pytest.mark.slow(seconds=0.2)
def test_without_extras_each_function_is_there_or_says_what_to_install(
    bare: dict[str, tuple[int, str]], name: str, extra: str
) -> None:
    said = bare[name][1]
    if extra:
        assert said.startswith("MissingExtraError: ")
        assert said.endswith(f'is not installed. Install it with: pip install "assay-agents[{extra}]"')
    else:
        assert said == ""


@pytest.mark.slow
def test_without_extras_answers_are_scored_and_a_note_says_why_they_are_not_stored(
    bare: dict[str, tuple[int, str]],
) -> None:
    assert "the run was not stored: the package 'sqlalchemy' is needed to keep runs" in bare["chat score t.jsonl"][1]
    assert 'pip install "assay-agents[agents]"' in bare["chat run --agents mine=bot:answer --no-store"][1]
    assert "left out: desktop events, two agent frameworks side by side, the store of runs" in bare["demo"][1]
    assert "keeping runs needs sqlalchemy" in bare["doctor"][1]


def test_every_extra_is_known_by_its_modules() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(MODULES) == set(extras) - {"frameworks", "all", "dev", "docs"}


def test_what_no_extra_installs_is_an_error_of_another_kind() -> None:
    assert explained(ModuleNotFoundError("No module named 'x'", name="x")) is None
    found = explained(ModuleNotFoundError("No module named 'sqlalchemy.sql'", name="sqlalchemy.sql"))
    assert found is not None
    assert 'pip install "assay-agents[store]"' in str(found)
