"""A function as agent costs nothing that it does not use: no services, and no OpenTelemetry until it imports that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assay import chat
from assay.chat.running.environment import Services
from assay.runs import plan_experiment

_MODULE = """
import sys

def plain(message):
    return " ".join(sorted({name.partition(".")[0] for name in sys.modules}))

def traced(message):
    from opentelemetry import trace

    with trace.get_tracer("mine").start_as_current_span("execute_tool look") as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", "look")
    return "Done."
"""
HEAVY = {"httpx", "numpy", "openai", "opentelemetry", "sqlalchemy", "starlette", "uvicorn", "yaml"}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> chat.ExperimentResult:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "two_functions.py").write_text(_MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(Services, "_started", None)  # the embedded services would be started here
        return chat.run("weather", "plain=two_functions:plain,traced=two_functions:traced", limit=2, baselines=True)


@pytest.mark.slow
def test_a_function_is_played_without_services_and_without_heavy_imports(result: chat.ExperimentResult) -> None:
    of_plain = [answer for answer in result.answers if answer.agent == "plain"]
    assert {answer.status for answer in of_plain} <= {"scored", "skipped"}
    loaded = set(of_plain[0].response.split())
    assert "two_functions" in loaded
    assert not loaded & HEAVY


def test_spans_of_a_function_that_imports_opentelemetry_late_are_collected(result: chat.ExperimentResult) -> None:
    record = next(answer.record for answer in result.answers if answer.agent == "traced")
    assert record is not None
    assert [call.name for call in record.tool_calls] == ["look"]


@pytest.mark.slow
def test_settings_of_a_run_need_no_scripted_model() -> None:
    code = "import sys, assay.runs.starting; print('assay.chat.world.scripted.model' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_notes_are_about_the_services_that_some_agent_or_truth_uses() -> None:
    def notes(suite: str, *agents: str) -> str:
        return " ".join(plan_experiment(suite, agents, limit=1).notes)

    own, endpoint = "mine=tests.web.bot:answer", "far=http://127.0.0.1:9/v1"
    assert "stand-in" not in notes("weather", own, endpoint)
    assert "weather is made up" in notes("weather", own)
    assert "mine has tools of its own and cannot know this weather" in notes("weather", own, "google-adk")
    assert "mine, far have tools of their own" in notes("weather", own, endpoint)
    assert "cannot know" not in notes("weather", "google-adk")
    assert notes("shop", own) == ""
    assert "stand-in" in notes("weather", own, "google-adk")
