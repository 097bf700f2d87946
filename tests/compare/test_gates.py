"""Gates: what is parsed, what fails, and why."""

from __future__ import annotations

import io
from collections.abc import Callable
from xml.etree import ElementTree as Xml

import pytest

from assay.compare import Gates, Requirement, compare
from assay.errors import UsageError
from assay.report.export.junit import junit
from assay.report.export.markdown import markdown
from assay.report.html.compare import render
from assay.report.terminal.compare import comparison_table
from assay.types import Run

from .conftest import chat_run, run

Make = Callable[..., Run]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("accuracy>=0.9", Requirement("accuracy", "value", ">=", 0.9)),
        (" accuracy.low > .5 ", Requirement("accuracy", "low", ">", 0.5)),
        ("bias.high<=-1e-3", Requirement("bias", "high", "<=", -0.001)),
        ("mouse_metrics.dx_iqmpe<30", Requirement("mouse_metrics.dx_iqmpe", "value", "<", 30.0)),
        ("owa:comparable==1", Requirement("owa:comparable", "value", "==", 1.0)),
    ],
)
def test_requirements_are_read(text: str, parsed: Requirement) -> None:
    assert Requirement.parse(text) == parsed
    assert Requirement.parse(str(parsed)) == parsed


@pytest.mark.parametrize("text", ["", "accuracy", ">=0.9", "accuracy>=", "accuracy=0.9", "accuracy>=many", "a>=1.2.3"])
def test_a_text_that_is_not_a_requirement_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="is not a requirement"):
        Requirement.parse(text)


def test_a_requirement_holds_for_the_value_or_for_an_end(noisy: Make) -> None:
    comparison = compare(noisy(0.7), noisy(0.7, seed=2))
    value = comparison.line("metric_0").candidate.value
    assert value is not None
    assert not Requirement("metric_0", "value", ">=", value).failure(comparison)
    failure = Requirement("metric_0", "low", ">=", value).failure(comparison)
    assert "low end of its interval" in failure
    with pytest.raises(UsageError, match="Did you mean 'metric_0'"):
        Requirement.parse("metrik_0>=1").failure(comparison)


def test_an_undefined_metric_meets_no_requirement() -> None:
    a = chat_run({"x": {"accuracy": [[], []], "other": [[1.0], [0.9]]}})
    assert "has no value" in Requirement.parse("accuracy>=0").failure(compare(a, a))


def test_worse_fails_only_if_the_gate_rejects_it(noisy: Make) -> None:
    comparison = compare(noisy(0.7), noisy(0.4, seed=2))
    assert not [outcome for outcome in Gates().check([comparison]) if outcome.failure]
    failures = [outcome.failure for outcome in Gates(["worse"]).check([comparison]) if outcome.failure]
    assert len(failures) == 3
    assert "metric_0 is worse: 0.7" in failures[0]


def test_failures_fail_the_gate_though_failed_turns_have_no_scores() -> None:
    """From answers to the gate: who fails every second scenario answers the others as well as ever."""
    from assay.chat import ChatbotEvaluator
    from assay.chat.scoring.answers import Answer, Record
    from assay.chat.scoring.tallies import tallies_of

    said = "It is 5 °C and clear in Oslo, a fine day indeed."
    truth = {"current": {"city": "Oslo", "temperature": 5.0, "condition": "clear sky"}}
    entries = ChatbotEvaluator(metrics=["accuracy"]).evaluate_response("Weather in Oslo?", said, "x", truth)

    def answer(at: int, failed: bool) -> Answer:
        record = Record(status="failed", reason="boom") if failed else Record()
        return Answer(
            agent="x",
            scenario=f"s{at}",
            repetition=0,
            turn=0,
            query="",
            response=said,
            entries={} if failed else entries,
            passed=not failed,
            record=record,
        )

    steady, broken = (
        run("chat", tallies_of([answer(at, fails and at % 2 == 0) for at in range(20)])) for fails in (False, True)
    )
    comparison = compare(steady, broken)
    failures = [outcome.failure for outcome in Gates(["worse"]).check([comparison]) if outcome.failure]
    assert len(failures) == 1
    assert "trials_passed is worse: 1 → 0.5" in failures[0]
    assert comparison.line("accuracy").verdict.difference == 0


def test_unmeasured_means_undefined_in_the_candidate_only() -> None:
    a = chat_run({"x": {"accuracy": [[0.5], [0.6]], "never": [[], []]}})
    b = chat_run({"x": {"accuracy": [[], []], "never": [[], []]}})
    failures = [outcome for outcome in Gates(["unmeasured"]).check([compare(a, b)]) if outcome.failure]
    assert [outcome.name for outcome in failures] == ["accuracy"]
    assert not [outcome for outcome in Gates(["unmeasured"]).check([compare(b, a)]) if outcome.failure]


def test_inconclusive_says_how_many_cases_would_decide(noisy: Make) -> None:
    a, b = noisy(0.6, seed=2, scenarios=5), noisy(0.63, seed=3, scenarios=5)
    outcomes = Gates(["inconclusive"]).check([compare(a, b, margin=0.01)])
    assert "cases would decide" in outcomes[0].failure


def test_a_gate_cannot_fail_on_better() -> None:
    with pytest.raises(UsageError, match="cannot fail on 'better'"):
        Gates(["better"])


HOSTILE = '<script>alert("x")</script> & | `code` \x00]]>'


def test_every_format_shows_hostile_names_as_text() -> None:
    scores = [[0.1 * at] for at in range(8)]
    a = chat_run({HOSTILE: {"accuracy": scores}}, HOSTILE)
    b = chat_run({HOSTILE: {"accuracy": [[1.0]] * 8}}, "b")
    comparison = compare(a, b)
    gates = Gates(["worse", "inconclusive"], [Requirement.parse("accuracy>=2")])
    outcomes = gates.check([comparison])
    suite = Xml.fromstring(junit(outcomes)).find("testsuite")
    assert suite is not None
    assert suite.get("tests") == "2"
    assert suite.get("failures") == str(sum(bool(outcome.failure) for outcome in outcomes))
    assert HOSTILE.replace("\x00", "\ufffd") in (suite.get("name") or "")
    assert "<script>alert" not in render([comparison])
    text = markdown([comparison], [outcome for outcome in outcomes if outcome.failure])
    assert "<script" not in text.replace("\\<script", "")
    assert "The gate failed" in text


def test_metrics_that_neither_side_has_are_named_in_one_line() -> None:
    from rich.console import Console

    def side(name: str) -> Run:
        return chat_run(
            {"bot": {"accuracy": [[0.5], [0.7]], "groundedness": [[], []], "repeatability": [[], []]}}, name
        )

    for others in (["b"], ["b", "c"]):
        comparisons = [compare(side("a"), side(name)) for name in others]
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(comparison_table(comparisons))
        text = console.export_text()
        assert text.count("2 common scenarios") == 1
        assert "Not measured on either side: groundedness, repeatability." in text
        assert "unmeasured" not in text
        assert "accuracy" in text
        summary = markdown(comparisons)
        assert summary.count("Not measured on either side: groundedness, repeatability.") == len(others)
        assert "| groundedness" not in summary


def test_the_table_fits_80_columns(noisy: Make) -> None:
    from rich.console import Console

    for others in ([noisy(0.3, name="candidate", seed=2)], [noisy(0.5, name="one"), noisy(0.9, name="two")]):
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(comparison_table([compare(noisy(name="baseline"), other) for other in others]))
        text = console.export_text()
        assert max(map(len, text.splitlines())) <= 80
        assert "worse" in text
        assert "…" not in text
