"""Links between pages lead somewhere, to the heading that they name, on GitHub and on the site alike."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/**/*.md"))
MADE_WITH_THE_SITE = {ROOT / "docs" / name for name in ("llms.txt", "llms-full.txt")}

_FENCE = re.compile(r"^( *)(```+).*?^\1\2 *$", re.M | re.S)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:src|srcset|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +\{#[^}]+\})?$", re.M)


def identify(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(text: str) -> list[str]:
    """Targets of links and pictures; code is left out."""
    prose = _CODE.sub("", _FENCE.sub("", text))
    return [match[1] or match[2] for match in _LINK.finditer(prose)]


def headings(text: str) -> list[str]:
    """The words of each heading, without code marks and the targets of links."""
    found = (match[1] for match in _HEADING.finditer(_FENCE.sub("", text)))
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words).replace("`", "").replace("*", "") for words in found]


def github_anchor(words: str) -> str:
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def site_anchor(words: str) -> str:
    """As Python-Markdown makes it."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that a page has both on GitHub and on the site."""
    words = headings(page.read_text(encoding="utf-8"))
    on_site = {site_anchor(one) for one in words}
    return frozenset(anchor for one in words if (anchor := github_anchor(one)) in on_site)


def problems(page: Path, text: str) -> list[str]:
    found = []
    for link in links(text):
        address, anchor = urldefrag(link)
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / unquote(address)).resolve() if address else page
        if target in MADE_WITH_THE_SITE:
            continue
        if not target.exists():
            found.append(f"{link} leads nowhere")
        elif ROOT / "docs" in page.parents and ROOT / "docs" not in target.parents:
            found.append(f"{link} leads out of docs/, where the site has nothing")
        elif anchor and anchor not in anchors(target):
            found.append(f"{link}: no such heading")
    return found


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert problems(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_would_be_seen() -> None:
    page = ROOT / "docs" / "guides" / "ci.md"
    fine = "[a](../concepts/intervals.md#which-method) [b](#github-actions) [c](https://pypi.org) `[d](nowhere.md)`"
    assert problems(page, fine) == []
    for link in ("nowhere.md", "events.md#nothing-like-this", "#nothing", "../../CONTRIBUTING.md"):
        assert len(problems(page, f"[x]({link})")) == 1, link
    assert len(problems(page, '<img src="nowhere.png">')) == 1


def test_anchors_are_those_of_github_and_of_the_site() -> None:
    assert github_anchor("Is `a` B? Yes".replace("`", "")) == site_anchor("Is a B? Yes") == "is-a-b-yes"
    assert github_anchor("1. A — b") != site_anchor("1. A — b")
    assert headings("# One [two](three.md)\n\n```sh\n# no heading\n```\n\n## `four`\n") == ["One two", "four"]


def test_every_page_is_in_the_navigation_once() -> None:
    def pages(entry: Any) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in pages(part)]

    listed = pages(tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"])
    assert sorted(listed) == sorted(str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md"))


def test_the_paths_that_contributors_are_sent_to_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = sorted(set(re.findall(r"`((?:src/assay|tests|docs|\.ci)/[\w./-]+)`", text)))
    assert len(named) > 50
    assert [path for path in named if not (ROOT / path).exists()] == []
    table = text[text.index("| folder | contents |") : text.index("The path of one turn")]
    folders = re.findall(r"`([\w/]+)/`", table)
    chat = ROOT / "src/assay/chat"
    assert [name for name in folders if not [*chat.glob(name), *chat.glob(f"*/{name}")]] == []
    assert {path.parent.name for path in chat.glob("*/*.py")} - {"samples"} <= set(folders)
