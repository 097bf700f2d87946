"""`assay mcp`: the runs of a store for assistants, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.runs import StoreAddress
from assay.cli.serve import agent_specs
from assay.errors import UsageError
from assay.extras import check_extras


def mcp(
    store: StoreAddress = None,
    allow_run: Annotated[
        bool, typer.Option("--allow-run", help="Let the assistant start runs and stop them; otherwise it only reads.")
    ] = False,
    agents: Annotated[
        str | None,
        typer.Option(help="Further agents that it may run: NAME=module:function, NAME=http://…/v1, or a YAML file."),
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder", metavar="FOLDER", help="Folder with logs and suites that it may name; can be repeated."
        ),
    ] = None,
) -> None:
    """Serve stored runs to an assistant over MCP on standard input and output; ends when the input does."""
    check_extras("chat", "store", "agents", "events", "mcp", of="mcp", purpose="serve an assistant")
    if agents is not None and not allow_run:
        raise UsageError("--agents names agents to run", hint="Give --allow-run too, or leave --agents out")
    folders = folder or []
    for named in folders:
        if not named.is_dir():
            raise UsageError(f"'{named}' is not a folder", hint="Name a folder with logs or suites")
    from assay.mcp.files import NamedFiles
    from assay.mcp.server import serve_stdio
    from assay.mcp.tools import RunTools
    from assay.store import open_store

    with open_store(store, create=allow_run) as opened:
        serve_stdio(RunTools(opened, NamedFiles(folders), agent_specs(agents)), allow_run=allow_run)
