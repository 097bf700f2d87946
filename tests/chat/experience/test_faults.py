"""What can be seen of a failing tool, in toy assistants and in the real frameworks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.chat.experience.framework_faults import FRAMEWORKS, IN_THE_DEMO, assert_as_listed
from tests.chat.experience.toy_framework import kind

from assay.chat.agents import AGENTS
from assay.chat.experience import levels
from assay.chat.experience.fault_injection import inject_faults
from assay.chat.experience.process import ProcessError
from assay.chat.world.embedded import World


@pytest.fixture(scope="module")
def seen(site: Path, world: World) -> Callable[[str], dict[str, Any]]:
    """What can be seen of a sample's failures; the probe runs once for each sample."""
    return cache(lambda mode: inject_faults(kind(site, mode), world, timeout=60))


@pytest.mark.parametrize(
    ("mode", "errors", "logging"),
    [
        ("careful", "framework", "framework"),
        ("hinting", "framework", "basic"),
        ("printing", "framework", "basic"),
        ("silent", "framework", "none"),
        ("gathering", "framework", "none"),
        ("own", "manual", "none"),
        ("fragile", "none", "basic"),
    ],
)
@pytest.mark.slow(seconds=2)
def test_error_handling_and_logging_levels_of_samples(
    seen: Callable[[str], dict[str, Any]], mode: str, errors: str, logging: str
) -> None:
    found = seen(mode)
    assert levels.errors(found["expected"], found["unexpected"]) == errors
    assert levels.logging(found["unexpected"]) == logging


@pytest.mark.slow
def test_everything_visible_of_a_failure_is_reported(seen: Callable[[str], dict[str, Any]]) -> None:
    careful = seen("careful")["unexpected"]
    assert careful == {
        "exception": "ZeroDivisionError",
        "answered": True,
        "died_of": None,
        "caught_by": "framework",
        "told_model": False,  # the sample does not report its calls
        "named_in": {"log": True, "stdout": False, "stderr": True, "raised": False},
        "named_by": ["toyframe ERROR"],
        "failure_noted_by": ["toyframe ERROR"],
        "records": {"ERROR": 1},
        "stdout_lines": 0,
        "stderr_lines": careful["stderr_lines"],  # Python's handler of last resort prints the record with its traceback
        "shows_type": True,
        "shows_message": True,
        "shows_tool": True,
        "shows_place": True,
    }
    printing = seen("printing")["unexpected"]
    assert printing["named_in"] == {"log": False, "stdout": True, "stderr": False, "raised": False}
    assert (printing["stdout_lines"], printing["shows_message"], printing["shows_place"]) == (1, False, False)
    fragile = seen("fragile")
    assert (fragile["expected"]["died_of"], fragile["unexpected"]["died_of"]) == ("WeatherError", "ZeroDivisionError")
    assert fragile["unexpected"]["caught_by"] == "nobody"
    assert seen("own")["unexpected"]["caught_by"] == "assistant"


@pytest.mark.parametrize(
    ("mode", "reason"), [("idle", "did not request the weather$"), ("unable", "RuntimeError\\('no licence'\\)")]
)
@pytest.mark.slow
def test_agent_without_a_fault_is_not_measured(site: Path, world: World, mode: str, reason: str) -> None:
    with pytest.raises(ProcessError, match=reason):
        inject_faults(kind(site, mode), world, timeout=60)


@pytest.mark.slow
def test_turn_timeout_is_not_a_failure_of_the_agent(site: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.chat.experience.fault_injection._TURN_TIMEOUT", 0.2)
    with pytest.raises(ProcessError, match=r"more than 0\.2 seconds"):
        inject_faults(kind(site, "slow"), world, timeout=60)


@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if name not in IN_THE_DEMO])
@pytest.mark.frameworks
@pytest.mark.slow(seconds=9)
def test_error_handling_and_logging_of_the_frameworks(world: World, name: str) -> None:
    # The two others: tests/test_cli.py, on what the demo measures.
    seen = inject_faults(AGENTS.get(name), world, timeout=120)
    assert_as_listed(name, seen["expected"], seen["unexpected"])
