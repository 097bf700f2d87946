"""The local engine: results that cannot be sent between processes."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from assay.engines import FailedItem
from assay.engines.local import LocalEngine
from assay.errors import AssayError


def _sendable_if_even(number: int) -> Any:
    return number if number % 2 == 0 else lambda: number


def test_a_result_that_cannot_be_sent_fails_alone() -> None:
    with closing(LocalEngine(2)) as engine:
        found = dict(engine.results(_sendable_if_even, range(4)))
    assert (found[0], found[2]) == (0, 2)
    for failed in (found[1], found[3]):
        assert isinstance(failed, FailedItem)
        assert isinstance(failed.error, AssayError)
        assert "could not send its result" in failed.error.what
