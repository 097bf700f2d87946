"""What axe, the accessibility checker, has to say about a page that is open in the browser."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.web.test_browser import Tab

AGAIN = ("color-contrast", "target-size", "scrollable-region-focusable")
"""The rules that depend on colours and width."""


@cache
def _source() -> str:
    # The package carries the script. Its Python part drives another browser, and is not needed.
    found = find_spec("axe_playwright_python")
    assert found is not None, "install the extra dev"
    assert found.origin is not None
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def violations(tab: Tab, *, only: tuple[str, ...] = ()) -> list[str]:
    """Each violation in words, by all rules of axe or by some; empty if there are none."""
    if not tab.value("'axe' in window"):
        tab.value(f"{_source()};0")
    options = {"resultTypes": ["violations"]} | ({"runOnly": only} if only else {})
    told = "one.nodes.map((node) => `${one.id}: ${one.help}: ${node.target.join(' ')}: ${node.failureSummary}`)"
    # What a chart draws is described beside it, in a table of its own; the rows of a table are made alike.
    where = "{exclude: [['.chart svg'], ['tbody > tr:nth-child(n+4)']]}"
    tab.value(
        f"window.found = null; axe.run({where}, {json.dumps(options)})"
        f".then(({{violations}}) => {{ window.found = violations.flatMap((one) => {told}); }}, "
        "(error) => { window.found = [String(error)]; }); 0"
    )
    tab.wait("window.found")
    found: list[str] = tab.value("window.found")
    return found
