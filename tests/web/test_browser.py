"""The pages in a real browser: nothing is complained about, nothing is fetched from elsewhere, nothing is too wide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.report.browser import CHARTS, DARK, LIGHT, Browser, Page
from tests.web.accessibility import AGAIN, violations

from assay.chat.world.serving import LoopbackServer
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site

_TIMELINE = "document.documentElement.dataset.timeline === 'done'"
pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=30)]


@dataclass(frozen=True)
class Tab(Page):
    """One tab that goes from page to page."""

    base: str

    def open(self, path: str, *, width: int = 1280, scheme: str = LIGHT, done: str = "true") -> None:
        self.look(width=width, scheme=scheme)
        self._go(lambda: self.browser.call("Page.navigate", self.session, url=self.base + path), done)

    def look(self, *, width: int, scheme: str) -> None:
        """Change the width of the window and the colours that the reader prefers."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.call("Emulation.setEmulatedMedia", self.session, features=features)
        self.resize(width)

    def _go(self, leave: Any, done: str) -> None:
        self.browser._events = [one for one in self.browser._events if one["method"] != "Page.loadEventFired"]
        leave()
        self.browser._wait_for_event("Page.loadEventFired", self.session)
        self.wait(done)

    def value(self, expression: str, *, wait: bool = False) -> Any:
        """The value of an expression; with `wait`, that of its promise."""
        if not wait:
            return super().value(expression)
        given = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        return self.browser.call("Runtime.evaluate", self.session, **given)["result"].get("value")

    def follow(self, expression: str, done: str = "true") -> None:
        """Do something that leads to another page."""
        self._go(lambda: self.value(expression), done)

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.browser._events
            if event["method"] == "Network.requestWillBeSent" and event.get("sessionId") == self.session
        ]


@contextmanager
def opened(browser: Browser, base: str) -> Iterator[Tab]:
    context = browser.call("Target.createBrowserContext")["browserContextId"]
    target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    page = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser._events.clear()
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable", page)
    try:
        yield Tab(browser, page, base)
    finally:
        browser.call("Target.disposeBrowserContext", browserContextId=context)


def test_a_reader_goes_through_every_page(browser: Browser, store: Store, ids: dict[str, str], tmp_path: Path) -> None:
    with LoopbackServer(make_app(Site(store), Access())) as server, opened(browser, server.url) as tab:
        run = ids["nightly"]
        # The two with most charts are looked at once: what they are made of is on the others too.
        both = ((1280, LIGHT), (390, DARK))
        for path, done, looks in (
            ("/runs", "true", both),
            (f"/runs/{run}", "true", both),
            (f"/runs/{run}/report", CHARTS, both[1:]),
            (f"/runs/{run}/settings", "true", both),
            (f"/difference?run={ids['before']}&run={run}", CHARTS, both[:1]),
            ("/history?name=nightly", CHARTS, both),
            ("/metrics", "true", both[1:]),
            ("/api", "true", both[1:]),
            (f"/review?run={run}", "true", both),
            ("/live", "true", both),
            ("/timeline?predicted=example&truth=example", _TIMELINE, both),
        ):
            tab.open(path, done=done)
            for width, scheme in both:
                tab.look(width=width, scheme=scheme)
                tab.wait(done)
                assert tab.value("document.documentElement.scrollWidth") == width, path
                if (width, scheme) in looks:
                    # At the second look only the colours have changed, and what the width moves.
                    only = AGAIN if scheme == DARK and len(looks) == 2 else ()
                    assert violations(tab, only=only) == [], (path, width, scheme)
        # What is saved opens from disk, and a drawing is a picture in it.
        tab.value("document.querySelector('a[data-save]').click()")
        tab.wait("document.documentElement.dataset.saved")
        saved = tmp_path / "saved.html"
        saved.write_bytes(httpx.get(f"{server.url}/history?name=nightly&save=1").content)
        report = tmp_path / "report.html"
        report.write_bytes(httpx.get(f"{server.url}/runs/{run}/report?save=1").content)
        # From the list to a conversation and back to a difference, by clicking.
        tab.open("/runs")
        tab.value(
            "document.querySelectorAll('input[name=run]').forEach((box, at) => { if (at > 1 && at < 4) box.click(); })"
        )
        assert tab.value("document.querySelector('[data-chosen=hint]').textContent") == "2 chosen"
        tab.follow("document.querySelector('.bulk .primary').click()", CHARTS)
        older = tab.value("new URLSearchParams(location.search).getAll('run').toSorted()[0]")
        assert tab.value("document.querySelector('.sides a').href").endswith(older), "the older run is the baseline"
        # Only changes beyond the noise of the repetitions, and one of them is opened.
        flips = "document.querySelector('[name=only]')"
        tab.follow(f"{flips}.value = 'flips'; {flips}.dispatchEvent(new Event('change', {{bubbles: true}}))", CHARTS)
        assert tab.value(
            "[...document.querySelectorAll('#changes tbody tr')].every((row) => /yes$/.test(row.innerText))"
        )
        tab.follow(f"{flips}.value = ''; {flips}.dispatchEvent(new Event('change', {{bubbles: true}}))", CHARTS)
        tab.follow("""document.querySelector("a[href^='/difference/case']").click()""")
        assert tab.value("[...document.querySelectorAll('.beside')].every((one) => one.children.length === 2)")
        tab.open("/history?name=nightly", done=CHARTS)
        tab.wait("/better|worse|same|inconclusive/.test(document.querySelector('a[data-verdict]').textContent)")
        # Answers are labelled by keyboard alone.
        tab.open(f"/review?run={run}&reviewer=keys")
        press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
        for key in "pf3pupf15pfp":
            tab.follow(press % key)
        tab.follow(press % "ArrowRight")
        assert "12 of" in tab.value("document.querySelector('.pager span').textContent")
        assert len([one for one in store.reviews(run) if one["reviewer"] == "keys"]) == 10
        assert "κ" in tab.value("document.querySelector('#agreement table').textContent")
        assert tab.console == []
        outside = {address for address in tab.requests if not address.startswith((server.url, "data:", "blob:"))}
        assert outside == set()
    for file in (saved, report):
        dom, said = browser.opened(file, done=CHARTS)
        assert ("<svg" in dom, said) == (True, [])
    assert 'type="range"' in dom, "the weights of a report can be moved without the server"
