"""Writes the generated part of the reference (`make docs`). A test checks that it is up to date."""

from __future__ import annotations

from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
_BETTER = {"higher": "higher", "lower": "lower", "zero": "0", "none": ""}


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "agents.md": _agents(),
        "answers.md": _answers(),
        "cli.md": _command_line(),
        "figures.md": _figures(),
        "suite.schema.json": _suite_schema(),
        "truths.md": _truths(),
    }


def _command_line() -> str:
    """The help of every command, as it is printed at 80 columns."""
    import typer
    from typer.testing import CliRunner

    from assay.cli import app

    runner = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    parts = ["# Command line\n\nGenerated from the program's own help.\n"]

    def visit(words: list[str], command: object) -> None:
        shown = runner.invoke(app, [*words, "--help"], prog_name="assay", terminal_width=80, max_content_width=80)
        parts.append(f"## {' '.join(['assay', *words])}\n\n```text\n{shown.output.strip()}\n```\n")
        for name, inner in sorted(getattr(command, "commands", {}).items()):
            visit([*words, name], inner)

    visit([], typer.main.get_command(app))
    return "\n".join(parts)


def _figures() -> str:
    """Every metric of every protocol that ships with the package."""
    from assay.events.protocols import PROTOCOLS, every_protocol

    parts = ["# Every figure\n\nGenerated from the protocols' own declarations.\n"]
    for name in every_protocol():
        protocol = PROTOCOLS.get(name)
        rows = [f"| `{m.key}` | {m.title} | {m.unit} | {_BETTER[m.better]} | {m.undefined} |" for m in protocol.metrics]
        head = "| key | figure | unit | best | None if |\n|---|---|---|---|---|"
        parts.append(f"## {protocol.name}@{protocol.version}\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _answers() -> str:
    """Every metric of an answer that ships with the package, with its rules."""
    from assay.chat.evaluator import METRIC_NAMES
    from assay.chat.scoring.metric import METRICS, signed_points

    parts = ["# Metrics of an answer\n\nGenerated from the metrics' own declarations.\n"]
    for name in METRIC_NAMES:
        metric = METRICS.get(name)
        facts = f"{metric.group}; base {metric.base:g}; {metric.neutral:g} if not measured; `{metric.version}`"
        head = "| rule | points | what the answer or its context shows |\n|---|---|---|"
        rows = [
            f"| `{rule.id}`{', alone' if rule.alone else ''} | {signed_points(rule.points)} | {rule.says} |"
            for rule in metric.rules
        ]
        parts.append(f"## {metric.name}\n\n{metric.asks} ({facts})\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _agents() -> str:
    """The agents that ship with the package, the limits that apply to them, and the faults that can be injected."""
    from dataclasses import fields

    from assay.chat.agents import AGENTS, Limits
    from assay.chat.world.faults import FAULTS

    rows = []
    for name in AGENTS.names():
        kind = AGENTS.get(name)
        memory = f"`{kind.memory}`" if kind.memory else "the assistant itself"
        rows.append(f"| `{name}` | {kind.title} | `{kind.extra}` | {', '.join(kind.distributions)} | {memory} |")
    head = "| agent | framework | extra | built on | the conversation is kept by |\n|---|---|---|---|---|"
    limits = "\n".join(f"| `{field.name}` | {getattr(Limits(), field.name)} |" for field in fields(Limits))
    faults = "\n".join(f"| `{name}` | {does} |" for name, does in FAULTS.items())
    return (
        "# Agents\n\nGenerated from the registry.\n\n"
        f"{head}\n" + "\n".join(rows) + "\n\n## Limits, the same for all\n\n| limit | value |\n|---|---|\n"
        f"{limits}\n\n## Faults\n\nWith `*1` at its end a fault hits only the first request of a turn.\n\n"
        f"| fault | what happens |\n|---|---|\n{faults}\n"
    )


def _truths() -> str:
    """The fields and states of truths, of the domains that ship with the package."""
    from assay.chat.domains import DOMAINS
    from assay.chat.domains._states import listed_states

    parts = [
        "# Truths\n\nGenerated from the domains' own files. [Conversations](../guides/conversations.md#write-a-truth) "
        "explains how to write a truth.\n"
    ]
    for name in ("weather", "shop"):
        domain = DOMAINS.get(name)
        fields = ", ".join(f"`{field}`" for field in domain.truth_fields)
        listed = listed_states(domain, "en")
        rows = []
        for state, others in domain.states.items():
            plain = [words.removeprefix("=") for words in listed[state] if words.isascii() and "{" not in words]
            further = sorted(set(plain) - {state.replace("_", " ")}, key=lambda words: (len(words), words))
            words = ", ".join([state.replace("_", " "), *further[:8]])
            against = ", ".join(f"`{other}`" for other in others.get("contradicts", ()))
            rows.append(f"| `{state}` | {words} | {against} |")
        head = "| state | some words for it in English | contradicts |\n|---|---|---|"
        parts.append(f"## {name}\n\nFields: {fields}.\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _suite_schema() -> str:
    """The schema of suites, for editors and other programs."""
    import json

    from assay.chat.suites import schema

    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
