"""Which errors mean that no other turn would succeed either: only these stop a run before it is played."""

from __future__ import annotations

import pytest

from assay.chat.running.failures import is_endpoint_failure, unusable_endpoint
from assay.errors import SourceError


class NotFoundError(Exception):
    """As a client of OpenAI raises it."""

    status_code = 404


def wrapped(error: Exception) -> Exception:
    """The error as frameworks raise it again."""
    outer = RuntimeError("the agent failed")
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "in_the_first_turn", "later"),
    [
        (ConnectionRefusedError(), True, True),
        (SourceError("answered with status 401: no"), True, True),
        (SourceError("answered with status 404: {}"), True, False),
        (SourceError("answered with status 405: {}"), True, False),
        (SourceError("answered with status 301, a redirect, which is not followed"), True, False),
        (SourceError("sent a response that is not valid JSON: <html>"), True, False),
        (NotFoundError(), True, False),
        (SourceError("sent a response that is not valid JSON: {"), False, False),
        (SourceError("answered with status 500: the tool had status 404"), False, False),
        (SourceError("answered with status 429: slower"), False, False),
        (KeyError("city"), False, False),
    ],
)
def test_what_stops_a_run(error: Exception, in_the_first_turn: bool, later: bool) -> None:
    for one in (error, wrapped(error)):
        assert is_endpoint_failure(one) is in_the_first_turn
        assert is_endpoint_failure(one, is_first=False) is later


def test_the_hint_names_what_to_check() -> None:
    assert "Check its address and its key" in str(unusable_endpoint("a", "answered with status 401: no"))
    assert "Check the path of its address" in str(unusable_endpoint("a", "answered with status 404: no"))
    assert "a web page answers" in str(unusable_endpoint("a", "not valid JSON: <html>"))
