"""`make sbom`: the bill of materials of a release as CycloneDX JSON, from what is installed in this environment.

Lists assay, and each distribution that its extras need, with version, license and what it depends on. It has neither
times nor addresses, so that the same environment gives the same file.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

_ROOT = "assay-agents"
_EXTRA = "all"


def bill(root: str = _ROOT, extra: str = _EXTRA) -> dict[str, Any]:
    """The bill of materials of a distribution that is installed, with those of its extra."""
    installed = {_normal(one.metadata["Name"]): one for one in distributions() if one.metadata["Name"]}
    depends: dict[str, list[str]] = {}
    waiting = [(_normal(root), frozenset({extra}))]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        needed = _needed(installed[name], extras, installed)
        depends[name] = sorted({*depends.get(name, []), *(one for one, _ in needed if one != name)})
        new = [one for one in needed if one not in seen]
        seen |= set(new)
        waiting += new
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(installed[_normal(root)])},
        "components": [_component(installed[name]) for name in sorted(depends) if name != _normal(root)],
        "dependencies": [
            {"ref": _address(installed[name]), "dependsOn": [_address(installed[one]) for one in depends[name]]}
            for name in sorted(depends)
        ],
    }


def _needed(
    one: Distribution, extras: frozenset[str], installed: dict[str, Distribution]
) -> list[tuple[str, frozenset[str]]]:
    """The distributions that it requires here, with the extras of each; those that are not installed are left out."""
    found = []
    for text in one.requires or ():
        required = Requirement(text)
        applies = required.marker is None or any(
            required.marker.evaluate({"extra": extra}) for extra in (*sorted(extras), "")
        )
        if applies and _normal(required.name) in installed:
            found.append((_normal(required.name), frozenset(required.extras)))
    return found


def _component(one: Distribution) -> dict[str, Any]:
    given = one.metadata
    license_of = given.get("License-Expression") or (given.get("License") or "").split("\n")[0][:100]
    made = {"type": "library", "bom-ref": _address(one), "name": given["Name"], "version": one.version}
    made["purl"] = _address(one)
    return made | ({"licenses": [{"license": {"name": license_of}}]} if license_of else {})


def _address(one: Distribution) -> str:
    return f"pkg:pypi/{_normal(one.metadata['Name'])}@{one.version}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Write the file that the command line names."""
    distribution(_ROOT)  # raises a clear error if assay is not installed here
    target = Path(sys.argv[1])
    made = bill()
    target.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    print(f"{target}: {len(made['components'])} distributions")


if __name__ == "__main__":
    main()
