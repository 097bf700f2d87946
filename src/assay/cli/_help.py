"""Help of a command with its options in groups, each under the heading that an option names as its panel; and of a
group of commands with the whole first sentence of each.

Plain text: Typer itself shows panels only as boxes, which take three times as long to appear.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_ARGUMENTS = "Arguments"
_OPTIONS = "Options"
_LONGEST = 300  # characters of a first sentence


class _GroupedCommand(TyperCommand):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options without a group, and then each group in the order of its first option; --help, if
        no other option is without a group, comes last.
        """
        groups: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: [], _OPTIONS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                heading = _ARGUMENTS if is_argument else getattr(param, "rich_help_panel", None) or _OPTIONS
                groups.setdefault(heading, []).append(record)
        if len(groups[_OPTIONS]) == 1:  # --help alone
            groups[_OPTIONS] = groups.pop(_OPTIONS)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class _WholeSentences(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every command with its first sentence, on several lines if need be; it would be cut off otherwise."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(_LONGEST)) for name, command in commands if command is not None]
            )


def group_options(app: typer.Typer) -> None:
    """Let every command of an app, and of the apps in it, show its options in groups."""
    app.info.cls = _WholeSentences
    for command in app.registered_commands:
        command.cls = _GroupedCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group_options(group.typer_instance)
