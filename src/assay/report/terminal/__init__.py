"""Tables for the terminal, in 80 columns: a module for each subject. They only lay out what they are given."""

from __future__ import annotations

from rich.table import Table


def plain_table(title: str) -> Table:
    """A table in the common style: no lines, the title on the left."""
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")


def plain(text: str) -> str:
    """Untrusted text without characters that move the cursor, change colours or reverse the line."""
    return "".join(one if one.isprintable() else " " if one.isspace() else "\ufffd" for one in text)
