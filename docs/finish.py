"""Completes the built site (`make docs`): llms.txt for programs that read documentation, then a check of every link.

The check fails if a link or an anchor of a built page leads nowhere, if a page loads anything from another host, or if
a page is missing from the navigation.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Attributes that make a browser load something, or that lead somewhere.
_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "video": "src", "object": "data"}
_LEADS = {"a": "href"}


def finish(site: Path) -> list[str]:
    """Write what is missing in the site; gives the problems of the whole."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    sections = _sections(project["nav"])
    listed = [page for pages in sections.values() for page in pages]
    missing = sorted({str(page.relative_to(DOCS)) for page in DOCS.glob("**/*.md")} - set(listed))
    _write_for_programs(site, sections, project["site_description"])
    return [f"{page}: not in the nav of zensical.toml" for page in missing] + broken(site)


def _sections(nav: list[Any]) -> dict[str, list[str]]:
    """The pages of the navigation by its first level, in order."""
    found: dict[str, list[str]] = {}
    for entry in nav:
        ((title, inner),) = entry.items()
        found[title] = _pages(inner)
    return found


def _pages(inner: Any) -> list[str]:
    if isinstance(inner, str):
        return [inner]
    if isinstance(inner, dict):
        return [page for value in inner.values() for page in _pages(value)]
    return [page for value in inner for page in _pages(value)]


def _write_for_programs(site: Path, sections: dict[str, list[str]], summary: str) -> None:
    """Write llms.txt, a list of all pages; llms-full.txt, their text; and each page's Markdown beside its HTML."""
    index, full = [f"# assay\n\n> {summary}\n"], []
    for title, pages in sections.items():
        index.append(f"## {title}\n")
        for page in pages:
            text = (DOCS / page).read_text(encoding="utf-8")
            heading = next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
            index.append(f"- [{heading}]({page})")
            full.append(f"<!-- {page} -->\n\n{text.strip()}\n")
            shutil.copyfile(DOCS / page, site / page)
        index.append("")
    (site / "llms.txt").write_text("\n".join(index), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(full), encoding="utf-8")


class _Page(HTMLParser):
    """What a built page links to, what it loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag in _LEADS and (target := given.get(_LEADS[tag])):
            self.links.append(target)
        if tag in _LOADS and (target := given.get(_LOADS[tag])):
            self.loads.append(target)
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next") and (target := given.get("href")):
            self.loads.append(target)


def broken(site: Path) -> list[str]:
    """The problems of the links of a built site, as sentences."""
    pages = {path: _Page(path) for path in sorted(site.glob("**/*.html"))}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        found += [f"{where}: loads {one} from another host" for one in page.loads if urlsplit(one).netloc]
        for link in page.links + page.loads:
            address, anchor = urldefrag(link)
            if urlsplit(link).scheme or urlsplit(link).netloc:
                continue
            # The page for unknown addresses is served at any depth, so its links begin with a slash.
            target = (
                site / address.lstrip("/") if address.startswith("/") else path.parent / unquote(address)
            ).resolve()
            target = path if not address else target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where}: {link} leads nowhere")
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                found.append(f"{where}: {link}: no such anchor")
    return found


def main() -> None:
    """Complete the site, and exit with 1 if something is wrong in it."""
    site = ROOT / "site"
    problems = finish(site.resolve())
    if problems:
        sys.exit("\n".join(problems))
    print(f"The site is in {site.relative_to(ROOT)}/: open {site.relative_to(ROOT)}/index.html; it needs no server.")


if __name__ == "__main__":
    main()
