"""Complete measurements of developer experience."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.chat.experience.toy_framework import kind

from assay.chat.agents.own import own_agent_kind
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.experience import METHOD, Experience, measure_experience
from assay.chat.metrics._characteristics import check
from assay.chat.world.embedded import World
from assay.report.experience import missing_reason


@pytest.fixture(scope="module")
def found(site: Path, world: World) -> Experience:
    return measure_experience(kind(site, "careful"), beside=[], world=world)


@pytest.mark.slow
def test_complete_measurement_of_a_sample(found: Experience) -> None:
    assert found.absent == {}
    assert found.characteristics == {
        "files": 1,
        "setup": "low",
        "complexity": "low",
        "tool_files": 1,
        "memory": "built-in",
        "documentation": "comprehensive",  # Agent and Agent.run
        "errors": "framework",
        "logging": "framework",
    }
    assert (found.measured["framework_names"], found.measured["memory_through"]) == (1, "toyframe.Agent")
    assert (found.measured["documented_names"], found.measured["public_names"]) == (2, 2)
    assert found.claimed is None
    check(found.characteristics)
    assert Experience.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.slow
def test_second_measurement_differs_only_in_seconds(site: Path, world: World, found: Experience) -> None:
    again = measure_experience(kind(site, "careful"), beside=[], world=world)
    assert {**found.measured, "import_seconds": 0} == {**again.measured, "import_seconds": 0}


@pytest.mark.slow(seconds=2)
def test_every_characteristic_and_figure_has_a_method(found: Experience) -> None:
    assert set(found.characteristics) <= set(found.method)
    # These are names that belong to another figure, or parts of a share.
    further = {"worst_function", "smallest", "beside", "memory_class", "memory_through"}
    further |= {"documented_names", "public_names", "undocumented"}
    assert set(found.measured) - further <= set(found.method)
    assert set(METHOD) <= set(found.measured) | set(found.characteristics)


@pytest.mark.slow
def test_memory_class_of_another_package_is_manual(site: Path, world: World) -> None:
    foreign = kind(site, "careful", memory="collections.OrderedDict")
    assert measure_experience(foreign, beside=[], world=world).characteristics["memory"] == "manual"


def test_agent_without_source_or_package_has_no_characteristics() -> None:
    from assay.chat.agents.spec import parse_agents

    (spec,) = parse_agents("theirs=http://127.0.0.1:9/v1")
    found = measure_experience(spec.kind())
    assert found.characteristics == {}
    assert set(found.absent) == {"source", "installation", "fault"}
    entries = ChatbotEvaluator().evaluate_response("Hello?", "Hello!", "theirs", characteristics=found.characteristics)
    for metric in ("implementation_effort", "integration_simplicity", "debuggability"):
        assert entries[metric].measured is False


@pytest.mark.frameworks
@pytest.mark.slow(seconds=5)
def test_an_agent_object_is_measured_by_the_file_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    package = tmp_path / "my_kitchen"
    package.mkdir()
    (package / "__init__.py").touch()
    code = 'from pydantic_ai import Agent\n\nagent = Agent("openai:gpt-5")\nraise SystemExit("imported")\n'
    (package / "bot.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    own = own_agent_kind("pydantic-ai", "my_kitchen.bot:agent", "mine")
    assert own.source == package / "bot.py"
    found = measure_experience(own, beside=[], world=world)
    assert (found.measured["files"], found.measured["lines"], found.measured["framework_names"]) == (1, 3, 1)
    assert {"files", "setup", "complexity", "documentation"} == set(found.characteristics)
    assert found.claimed is None
    assert found.absent == {
        "memory": "what keeps the conversations of an agent object is up to whatever runs it, here assay",
        "fault": "the agent's tools are its own, so none of them can be made to fail",
    }
    assert missing_reason("memory", found) == found.absent["memory"]
    entries = ChatbotEvaluator().evaluate_response("Hello?", "Hello!", "mine", characteristics=found.characteristics)
    assert entries["implementation_effort"].measured
    # A package is a folder; a module that is nowhere has no source.
    assert own_agent_kind("adk", "my_kitchen:agent", "mine").source == package
    assert own_agent_kind("adk", "my_garden:agent", "mine").source is None


@pytest.mark.slow
def test_failing_part_does_not_affect_the_others(site: Path, world: World) -> None:
    source = site / "spoiled"
    source.mkdir(exist_ok=True)
    (source / "bot.py").write_text("x =\n")
    found = measure_experience(
        kind(site, "careful", source=source, distributions=("toybroken",)), beside=[], world=world
    )
    assert set(found.absent) == {"source", "installation"}
    assert "toyabsent" in found.absent["installation"]
    assert set(found.characteristics) == {"errors", "logging"}
