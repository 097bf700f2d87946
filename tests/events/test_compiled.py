"""Compiled code in a read-only installation with no writable home: a temporary folder of the user's own serves."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import assay
from assay.events import compiled

# A small function: compiling the decoder takes ten times as long and uses the same cache.
CODE = """
import os
import numpy as np
from assay.events.actions import baselines
assert 0 <= baselines._uniform(np.uint64(1))[1] < 1
print(os.environ["NUMBA_CACHE_DIR"])
"""
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$2" -c "$3"'


def in_read_only_installation(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    installed, temporary = tmp_path / "installed", tmp_path / "temporary"
    temporary.mkdir(exist_ok=True)
    if not installed.exists():
        shutil.copytree(Path(assay.__file__).parent, installed / "assay", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PATH": os.environ["PATH"], "HOME": "/proc/none", "TMPDIR": str(temporary)}
    environment |= {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(installed), sys.executable, CODE]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="a read-only mount needs the right to make one",
)
@pytest.mark.slow
def test_compiled_code_runs_in_a_read_only_installation(tmp_path: Path) -> None:
    for _ in range(2):  # the second time from what the first kept
        done = in_read_only_installation(tmp_path)
        assert done.returncode == 0, done.stderr
        kept = Path(done.stdout.strip())
        assert kept.parent == tmp_path / "temporary"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700
        assert list(kept.rglob("*.nbi"))
    assert len(list((tmp_path / "temporary").iterdir())) == 1


def test_a_temporary_folder_that_others_can_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours = Path(compiled._temporary_cache())
    assert Path(compiled._temporary_cache()) == ours
    ours.chmod(0o777)
    other = Path(compiled._temporary_cache())
    assert other != ours
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


def test_a_cache_folder_set_by_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/none")
    compiled._find_a_place()
    assert os.environ["NUMBA_CACHE_DIR"] == "/proc/none"


@pytest.mark.slow(seconds=2)
def test_compiling_is_announced_once_and_only_if_it_happens(tmp_path: Path) -> None:
    code = """
import numpy as np
from assay.events.actions import baselines
from assay.events.compiled import told_of_compiling
with told_of_compiling(lambda: print("compiling")):
    baselines._uniform(np.uint64(1))
    baselines._copied(np.array([1]), np.array([0, 1] + [1] * 600))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said == ["compiling\n", ""]


_CALLER = """
from assay.events.inner_loop import answer
from assay.events.compiled import njit

@njit(cache=True)
def asked():
    return answer()

print(asked())
"""


@pytest.mark.slow(seconds=2)
def test_code_that_calls_a_changed_function_of_another_module_is_compiled_anew(tmp_path: Path) -> None:
    folder = tmp_path / "assay"
    shutil.copytree(Path(assay.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__", "static"))
    called, caller = folder / "events/inner_loop.py", folder / "events/outer_loop.py"
    caller.write_text(_CALLER)
    printed = []
    for answer in (1, 20):  # of another length: Python's own cache knows a file by its size and the second of its time
        called.write_text(
            f"from assay.events.compiled import inner\n\n@inner(cache=True)\ndef answer():\n    return {answer}\n"
        )
        command = [sys.executable, "-m", "assay.events.outer_loop"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        printed.append(done.stdout.strip())
    assert printed == ["1", "20"]


def test_code_that_has_not_changed_is_not_compiled_again() -> None:
    assert compiled.sources_stamp() == compiled.sources_stamp.__wrapped__()
