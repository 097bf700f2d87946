"""Built-in things and those of other packages are found by name, through the same door."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from pathlib import Path

import pytest

from assay import events
from assay.errors import UsageError
from assay.events.protocols import PROTOCOLS, every_protocol

PLUGIN = Path(__file__).parent / "plugins" / "assay-presses"


def install(folder: Path, name: str, entry_points: str) -> None:
    """What an installer leaves behind for `importlib.metadata` to find."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder on the import path, like one that packages are installed into."""
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return tmp_path


def test_built_in_protocols_are_known() -> None:
    assert {"owa", "sequence", "d2e"} <= set(PROTOCOLS.names())
    for name in PROTOCOLS.names():
        assert PROTOCOLS.get(name).name == name


def test_people_read_owa_first() -> None:
    assert every_protocol()[:4] == ["assay", "owa", "sequence", "d2e"]
    assert sorted(every_protocol()) == PROTOCOLS.names()


def test_an_unknown_name_hints_at_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no protocol called 'sequense'.*Did you mean 'sequence'\?"):
        PROTOCOLS.get("sequense")


def test_a_broken_package_is_an_error_of_use_that_names_it(site: Path) -> None:
    (site / "broken_thing.py").write_text("raise RuntimeError('half installed')\n")
    install(site, "broken-thing", "[assay.protocols]\nbroken = broken_thing:PROTOCOL\nabsent = nowhere_at_all:X\n")
    assert {"broken", "absent"} <= set(PROTOCOLS.names())
    with pytest.raises(UsageError, match=r"broken_thing:PROTOCOL: the protocol 'broken' .* half installed"):
        PROTOCOLS.get("broken")
    with pytest.raises(UsageError, match="reinstall or remove that package"):
        PROTOCOLS.get("absent")
    # It takes nothing else down with it.
    assert PROTOCOLS.get("owa").version == 1


def test_a_package_is_known_as_soon_as_it_is_installed_and_until_it_is_removed(site: Path) -> None:
    assert "late" not in PROTOCOLS.names()
    install(site, "late-thing", "[assay.protocols]\nlate = late_thing:PROTOCOL\n")
    assert "late" in PROTOCOLS.names()
    shutil.rmtree(site / "late_thing-1.0.dist-info")
    assert "late" not in PROTOCOLS.names()


def test_another_package_cannot_replace_a_built_in(site: Path) -> None:
    (site / "impostor.py").write_text("PROTOCOL = 'not ours'\n")
    install(site, "impostor", "[assay.protocols]\nowa = impostor:PROTOCOL\n")
    assert PROTOCOLS.get("owa").name == "owa"


def test_a_protocol_of_another_package_scores_like_a_built_in(site: Path) -> None:
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    shutil.copytree(PLUGIN / "src" / "assay_presses", site / "assay_presses")
    declared = "\n".join(f"{key} = {value}" for key, value in project["entry-points"]["assay.protocols"].items())
    install(site, project["name"], f"[assay.protocols]\n{declared}\n")
    key = {"kind": "keyboard", "ts": 0, "vk": 65, "press": True}
    truth = events.EventStream.from_events([key, key, key | {"press": False}, key])
    predicted = events.EventStream.from_events([key | {"vk": 1}, key | {"press": False}, key, None])
    report = events.evaluate(predicted, truth, protocols=["presses", "owa"])
    # Three true presses; only the first position was predicted as a press.
    assert report.flat("presses") == {"press_recall": 1 / 3}
    assert report.to_json()["protocols"]["presses@1"] == {"press_recall": 1 / 3}
    assert "presses" in every_protocol()
