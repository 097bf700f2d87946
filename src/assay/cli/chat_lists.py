"""`assay chat agents` and `assay chat suites`: what there is to run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.shown import shown_console


def domain_option(panel: str | None = None) -> Any:
    """`--domain` of commands that load suites."""
    words = "The folder of your own domain, whose name the suite states; its Python code is run."
    return typer.Option("--domain", metavar="FOLDER", help=words, rich_help_panel=panel)


def list_agents() -> None:
    """List the agents that can be run, and whether what they need is installed."""
    from importlib.metadata import PackageNotFoundError, version

    from rich.text import Text

    from assay.chat.agents import AGENTS
    from assay.report.terminal import plain_table

    table = plain_table("")
    for column in ("agent", "framework", "built on"):
        table.add_column(column)
    missing: dict[str, None] = {}
    for agent in AGENTS.names():
        kind = AGENTS.get(agent)
        built_on = []
        for package in kind.distributions:
            try:
                built_on.append(f"{package} {version(package)}")
            except PackageNotFoundError:
                built_on.append(f"{package} is not installed")
                missing[kind.extra] = None
        table.add_row(agent, kind.title, Text("\n".join(built_on)))
    shown_console().print(table)
    # Each in a line of its own, however narrow the terminal is: a command that is broken cannot be copied.
    for extra in missing:
        print(f'pip install "assay-agents[{extra}]"')


def list_suites(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="[SUITE]…", help="Suites by name or path: lists their scenarios.")
    ] = None,
    domain: Annotated[str | None, domain_option()] = None,
) -> None:
    """List the suites that come with assay, or the scenarios of some; files are also checked."""
    from rich.text import Text

    from assay.chat.suites import SUITES, load_suite
    from assay.report.terminal import plain_table

    table = plain_table("")
    if not suites:
        for column in ("suite", "scenarios", "turns", "kinds"):
            table.add_column(column, justify="left" if column in ("suite", "kinds") else "right")
        for name in SUITES:
            one = load_suite(name)
            turns = sum(len(scenario.turns) for scenario in one.scenarios)
            table.add_row(f"{name}@{one.version}", str(len(one.scenarios)), str(turns), ", ".join(one.kinds))
    else:
        for column in ("scenario", "kind", "turns", "begins with"):
            table.add_column(column, justify="right" if column == "turns" else "left", no_wrap=column != "begins with")
        for scenario in (scenario for suite in suites for scenario in load_suite(suite, domain=domain).scenarios):
            first = Text(scenario.turns[0].user, overflow="ellipsis", no_wrap=True)
            table.add_row(scenario.id, scenario.kind, str(len(scenario.turns)), first)
    shown_console().print(table)
