"""`assay init`: a suite, a file of agents and a job for CI to start with."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli._output import announce


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write; created if it does not exist.")] = Path(),
    agents: Annotated[
        str | None,
        typer.Option(help="Agents to test, as for chat run --agents; by default a sample function."),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="What the conversations are about: weather, shop or other.")
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(help="Tools of your own agent, if it is about another subject: find_order,cancel_order."),
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the suite.")] = "mine",
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write a suite, a file of agents and a job for CI, ready to run.

    Asks for what is not given, if there is a terminal.
    """
    from assay.runs.scaffold import AGENT_FILE, OTHER, SAMPLE_AGENT, SUITE, Project, write_project

    asks = sys.stdin.isatty()
    if agents is None and asks:
        agents = typer.prompt("Agent (NAME=module:function, NAME=adk:module:agent, http://…)", SAMPLE_AGENT, err=True)
    if domain is None and tools is None and asks:
        domain = typer.prompt("What are the conversations about (weather, shop, other)", "weather", err=True)
    if domain == OTHER and tools is None and asks:
        tools = typer.prompt("Tools of your agent, separated by commas", err=True)
    chosen = tuple(tool.strip() for tool in tools.split(",")) if tools else ()
    project = Project(agents or SAMPLE_AGENT, domain or (OTHER if chosen else "weather"), name, chosen)
    for path in write_project(project, folder, force=force):
        announce(f"Written: {path}")
    start = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    print(f"{start}assay chat run --suite {SUITE} --agents {AGENT_FILE} --no-experience")
