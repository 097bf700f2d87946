"""Writes the generated part of the reference: `make docs`. A test holds that it is up to date."""

from __future__ import annotations

from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
_BETTER = {"higher": "higher", "lower": "lower", "zero": "0", "none": ""}


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {"answers.md": _answers(), "cli.md": _command_line(), "figures.md": _figures()}


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
        head = "| key | figure | unit | best | None where |\n|---|---|---|---|---|"
        parts.append(f"## {protocol.name}@{protocol.version}\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _answers() -> str:
    """Every metric of an answer that ships with the package, with its rules."""
    from assay.chat.evaluator import METRIC_NAMES
    from assay.chat.metric import METRICS, signed

    parts = ["# Metrics of an answer\n\nGenerated from the metrics' own declarations.\n"]
    for name in METRIC_NAMES:
        metric = METRICS.get(name)
        facts = f"{metric.group}; base {metric.base:g}; {metric.neutral:g} where not measured; `{metric.version}`"
        head = "| rule | points | fires where the answer or its circumstances say |\n|---|---|---|"
        rows = [
            f"| `{rule.id}`{', alone' if rule.alone else ''} | {signed(rule.points)} | {rule.says} |"
            for rule in metric.rules
        ]
        parts.append(f"## {metric.name}\n\n{metric.asks} ({facts})\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Write all pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
