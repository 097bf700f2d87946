"""`assay doctor`: what works here, and how to get the rest."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli._output import JsonOut, write_json
from assay.shown import shown_console

_MARKS = {"ok": ("✓", "green"), "absent": ("–", "yellow"), "broken": ("✗", "bold red")}


def doctor(
    url: Annotated[
        list[str] | None, typer.Option(help="An OpenAI-compatible endpoint to try; can be repeated.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="The store to try, a file or a postgresql:// address.")] = None,
    json: JsonOut = None,
) -> None:
    """Check what is installed and works: extras, compiled code, the store, a browser, endpoints.

    Exits with 1 if something that is set up fails. What is not installed is listed, and does not count as a failure.
    """
    from dataclasses import asdict

    from rich.text import Text

    from assay.runs.doctor import examine

    console = shown_console()
    checks = []
    for check in examine(store=store, urls=tuple(url or ())):
        checks.append(check)
        if json == "-":
            continue
        mark, style = _MARKS[check.condition]
        console.print(Text.assemble((f"{mark} ", style), (f"{check.name}: ", "bold"), check.says), soft_wrap=True)
        if check.remedy:
            console.print(Text(f"    {check.remedy}", style="dim"), soft_wrap=True)
    if json is not None:
        write_json({"checks": [asdict(check) for check in checks]}, json)
    if any(check.condition == "broken" for check in checks):
        raise typer.Exit(1)
