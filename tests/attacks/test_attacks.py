from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.attacks import (
    Attack,
    agents,
    codecs,
    files,
    load,
    logs,
    names,
    outputs,
    pages,
    processes,
    requests,
    servers,
    stores,
    terminal,
    workers,
)

PARTS = {
    "names": names,
    "terminal": terminal,
    "outputs": outputs,
    "codecs": codecs,
    "files": files,
    "logs": logs,
    "stores": stores,
    "agents": agents,
    "servers": servers,
    "requests": requests,
    "pages": pages,
    "load": load,
    "workers": workers,
    "processes": processes,
}
EVERY: list[tuple[str, Attack]] = [(part, attack) for part, module in PARTS.items() for attack in module.ATTACKS]


def _marked(attack: Attack) -> ParameterSet:
    marks = [pytest.mark.slow(seconds=attack.seconds)] if attack.seconds else []
    return pytest.param(attack, id=attack.title, marks=marks)


@pytest.mark.attack
@pytest.mark.parametrize("attack", [_marked(attack) for _, attack in EVERY if attack.few])
def test_nothing_falls(attack: Attack, tmp_path: Path) -> None:
    tried = list(attack.run(attack.few, tmp_path))
    assert tried
    assert [outcome for outcome in tried if outcome] == []
