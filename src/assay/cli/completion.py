"""`assay completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

VARIABLE = "_ASSAY_COMPLETE"
"""Set by the script when the shell asks what could come next; typer's own name for a program called assay."""


class Shell(StrEnum):
    """The shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that reads the script.")]) -> None:
    """Print a script that completes commands and options when you press Tab.

    In bash and zsh: eval "$(assay completion bash)". In fish: assay completion fish | source.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="assay", complete_var=VARIABLE, shell=shell.value))


def prepare() -> None:
    """Let typer answer the shell: it knows no shell by itself unless it may add two options to every help."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
