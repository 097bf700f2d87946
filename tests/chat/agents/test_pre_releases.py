"""Assistants need nothing for a plain turn that the pre-releases which were played once do not have."""

from __future__ import annotations

import runpy
import sys
from types import ModuleType

import pytest

pytestmark = pytest.mark.frameworks


def test_a_release_candidate_of_agent_framework_has_no_history_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agent_framework")
    import agent_framework.exceptions
    import agent_framework.observability
    import agent_framework.openai

    from assay.chat.agents import Setup
    from assay.chat.agents.agent_framework import assistant

    older = ModuleType("agent_framework")
    known = {"FileHistoryProvider": None, **vars(agent_framework)}
    del known["FileHistoryProvider"]
    whole = agent_framework.__getattr__ if hasattr(agent_framework, "__getattr__") else None

    def found(name: str) -> object:
        if name == "FileHistoryProvider" or whole is None:
            raise AttributeError(name)
        return whole(name)

    older.__dict__.update(known | {"__getattr__": found})
    monkeypatch.setitem(sys.modules, "agent_framework", older)
    names = runpy.run_path(str(assistant.__file__))  # 1.0.0rc6 was played so
    setup = Setup(model="m", model_url="http://127.0.0.1:1", weather_url="http://127.0.0.1:1")
    assert isinstance(names["history_provider"](setup), agent_framework.InMemoryHistoryProvider)
