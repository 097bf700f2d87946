"""Public names: each package lists its names, each name is documented, and each function has an example."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.result import Result

PACKAGES = ("chat", "compare", "events", "logs", "report", "runs", "stats")


def public(package: str) -> dict[str, Any]:
    module = importlib.import_module(f"assay.{package}")
    return {name: getattr(module, name) for name in module.__all__}


FUNCTIONS = sorted(
    {found.__module__ + "." + name: found for package in PACKAGES for name, found in public(package).items()
     if inspect.isfunction(found)}.items()
)  # fmt: skip


def test_assay_lists_its_packages() -> None:
    assert set(PACKAGES) <= set(dir(assay))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_its_public_names_once(package: str) -> None:
    module = importlib.import_module(f"assay.{package}")
    assert len(module.__all__) == len(set(module.__all__))
    assert set(module.__all__) <= set(dir(module))
    assert module.__doc__


def test_a_name_means_one_thing_in_all_packages() -> None:
    seen: dict[str, tuple[str, Any]] = {}
    for package in PACKAGES:
        for name, found in public(package).items():
            if name in ("compare",):  # assay.runs.compare takes references, assay.compare.compare what they stand for
                continue
            other = seen.setdefault(name, (package, found))
            assert other[1] is found, f"assay.{package}.{name} is not assay.{other[0]}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_documented(package: str) -> None:
    for name, found in public(package).items():
        if inspect.isclass(found) or inspect.isfunction(found):
            assert inspect.getdoc(found), f"assay.{package}.{name} has no docstring"


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
@pytest.mark.slow
def test_every_public_function_has_an_example_that_runs(
    name: str, function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = vars(importlib.import_module(function.__module__)).copy()
    found = doctest.DocTestFinder(recurse=False).find(function, name, globs=space)
    examples = [test for test in found if test.examples]
    assert examples, f"{name} has no example"
    printed: list[str] = []
    for test in examples:
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=printed.append)
    assert not printed, "".join(printed)


def results() -> Iterator[tuple[str, Result]]:
    from assay import chat, events
    from assay.compare import compare

    truth = events.synthetic.recording(episodes=3, seconds=2, seed=1)
    report = events.evaluate(events.synthetic.prediction(truth, events.synthetic.GOOD, seed=1), truth)
    yield "events", report
    yield "compare", compare(report, events.evaluate(truth, truth))
    turn = chat.Turn(user="Is it <b>wet</b> in Rome?", assistant="It is dry in Rome, 21 °C.")
    yield "chat", chat.score([chat.Transcript(agent="<i>bot</i>", scenario=name, turns=[turn]) for name in "ab"])
    yield "agents", chat.run("weather", {"<i>bot</i>": lambda message: "It is 21 °C."}, limit=2)


@pytest.fixture(scope="module")
def every_result() -> dict[str, Result]:
    return dict(results())


@pytest.mark.parametrize("kind", ["events", "compare", "chat", "agents"])
@pytest.mark.slow
def test_every_result_prints_and_exports_itself(
    kind: str, every_result: dict[str, Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = every_result[kind]
    result.print()
    assert capsys.readouterr().out.strip()
    assert result.html(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert isinstance(result.to_json(), dict)
    frame = result.to_pandas()
    assert len(frame) == len(result.rows()) > 0
    shown = result._repr_html_()
    assert shown.startswith("<table>")
    assert "<i>" not in shown, "names are escaped"


def test_a_result_can_be_awaited_in_a_running_loop() -> None:
    import asyncio

    from assay import chat

    async def in_a_notebook() -> list[str]:
        result = await chat.run("weather", {"mine": lambda message: "It is 21 °C."}, limit=1)
        return result.agents

    assert asyncio.run(in_a_notebook()) == ["mine"]
