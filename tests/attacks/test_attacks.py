from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.attacks import Attack, agents, files, names, outputs, requests, servers, stores, terminal

EVERY = [
    *names.ATTACKS,
    *terminal.ATTACKS,
    *outputs.ATTACKS,
    *files.ATTACKS,
    *stores.ATTACKS,
    *agents.ATTACKS,
    *servers.ATTACKS,
    *requests.ATTACKS,
]


def _marked(attack: Attack) -> ParameterSet:
    marks = [pytest.mark.slow(seconds=attack.seconds)] if attack.seconds else []
    return pytest.param(attack, id=attack.title, marks=marks)


@pytest.mark.attack
@pytest.mark.parametrize("attack", [_marked(attack) for attack in EVERY])
def test_nothing_falls(attack: Attack, tmp_path: Path) -> None:
    tried = list(attack.run(attack.few, tmp_path))
    assert tried
    assert [outcome for outcome in tried if outcome] == []
