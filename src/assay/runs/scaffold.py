"""The files that a new project starts with: a suite, its agents, a sample agent, and a job for CI. They run at once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from assay.chat.agents.spec import AgentSpec, parse_agents
from assay.errors import UsageError

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

    def files(self) -> dict[str, str]:
        """Every file by its path."""
        if self.domain not in _OWN:
            raise UsageError(f"there is no suite about '{self.domain}' to start with", hint=f"Use {' or '.join(_OWN)}")
        specs = parse_agents(self.agents)
        found = {
            SUITE: self._suite(is_embedded=any(spec.agent is not None for spec in specs)),
            SCHEMA: _schema(),
            AGENT_FILE: "agents:\n" + "".join(_item(spec) for spec in specs),
            WORKFLOW: _workflow(specs),
        }
        if any(spec.function == "my_agent:answer" for spec in specs):
            found["my_agent.py"] = _SAMPLE + _SAMPLE_ANSWERS[self.domain]
        return found

    def _suite(self, *, is_embedded: bool) -> str:
        """The suite, with truths of the embedded world if a bundled assistant is tested, which uses nothing else."""
        is_plain = re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", self.name) and self.name.lower() not in _WORDS_OF_YAML
        name = self.name if is_plain else json.dumps(self.name, ensure_ascii=False)
        return (
            f"# yaml-language-server: $schema={SCHEMA}\n"
            f"# Conversations that every agent goes through; check this file with: assay chat suites {SUITE}\n"
            f"name: {name}\nversion: 1\ndomain: {self.domain}\nclock: 2026-01-15T09:00Z\n\n"
            f"{(_EMBEDDED if is_embedded else _OWN)[self.domain]}"
        )


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
