"""Digests of events: of the bytes of every column, in whatever pieces they are hashed."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from assay.events import synthetic
from assay.events.digest import _COLUMNS, StreamDigest


@pytest.mark.parametrize("at_once", [1, 1000, 2047])
@pytest.mark.parametrize("long", [0, 1 << 17])
def test_a_digest_is_that_of_each_whole_column(monkeypatch: pytest.MonkeyPatch, at_once: int, long: int) -> None:
    stream = synthetic.recording(episodes=1, seed=3)
    monkeypatch.setattr("assay.events.digest._AT_ONCE", at_once)
    monkeypatch.setattr("assay.events.digest._LONG", long)
    digest = StreamDigest()
    digest.update(stream)
    episode = stream.episodes[0]
    lines = [f"{(episode.name, episode.stratum)!r} {len(stream)}\n"]
    for name in _COLUMNS:
        column = np.ascontiguousarray(getattr(stream, name))
        lines.append(f"{name} {hashlib.sha256(column.tobytes()).hexdigest()}\n")
    assert digest.hexdigest() == hashlib.sha256("".join(lines).encode()).hexdigest()
