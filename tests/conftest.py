"""What every test may count on: the same hypothesis examples on every machine, and a separate store of runs.

Deterministic profile: no race with a clock. Store: a test that evaluates must not write into its user's own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from assay.chat.running.hosts.template import use_templates

_TESTS = Path(__file__).parent.resolve()
_EVENTS = _TESTS / "events"
# Modules that share what is dear stay in one worker: imported frameworks or scipy, processes that have imported a
# framework, a page and its store, a PostgreSQL, a browser. What they share, by how their paths begin.
_TOGETHER = {
    "tests/chat/agents/": "frameworks",
    "tests/chat/running/": "processes of frameworks",
    "tests/report/html/": "browser",
    "tests/stats/": "scipy",
    "tests/store/": "PostgreSQL",
    "tests/test_cli_agents.py": "processes of frameworks",
    "tests/web/": "page",
}
# Modules that score events through commands and documentation only; others are known by what they import.
_USES_EVENTS = frozenset(
    f"{_TESTS}/{name}.py"
    for name in (
        "attacks/test_attacks",
        "report/html/test_hostile",
        "store/test_commands",
        "test_cli_compare",
        "test_cli_events",
        "test_docs",
        "test_public",
        "test_tutorials",
    )
)

settings.register_profile(
    "assay",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("assay")
# Neither modules nor tests are ever garbage, and looking for some while they are collected took a sixth of that time.
gc.set_threshold(100_000, 50, 100)


@pytest.fixture(autouse=True, scope="session")
def _own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("ASSAY_STORE")
    os.environ["ASSAY_STORE"] = str(tmp_path_factory.mktemp("store") / "runs.db")
    yield
    if before is None:
        del os.environ["ASSAY_STORE"]
    else:
        os.environ["ASSAY_STORE"] = before


@pytest.fixture(autouse=True, scope="session")
def _templates() -> Iterator[None]:
    """Import each framework once for a hundred processes of agents; what starts `assay` itself does not use this."""
    with use_templates():
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Leave the asserts of assay itself alone.

    Pytest rewrites those of every package with a plug-in, which takes each worker a second and makes files that no
    other process can use.
    """
    hook = config.pluginmanager.rewrite_hook
    getattr(hook, "_must_rewrite", set()).discard("assay")


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: now and then a test waits for a process, a browser or a retry."""
    return (os.cpu_count() or 1) + 1


class _TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A module's tests stay in one worker, and so do those of modules that share something."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _TogetherScheduling:
    return _TogetherScheduling(config, log)


@pytest.fixture(scope="session")
def compiled_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile what scores events in one worker; the others wait and then read the compiled code from its cache."""
    from fcntl import LOCK_EX, flock

    from assay.events import evaluate, synthetic
    from assay.events.protocols import every_protocol

    shared = tmp_path_factory.getbasetemp().parent / "compiling"
    with shared.open("w") as lock:
        flock(lock, LOCK_EX)
        tokens = synthetic.token_text(synthetic.recording(episodes=1, seconds=2, seed=1))
        evaluate(tokens, tokens, protocols=tuple(every_protocol()), reps=2)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import all test modules, in each worker beginning with another part of them.

    On a fresh clone pytest rewrites the asserts of every module, and Python compiles what it imports. Workers that go
    through the modules side by side would all do all of it; so each does its part and reads what the others did.
    """
    about: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if about is None or [Path(given).resolve() for given in session.config.args] != [_TESTS]:
        return
    ignored = [Path(given).resolve() for given in session.config.getoption("ignore") or ()]
    found = [path for path in sorted(_TESTS.rglob("test_*.py")) if not any(map(path.is_relative_to, ignored))]
    first = int(about["workerid"].removeprefix("gw")) * len(found) // about["workercount"]
    for path in found[first:] + found[:first]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting reports what is wrong with it
            importlib.import_module(".".join(path.relative_to(_TESTS.parent).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest modules and groups first, so that no worker begins one when the others are about to finish.

    How long is known from the marker `slow`, which says the seconds if they are many: `slow(seconds=40)`.
    """
    modules = {item.getparent(pytest.Module) for item in items}
    scoring = {module for module in modules if module is not None and _scores_events(module)}
    for item in items:
        if item.getparent(pytest.Module) in scoring:
            item.fixturenames.insert(0, "compiled_kernels")  # type: ignore[attr-defined]
    seconds: defaultdict[str, float] = defaultdict(float)
    for item in items:
        if (slow := item.get_closest_marker("slow")) is not None:
            seconds[_scope(item.nodeid)] += slow.kwargs.get("seconds", 0.5)
    items.sort(key=lambda item: -seconds[_scope(item.nodeid)])


def _scores_events(module: pytest.Module) -> bool:
    """Whether a module's tests may call compiled code, which workers would otherwise compile side by side."""
    if module.path.is_relative_to(_EVENTS) or str(module.path) in _USES_EVENTS:
        return True
    homes = (getattr(value, "__module__", getattr(value, "__name__", "")) for value in vars(module.obj).values())
    return any(isinstance(home, str) and home.startswith("assay.events") for home in homes)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from going through thousands of tests and all modules again and again.

    None of them is ever garbage, and looking took an eighth of the processor's time.
    """
    gc.freeze()


def _scope(nodeid: str) -> str:
    """What the module of a test shares with others, or the module."""
    shared = (what for path, what in _TOGETHER.items() if nodeid.startswith(path))
    return next(shared, nodeid.split("::")[0])
