"""Renews the pictures of README and gallery (`make pictures`): real runs, the real pages, in Chromium, light and dark.

Everything is played offline in a temporary folder: the demo, two nightly runs of one agent, a comparison of two models.
`python docs/pictures.py FOLDER` keeps what was played in a folder, and starts from it the next time.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.report.browser import CHARTS, DARK, LIGHT, Browser, running
from tests.web.test_browser import Tab, opened
from tests.web.test_live import serving

from assay.store import open_store

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 860
_QUALITY = 72
_DRAWN = "document.documentElement.dataset.timeline === 'done'"
# Four seconds of an episode with many keys, in microseconds; and a scenario whose answers differ.
_WINDOW = "episode=shooter-001&from=4000000&to=8000000"
_CASE = "case=context-lisbon-city-kept&repetition=1"
_QUESTIONS = ("What's the weather in Oslo?", "Should I take a coat?")


def play(folder: Path) -> None:
    """Play what the pictures show, unless the folder has it already."""
    if not (folder / "agents.html").exists():
        _assay("demo", "--out", folder)
    store = folder / "assay.db"
    if not (folder / "models.html").exists():
        for skill in ("0.95", "0.7"):
            words = ("--limit", "16", "--repeat", "2", "--skill", skill, "--no-experience")
            _assay("chat", "run", "--agents", "google-adk", *words, "--name", "nightly", "--store", store)
        _assay("compare", "late", "good", "--store", store, "--html", folder / "models.html")


def _assay(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "assay", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def take(folder: Path, browser: Browser) -> None:
    """Take every picture, each in light and in dark."""
    with open_store(folder / "assay.db") as store:
        entries = store.list()
    ids = {entry.run.name: entry.run.id for entry in reversed(entries)}
    before, now = sorted(entry.run.id for entry in entries if entry.run.name == "nightly")[-2:]
    for page, name, heading in (
        ("report.html", "events-report", ""),
        ("report.html", "events-charts", "F1 against the tolerance"),
        ("agents.html", "agents-report", "Weights"),
        ("robustness.html", "robustness-report", "Robustness"),
        ("models.html", "comparison-report", ""),
    ):
        with opened(browser, (folder / page).resolve().as_uri()) as tab:
            _both(tab, browser, "", name, done=CHARTS, heading=heading)
    words = ("--folder", str(folder), "--suites", str(folder / "suites"))
    with serving(folder / "assay.db", *words) as (base, _), opened(browser, base) as tab:
        _both(tab, browser, f"/runs/{ids['robustness']}", "run", heading="Scenario by scenario")
        sides = f"run={before}:google-adk&run={now}:google-adk"
        _both(tab, browser, f"/difference/case?{sides}&{_CASE}", "difference")
        _both(tab, browser, f"/timeline?run={ids['late']}&{_WINDOW}", "timeline", done=_DRAWN)
        _live(tab, browser)


def _live(tab: Tab, browser: Browser) -> None:
    """Ask two agents, and take the last answers."""
    tab.open("/live?agent=google-adk&agent=langgraph", width=WIDTH)
    tab.follow("document.querySelector('.starting button').click()")
    for turn, message in enumerate(_QUESTIONS, 1):
        tab.value(f"document.querySelector('textarea').value = {json.dumps(message)}")
        tab.value("document.querySelector('[data-live=form]').requestSubmit()")
        tab.wait(f"document.documentElement.dataset.turns === '{turn}'")
    for scheme in (LIGHT, DARK):
        _scheme(tab, browser, scheme)
        tab.value("document.querySelector('.live-turn:last-child').scrollIntoView()")
        _save(tab, browser, "live", scheme)


def _both(tab: Tab, browser: Browser, path: str, name: str, *, done: str = "true", heading: str = "") -> None:
    for scheme in (LIGHT, DARK):
        tab.open(path, width=WIDTH, scheme=scheme, done=done)
        _scheme(tab, browser, scheme)
        tab.wait(done)
        if heading:
            found = f"[...document.querySelectorAll('h2, h3')].find((one) => one.innerText === {json.dumps(heading)})"
            # Below the bar that stays at the top of the page.
            tab.value(f"scrollTo(0, {found}.getBoundingClientRect().top + scrollY - 70)")
        _save(tab, browser, name, scheme)


def _scheme(tab: Tab, browser: Browser, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", tab._page, features=features)
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1.25, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", tab._page, **size)


def _save(tab: Tab, browser: Browser, name: str, scheme: str) -> None:
    # Two frames, so that everything is drawn again in the new size and colours.
    tab.value("window.__drawn = 0; requestAnimationFrame(() => requestAnimationFrame(() => { window.__drawn = 1; }))")
    tab.wait("window.__drawn")
    taken = browser.call("Page.captureScreenshot", tab._page, format="webp", quality=_QUALITY)
    (IMAGES / f"{name}-{scheme}.webp").write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def _folder(words: list[str]) -> Iterator[Path]:
    if words:
        Path(words[0]).mkdir(parents=True, exist_ok=True)
        yield Path(words[0])
        return
    with tempfile.TemporaryDirectory(prefix="assay-pictures-") as folder:
        yield Path(folder)


def main(words: list[str]) -> None:
    """Play, take the pictures, and say how large they are."""
    with _folder(words) as folder, running() as browser:
        play(folder)
        take(folder, browser)
    sizes = {path.name: path.stat().st_size for path in sorted(IMAGES.iterdir())}
    for name, size in sizes.items():
        print(f"{size / 1000:8.1f} kB  {name}")
    print(f"{sum(sizes.values()) / 1000:8.1f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
