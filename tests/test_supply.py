"""What is installed: tested versions within bounds, and a bill of materials that lists all of it."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# Their versions are dates, which do not tell what breaks.
BY_DATE = {"fsspec", "packaging", "tzdata"}
# Whoever contributes installs what was tested; nobody else needs these.
TOOLS = {"dev", "docs"}


def _tested() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_what_users_install_has_an_upper_bound_and_was_tested_below_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name: needed for name, needed in project["optional-dependencies"].items() if name not in TOOLS}
    tested = {_normal(name): version.split(";")[0].strip() for name, version in _tested().items()}
    for text in [*project["dependencies"], *(one for needed in extras.values() for one in needed)]:
        required = Requirement(text)
        if _normal(required.name) in {"assay-agents", *BY_DATE}:
            continue
        assert any(one.operator == "<" for one in required.specifier), text
        if _normal(required.name) in tested:
            assert required.specifier.contains(tested[_normal(required.name)], prereleases=True), text


@pytest.mark.slow
def test_hashed_requirements_are_the_tested_versions_of_all_that_users_install() -> None:
    text = (ROOT / "requirements-hashed.txt").read_text("utf-8")
    assert "://" not in text
    entries = [entry.split(" --hash=sha256:") for entry in text.replace("\\\n   ", "").splitlines() if entry[0] != "#"]
    assert all(digests and all(re.fullmatch(r"[0-9a-f]{64} ?", one) for one in digests) for _, *digests in entries)
    hashed = {_normal((found := Requirement(entry[0])).name): str(found.specifier) for entry in entries}
    tested = {_normal(name): version.split(";")[0].strip() for name, version in _tested().items()}
    # What only other systems need could not be tested here.
    elsewhere = hashed.keys() - tested.keys()
    assert elsewhere <= {"pywin32", "httpx2-jsfetch"}
    assert {name: pin for name, pin in hashed.items() if name in tested} == {
        name: f"=={tested[name]}" for name in hashed.keys() - elsewhere
    }
    needed = runpy.run_path(str(ROOT / ".ci" / "sbom.py"))["bill"]()["components"]
    assert {_normal(one["name"]) for one in needed} <= hashed.keys()


def test_the_bill_of_materials_names_what_is_needed_with_its_version() -> None:
    made = runpy.run_path(str(ROOT / ".ci" / "sbom.py"))["bill"]("pytest", "")
    names = {one["name"] for one in made["components"]}
    assert {"pluggy", "packaging"} <= names
    edges = {one["ref"]: one["dependsOn"] for one in made["dependencies"]}
    (root,) = [ref for ref in edges if ref.startswith("pkg:pypi/pytest@")]
    assert root == made["metadata"]["component"]["purl"]
    assert any(ref.startswith("pkg:pypi/pluggy@") for ref in edges[root])
    assert set(edges) == {root, *(one["purl"] for one in made["components"])}
