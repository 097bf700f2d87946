"""The pytest plug-in, as a user's test suite sees it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assay.chat import samples
from assay.chat.transcript import write_jsonl
from assay.events import synthetic
from assay.events.protocols import every_protocol
from assay.pytest_plugin import AssayFixture
from assay.types import Case, Distribution, Run

pytest_plugins = ["pytester"]

HEAD = """
from assay.events import synthetic
from assay.types import Case, Distribution, Estimate, Run

TRUTH = synthetic.recording(episodes=4, seconds=5)
GOOD = synthetic.prediction(TRUTH, synthetic.GOOD, seed=1)
"""


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what the inner tests use: a module that is first imported by one of them is forgotten after it."""
    truth = synthetic.recording(episodes=2, seconds=1)
    fixture = AssayFixture()
    fixture.events(truth, truth, protocols=every_protocol())
    write_jsonl(samples.transcripts(), path := tmp_path_factory.mktemp("loaded") / "said.jsonl")
    fixture.transcripts(path, agent="careful")
    fixture.compare(some_run(), some_run())


def some_run() -> Run:
    return Run("id", "chat", "run", "", "", {}, 42, {}, {}, {}, {"agent": {Case("s"): {"m": Distribution.of([1.0])}}})


def outcome(pytester: pytest.Pytester, body: str, *, own_process: bool = False) -> pytest.RunResult:
    pytester.makepyfile(HEAD + body)
    run = pytester.runpytest_subprocess if own_process else pytester.runpytest_inprocess
    # Plug-ins of other packages take longer to load than the tests to run.
    others = ("cacheprovider", "langsmith_plugin", "schemathesis")
    return run("-q", *(word for name in others for word in ("-p", f"no:{name}")))


@pytest.mark.slow
def test_estimates_are_asserted_by_their_interval(pytester: pytest.Pytester) -> None:
    result = outcome(
        pytester,
        """
def test_passes(assay):
    found = assay.events(GOOD, TRUTH)
    found.at_least("comparable", 0.8).at_most("timestamp_abs_error_p95_ms", 100)
    assert found["comparable"].n == len(TRUTH)

def test_fails(assay):
    assay.events(GOOD, TRUTH).at_least("comparable", 0.9999)

def test_several_protocols(assay):
    assay.events(GOOD, TRUTH, protocols=("owa", "d2e")).at_least("owa:comparable", 0.8)
""",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*comparable of assay@1, owa@1 should be at least 0.9999 by the lower end of its interval: "
            "value 0.9*, 95% interval*"
        ]
    )
    result.stdout.fnmatch_lines(["*n = *from 4 episodes*"])


@pytest.mark.slow
def test_a_metric_without_interval_or_value_fails_unless_asserted_by_value(pytester: pytest.Pytester) -> None:
    result = outcome(
        pytester,
        """
def test_by_value(assay):
    assay.estimates({"m": Estimate(0.8, n=3)}).at_least("m", 0.8, by="value").at_most("m", 0.8, by="value")

def test_no_interval(assay):
    assay.estimates({"m": Estimate(0.8, n=3)}).at_least("m", 0.8)

def test_no_value(assay):
    assay.estimates({"m": Estimate(None, n_skipped=7)}).at_most("m", 0.8, by="value")

def test_unknown(assay):
    assay.estimates({"accuracy": Estimate(0.8)}).at_least("acuracy", 0.8)
""",
        own_process=True,
    )
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "*without an interval, assert with by='value'*",
            "*nothing was measured (7 skipped)*",
            "*Did you mean 'accuracy'*",
        ]
    )


@pytest.mark.slow(seconds=2)
def test_transcripts_are_asserted_by_scenario(pytester: pytest.Pytester) -> None:
    result = outcome(
        pytester,
        """
import json
import pytest

@pytest.fixture
def file(tmp_path):
    path = tmp_path / "transcripts.jsonl"
    truth = {"city": "Rome", "temp": 20.0, "condition": "clear"}
    turn = {"user": "How is the weather in Rome?", "assistant": "In Rome it is 20 °C and clear.", "truth": truth}
    rows = [{"agent": "a", "scenario": f"s{at}", "turns": [turn]} for at in range(6)]
    path.write_text("\\n".join(json.dumps(row) for row in rows))
    return path

def test_answers(assay, file):
    found = assay.transcripts(file)
    assert found["task_completion"].unit == "scenario"
    found.at_least("task_completion", 0.2)

def test_agent(assay, file):
    assay.transcripts(str(file), agent="nobody")
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Name one with agent=: a*"])


@pytest.mark.slow
def test_a_comparison_is_asserted_by_its_calls(pytester: pytest.Pytester) -> None:
    result = outcome(
        pytester,
        """
def run(score):
    cases = {Case(f"s{at}"): {"accuracy": Distribution.of([score - at / 200])} for at in range(80)}
    return Run("id", "chat", "run", "", "", {}, 42, {}, {}, {}, {"agent": cases})

def test_same(assay):
    assay.compare(run(0.9), run(0.9)).none("worse", "inconclusive")

def test_worse(assay):
    assay.compare(run(0.9), run(0.7)).none("worse")
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*accuracy is worse: 0.7*"])


@pytest.mark.slow
def test_starting_pytest_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest; pytest.main(['--version']); "
        "found = {'numpy', 'numba', 'pyarrow', 'rich'} & {name.split('.')[0] for name in sys.modules}; "
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    alone = "import sys, assay.pytest_plugin; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", alone], check=True, timeout=60)


@pytest.mark.slow
def test_a_suite_is_run_and_its_trials_are_asserted(pytester: pytest.Pytester) -> None:
    result = outcome(
        pytester,
        """
import pytest
from assay import chat

@pytest.fixture(scope="module")
def played(assay):
    suite = chat.load_suite("weather").select(kinds=["small_talk"], limit=2)
    return assay.run(suite, {"polite": lambda message: "Hello!", "rude": lambda message: "It is 21 °C in Rome."})

def test_share(played):
    played.passes(0.0)

def test_all(played):
    played.passes(agent="rude")

def test_metrics(played):
    played.metrics("polite").at_least("trials_passed", 0.0, by="value")
""",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*rude passes * of * trials; all of them should pass*"])
