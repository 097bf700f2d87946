"""Completion in shells: the script that is printed, and what it is answered; and the names of options."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import assay_command


@pytest.mark.slow
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    command = tmp_path / "assay"
    command.write_text(f"#!{sys.executable}\nfrom assay.cli import main\nmain()\n", "utf-8")
    command.chmod(0o755)
    script = (
        'eval "$(assay completion bash)"\n'
        'COMP_WORDS=(assay compare --fa); COMP_CWORD=2; _assay_completion assay; echo "${COMPREPLY[@]}"\n'
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["--fail-on"], "")


@pytest.mark.parametrize(
    ("shell", "asked", "says"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "assay runs sh"}, '"show":"Show a run'),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": "assay runs sh"}, "show\t"),
    ],
)
@pytest.mark.slow
def test_other_shells_are_answered(shell: str, asked: dict[str, str], says: str) -> None:
    assert f"complete_{shell}" in assay_command("completion", shell).stdout
    environment = os.environ | {"_ASSAY_COMPLETE": f"complete_{shell}"} | asked
    assert says in assay_command(environment=environment).stdout


def test_an_unknown_shell_is_refused() -> None:
    done = assay_command("completion", "tcsh")
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr


def test_every_option_with_a_placeholder_states_its_name() -> None:
    """Typer 0.27 takes the placeholder for the name: `--FOLDER FOLDER`."""
    found = []
    for path in (Path(__file__).parents[1] / "src/assay/cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.Option":
                names = [ast.literal_eval(one) for one in node.args if isinstance(one, ast.Constant)]
                has_name = any(isinstance(name, str) and name.startswith("-") for name in names)
                if any(keyword.arg == "metavar" for keyword in node.keywords) and not has_name:
                    found.append(f"{path.name}:{node.lineno}")
    assert found == []
