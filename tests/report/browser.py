"""One real browser for many pages: Chromium without a window, spoken to through its DevTools pipe.

Starting it takes seconds and opening a page takes a fraction of one. Each page is opened in a browsing context of its
own (no storage, cache or window in common with another page), and is closed once it has been read.
"""

from __future__ import annotations

import itertools
import json
import os
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The shell is Chromium without what draws windows: the same pages for two thirds of the processor's time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
LIGHT, DARK = "light", "dark"
CHARTS = "document.documentElement.dataset.charts === 'done'"
"""Holds once a report has drawn its charts."""
_SECONDS = 180.0


@dataclass
class Browser:
    """A running browser. Commands and their answers are JSON, each ended by a zero byte."""

    commands: int
    answers: int
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _unread: bytes = b""
    _events: list[dict[str, Any]] = field(default_factory=list)

    def opened(
        self, path: Path, *, width: int = 1280, scheme: str = LIGHT, done: str = "true"
    ) -> tuple[str, list[str]]:
        """The page's elements once it is loaded and the expression `done` holds, and what the console said."""
        with self.page(path.as_uri(), width=width, scheme=scheme, done=done) as page:
            return page.dom, page.console

    @contextmanager
    def page(self, address: str, *, width: int = 1280, scheme: str = LIGHT, done: str = "true") -> Iterator[Page]:
        """A page that is loaded and for which the expression `done` holds."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        try:
            self._events.clear()
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable", session)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            self.call("Emulation.setEmulatedMedia", session, features=features)
            page = Page(self, session)
            page.resize(width)
            self.call("Page.navigate", session, url=address)
            self._wait_for_event("Page.loadEventFired", session)
            page.wait(done)
            yield page
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def evaluate(self, expression: str, page: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", page, expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def call(self, method: str, session: str | None = None, /, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come between are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            if "method" in answer:
                self._events.append(answer)

    def _wait_for_event(self, method: str, session: str) -> None:
        while not any(event["method"] == method and event.get("sessionId") == session for event in self._events):
            self._events.append(self._read())

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _SECONDS
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.answers, selectors.EVENT_READ)
            while b"\0" not in self._unread:
                if not waiting.select(deadline - time.monotonic()):
                    raise TimeoutError("the browser does not answer")
                piece = os.read(self.answers, 2**20)
                if not piece:
                    raise RuntimeError("the browser ended")
                self._unread += piece
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


@dataclass(frozen=True)
class Page:
    """A page that is open."""

    browser: Browser
    session: str

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, whose own policy does not apply to it."""
        return self.browser.evaluate(expression, self.session)

    def wait(self, expression: str) -> None:
        """Wait until an expression holds."""
        deadline = time.monotonic() + _SECONDS
        while not self.value(f"!!({expression})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.value('document.title')}: not {expression}; console: {self.console}")
            time.sleep(0.02)

    def resize(self, width: int) -> None:
        """Change the width of the window."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.browser.call("Emulation.setDeviceMetricsOverride", self.session, **size)

    @property
    def dom(self) -> str:
        """The page's elements as they are now."""
        return str(self.value("document.documentElement.outerHTML"))

    @property
    def console(self) -> list[str]:
        """What the console said since the page was opened."""
        return [said for event in self.browser._events if (said := _console(event, self.session))]


@contextmanager
def running() -> Iterator[Browser]:
    """Start the browser, and end it afterwards."""
    commands_read, commands_write = os.pipe()
    answers_read, answers_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="assay-browser-", ignore_cleanup_errors=True) as folder:
        words = [
            str(CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
            # No window but those of the pages: the first one, with its toolbar, takes most of a second.
            *("--allow-file-access-from-files", "--hide-scrollbars", "--remote-debugging-pipe", "--no-startup-window"),
            f"--user-data-dir={folder}",
        ]
        quiet = [(os.POSIX_SPAWN_OPEN, out, os.devnull, os.O_WRONLY, 0) for out in (1, 2)]
        # The browser reads commands from descriptor 3 and writes answers to 4.
        pipes = [(os.POSIX_SPAWN_DUP2, commands_read, 3), (os.POSIX_SPAWN_DUP2, answers_write, 4)]
        process = os.posix_spawn(words[0], words, os.environ, file_actions=[*quiet, *pipes])
        os.close(commands_read)
        os.close(answers_write)
        try:
            yield Browser(commands_write, answers_read)
        finally:
            # It ends as soon as nobody can command it.
            os.close(commands_write)
            os.close(answers_read)
            _wait(process)


def _wait(process: int) -> None:
    deadline = time.monotonic() + 10
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _console(event: dict[str, Any], page: str) -> str:
    """What an event adds to the console of a page; empty if nothing."""
    if event.get("sessionId") != page:
        return ""
    given = event.get("params", {})
    if event["method"] == "Runtime.consoleAPICalled":
        return " ".join(str(one.get("value", one.get("description"))) for one in given["args"]) or given["type"]
    if event["method"] == "Runtime.exceptionThrown":
        return str(given["exceptionDetails"].get("text"))
    if event["method"] == "Log.entryAdded":
        return str(given["entry"]["text"]) or str(given["entry"]["level"])
    return ""
