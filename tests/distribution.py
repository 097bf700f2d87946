"""Builds wheel and sdist, looks into them, installs the wheel and runs it: `make dist-check` and `make dist-test`.

`python -m tests.distribution` needs no network and few seconds: the wheel is installed by pip into an environment that
has the packages of a plain installation and no others, linked from this environment.
`python -m tests.distribution --empty` lets pip install them into an empty environment; `--empty all` with that extra.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_BYTES = 8_000_000


def main(words: list[str]) -> None:
    """Every check; the first that fails ends with its sentence."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = built(ROOT, folder / "dist")
        check_contents(wheel, sdist)
        check_metadata(wheel)
        check_sdist_builds(sdist, wheel, folder / "again")
        if "--empty" in words:
            extras = [word for word in words if word != "--empty"]
            python = empty_environment(folder / "env", wheel, extras)
        else:
            python = linked_environment(folder / "env", wheel)
        check_it_runs(python.parent / "assay", folder / "run")
    print("wheel and sdist are whole, and the installed wheel runs")


def built(root: Path, out: Path) -> tuple[Path, Path]:
    """Wheel and sdist, built by the backend itself in this environment."""
    run(sys.executable, "-m", "hatchling", "build", "-d", out, cwd=root)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """The wheel has every file of the package and nothing else; the sdist has nothing that is not in the repository."""
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    expected = {name for name in files if "__pycache__" not in name}
    found = set(zipfile.ZipFile(wheel).namelist())
    inside = {name for name in found if ".dist-info/" not in name}
    demand(inside == expected, f"the wheel lacks or adds: {sorted(inside ^ expected)[:10]}")
    demand(any(name.endswith(".dist-info/licenses/LICENSE") for name in found), "the wheel has no licence")
    names = {name.partition("/")[2] for name in packed(sdist)}
    known = set(run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines())
    demand(names <= known | {"PKG-INFO"}, f"the sdist adds: {sorted(names - known)[:10]}")
    demand({"README.md", "LICENSE", "pyproject.toml", "CHANGELOG.md"} <= names, "the sdist is not whole")
    for path in (wheel, sdist):
        demand(path.stat().st_size < MOST_BYTES, f"{path.name} has {path.stat().st_size:,} bytes")


def check_metadata(wheel: Path) -> None:
    """Name, version, extras and commands are those of the project; hatchling refuses unknown classifiers."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name.rpartition("/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        stated = email.message_from_bytes(archive.read(inside["METADATA"]))
        commands = ConfigParser()
        commands.read_string(archive.read(inside["entry_points.txt"]).decode())
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/assay/__init__.py").read_text("utf-8"), re.M)
    demand(version is not None and stated["Version"] == version[1], f"the version is {stated['Version']}")
    demand(stated["Name"] == PROJECT["name"], f"the name is {stated['Name']}")
    extras = set(stated.get_all("Provides-Extra") or ())
    demand(extras == set(PROJECT["optional-dependencies"]), f"the extras are {sorted(extras)}")
    demand(stated["Description-Content-Type"] == "text/markdown", "the readme is missing")
    demand(dict(commands["console_scripts"]) == PROJECT["scripts"], "the commands are not those of the project")


def check_sdist_builds(sdist: Path, wheel: Path, folder: Path) -> None:
    """The sdist gives the same wheel."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist", cwd=root)
    (again,) = (folder / "dist").glob("*.whl")
    names = [zipfile.ZipFile(path).namelist() for path in (wheel, again)]
    demand(sorted(names[0]) == sorted(names[1]), "the wheel of the sdist has other files")


def linked_environment(folder: Path, wheel: Path) -> Path:
    """An environment with the wheel and the packages that it needs without extras; gives its interpreter."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    for needed in needed_by(PROJECT["dependencies"]):
        for top in {file.parts[0] for file in needed.files or () if file.parts[0] not in ("..", "__pycache__")}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(needed.locate_file(top))))
    python = folder / "bin" / "python"
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    return python


def needed_by(requirements: list[str]) -> Iterator[Distribution]:
    """The distributions that these requirements need, all the way down; those that are not installed are not needed."""
    waiting, seen = list(requirements), set()
    while waiting:
        text = waiting.pop()
        name = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0].lower().replace("_", "-")
        if name in seen or "extra ==" in text:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            demand("; " in text, f"{name} is not installed here")
            continue
        waiting += found.requires or ()
        yield found


def empty_environment(folder: Path, wheel: Path, extras: list[str]) -> Path:
    """An environment into which pip installs the wheel with everything it needs; gives its interpreter."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    chosen = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", chosen)
    run(python, "-m", "pip", "check")
    return python


def check_it_runs(command: Path, folder: Path) -> None:
    """The installed command says its version and plays the demo, in an empty folder and with a store of its own."""
    folder.mkdir()
    version = run(command, "--version", cwd=folder)
    demand(re.fullmatch(r"assay \d+\.\d+\.\d+\S*\n", version) is not None, f"--version prints {version!r}")
    shown = run(command, "demo", cwd=folder)
    demand("Look next at:" in shown, f"the demo ends with {shown[-200:]!r}")
    pages = list((folder / "assay-demo").glob("*.html"))
    demand(bool(pages), "the demo wrote no page")
    print(f"{version.strip()}: the demo wrote {', '.join(sorted(page.name for page in pages))}")


def run(*words: object, cwd: Path | None = None) -> str:
    """What a command prints; its failure ends the check. It sees neither this source tree nor its user's store."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ASSAY_STORE")}
    if cwd is not None:
        environment["XDG_DATA_HOME"] = str(cwd)
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    demand(done.returncode == 0, f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def packed(sdist: Path) -> list[str]:
    """The files of an sdist."""
    with tarfile.open(sdist) as archive:
        return [member.name for member in archive.getmembers() if member.isfile()]


def demand(holds: bool, otherwise: str) -> None:
    """End with the sentence if it does not hold."""
    if not holds:
        sys.exit(f"distribution: {otherwise}")


if __name__ == "__main__":
    main(sys.argv[1:])
