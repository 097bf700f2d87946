"""`assay serve`: the runs of a store, agents side by side and differences, as pages in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli._output import announce
from assay.cli.runs import StoreAddress
from assay.errors import UsageError
from assay.extras import check_extras

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.prices import ModelPrice


def serve(
    store: StoreAddress = None,
    host: Annotated[str, typer.Option(help="Address to listen on; all but loopback need --token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 finds a free one.")] = 8321,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    token: Annotated[
        str | None,
        typer.Option(help="Token that visitors must give; they get a cookie.", envvar="ASSAY_TOKEN", show_envvar=True),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option(help="Further agents to compare live: NAME=module:function, NAME=http://…/v1, or a YAML file."),
    ] = None,
    suites: Annotated[
        Path, typer.Option(help="Folder that conversations are written to when they are kept as scenarios.")
    ] = Path("assay-suites"),
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Folder with recordings to view as timelines; can be repeated.",
        ),
    ] = None,
) -> None:
    """Serve pages over the store: runs, reports, differences, timelines, and agents side by side. Ctrl-C ends it."""
    check_extras("chat", "store", "agents", "events", "web", of="web", purpose="serve pages")
    from assay.chat.running.hosts.template import use_templates
    from assay.store import open_store
    from assay.web.app import make_app
    from assay.web.server import access_for, bound_socket, serve_until_stopped, url_of
    from assay.web.site import Site

    access_for(host, port, token)
    for named in folder or ():
        if not named.is_dir():
            raise UsageError(f"'{named}' is not a folder", hint="Name a folder with recordings")
    with open_store(store) as opened, bound_socket(host, port) as bound, use_templates():
        access = access_for(host, bound.getsockname()[1], token)
        site = Site(
            opened,
            agent_specs(agents),
            agent_prices(agents),
            takes_addresses=access.is_local,
            suites=suites,
            folders=folder or (),
        )

        def started() -> None:
            announce(f"Serving {opened.address} at {url_of(access)} (Ctrl-C ends it)")
            if open_browser:
                import webbrowser

                webbrowser.open(url_of(access))

        serve_until_stopped(make_app(site, access), bound, started=started)


def agent_specs(agents: str | None) -> tuple[AgentSpec, ...]:
    """Agents that were named on the command line."""
    if agents is None:
        return ()
    from assay.chat.agents.spec import parse_agents

    return tuple(parse_agents(agents))


def agent_prices(agents: str | None) -> dict[str, ModelPrice]:
    """Prices of models that the file of the agents states."""
    if agents is None:
        return {}
    from assay.chat.agents.spec import stated_prices

    return stated_prices(agents)
