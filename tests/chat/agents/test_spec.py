"""What `--agents` accepts, and its error messages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from assay.chat.agents import AGENTS, Setup
from assay.chat.agents.own import own_agent_kind
from assay.chat.agents.spec import AgentSpec, load_agents, parse_agents
from assay.errors import AssayError, SourceError, UsageError

WHOLE = """
agents:
  - name: google-adk
    agent: google-adk
  - name: twin
    agent: langgraph
  - name: mine
    function: my_bot:answer
  - name: theirs
    http: https://example.org/v1
    model: theirs-1
    key_env: THEIR_KEY
    stream: true
  - name: other
    http: http://127.0.0.1:8000/ask
    form: json
    request: {query: "{message}", past: "{history}"}
    answer: reply.text
    tool_calls: reply.calls
    headers_env: {X-Api-Key: OTHER_KEY}
    timeout: 20
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "agents.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_comma_separated_list() -> None:
    specs = parse_agents("google-adk, twin=langgraph ,mine=my_bot:answer,theirs=http://127.0.0.1:8000/v1")
    assert [spec.to_json() for spec in specs] == [
        {"name": "google-adk", "agent": "google-adk"},
        {"name": "twin", "agent": "langgraph"},
        {"name": "mine", "function": "my_bot:answer"},
        {"name": "theirs", "http": "http://127.0.0.1:8000/v1"},
    ]


def test_yaml_file_may_set_options(tmp_path: Path) -> None:
    specs = parse_agents(str(written(tmp_path, WHOLE)))
    assert [spec.name for spec in specs] == ["google-adk", "twin", "mine", "theirs", "other"]
    assert specs[4].tool_calls is not None
    assert specs[4].tool_calls.path == "reply.calls"


def test_every_specification_round_trips_through_json_and_has_a_kind(tmp_path: Path) -> None:
    for spec in load_agents(written(tmp_path, WHOLE)):
        assert AgentSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
        assert spec.kind().name == spec.name


def test_renamed_agent_keeps_its_distributions() -> None:
    (own,), (twin,) = parse_agents("langgraph"), parse_agents("twin=langgraph")
    assert own.kind() is AGENTS.get("langgraph")
    assert (twin.kind().title, twin.kind().distributions) == ("twin", own.kind().distributions)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("langraph", "there is no agent called 'langraph'. Did you mean 'langgraph'? Known: agent-framework, "),
        ("twin=langraph", "there is no agent called 'langraph'. Did you mean 'langgraph'?"),
        ("langgraph,langgraph", "two agents are called 'langgraph'. Write NAME=… to tell them apart"),
        ("a=m:f,a=m:g", "two agents are called 'a'"),
        ("", "no agent was named: the list is empty. Name some of: agent-framework, "),
        ("pydantic-ai==", "the version of 'pydantic-ai' is missing. Write AGENT==VERSION"),
        ("x=pydantic-ai==", "the version of 'pydantic-ai' is missing. Write AGENT==VERSION"),
        ("==1", "'==1' is not AGENT==VERSION"),
        ("langgraph==1==2", "'langgraph==1==2' is not AGENT==VERSION"),
        ("a =", "what 'a' stands for is missing. Write NAME=module:function"),
        ("=m:f", "the name is missing. Write NAME=module:function"),
        ("x=adk:", "'adk:' names no module. Write NAME=adk:module:attribute"),
        ("langgraph,", "an agent's name is missing"),
        ("=langgraph", "the name is missing"),
        ("a/b=langgraph", "'a/b' is not a valid agent name"),
        ("m:f", "a function or an endpoint needs a name. Write NAME=module:attribute or NAME=http://…"),
        ("a=m:", "'m:' is not of the form module:attribute"),
        ("a=../m:f", "is not of the form module:attribute"),
        ("a=ftp://127.0.0.1/", "the URL of 'a' is not an http(s) URL"),
        ("a=file:///etc/passwd", "the URL of 'a' is not an http(s) URL"),
        ("a=http://ada:hunter2@127.0.0.1/", "the URL of 'a' contains a user name or a password"),
        ("a=", "what 'a' stands for is missing"),
        ("mine=my_bot", "pydantic-ai. For a function of your own write NAME=module:function"),
    ],
)
def test_invalid_item_gets_a_clear_error(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_agents(text)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("agents:\n- name: a\n  agent: langraph\n", 3, "agents[0].agent: there is no agent called 'langraph'. Did you"),
        ("agents:\n- name: a\n  agent: langgraph\n- name: a\n  agent: langgraph\n", 4, "two agents are called 'a'"),
        ("agents:\n- name: a\n", 2, "has none of agent, function, http and object. Give one of"),
        (
            "agents:\n- name: a\n  agent: langgraph\n  function: m:f\n",
            2,
            "has agent and function, which exclude each other",
        ),
        ("agents:\n- name: a\n  function: m\n", 3, "'m' is not of the form module:attribute"),
        ("agents:\n- name: a\n  agent: langgraph\n  modle: x\n", 4, "there is no such key. Did you mean 'model'?"),
        ("agents:\n- name: a\n  agent: langgraph\n  stream: true\n", 4, "'stream' can be used only with http"),
        ("agents:\n- name: a\n  http: ftp://h/\n", 3, "is not an http(s) URL"),
        (
            "agents:\n- name: a\n  http: http://h/\n  key_env: sk-hunter2\n",
            4,
            "must be the name of an environment vari",
        ),
        ("agents:\n- name: a\n  http: http://h/\n  answer: x\n", 4, "'answer' cannot be used with the form openai"),
        ("agents:\n- name: a\n  http: http://h/\n  form: xml\n", 4, "must be 'openai' or 'json', got 'xml'"),
        (
            "agents:\n- name: a\n  http: http://h/\n  form: json\n  request:\n    q: '{mesage}'\n",
            5,
            "has an unknown placeholder {mesage}. Did you mean {message}?",
        ),
        ("agents: []\n", 1, "agents: the list is empty"),
        ("agents: langgraph\n", 1, "agents: must be a list, got 'langgraph'"),
        ("agnets: []\n", 1, "there is no such key. Did you mean 'agents'?"),
        ("agents: [\n", 1, "is not valid YAML"),
        ("- a\n", 1, "the file: must be a table of keys and values"),
    ],
)
def test_error_in_a_file_has_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SourceError) as caught:
        load_agents(path)
    assert words in str(caught.value)
    assert caught.value.where == f"{path}:{line}"
    assert "hunter2" not in str(caught.value)


def test_missing_file_gets_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="cannot be read: No such file"):
        parse_agents(str(tmp_path / "none.yaml"))


def test_an_agent_object_names_its_framework() -> None:
    [mine] = parse_agents("mine=adk:my_pkg.agent:root_agent")
    assert (mine.framework, mine.object) == ("adk", "my_pkg.agent:root_agent")
    assert AgentSpec.from_json(mine.to_json()) == mine
    kind = mine.kind()
    assert (kind.uses_setup, kind.uses_model, kind.distributions) == (False, True, ("google-adk",))


def test_a_framework_that_is_not_known_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(AssayError, match="no framework called 'pydantic_ai'"):
        parse_agents("mine=pydantic_ai:my_pkg:agent")


def test_a_forgotten_attribute_of_an_object_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = r"'adk:my_pkg.agent' names the module 'my_pkg.agent' and no attribute of it. Write NAME=adk:my_pkg"
    with pytest.raises(UsageError, match=expected):
        parse_agents("mine=adk:my_pkg.agent")
    # A module of one's own may be called like a framework.
    (tmp_path / "adk.py").touch()
    monkeypatch.chdir(tmp_path)
    assert parse_agents("mine=adk:answer")[0].function == "adk:answer"


def test_an_object_without_its_framework_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "agents:\n- name: a\n  object: my_pkg:agent\n")
    with pytest.raises(SourceError, match="'object' and 'framework' go together"):
        load_agents(path)


def test_an_object_of_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "replaced")  # and restored after the test
    setup = Setup(model="m", model_url="http://127.0.0.1:9/v1", weather_url="http://127.0.0.1:9")

    async def opened() -> None:
        async with own_agent_kind("pydantic-ai", "json:dumps", "mine").open(setup):
            pass

    with pytest.raises(AssayError, match="is of type function, not an Agent"):
        asyncio.run(opened())


@pytest.mark.parametrize("version", ["-rfile", "--index-url/x", "evil", "2; x", "2 --pre", "2\n3", "", "x" * 300])
def test_a_version_is_never_an_option_of_pip(version: str) -> None:
    with pytest.raises(ValueError, match="neither a version nor a path"):
        AgentSpec(name="a", agent="google-adk", version=version)


@pytest.mark.parametrize("version", ["2.12.0", "2.0rc1", "1!2.0+local", "../adk", "~/src/adk-python", "/opt/adk"])
def test_a_version_is_a_number_or_a_path(version: str) -> None:
    assert AgentSpec(name="a", agent="google-adk", version=version).version == version
