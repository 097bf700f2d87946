"""Fixtures of the developer-experience tests: the toy framework's folder and an embedded world."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chat.experience.toy_framework import BOT, FRAMEWORK, install

from assay.chat.world.embedded import World


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("site")
    install(
        folder,
        "toyframe",
        ["toybase>=1", 'toywindows; sys_platform == "none"', 'toymore; extra == "more"'],
        {
            "toyframe/__init__.py": (FRAMEWORK, 1_500_000),
            "toyframe/kinds.py": ("class Kind:\n    pass\n", 250_000),
            "toylazy.py": ("class Lazy:\n    pass\n", 250_000),
        },
    )
    install(folder, "toybase", ["toyframe"], {"toybase.py": ("", 1_000_000)})
    install(folder, "toymore", ["toyabsent; python_version < '3'"], {"toymore.py": ("", 4_000_000)})
    install(folder, "toybroken", ["toyabsent"], {"toybroken.py": ("", 1)})
    install(folder, "toysmall", [], {"toysmall.py": ("", 500_000)})
    (folder / "toybot").mkdir()
    (folder / "toybot" / "__init__.py").write_text(BOT)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield folder
    for name in [name for name in sys.modules if name.startswith("toy")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(seed=42) as world:
        yield world
