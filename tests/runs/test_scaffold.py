"""A project that `assay init` writes is valid and runs at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.command import assay_command

from assay.chat.agents.spec import load_agents
from assay.chat.suites import load_suite
from assay.errors import SourceError, UsageError
from assay.runs.scaffold import Project, write_project


@pytest.mark.parametrize("domain", ["weather", "shop"])
def test_what_is_written_can_be_read(tmp_path: Path, domain: str) -> None:
    folder = tmp_path / "new"
    done = assay_command("init", folder, "--domain", domain, "--name", "ours")
    assert done.returncode == 0
    assert done.stdout == f"cd {folder} && assay chat run --suite suite.yaml --agents agents.yaml --no-experience\n"
    suite = load_suite(str(folder / "suite.yaml"))
    assert (suite.name, suite.domain) == ("ours", domain)
    assert [spec.function for spec in load_agents(folder / "agents.yaml")] == ["my_agent:answer"]
    workflow = yaml.safe_load((folder / ".github/workflows/assay.yml").read_text())
    assert "conversations" in workflow["jobs"]
    # The first line is what editors look for, and the schema beside it is one.
    assert (folder / "suite.yaml").read_text().startswith("# yaml-language-server: $schema=suite.schema.json\n")
    assert json.loads((folder / "suite.schema.json").read_text())["type"] == "object"


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["weather", "shop"])
def test_it_runs_at_once_and_its_sample_passes(tmp_path: Path, domain: str) -> None:
    assert assay_command("init", tmp_path, "--domain", domain).returncode == 0
    words = ("chat", "run", "--suite", "suite.yaml", "--agents", "agents.yaml", "--no-experience", "--no-store")
    done = assay_command(*words, "--fail-on", "checks", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    assert {answer["record"]["status"] for answer in answers} == {"scored"}
    assert all(answer["passed"] for answer in answers)


LIARS = {
    "weather": {
        "Helsinki": "In Helsinki it is 35 °C and sunny, so I recommend sunglasses.",
        "remember": "No.",
        "Oslo": "In Oslo I recommend shorts and sunscreen, because it is 40 °C and sunny.",
        "rain": "No, it will not rain tomorrow, it will be sunny.",
    },
    "shop": {"Trail Runner": "The Trail Runner costs €9.90 and is sold out.", "Hello": "No."},
}


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["weather", "shop"])
def test_an_agent_that_lies_fails_every_scenario_and_the_job_of_ci(tmp_path: Path, domain: str) -> None:
    assert assay_command("init", tmp_path, "--domain", domain).returncode == 0
    (tmp_path / "my_agent.py").write_text(
        f"LIES = {LIARS[domain]!r}\n\n\ndef answer(message):\n"
        "    return next(text for word, text in LIES.items() if word in message)\n",
        encoding="utf-8",
    )
    (step,) = [
        one["run"]
        for one in yaml.safe_load((tmp_path / ".github/workflows/assay.yml").read_text())["jobs"]["conversations"][
            "steps"
        ]
        if "assay chat run" in one.get("run", "")
    ]
    done = assay_command(*step.split()[1:], "--json", "-", cwd=tmp_path)
    assert done.returncode == 1
    assert "assay: gate:" in done.stderr
    passed = [(answer["query"], answer["passed"]) for answer in json.loads(done.stdout)["answers"]]
    assert [query for query, has_passed in passed if has_passed] == []


@pytest.mark.slow
@pytest.mark.frameworks
@pytest.mark.parametrize("domain", ["weather", "shop"])
def test_a_bundled_assistant_is_compared_with_the_embedded_world(tmp_path: Path, domain: str) -> None:
    assert assay_command("init", tmp_path, "--domain", domain, "--agents", "pydantic-ai").returncode == 0
    assert "FILL IN" not in (tmp_path / "suite.yaml").read_text("utf-8")
    words = ("chat", "run", "--suite", "suite.yaml", "--agents", "agents.yaml", "--no-experience", "--no-store")
    done = assay_command(*words, "--json", "-", cwd=tmp_path)
    answers = json.loads(done.stdout)["answers"]
    assert [(answer["query"], answer["failures"]) for answer in answers if not answer["passed"]] == []
    assert any(answer["metrics"]["accuracy"]["measured"] for answer in answers)


LIBRARY = """from pydantic_ai import Agent

agent = Agent("openai-chat:some-model", instructions="You help the readers of a library.")


@agent.tool_plain
def find_book(title: str) -> str:
    return f"{title} stands on shelf 12."


@agent.tool_plain
def renew_loan(card: int) -> str:
    return f"The loans of card {card} end on 3 March."
"""


def test_a_bot_with_a_model_of_its_own_gets_no_scenario_that_needs_the_embedded_one() -> None:
    for agents in ("mine=my_bot:answer", "mine=http://127.0.0.1:9000/v1"):
        suite = Project(agents, "other", tools=("find_book",)).files()["suite.yaml"]
        assert "quirk" not in suite
        assert "embedded model" not in suite
        assert "checked if it reports its calls" in suite


@pytest.mark.slow
@pytest.mark.frameworks
def test_an_agent_about_another_subject_is_tried_on_its_own_tools_at_once(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    agent = ("--agents", "mine=pydantic-ai:library:agent")
    assert assay_command("init", tmp_path, *agent, "--tools", "find_book, renew_loan").returncode == 0
    words = ("chat", "run", "--suite", "suite.yaml", "--agents", "agents.yaml", "--no-experience", "--no-store")
    done = assay_command(*words, "--fail-on", "checks", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    called = [[call["name"] for call in answer["record"]["tool_calls"]] for answer in answers]
    assert called[:2] == [["find_book"], ["renew_loan"]]
    assert "shelf 12" in answers[0]["response"]


@pytest.mark.parametrize(
    ("project", "words"),
    [
        (Project("mine=adk:a:b", "other"), "the tools of your agent are needed"),
        (Project("mine=adk:a:b", "shop", tools=("find_book",)), "the tools of your agent are needed"),
        (Project("mine=adk:a:b", "other", tools=("find book",)), "'find book' is not the name of a tool"),
        (Project(domain="other", tools=("find_book",)), "the sample agent has no tools"),
        (Project(domain="library"), "Use weather, shop, or other with --tools"),
    ],
)
def test_tools_belong_to_another_subject_and_to_an_agent_that_has_them(project: Project, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        project.files()


def test_truths_that_the_user_knows_are_marked() -> None:
    for agents in ("mine=my_agent:answer", "mine=http://127.0.0.1:8000/v1", "mine=adk:my_pkg.agent:root_agent"):
        assert "# FILL IN: each `truth` is what your agent's data say" in Project(agents).files()["suite.yaml"]
    assert "weather: Helsinki" in Project("google-adk,mine=my_agent:answer").files()["suite.yaml"]


def test_the_cache_of_ci_needs_no_other_file() -> None:
    job = yaml.safe_load(Project().files()[".github/workflows/assay.yml"])["jobs"]["conversations"]
    python = next(step for step in job["steps"] if "setup-python" in step.get("uses", ""))
    assert python["with"]["cache-dependency-path"] == ".github/workflows/assay.yml"


def test_nothing_is_replaced_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text("mine")
    refused = assay_command("init", tmp_path)
    assert (refused.returncode, "exists already" in refused.stderr) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agents.yaml"]
    assert assay_command("init", tmp_path, "--force").returncode == 0


def test_an_agent_of_a_framework_brings_its_extra_into_ci() -> None:
    files = Project("mine=adk:my_pkg.agent:root_agent").files()
    assert 'assay-agents[agents,google-adk]"' in files[".github/workflows/assay.yml"]
    assert 'object: "my_pkg.agent:root_agent"' in files["agents.yaml"]
    assert "my_agent.py" not in files


@pytest.mark.parametrize("name", ["suite.yaml", ".github", ".github/workflows", "my_agent.py"])
@pytest.mark.parametrize("force", [False, True])
def test_a_link_in_the_folder_sends_no_file_elsewhere(tmp_path: Path, name: str, force: bool) -> None:
    link, elsewhere = tmp_path / "project" / name, tmp_path / "elsewhere"
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="is a link"):
        write_project(Project(), tmp_path / "project", force=force)
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("my suite!", "my-suite"),
        ("a/b", "a-b"),
        ("../x", "x"),
        ("Größe", "grosse"),
        (".hidden", "hidden"),
        ("-x", "x"),
        ("", "my-suite"),
        ("  ", "my-suite"),
        ("東京", "my-suite"),
        ("a\nb", "a-b"),
        ("x" * 300, "x" * 80),
        ("x: y", "x-y"),
        ("a\nversion: 2", "a-version-2"),
        ("[", "my-suite"),
        ("#", "my-suite"),
    ],
)
def test_a_name_that_no_suite_can_have_is_refused_with_one_like_it(name: str, near: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"is not a name for a suite. Write --name {near}: up to 80"):
        write_project(Project(name=name), tmp_path)
    assert not list(tmp_path.iterdir())
    Project(name=near).files()


@pytest.mark.parametrize("name", ["true", "null", "123", "1e3", "a.b", "no", "weather", "2026-01-01"])
def test_any_other_name_can_be_read_again(name: str, tmp_path: Path) -> None:
    write_project(Project(name=name), tmp_path)
    assert load_suite(tmp_path / "suite.yaml").name == name


@pytest.mark.parametrize("tools", [("_find",), ("name",), ("true", "no", "null"), ("a.b", "A-b"), ("x" * 90,)])
def test_tools_of_any_name_are_called(tools: tuple[str, ...], tmp_path: Path) -> None:
    project = Project(agents="mine=adk:a:b", domain="other", tools=tools)
    if len(tools[0]) > 80:  # its scenario cannot be called like this
        with pytest.raises(SourceError, match="is not a valid name"):
            project.files()
        return
    write_project(project, tmp_path)
    suite = load_suite(tmp_path / "suite.yaml")
    assert suite.tools == list(tools)
    called = [call.name for scenario in suite.scenarios for turn in scenario.turns for call in turn.calls or ()]
    assert called == [*tools, tools[0]]


def test_a_tool_is_named_once() -> None:
    with pytest.raises(UsageError, match="the tool 'a' is named twice"):
        Project(agents="mine=adk:a:b", domain="other", tools=("a", "a")).files()
