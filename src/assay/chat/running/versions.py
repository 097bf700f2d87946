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
import secrets
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
    lacks_version,
    supported,
    yanked,
)
from assay.chat.running.version_making import alone, ran, state_of
from assay.errors import UsageError, missing_extra

# What every agent needs, whatever its framework is; but the client of the model is the framework's own choice.
_COMMON_EXTRA, _CLIENT = "agents", "openai"
_ANY = ">=0.dev0"  # of any version, pre-releases among them
_READY = "ready.json"


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
    path = _path_of(version)
    return f"=={version}" if path is None else f" @ {path.as_uri()}"


def _path_of(version: str) -> Path | None:
    """The path of a checkout; None if it is a version."""
    return Path(version).expanduser().resolve() if os.sep in version else None


def environment_of(spec: AgentSpec) -> Path:
    """The folder of an agent's environment, whether it exists or not; a checkout that was changed has another one."""
    from platformdirs import user_cache_path

    path = _path_of(spec.version or "")
    state = [] if path is None else [state_of(path)]
    text = json.dumps([sys.version_info[:2], requirements_of(spec), *state])
    name = re.sub(r"[^A-Za-z0-9.-]", "-", f"{spec.agent}-{spec.version}")[-60:]
    return user_cache_path("assay") / "environments" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def interpreter_of(spec: AgentSpec, *, offline: bool = False, notify: Callable[[str], None] | None = None) -> str:
    """The Python that an agent runs in: this one, or that of its version's environment, which is created if needed."""
    if spec.version is None:
        return sys.executable
    path = _path_of(spec.version)
    if path is not None and not path.exists():
        raise UsageError(f"there is no '{spec.version}'", hint=_of_its_framework(spec))
    folder = environment_of(spec)
    if not (folder / _READY).exists():
        if offline:
            raise UsageError(
                f"the environment of {spec.name} does not exist, and --offline forbids installing it",
                hint="Run it once without --offline",
            )
        tell = notify or (lambda words: None)
        with alone(folder, lambda: tell(f"another run is making the environment of {spec.name}; waiting for it …")):
            if not (folder / _READY).exists():  # another run may have made it meanwhile
                _make(spec, folder, tell)
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
    reason = ready.get("yanked")
    withdrawn = "" if reason is None else f" Its maintainers withdrew this version{f': {reason}' if reason else ''}."
    return f"{spec.name} ran in a separate environment: {size}{imports}.{withdrawn}"


def _ready(folder: Path) -> dict[str, Any]:
    """What is known of an environment since it was made."""
    found: dict[str, Any] = json.loads((folder / _READY).read_text(encoding="utf-8"))
    return found


def _make(spec: AgentSpec, folder: Path, notify: Callable[[str], None]) -> None:
    # It is made beside the folder and moved there when it is complete: whoever dies on the way leaves nothing that is
    # taken for an environment, and an installer that outlives its run writes into no other's.
    for rest in (folder, *folder.parent.glob(f"{folder.name}.new-*")):
        shutil.rmtree(rest, ignore_errors=True)
    started = time.monotonic()
    new = folder.with_name(f"{folder.name}.new-{secrets.token_hex(4)}")
    try:
        _fill(spec, new, notify)
        new.rename(folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    notify(f"the environment of {spec.name} took {time.monotonic() - started:.0f} s; it is kept in {folder}")


def _fill(spec: AgentSpec, folder: Path, notify: Callable[[str], None]) -> None:
    wanted = requirements_of(spec)
    uv = shutil.which("uv")
    notify(f"making the environment of {spec.name} with {'uv' if uv else 'venv and pip'}, once …")
    if uv:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], spec)
        may_be = _pre_releases(uv, wanted, spec)
        told = _run([uv, "pip", "install", "--python", str(_python(folder)), *may_be, *wanted], spec)
    else:
        # The pip that is here installs into the other environment: one of its own takes four times as long to make.
        has_pip = find_spec("pip") is not None
        _run([sys.executable, "-m", "venv", *(["--without-pip"] if has_pip else []), str(folder)], spec)
        python = str(_python(folder))
        pip = [sys.executable, "-m", "pip", "--python", python] if has_pip else [python, "-m", "pip"]
        told = _run([*pip, "install", "--quiet", *wanted], spec)
    [site] = folder.glob("lib/python*/site-packages")
    # After everything that is installed there on the path: assay is the one that is running, and nothing else from its
    # folder is used.
    (site / "assay_itself.pth").write_text(f"{Path(assay.__file__).parents[1]}\n", encoding="utf-8")
    files = [file for file in site.rglob("*") if file.is_file()]
    ready = {
        "requirements": wanted,
        "packages": len(list(site.glob("*.dist-info"))),
        # pip compiles what it installs and uv does not, which is no difference between versions.
        "megabytes": sum(file.stat().st_size for file in files if file.suffix != ".pyc") / 1e6,
        "import_seconds": _import_seconds_if_possible(spec, folder),
        "yanked": yanked(AGENTS.get(spec.agent or "").distributions[0], told),
    }
    # Written last: an environment without it is incomplete and is created again.
    (folder / _READY).write_text(json.dumps(ready, indent=1), encoding="utf-8")


def _pre_releases(uv: str, wanted: list[str], spec: AgentSpec) -> list[str]:
    """Options that let uv choose the newest of what belongs to a pre-release.

    By itself, a recent uv takes any finished version that fits, however old, before a pre-release; pip and an older
    uv, which knows no such option, take the newest.
    """
    names = [one.removesuffix(_ANY).partition("[")[0] for one in wanted if one.endswith(_ANY)]
    if not names or "--prerelease-package" not in ran([uv, "pip", "install", "--help"], spec.name).stdout:
        return []
    return [part for name in names for part in ("--prerelease-package", f"{name}=allow")]


def _import_seconds_if_possible(spec: AgentSpec, folder: Path) -> float | None:
    """CPU time to import the bundled assistant with its framework; None if that fails."""
    try:
        return _import_seconds(spec, folder)
    except UsageError:
        return None


def _import_seconds(spec: AgentSpec, folder: Path) -> float:
    """CPU time of that import; raises UsageError if the assistant cannot be imported with that version."""
    module = f"{AGENTS.get(spec.agent or '').open.__module__}.assistant"
    took = []
    for _ in range(2):  # the first time, it compiles what uv installed
        done = ran([str(_python(folder)), "-P", "-c", TRY_IMPORT.format(module=module)], spec.name)
        if done.returncode:
            raise UsageError(import_failure(spec.name, done.stdout, done.stderr), hint=_written_for(spec))
        took.append(float(done.stdout.strip().splitlines()[-1]))
    return min(took)


def _run(command: list[str], spec: AgentSpec) -> str:
    """What a command that makes an environment says beside its result."""
    done: subprocess.CompletedProcess[str] = ran(command, spec.name)
    if not done.returncode:
        return done.stderr
    framework = AGENTS.get(spec.agent or "").distributions[0]
    if lacks_version(framework, spec.version or "", done.stderr):
        raise UsageError(
            f"there is no {framework} {spec.version}", hint=f"pip index versions --pre {framework} lists what there is"
        )
    if is_conflict(done.stderr):
        hint = _written_for(spec)
    else:
        hint = "Is there such a version?" if _path_of(spec.version or "") is None else _of_its_framework(spec)
    raise UsageError(install_failure(spec.name, done.stderr), hint=hint)


def _of_its_framework(spec: AgentSpec) -> str:
    return f"Name a checkout, a wheel or a source archive of {AGENTS.get(spec.agent or '').distributions[0]}"


def _written_for(spec: AgentSpec) -> str:
    fits = supported(spec.agent or "")
    return f"The assistant is written for {fits}" if fits else "Choose a newer version"


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
