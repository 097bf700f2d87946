"""Suites written as text, for the tests of suites."""

from __future__ import annotations

import pytest

from assay.chat.suites import ScenarioTurn, Suite, read_suite
from assay.chat.yamlfile import parse_yaml
from assay.errors import SourceError

HEAD = "name: mine\nversion: 1\nscenarios:\n"
ONE = HEAD + "  - id: a\n    kind: current\n    turns:\n      - user: weather in Oslo\n"


def read(text: str) -> Suite:
    return read_suite(parse_yaml(text, "mine.yaml"))


def turn(extra: str) -> ScenarioTurn:
    """The one turn of a suite with one more line in it."""
    return read(f"{ONE}        {extra}\n").scenarios[0].turns[0]


def error_of(text: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read(text)
    return caught.value
