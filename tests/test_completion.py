"""Completion in shells: the script that is printed, and what it is answered; and the names of options."""

from __future__ import annotations

import ast
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command import assay_command


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`assay` as a command, as it is once the package is installed."""
    command = tmp_path / "assay"
    command.write_text(f"#!{sys.executable}\nfrom assay.cli import main\nmain()\n", "utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def require_shell(name: str) -> None:
    """Skip the test without the shell, unless ASSAY_REQUIRE_SHELLS is set."""
    if shutil.which(name) is None:
        if os.environ.get("ASSAY_REQUIRE_SHELLS"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")


@pytest.mark.slow
@pytest.mark.usefixtures("on_path")
def test_bash_completes_commands_and_options() -> None:
    script = (
        'eval "$(assay completion bash)"\n'
        'COMP_WORDS=(assay compare --fa); COMP_CWORD=2; _assay_completion assay; echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["--fail-on"], "")


@pytest.mark.slow
@pytest.mark.usefixtures("on_path")
def test_fish_completes_commands_and_options() -> None:
    require_shell("fish")
    script = 'assay completion fish | source; complete -C "assay compare --fa"; complete -C "assay runs sh"'
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=120)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["--fail-on", "show"]


@pytest.mark.slow
@pytest.mark.usefixtures("on_path")
def test_zsh_completes_an_option_when_tab_is_pressed() -> None:
    require_shell("zsh")
    process, terminal = pty.fork()
    if not process:
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb"})
    try:
        os.write(terminal, b'autoload -Uz compinit && compinit -D -u; eval "$(assay completion zsh)"; echo lo""aded\n')
        assert b"loaded" in _shown(terminal, until=b"loaded")
        os.write(terminal, b"assay compare --fa\t")
        assert b"assay compare --fail-on " in _shown(terminal, until=b"--fail-on ")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def _shown(terminal: int, *, until: bytes, seconds: float = 120) -> bytes:
    """What a terminal shows, until it shows a text or the time is over."""
    shown, end = b"", time.monotonic() + seconds
    while until not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            shown += os.read(terminal, 65536)
    return shown


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
