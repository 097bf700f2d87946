"""Hostile text in every field of a run, shown by every page, report, table and export; and secrets in every shape."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from starlette.testclient import TestClient

from assay.redaction import redacted, redacted_command, redacted_value
from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site
from tests.attacks import Attack, Outcomes
from tests.attacks.terminal import OBEYED
from tests.command import assay_command

# A backslash before it makes a sign of Markdown text.
_TAG = re.compile(r"(?<!\\)<x-injected")
_SCRIPT = re.compile(r'(<script type="application/json"[^>]*>).*?</script>', re.DOTALL)


def payloads_in_every_page(times: int, folder: Path) -> Outcomes:
    """Text that ends scripts, styles, attributes and comments: no page has a tag, a handler or a link of it."""
    from tests.web.test_hostile import Tags, fill, pages_of

    with open_store(folder / "runs.db") as store:
        fill(store)
        client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1")
        for path, query in pages_of(store)[: times or None]:
            page = client.get(path, params=query).text  # type: ignore[arg-type]
            seen = Tags(_SCRIPT.sub("", page))
            safe = all(link.startswith(("/", "#", "data:")) for link in seen.links)
            held = "x-injected" not in seen.found and not seen.handlers and safe and "<x-injected" not in page
            yield None if held else f"{path} took text for HTML"
        runs = [entry.run.id for entry in store.list()]
    for number, run in enumerate(runs):
        for suffix in ("html", "md", "json", "csv", "xml"):
            file = folder / f"{number}.{suffix}"
            done = assay_command("runs", "export", run, file, "--store", folder / "runs.db")
            text = file.read_text("utf-8") if file.exists() else ""
            fell = "Traceback" in done.stderr or (suffix in ("html", "md") and _TAG.search(_SCRIPT.sub("", text)))
            yield f"export of {suffix}: {done.stderr[-100:]}" if fell else None
        for words in (("runs", "show", run), ("runs", "list"), ("decide", run), ("compare", run, run)):
            done = assay_command(*words, "--store", folder / "runs.db")
            shown = done.stdout + done.stderr
            yield f"{words[0]} {words[1]} shows escapes" if OBEYED.search(shown) or "Traceback" in shown else None


_WRAPPED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in a sentence": lambda text: f"The agent said: {text} and then stopped.",
    "in JSON": lambda text: json.dumps({"error": text}),
    "in JSON in JSON": lambda text: json.dumps({"body": json.dumps({"error": text})}),
    "as Python writes it": lambda text: repr([text]),
    "after many lines": lambda text: "line\n" * 500 + text,
    "in an exception": lambda text: f"Traceback (most recent call last):\nValueError: {text}",
    "with Windows lines": lambda text: f"first\r\n{text}\r\nlast",
    "indented": lambda text: "\n".join("    " + line for line in text.splitlines()),
}


def secrets_in_every_shape(times: int, folder: Path) -> Outcomes:
    """Keys, headers, cookies, addresses and private keys, wrapped as programs write them."""
    from tests.test_redaction import SHAPES, K

    parts = [K[at : at + 5] for at in range(len(K) - 4)]
    for shape, text in SHAPES.items():
        for how, wrap in _WRAPPED.items():
            given = wrap(text)
            kept = redacted(given), str(redacted_value({"x": [given]})), redacted_command(["assay", "x", given])
            fell = next((part for part in parts for one in kept if part in one), None)
            yield f"{shape}, {how}: {fell} is left" if fell else None
    for shape, text in SHAPES.items():
        encoded = redacted(f"next={quote(text, safe='')}")
        yield f"{shape}, percent-encoded: left" if any(part in encoded for part in parts) else None


ATTACKS = [
    # Tried in `make test` by tests/web/test_hostile.py and tests/test_redaction.py.
    Attack("hostile text in every page, report and table", payloads_in_every_page, 0, 100),
    Attack("secrets in every shape", secrets_in_every_shape, 0, 1),
]
