"""A third-party package adds a metric, a domain and an agent by entry point, really installed, no edit elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "plugins" / "assay-sample"

PROGRAM = """
import json
from assay.chat import ChatbotEvaluator
weather = ChatbotEvaluator().evaluate_response("Hi", "Good morning, and thank you for asking.", "agent")
library = ChatbotEvaluator(domain="library").evaluate_response(
    "How long may I keep Emma?", "Emma is yours for 3 weeks.", "agent", {"book": "Emma", "days": 28}
)
print(json.dumps({"courtesy": weather["courtesy"], "accuracy": library["accuracy"]}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    # A copy, so that a build leaves nothing behind in the repository.
    source = shutil.copytree(SAMPLE, tmp_path_factory.mktemp("source") / "sample")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--target",
            str(target),
            str(source),
        ],
        check=True,
        capture_output=True,
    )
    return target


def environment(installed: Path) -> dict[str, str]:
    """Finds the package before everything else."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))}


@pytest.mark.slow
def test_an_installed_package_adds_a_metric_and_a_domain(installed: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(installed),
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(run.stdout)
    assert result["courtesy"]["score"] == 0.9
    assert [line["words"] for line in result["courtesy"]["evidence"]] == ["Good morning", "thank you"]
    # 3 weeks are 21 days, 7 too few.
    assert result["accuracy"]["score"] == 0.7


@pytest.mark.slow
def test_an_installed_package_adds_an_agent(installed: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "assay.cli", "chat", "run", "--agents", "porter", "--scenarios", "current-helsinki",
         "--no-experience", "--no-store", "--json", "-"],
        env=environment(installed), capture_output=True, text=True, check=True,
    )  # fmt: skip
    [answer] = json.loads(run.stdout)["answers"]
    assert answer["record"]["status"] == "scored"
    assert answer["metrics"]["accuracy"]["score"] == 1.0
    assert answer["metrics"]["groundedness"]["score"] == 1.0


def test_without_the_package_they_are_not_there() -> None:
    from assay.chat import AGENTS, DOMAINS, METRICS

    assert "porter" not in AGENTS.names()
    assert "courtesy" not in METRICS.names()
    assert "library" not in DOMAINS.names()
