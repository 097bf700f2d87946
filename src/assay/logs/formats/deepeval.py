"""Test runs of DeepEval (JSON): a case is a test case by name, with a score for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions


class DeepEvalRun:
    """What DeepEval writes into DEEPEVAL_RESULTS_FOLDER, and `.deepeval/.latest_test_run.json`."""

    title = "DeepEval"
    lower_is_better: frozenset[str] = frozenset()

    def recognises(self, content: LogContent) -> bool:
        run = _run(content)
        return isinstance(run.get("testCases"), list) and ("metricsScores" in run or "testPassed" in run)

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        run = _run(content)
        settings = run.get("hyperparameters")
        model = settings.get("model") if isinstance(settings, Mapping) else None
        agent = words(run.get("identifier") or model)
        talks = run.get("conversationalTestCases")
        for at, case in enumerate(chain(run["testCases"], talks if isinstance(talks, list) else ())):
            if not isinstance(case, Mapping):
                raise SourceError("is not a test case", where=f"{content.path}: testCases[{at}]")
            yield _answer(case, agent, at)


def _run(content: LogContent) -> Mapping[str, Any]:
    run = content.field("testRunData") or content.data
    return run if isinstance(run, Mapping) else {}


def _answer(case: Mapping[str, Any], agent: str, at: int) -> LoggedAnswer:
    scores: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    metrics = case.get("metricsData")
    for metric in metrics if isinstance(metrics, list) else ():
        if isinstance(metric, Mapping):
            name = words(metric.get("name"))
            scores[name] = None if metric.get("error") else score_value(metric.get("score"))
            reasons[name] = words(metric.get("error") or metric.get("reason"))
    turns = case.get("turns")
    passed = case.get("success")
    return LoggedAnswer(
        case=words(case.get("name")) or f"case {at}",
        agent=agent,
        query=words(case.get("input")),
        response=words(turns) if isinstance(turns, list) else words(case.get("actualOutput")),
        scores=scores,
        passed=passed if isinstance(passed, bool) else None,
        reasons=reasons,
    )


FORMAT = DeepEvalRun()
