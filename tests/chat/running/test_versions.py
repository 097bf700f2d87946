"""Versions of a framework: each in a separate environment, created once."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from tests.command import assay_command

from assay.chat.agents.spec import AgentSpec, parse_agents
from assay.chat.running import versions
from assay.chat.running.version_fit import import_failure, install_failure, lacks_version, supported, yanked
from assay.chat.running.version_making import TOLD_TO_STOP, MakingStoppedError, alone, ran, state_of
from assay.chat.running.versions import environment_of, interpreter_of, requirements_of, version_note
from assay.errors import AssayError, UsageError


def spec(text: str) -> AgentSpec:
    [found] = parse_agents(text)
    return found


def test_a_version_is_read_and_named() -> None:
    old, mine = parse_agents("google-adk==2.12.0,new=google-adk==2.14.0rc1")
    assert (old.name, old.agent, old.version) == ("google-adk 2.12.0", "google-adk", "2.12.0")
    assert (mine.name, mine.agent, mine.version) == ("new", "google-adk", "2.14.0rc1")
    assert AgentSpec.from_json(old.to_json()) == old
    assert spec("langgraph==./forks/langgraph/").name == "langgraph langgraph"


@pytest.mark.parametrize("text", ["google-adk==2.1;rm", "nobody==1.0", "mine=my_bot:answer==1.0"])
def test_a_wrong_version_is_refused(text: str) -> None:
    with pytest.raises(AssayError):
        parse_agents(text)


def test_what_belongs_to_a_framework_follows_its_version() -> None:
    # An older or coming langgraph cannot be installed with the langchain that the extra asks for.
    wanted = requirements_of(spec("langgraph==1.1.0"))
    assert {"langgraph==1.1.0", "langchain", "langchain-openai", "langgraph-checkpoint-sqlite"} <= set(wanted)
    assert "agent-framework-openai" in requirements_of(spec("agent-framework==./checkout"))
    assert "openai" in requirements_of(spec("openai-agents==0.24.0"))  # which needs another one than the extra


def test_a_pre_release_may_have_pre_releases_of_what_belongs_to_it() -> None:
    # There is no finished agent-framework-openai that fits an agent-framework-core before 1.0.
    wanted = requirements_of(spec("agent-framework==1.0.0rc6"))
    assert {"agent-framework-core==1.0.0rc6", "agent-framework-openai>=0.dev0", "openai"} <= set(wanted)
    assert not any("dev0" in one for one in requirements_of(spec("agent-framework==1.23.0")))


def test_the_framework_is_pinned_and_everything_common_is_as_the_extra_says() -> None:
    wanted = requirements_of(spec("google-adk==2.12.0"))
    assert "google-adk[openai]==2.12.0" in wanted
    assert any(one.startswith("opentelemetry-sdk<1.45") for one in wanted)
    assert not any(one.startswith(("langgraph", "pandas", "numba")) for one in wanted)
    [path] = [one for one in requirements_of(spec("google-adk==./adk")) if one.startswith("google-adk")]
    assert path == f"google-adk[openai] @ {Path('adk').resolve().as_uri()}"


@pytest.mark.slow
def test_offline_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="does not exist, and --offline forbids"):
        interpreter_of(spec("google-adk==2.12.0"), offline=True)
    done = assay_command("chat", "run", "--agents", "google-adk==2.12.0", "--offline", "--no-store", "--no-experience")
    assert (done.returncode, "--offline forbids" in done.stderr) == (2, True)
    assert version_note(spec("google-adk==2.12.0")) is None


def wheel(folder: Path, version: str, name: str = "google.adk") -> Path:
    """A package that calls itself google-adk, or by another name, and has nothing but its version."""
    stem = name.replace(".", "_")
    path = folder / f"{stem}-{version}-py3-none-any.whl"
    info = f"{stem}-{version}.dist-info"
    files = {
        f"{name.replace('.', '/')}/__init__.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('.', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return path


@pytest.mark.slow(seconds=8)
def test_an_environment_is_made_once_and_has_its_version_and_assay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = wheel(tmp_path, "9.9")
    monkeypatch.setattr(versions, "requirements_of", lambda spec: [str(built)])
    told: list[str] = []
    chosen = spec("google-adk==9.9")
    # There is nothing in it that our assistant uses: that is said before anything is played, however often.
    words = r"assistant does not work with google-adk 9\.9: [^/]*\. The assistant is written for google-adk<3,>=2"
    for _ in range(2):
        with pytest.raises(UsageError, match=words):
            interpreter_of(chosen, notify=told.append)
    monkeypatch.setattr(versions, "_import_seconds", lambda spec, folder: 0.5)
    python = interpreter_of(chosen, notify=told.append)
    assert python == str(environment_of(chosen) / "bin" / "python")
    asked = "import google.adk, assay; print(google.adk.VERSION, assay.__version__)"
    said = subprocess.run([python, "-P", "-c", asked], capture_output=True, text=True, check=True).stdout
    assert said.startswith("9.9 ")
    assert len(told) == 2
    note = version_note(chosen)
    assert note is not None
    assert "packages" in note
    # The second time it is there, and --offline is satisfied.
    assert interpreter_of(chosen, offline=True, notify=told.append) == python
    assert len(told) == 2


def test_a_version_that_cannot_be_installed_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(versions, "requirements_of", lambda spec: [str(tmp_path / "none.whl")])
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(UsageError, match="could not be made"):
        interpreter_of(spec("google-adk==9.8"))
    assert not environment_of(spec("google-adk==9.8")).exists()


def test_what_a_version_lacks_is_said_with_the_package_that_lacks_it() -> None:
    printed = "[\"cannot import name 'Guard' from 'langchain.agents' (/x/y.py)\", null, \"langchain 1.3.0a2\"]"
    assert import_failure("langgraph 1.2.0a7", printed, "") == (
        "assay's assistant does not work with langgraph 1.2.0a7: it uses 'Guard' of langchain.agents, "
        "which langchain 1.3.0a2 does not have"
    )
    printed = '["cannot import name \'Info\' from \'langgraph.runtime\'", "langgraph-prebuilt 1.0", "langgraph 1.0rc1"]'
    assert import_failure("langgraph 1.0rc1", printed, "") == (
        "langgraph 1.0rc1 does not work with what is installed with it: langgraph-prebuilt 1.0 uses 'Info' of "
        "langgraph.runtime, which langgraph 1.0rc1 does not have"
    )
    assert import_failure("x 1", "", "Traceback\nTypeError: no (/home/me/a.py)").endswith("x 1: TypeError: no")
    assert import_failure("x 1", "[\"No module named 'y'\", null, null]", "").endswith("x 1: No module named 'y'")


def test_the_versions_that_fit_name_every_package_of_the_framework() -> None:
    assert supported("google-adk") == "google-adk<3,>=2.13"
    assert supported("langgraph").startswith("langgraph<2,>=1.2 with ")
    assert "langchain<2,>=1.4" in supported("langgraph")


def test_a_conflict_names_each_package_once() -> None:
    tried = ", ".join(f"agent-framework-openai==1.{at}.0" for at in range(40))
    errors = (
        f"WARNING: skipped\nERROR: Cannot install agent-framework-core==1.0.0rc5, {tried} and "
        "agent-framework-openai==1.40.0 because these package versions have conflicting dependencies.\n"
        "ERROR: ResolutionImpossible: for help visit https://example.org\n"
    )
    assert install_failure("agent-framework 1.0.0rc5", errors) == (
        "the environment of agent-framework 1.0.0rc5 could not be made: ERROR: Cannot install "
        "agent-framework-core==1.0.0rc5, any agent-framework-openai because these package versions have "
        "conflicting dependencies."
    )


@pytest.mark.slow(seconds=2)
def test_uv_takes_the_newest_of_what_belongs_to_a_pre_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    monkeypatch.setenv("PATH", f"{Path(uv).parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    for version in ("1.0", "2.0a1"):
        wheel(tmp_path, version, "companion")
    wheel(tmp_path, "9.9a1")
    monkeypatch.setattr(versions, "requirements_of", lambda spec: ["google-adk==9.9a1", "companion>=0.dev0"])
    monkeypatch.setattr(versions, "_import_seconds", lambda spec, folder: 0.5)
    python = interpreter_of(spec("google-adk==9.9a1"))
    asked = "import companion, google.adk; print(google.adk.VERSION, companion.VERSION)"
    said = subprocess.run([python, "-P", "-c", asked], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["9.9a1", "2.0a1"]
    monkeypatch.setattr(versions, "requirements_of", lambda spec: ["google-adk==9.8"])
    with pytest.raises(UsageError, match=r"there is no google-adk 9\.8\. pip index versions --pre google-adk lists"):
        interpreter_of(spec("google-adk==9.8"))
    kept = [path.name for path in environment_of(spec("google-adk==9.8")).parent.iterdir() if path.is_dir()]
    assert kept == [Path(python).parents[1].name]


def test_a_version_that_does_not_exist_is_told_from_one_that_does_not_fit() -> None:
    of_uv = "  cause: Because there is no version of google-adk[openai]==2.99 and you require google-adk[openai]==2.99"
    of_pip = (
        "ERROR: Could not find a version that satisfies the requirement google-adk[openai]==2.99 (from versions: {})"
    )
    assert lacks_version("google-adk", "2.99", of_uv)
    assert lacks_version("google-adk", "2.99", of_pip.format("2.12.0, 2.13.0"))
    assert not lacks_version("google-adk", "2.99", of_pip.format("none"))  # the index was not reached
    assert not lacks_version("google-adk", "2.9", of_uv)
    assert not lacks_version("google-adk", "2.99", "Because there is no version of langchain==2.99")


def test_what_uv_does_before_it_fails_is_not_repeated() -> None:
    errors = "Using Python 3.11 at x\nerror: Failed to build `x`\n  cause: no `pyproject.toml`\n"
    assert install_failure("x 1", errors).endswith("made: error: Failed to build `x`   cause: no `pyproject.toml`")


def test_a_withdrawn_version_is_named_with_the_reason() -> None:
    of_uv = 'warning: `langgraph==1.2.3` is yanked (reason: "unintended merging")\n'
    of_pip = (
        "WARNING: The candidate selected for download or install is a yanked version: 'langgraph' candidate "
        "(version 1.2.3 at x)\nReason for being yanked: unintended merging\n"
    )
    assert yanked("langgraph", of_uv) == yanked("langgraph", of_pip) == "unintended merging"
    assert yanked("langgraph", "warning: `langgraph==1.2.3` is yanked") == ""
    assert yanked("langchain", of_uv) is None


def test_a_command_ends_when_its_thread_is_told_to_stop() -> None:
    told = threading.Event()
    threading.Timer(0.2, told.set).start()
    before = TOLD_TO_STOP.set(told)
    try:
        started = time.monotonic()
        with pytest.raises(MakingStoppedError):
            ran(["sleep", "60"], "x 1")
        assert time.monotonic() - started < 10
        with pytest.raises(MakingStoppedError):
            ran(["true"], "x 1")
    finally:
        TOLD_TO_STOP.reset(before)


def test_one_process_at_a_time_makes_an_environment(tmp_path: Path) -> None:
    entered: list[str] = []

    def enter() -> None:
        with alone(tmp_path / "a" / "b", lambda: entered.append("waits")):
            entered.append("second")

    with alone(tmp_path / "a" / "b"):
        second = threading.Thread(target=enter)
        second.start()
        second.join(0.3)
        entered.append("first")
    second.join(10)
    assert entered == ["waits", "first", "second"]
    with (tmp_path / "a" / "b.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody has it any more


def test_a_cache_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = r"environments cannot be kept in .*: File exists\. Set XDG_CACHE_HOME"
    with pytest.raises(UsageError, match=words), alone(tmp_path / "file" / "b"):
        pass


def test_a_changed_checkout_has_another_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = spec("google-adk==./my adk")
    with pytest.raises(UsageError, match=r"there is no '\./my adk'\. Name a checkout, a wheel or"):
        interpreter_of(chosen, offline=True)
    state_of.cache_clear()
    (tmp_path / "my adk" / "src").mkdir(parents=True)
    (tmp_path / "my adk" / "src" / "one.py").write_text("ONE = 1\n")
    first = environment_of(chosen)
    (tmp_path / "my adk" / "src" / "one.py").write_text("ONE = 10\n")
    assert environment_of(chosen) == first  # within a run nothing changes
    state_of.cache_clear()
    second = environment_of(chosen)
    assert second != first
    for ignored in ("build/one.py", "src/__pycache__/one.pyc", ".git/index", "src/adk.egg-info/PKG-INFO"):
        (tmp_path / "my adk" / ignored).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "my adk" / ignored).touch()
    state_of.cache_clear()
    assert environment_of(chosen) == second
