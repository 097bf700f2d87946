"""What works here and what does not, with remedies: versions, extras, compiled code, the store, a browser, endpoints.

Nothing is asked of the network but the endpoints that the environment or the caller names, and no key is printed.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from assay import __version__
from assay.errors import AssayError
from assay.plural import counted
from assay.redaction import redacted

_DISTRIBUTION = "assay-agents"
# "numba>=0.61; extra == 'events'", and "assay-agents[store]; …" for an extra within an extra.
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;.*\bextra\s*==\s*['\"]([^'\"]+)['\"])?")
_INTERNAL = {"dev", "docs"}
_SECONDS = 5.0

SetupState = Literal["ok", "absent", "broken"]


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """One thing that was looked at."""

    name: str
    condition: SetupState
    """'absent' is something that can be installed or set up; 'broken' is something that is there and fails."""
    says: str
    remedy: str = ""


def examine(*, store: str | None = None, urls: tuple[str, ...] = ()) -> Iterator[SetupCheck]:
    """Every check, one after the other.

    Example:
        >>> next(examine()).condition
        'ok'

    """
    yield SetupCheck(
        "assay", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    )
    yield from _extras()
    yield _compiled_code()
    yield _store(store)
    yield _browser()
    named = [*urls, *(url for name in ("OPENAI_BASE_URL",) if (url := os.environ.get(name)))]
    for url in dict.fromkeys(named):
        yield _endpoint(url)
    if not named:
        has_key = bool(os.environ.get("OPENAI_API_KEY"))
        yield SetupCheck(
            "model",
            "ok" if has_key else "absent",
            "OPENAI_API_KEY is set; no address was tried" if has_key else "no endpoint is named",
            "" if has_key else "The scripted model needs none. For another: OPENAI_BASE_URL, or --url ADDRESS here",
        )


def extras_of() -> dict[str, list[str]]:
    """The distributions that each extra needs, those of extras within it included."""
    direct: dict[str, list[str]] = {}
    within: dict[str, list[str]] = {}
    for line in importlib.metadata.requires(_DISTRIBUTION) or []:
        found = _REQUIREMENT.match(line)
        if found is None or not found[3]:
            continue
        if found[1].lower().replace("_", "-") == _DISTRIBUTION:
            within.setdefault(found[3], []).extend(name.strip() for name in (found[2] or "").split(","))
        else:
            direct.setdefault(found[3], []).append(found[1])

    def whole(extra: str, above: tuple[str, ...] = ()) -> list[str]:
        deeper = [name for name in within.get(extra, []) if name not in above]
        names = [*direct.get(extra, []), *(one for name in deeper for one in whole(name, (*above, extra)))]
        return list(dict.fromkeys(names))

    return {extra: whole(extra) for extra in sorted({*direct, *within}) if extra not in _INTERNAL}


def _extras() -> Iterator[SetupCheck]:
    try:
        extras = extras_of()
    except importlib.metadata.PackageNotFoundError:
        yield SetupCheck(
            "extras", "broken", "assay is not installed as a package", 'Run: pip install "assay-agents[all]"'
        )
        return
    for extra, needed in extras.items():
        missing = [name for name in needed if _version(name) is None]
        name = f"extra {extra}"
        if missing:
            listed = ", ".join(missing[:4]) + (" …" if len(missing) > 4 else "")
            yield SetupCheck(name, "absent", f"without {listed}", f'pip install "{_DISTRIBUTION}[{extra}]"')
        else:
            yield SetupCheck(name, "ok", counted(len(needed), "package"))


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiled_code() -> SetupCheck:
    try:
        from assay.events.compiled import cache_folder
    except ImportError:
        return SetupCheck(
            "compiled code", "absent", "scoring events needs numba", f'pip install "{_DISTRIBUTION}[events]"'
        )
    return SetupCheck("compiled code", "ok", f"kept in {cache_folder()}")


def _store(address: str | None) -> SetupCheck:
    from assay.extras import has_extras
    from assay.store import VARIABLE, open_store

    if not has_extras("store"):
        return SetupCheck("store", "absent", "keeping runs needs sqlalchemy", f'pip install "{_DISTRIBUTION}[store]"')
    from assay.store.searching import Search

    try:
        with open_store(address) as store:
            return SetupCheck(
                "store", "ok", f"{redacted(store.address)}, {counted(store.search(Search(), limit=1).stored, 'run')}"
            )
    except (AssayError, OSError) as error:
        return SetupCheck("store", "broken", redacted(str(error)), f"Name another: --store, or {VARIABLE}")


def _browser() -> SetupCheck:
    import webbrowser

    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return SetupCheck("browser", "absent", "none was found", "assay serve prints its address; open it elsewhere")
    return SetupCheck("browser", "ok", getattr(found, "name", type(found).__name__))


def _endpoint(url: str) -> SetupCheck:
    name, shown = "endpoint", redacted(url)
    try:
        import httpx
    except ImportError:
        return SetupCheck(name, "absent", f"{shown}: needs httpx", f'pip install "{_DISTRIBUTION}[agents]"')
    key = os.environ.get("OPENAI_API_KEY", "")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        response = httpx.get(f"{url.rstrip('/')}/models", headers=headers, timeout=_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return SetupCheck(name, "broken", f"{shown}: {redacted(str(error)) or type(error).__name__}", "Is it running?")
    if response.status_code in (401, 403):
        return SetupCheck(name, "broken", f"{shown}: refuses the key ({response.status_code})", "Set OPENAI_API_KEY")
    if response.status_code >= 500:
        return SetupCheck(name, "broken", f"{shown}: answers with {response.status_code}", "Look at its log")
    return SetupCheck(name, "ok", f"{shown}: answers")
