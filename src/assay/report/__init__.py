"""How results are shown: charts as data, tables for the terminal, pages that need only a browser, and exports.

tables(result)             tables for the terminal, as something that `rich` prints
page(result)               the report as one HTML page
write_page(result, path)   the same, written to a file
summary(result)            the main table as a piece of HTML, for notebooks

A result names its subject ('events', 'chat', 'agents', 'load', 'compare'); `terminal/` and `html/` have a module for
each.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.console import RenderableType

    from assay.result import Result

__all__ = ["page", "summary", "tables", "write_page"]


def tables(result: Result, *, full: bool = False) -> RenderableType:
    """The tables of a result, for the terminal; `full` shows every figure.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=1, seconds=1, seed=1)
        >>> type(tables(events.evaluate(truth, truth))).__module__.split(".")[0]
        'rich'

    """
    drawn = import_module(f"assay.report.terminal.{result.subject}").tables(result, full=full)
    return cast("RenderableType", drawn)


def page(result: Result) -> str:
    """The report of a result as one HTML page that opens offline.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=1, seconds=1, seed=1)
        >>> page(events.evaluate(truth, truth))[:15]
        '<!doctype html>'

    """
    return str(import_module(f"assay.report.html.{result.subject}").page(result))


def write_page(result: Result, path: str | Path) -> Path:
    """Write the report of a result as one HTML file. Gives its path.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=1, seconds=1, seed=1)
        >>> write_page(events.evaluate(truth, truth), "report.html").name
        'report.html'

    """
    from assay.report.html.page import save

    return save(page(result), path)


def summary(result: Result) -> str:
    """The main table of a result as a piece of HTML.

    Example:
        >>> from assay import events
        >>> truth = events.synthetic.recording(episodes=1, seconds=1, seed=1)
        >>> summary(events.evaluate(truth, truth))[:7]
        '<table>'

    """
    from assay.report.html.summary import summary as drawn

    return str(drawn(result))
