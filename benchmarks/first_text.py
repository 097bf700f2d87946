"""Time from the moment at which an agent gives its first text to the moment at which a reader has it.

The agent says what time it is, so that whoever reads it can tell how long it took: a client that reads the bytes of the
stream, and the page in Chromium.
"""

from __future__ import annotations

import json
import statistics
import time

import httpx
from tests.report.browser import CHROMIUM, running
from tests.web.test_browser import opened

from benchmarks.measuring import Result, at_most

WANTED_MS = 20.0
TURNS = 20
AGENT = "clock=benchmarks.talking_clock:answer"
"""The agent, as `assay serve --agents` takes it."""
_NAME = AGENT.partition("=")[0]
# When the page has shown the first text of the latest turn, in ms since 1970; the text is the agent's own time.
_WATCHED = """(() => {
  window.firsts = [];
  new MutationObserver(() => {
    const last = document.querySelector('[data-live="turns"] > :last-child .streaming');
    if (!last || !last.textContent || last.seen) return;
    last.seen = true;
    window.firsts.push(performance.timeOrigin + performance.now() - Number(last.textContent.split(" ")[0]));
  }).observe(document.body, {subtree: true, childList: true, characterData: true});
})()"""

_ASKED = """(() => {
  document.querySelector('[data-live=message]').value = "What time is it?";
  document.querySelector('[data-live=form]').requestSubmit();
})()"""


def first_text_results(base: str) -> list[Result]:
    """The medians, for the bytes and for the page; `base` serves the agent."""
    found = {"a client": _by_client(base)}
    if CHROMIUM is None:
        print("Chromium is not installed: the first text is measured with a client only")
    else:
        found["Chromium"] = _by_browser(base)
    results = []
    for who, times in found.items():
        median = statistics.median(times)
        ours = f"{median:.1f} ms, at most {max(times):.0f} ms"
        what = f"first text from the agent to {who}, {len(times)} turns"
        results.append(at_most(what, ours, f"{WANTED_MS:g} ms", median / WANTED_MS, 1))
    return results


def _by_client(base: str) -> list[float]:
    times = []
    with httpx.Client(base_url=base, timeout=60, headers={"x-assay": "1"}) as client:
        at = client.post("/live", data={"agent": _NAME}).headers["location"]
        for _ in range(TURNS):
            with client.stream("POST", f"{at}/say", json={"message": "What time is it?"}) as stream:
                kind = ""
                for line in stream.iter_lines():
                    now = 1000 * time.time()
                    if line.startswith("event: "):
                        kind = line.removeprefix("event: ")
                    elif line.startswith("data: ") and kind == "piece":
                        said = json.loads(line.removeprefix("data: "))["text"]
                        if said[:1].isdigit():
                            times.append(now - float(said))
    return times


def _by_browser(base: str) -> list[float]:
    with httpx.Client(base_url=base, timeout=60, headers={"x-assay": "1"}) as client:
        at = client.post("/live", data={"agent": _NAME}).headers["location"]
    with running() as browser, opened(browser, base) as tab:
        tab.open(at)
        tab.value(_WATCHED)
        for turn in range(TURNS):
            tab.value(_ASKED)
            tab.wait(f"document.documentElement.dataset.turns === '{turn + 1}'")
        times: list[float] = tab.value("window.firsts")
        return times
