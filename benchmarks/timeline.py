"""The timeline of an episode of a million events: server times of its parts, and frame times in Chromium."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from tests.report.browser import CHROMIUM, Browser, running
from tests.web.recordings import write_long_episode
from tests.web.test_browser import Tab, opened

from assay.chat.world.serving import LoopbackServer
from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site
from benchmarks.measuring import Result, at_most, show

EVENTS = 1_000_000
ASKED = 40
FRAMES = 120
SERVER_SECONDS = 0.050
FRAME_MS = 1000 / 60
_LOADED = "document.documentElement.dataset.timeline === 'done'"
# What the page does in each frame is timed from outside it.
_TIMED = """(() => {
  const ask = window.requestAnimationFrame.bind(window);
  window.frame = () => new Promise(ask);
  window.costs = [];
  window.requestAnimationFrame = (act) => ask((now) => {
    const start = performance.now(); act(now); window.costs.push(performance.now() - start);
  });
})()"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        recordings = Path(folder) / "recordings"
        recordings.mkdir()
        write_long_episode(recordings, events=EVENTS)
        with open_store(Path(folder) / "runs.db") as store:
            site = Site(store, folders=[recordings])
            with LoopbackServer(make_app(site, Access())) as server:
                listed = httpx.get(f"{server.url}/api/timeline/recordings").json()["recordings"]
                ids = {one["name"].rpartition("/")[2]: one["id"] for one in listed}
                query = f"predicted={ids['late.parquet']}&truth={ids['truth.parquet']}"
                results = _server_times(server.url, query)
                if CHROMIUM is None:
                    print("Chromium is not installed: frame times are left out")
                else:
                    results += _frame_times(server.url, query)
    show("Timeline", results)


def _server_times(base: str, query: str) -> list[Result]:
    with httpx.Client(base_url=base, timeout=120) as client:
        start = time.perf_counter()
        episode = client.get(f"/api/timeline/episode?{query}").raise_for_status().json()
        n = episode["true_events"] + episode["predicted_events"]
        print(f"{n:,} events of both sides, {episode['span_us'] / 1e6:,.0f} s: opened in {_since(start):.2f} s")
        span = episode["span_us"]
        places: dict[str, Callable[[int], str]] = {
            "matched again at another shift": lambda at: f"whole?shift={1000 * (at + 1)}",
            "tile of the whole": lambda at: f"tile?level=24&at=0&shift={1000 * (at % 8 + 1)}",
            "tile of 9 min": lambda at: f"tile?level=16&at={at % 12}",
            "tile of 8 s": lambda at: f"tile?level=10&at={at}",
            "window of 10 s": lambda at: f"window?from={at * span // 50}&to={at * span // 50 + 10**7}",
            "window of the whole": lambda at: f"window?from=0&to={span - at}",
            "next error": lambda at: f"error?after={at * span // 50}",
        }
        results = []
        for what, path in places.items():
            times, size = [], 0
            for at in range(ASKED):
                start = time.perf_counter()
                answer = client.get(f"/api/timeline/{path(at)}&{query}").raise_for_status()
                times.append(_since(start))
                size = max(size, len(answer.content))
            median = statistics.median(times)
            ours = f"{1000 * median:.0f} ms, at most {size / 1000:.0f} kB"
            wanted = f"{1000 * SERVER_SECONDS:.0f} ms"
            results.append(at_most(f"server: {what}", ours, wanted, median / SERVER_SECONDS, 1))
    return results


def _frame_times(base: str, query: str) -> list[Result]:
    results = []
    with running() as browser, opened(browser, base) as tab:
        browser.call("Page.addScriptToEvaluateOnNewDocument", tab.session, source=_TIMED)
        tab.open(f"/timeline?{query}", done=_LOADED)
        for what, steps in _walks():
            before = _cpu_seconds(browser)
            found = _timed(tab, steps)
            each = 1000 * (_cpu_seconds(browser) - before) / FRAMES
            frames, costs = sorted(found["frames"]), sorted(found["costs"])
            median, p95, p99 = (frames[int(share * (len(frames) - 1))] for share in (0.5, 0.95, 0.99))
            drawn = costs[int(0.95 * (len(costs) - 1))]
            ours = f"{median:.1f} ms, p95 {p95:.1f}, p99 {p99:.1f}; drawing p95 {drawn:.1f}, CPU {each:.1f}"
            # The browser itself is a little early or late.
            results.append(at_most(f"Chromium: {what}", ours, f"{FRAME_MS:.1f} ms", median / FRAME_MS, 1.05))
        f1 = tab.value("Number(document.querySelector('[data-timeline=shift-words]').textContent.split('F1 ')[1])")
        print(f"F1 {f1} with the slider where the curve peaks")
    return results


def _cpu_seconds(browser: Browser) -> float:
    """CPU time of all processes of the browser so far; other programs do not disturb it much."""
    return float(sum(one["cpuTime"] for one in browser.call("SystemInfo.getProcessInfo")["processInfo"]))


def _walks() -> Iterator[tuple[str, str]]:
    """What is done before each frame, as JavaScript of its number."""
    press = "main.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))"
    wheel = "main.dispatchEvent(new WheelEvent('wheel', {{deltaY: {}, clientX: 640, bubbles: true, cancelable: true}}))"
    yield "wheel from the whole down to 1 s", wheel.format("-36")
    yield "panning at 1 s", press.format("ArrowRight")
    yield "wheel out to the whole", wheel.format("36")
    yield "panning over all", wheel.format("at < 40 ? -12 : 0") + "; " + press.format("ArrowRight")
    slide = "slider.value = at < 110 ? 2 * at - 100 : 80; slider.dispatchEvent(new Event('input', {bubbles: true}))"
    yield "slider from −100 to 118 ms, then to the peak", slide


def _timed(tab: Tab, steps: str) -> Any:
    code = f"""(async () => {{
      const [main, slider] = ["main", "shift"].map((one) => document.querySelector(`[data-timeline=${{one}}]`));
      const frames = []; window.costs.length = 0;
      let before = await window.frame();
      for (let at = 0; at < {FRAMES}; at++) {{
        {steps};
        const now = await window.frame();
        frames.push(now - before); before = now;
      }}
      const done = {{ frames, costs: [...window.costs] }};
      while (!({_LOADED})) await window.frame();
      await new Promise((wake) => setTimeout(wake, 500));
      return JSON.stringify(done);
    }})()"""
    options = {"expression": code, "awaitPromise": True, "returnByValue": True}
    found = tab.browser.call("Runtime.evaluate", tab.session, **options)
    return json.loads(found["result"]["value"])


def _since(start: float) -> float:
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
