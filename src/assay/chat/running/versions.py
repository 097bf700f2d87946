"""Environments for agents whose framework has a pinned version: `google-adk==2.12.0`. Each is created once.

An environment is in the user's cache folder and contains the framework at that version with everything it needs, and
what assay needs to run an agent; assay itself is the one that is running. It is created with uv if that is installed,
otherwise with venv and pip.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import assay
from assay.chat.agents import AGENTS
from assay.chat.agents.spec import AgentSpec
from assay.chat.running.version_fit import (
    ASSAY,
    TRY_IMPORT,
    import_failure,
    install_failure,
    is_conflict,
    supported,
)
from assay.errors import UsageError, missing_extra

# What every agent needs, whatever its framework is; but the client of the model is the framework's own choice.
_COMMON_EXTRA, _CLIENT = "agents", "openai"
_ANY = ">=0.dev0"  # of any version, pre-releases among them
_READY = "ready.json"
_SECONDS_TO_INSTALL = 1800


def requirements_of(spec: AgentSpec) -> list[str]:
    """What is installed for an agent: the requirements of its extra, with its framework at the version.

    What the extra names beside the framework, and the client of the model, are installed in the newest version that
    fits it: the extra's own bounds are those of the version that it names. A pre-release of the framework often goes
    with pre-releases of what belongs to it, which installers only consider if they are allowed to.
    """
    try:
        from packaging.requirements import Requirement
        from packaging.version import InvalidVersion, Version
    except ImportError as error:
        raise missing_extra("packaging", "agents", "resolve versions") from error
    kind = AGENTS.get(spec.agent or "")
    framework = kind.distributions[0]
    try:
        stated = [Requirement(text) for text in requires(ASSAY) or ()]
    except PackageNotFoundError as error:
        raise UsageError("assay is not installed as a package, so its requirements are unknown") from error
    try:
        belonging = _ANY if Version(spec.version or "0").is_prerelease else ""
    except InvalidVersion:  # the path of a checkout
        belonging = ""
    common = {one.name for one in stated if one.marker is None or one.marker.evaluate({"extra": _COMMON_EXTRA})}
    found = []
    for one in stated:
        if one.marker is not None and not one.marker.evaluate({"extra": kind.extra}):
            continue
        extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
        if one.name == framework:
            chosen = _pinned(spec.version or "")
        elif one.name in common:
            chosen = "" if one.name == _CLIENT else str(one.specifier)
        else:
            chosen = belonging
        found.append(f"{one.name}{extras}{chosen}")
    return sorted(found)


def _pinned(version: str) -> str:
    """A version, or the path of a checkout, as the end of a requirement."""
    return f" @ {Path(version).expanduser().resolve().as_uri()}" if os.sep in version else f"=={version}"


def environment_of(spec: AgentSpec) -> Path:
    """The folder of an agent's environment, whether it exists or not."""
    from platformdirs import user_cache_path

    text = json.dumps([sys.version_info[:2], requirements_of(spec)])
    name = re.sub(r"[^A-Za-z0-9.-]", "-", f"{spec.agent}-{spec.version}")[-60:]
    return user_cache_path("assay") / "environments" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def interpreter_of(spec: AgentSpec, *, offline: bool = False, notify: Callable[[str], None] | None = None) -> str:
    """The Python that an agent runs in: this one, or that of its version's environment, which is created if needed."""
    if spec.version is None:
        return sys.executable
    folder = environment_of(spec)
    if not (folder / _READY).exists():
        if offline:
            raise UsageError(
                f"the environment of {spec.name} does not exist, and --offline forbids installing it",
                hint="Run it once without --offline",
            )
        _make(spec, folder, notify or (lambda words: None))
    if _ready(folder)["import_seconds"] is None:
        # It is tried again: assay may have changed since the environment was made.
        _import_seconds(spec, folder)
    return str(_python(folder))


def version_note(spec: AgentSpec) -> str | None:
    """Size and import time of a version's environment; None if the agent has no version, or before it is created."""
    if spec.version is None:
        return None
    try:
        ready = _ready(environment_of(spec))
    except (OSError, ValueError):
        return None
    seconds = ready["import_seconds"]
    imports = "" if seconds is None else f", and {seconds:.1f} s of CPU time to import its assistant"
    size = f"{ready['packages']} packages, {ready['megabytes']:.0f} MB"
    return f"{spec.name} ran in a separate environment: {size}{imports}."


def _ready(folder: Path) -> dict[str, Any]:
    """What is known of an environment since it was made."""
    found: dict[str, Any] = json.loads((folder / _READY).read_text(encoding="utf-8"))
    return found


def _make(spec: AgentSpec, folder: Path, notify: Callable[[str], None]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    wanted = requirements_of(spec)
    started = time.monotonic()
    uv = shutil.which("uv")
    notify(f"making the environment of {spec.name} with {'uv' if uv else 'venv and pip'}, once …")
    try:
        if uv:
            _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], spec)
            _run([uv, "pip", "install", "--quiet", "--python", str(_python(folder)), *wanted], spec)
        else:
            # The pip that is here installs into the other environment: one of its own takes four times as long to make.
            has_pip = find_spec("pip") is not None
            _run([sys.executable, "-m", "venv", *(["--without-pip"] if has_pip else []), str(folder)], spec)
            python = str(_python(folder))
            pip = [sys.executable, "-m", "pip", "--python", python] if has_pip else [python, "-m", "pip"]
            _run([*pip, "install", "--quiet", *wanted], spec)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    [site] = folder.glob("lib/python*/site-packages")
    # After everything that is installed there on the path: assay is the one that is running, and nothing else from its
    # folder is used.
    (site / "assay_itself.pth").write_text(f"{Path(assay.__file__).parents[1]}\n", encoding="utf-8")
    ready = {
        "requirements": wanted,
        "packages": len(list(site.glob("*.dist-info"))),
        "megabytes": sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) / 1e6,
        "import_seconds": _import_seconds_if_possible(spec, folder),
    }
    # Written last: an environment without it is incomplete and is created again.
    (folder / _READY).write_text(json.dumps(ready, indent=1), encoding="utf-8")
    notify(f"the environment of {spec.name} took {time.monotonic() - started:.0f} s; it is kept in {folder}")


def _import_seconds_if_possible(spec: AgentSpec, folder: Path) -> float | None:
    """CPU time to import the bundled assistant with its framework; None if that fails."""
    try:
        return _import_seconds(spec, folder)
    except UsageError:
        return None


def _import_seconds(spec: AgentSpec, folder: Path) -> float:
    """CPU time of that import; raises UsageError if the assistant cannot be imported with that version."""
    module = f"{AGENTS.get(spec.agent or '').open.__module__}.assistant"
    done = _ran([str(_python(folder)), "-P", "-c", TRY_IMPORT.format(module=module)], spec)
    if done.returncode:
        raise UsageError(import_failure(spec.name, done.stdout, done.stderr), hint=_written_for(spec))
    return float(done.stdout.strip().splitlines()[-1])


def _ran(command: list[str], spec: AgentSpec) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS_TO_INSTALL, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"the environment of {spec.name} was not made within {_SECONDS_TO_INSTALL} s") from None


def _run(command: list[str], spec: AgentSpec) -> str:
    """What a command that makes an environment prints."""
    done = _ran(command, spec)
    if done.returncode:
        hint = _written_for(spec) if is_conflict(done.stderr) else "Is there such a version?"
        raise UsageError(install_failure(spec.name, done.stderr), hint=hint)
    return done.stdout


def _written_for(spec: AgentSpec) -> str:
    fits = supported(spec.agent or "")
    return f"The assistant is written for {fits}" if fits else "Choose a newer version"


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
