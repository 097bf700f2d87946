from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import Attack, agents, files, names, outputs, servers, stores, terminal

EVERY = [
    *names.ATTACKS,
    *terminal.ATTACKS,
    *outputs.ATTACKS,
    *files.ATTACKS,
    *stores.ATTACKS,
    *agents.ATTACKS,
    *servers.ATTACKS,
]


@pytest.mark.attack
@pytest.mark.parametrize("attack", EVERY, ids=lambda attack: attack.title)
def test_nothing_falls(attack: Attack, tmp_path: Path) -> None:
    tried = list(attack.run(attack.few, tmp_path))
    assert tried
    assert [outcome for outcome in tried if outcome] == []
