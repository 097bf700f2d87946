"""The files that a new project starts with: a suite, its agents, a sample agent, and a job for CI. They run at once."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.chat.agents.spec import AgentSpec, parse_agents
from assay.chat.reading.places import fold
from assay.chat.suites import read_suite
from assay.chat.suites.fields import is_suite_name
from assay.chat.yamlfile import parse_yaml
from assay.errors import MissingExtraError, UsageError

SUITE, AGENT_FILE, SCHEMA = "suite.yaml", "agents.yaml", "suite.schema.json"
WORKFLOW = ".github/workflows/assay.yml"
SAMPLE_AGENT = "mine=my_agent:answer"
"""The default agent: a function in a file that is also written."""

_FILL_IN = """# FILL IN: each `truth` is what your agent's data say, and an answer that differs from it fails. These
# values are those of the sample agent: replace them by yours, and let your agent use fixed data when it is tested.
"""
_WEATHER = """scenarios:
  - id: current
    kind: current
    turns:
      - user: What's the weather in Helsinki?
        {helsinki}

  - id: preference
    kind: preferences
    turns:
      - user: I hate the cold. Please remember that.
        {remembers}
      - user: What should I wear in Oslo today?
        {oslo}

  - id: unclear
    kind: ambiguity
    turns:
      - user: Will it rain tomorrow?
        checks: [ambiguity_handling >= 0.7]
"""
_PRICE = """scenarios:
  - id: price
    kind: question
    turns:
      - user: How much is the Trail Runner?
        truth: {product: Trail Runner, price: 89.9, availability: in stock}
"""
# A bundled assistant uses the embedded services, and its answers are compared with what those know.
_EMBEDDED = {
    "weather": _WEATHER.format(
        helsinki="weather: Helsinki", oslo="weather: Oslo", remembers="state: {dislikes_cold: true}"
    ),
    "shop": f"""{_PRICE}
  - id: stock
    kind: question
    turns:
      - user: Is the Camp Stove in stock?
        truth: {{product: Camp Stove, price: 45.0, stock: 0}}
""",
}
# Any other agent has data of its own.
_OWN = {
    "weather": _FILL_IN
    + _WEATHER.format(
        helsinki="truth: {current: {city: Helsinki, temperature: -3, main_condition: light snow}}",
        oslo="truth: {current: {city: Oslo, temperature: -5}}",
        remembers="checks: [task_completion >= 0.5]",
    ),
    "shop": f"""{_FILL_IN}{_PRICE}
  - id: greeting
    kind: talk
    turns:
      - user: Hello, what can you do for me?
        says: [delivery]
""",
}
OTHER: Final = "other"
"""A subject that assay knows nothing about: the conversations are about the agent's own tools."""
_FILL_IN_TOOLS = """# FILL IN: write what your users say, the arguments that your tool should get for it, such as
# `{name}: {{id: A-17}}`, and in `says` what the answer has to contain. The embedded model makes these calls, fills
# in arguments that are not given by the schema of the tool, and says what it returns; --model uses a real model.
"""
_FILL_IN_CALLS = """# FILL IN: write what your users say, and in `says` what the answer has to contain. Whether your bot
# makes these calls is checked if it reports its calls: a function returns {{"text": …, "tool_calls": […]}}, and for
# an endpoint `tool_calls` in agents.yaml says where they are. Give arguments as in `{name}: {{id: A-17}}`.
"""
_TOOL = """
  - id: {id}
    kind: tool
    turns:
      - user: Please use {name} for me.
        calls: [{call}]
        # says: ["what your tool returns"]
"""
_MISBEHAVED = """
  # The model sends broken arguments once; docs/guides/robustness.md lists what else it can do.
  - id: broken-arguments
    kind: quirk
    turns:
      - user: Please use {name} for me.
        calls: [{call}]
        quirk: arguments_cut_off*1
"""
_TOOL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS_OF_YAML = ("true", "false", "null")
_SAMPLE = '''"""A sample agent: replace `answer` by a call of your own, or name another agent in agents.yaml."""


def answer(message: str, history: list[dict[str, str]]) -> str:
    """Answer one message; `history` has the earlier ones."""
'''
_SAMPLE_ANSWERS = {
    "weather": """    if "rain" in message:
        return "Which city do you mean?"
    if "Helsinki" in message:
        return "In Helsinki it is -3 °C with light snow, so I recommend a warm coat."
    if "remember" in message:
        return "I will remember that you do not like the cold, and will recommend warm clothes."
    return "In Oslo I recommend a warm coat and gloves, because it is -5 °C and you do not like the cold."
""",
    "shop": """    if "Trail Runner" in message:
        return "The Trail Runner costs €89.90 and is in stock."
    return "Hello! I can help you with products, prices and the delivery of your order."
""",
}


@dataclass(frozen=True, slots=True)
class Project:
    """What is to be tested."""

    agents: str = SAMPLE_AGENT
    """In the form that `--agents` accepts."""
    domain: str = "weather"
    name: str = "mine"
    """Name of the suite."""
    tools: tuple[str, ...] = ()
    """Tools of the agents' own, if the conversations are about another subject."""

    def files(self) -> dict[str, str]:
        """Every file by its path."""
        if self.domain not in (*_OWN, OTHER):
            hint = f"Use {', '.join(_OWN)}, or {OTHER} with --tools"
            raise UsageError(f"there is no suite about '{self.domain}' to start with", hint=hint)
        specs = parse_agents(self.agents)
        self._check_name()
        if (self.domain == OTHER) != bool(self.tools):
            raise UsageError(
                f"the tools of your agent are needed for conversations about '{OTHER}' subjects, and only for those",
                hint="Write --tools find_order,cancel_order",
            )
        for name in self.tools:
            if not _TOOL_NAME.fullmatch(name):
                raise UsageError(f"'{name}' is not the name of a tool", hint="Write --tools find_order,cancel_order")
        twice = next((name for at, name in enumerate(self.tools) if name in self.tools[:at]), None)
        if twice is not None:
            raise UsageError(f"the tool '{twice}' is named twice", hint="Name each tool once")
        if self.tools and all(spec.function == "my_agent:answer" for spec in specs):
            raise UsageError(
                "the sample agent has no tools", hint="Name yours: --agents mine=adk:my_pkg.agent:root_agent"
            )
        suite = self._suite(specs)
        with contextlib.suppress(MissingExtraError):  # without PyYAML, no suite is run here either
            read_suite(parse_yaml(suite, SUITE))
        found = {
            SUITE: suite,
            SCHEMA: _schema(),
            AGENT_FILE: "agents:\n" + "".join(_item(spec) for spec in specs),
            WORKFLOW: _workflow(specs),
        }
        if any(spec.function == "my_agent:answer" for spec in specs):
            found["my_agent.py"] = _SAMPLE + _SAMPLE_ANSWERS[self.domain]
        return found

    def _check_name(self) -> None:
        """Raise UsageError if no suite can have this name, with one like it that it can have."""
        if is_suite_name(self.name):
            return
        near = re.sub("[^A-Za-z0-9._]+", "-", "".join(map(fold, self.name))).strip("._-")[:80]
        raise UsageError(
            f"{self.name[:60]!r} is not a name for a suite",
            hint=f"Write --name {near or 'my-suite'}: up to 80 letters, digits, '.', '_' and '-'",
        )

    def _suite(self, specs: list[AgentSpec]) -> str:
        """The suite, with truths of the embedded world if a bundled assistant is tested, which uses nothing else."""
        is_embedded = any(spec.agent is not None for spec in specs)
        has_own_model = all(spec.function is not None or spec.http is not None for spec in specs)
        subject = f"domain: {self.domain}\n"
        if self.tools:
            subject = f"tools: [{', '.join(map(_as_yaml, self.tools))}]\n"
        return (
            f"# yaml-language-server: $schema={SCHEMA}\n"
            f"# Conversations that every agent goes through; check this file with: assay chat suites {SUITE}\n"
            f"name: {_as_yaml(self.name)}\nversion: 1\n{subject}clock: 2026-01-15T09:00Z\n\n"
            f"{self._about_tools(has_own_model) if self.tools else (_EMBEDDED if is_embedded else _OWN)[self.domain]}"
        )

    def _about_tools(self, has_own_model: bool) -> str:
        """A scenario for each tool, and one with a model that misbehaves, unless no agent uses the embedded model."""
        first = self.tools[0]
        each = "".join(_TOOL.format(id=_id_of(name), name=name, call=_call_of(name)) for name in self.tools)
        if has_own_model:
            return f"{_FILL_IN_CALLS.format(name=first)}scenarios:{each}"
        return (
            f"{_FILL_IN_TOOLS.format(name=first)}scenarios:{each}{_MISBEHAVED.format(name=first, call=_call_of(first))}"
        )


def _id_of(tool: str) -> str:
    """The name of a tool's scenario, which cannot begin with an underscore as tools may."""
    return _as_yaml(tool if is_suite_name(tool) else f"tool{tool}")


def _call_of(tool: str) -> str:
    """A call of a tool as suites write it; a tool called `name` needs the long form."""
    return "{name: name}" if tool == "name" else f"{_as_yaml(tool)}: {{}}"


def _as_yaml(name: str) -> str:
    is_plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_-]*", name) and name.lower() not in _WORDS_OF_YAML
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def write_project(project: Project, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the files of a project and give their paths. Nothing is written if one exists, unless `force`."""
    wanted = {folder / path: text for path, text in project.files().items()}
    for path in wanted:
        _refuse_links(path, folder)
    existing = [path for path in wanted if path.exists()]
    if existing and not force:
        raise UsageError("the file exists already", where=str(existing[0]), hint="Give --force to replace it")
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(wanted)


def _refuse_links(path: Path, folder: Path) -> None:
    """Raise UsageError if something between the folder and the file is a link: what is written would be elsewhere."""
    while path != folder:
        if path.is_symlink():
            raise UsageError("is a link to another place", where=str(path), hint="Delete it, or choose another folder")
        path = path.parent


def _schema() -> str:
    from assay.chat.suites import schema

    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _item(spec: AgentSpec) -> str:
    fields = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in spec.to_json().items())
    return f"  - {{{fields}}}\n"


def _workflow(specs: list[AgentSpec]) -> str:
    extras = ",".join(sorted({"agents", *(spec.kind().extra for spec in specs)} - {""}))
    return f"""# Runs the suite for every pull request. Model and weather are embedded, so no key is needed.
name: assay
on: pull_request
jobs:
  conversations:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        # What pip has downloaded is kept until this file changes; by default it needs a requirements.txt.
        with: {{python-version: "3.12", cache: pip, cache-dependency-path: {WORKFLOW}}}
      - run: pip install "assay-agents[{extras}]"
      - run: >
          assay chat run --suite {SUITE} --agents {AGENT_FILE} --no-experience --store runs.db --name candidate
          --fail-on checks,errors --junit conversations.xml --markdown summary.md --html conversations.html
      - if: always()
        run: cat summary.md >> "$GITHUB_STEP_SUMMARY"
      - if: always()
        uses: actions/upload-artifact@v4
        with: {{name: conversations, path: "*.xml\\n*.html"}}
"""
