"""Results of ADK's eval sets (`*.evalset_result.json`): a case is an eval id, with the overall score of each metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions

_PASSED, _FAILED = (1, "PASSED"), (2, "FAILED")


class AdkEvalSetResult:
    """What `adk eval` writes into `.adk/eval_history`; the app's name stands for the agent."""

    title = "ADK"
    lower_is_better: frozenset[str] = frozenset()

    def recognises(self, content: LogContent) -> bool:
        return isinstance(content.field("eval_case_results"), list) and content.field("eval_set_id") is not None

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        # The id is the app's name, the set's id and the time.
        app, mark, _ = words(content.field("eval_set_result_id")).partition(f"_{words(content.field('eval_set_id'))}_")
        for at, case in enumerate(content.field("eval_case_results")):
            if not isinstance(case, Mapping):
                raise SourceError("is not the result of a case", where=f"{content.path}: eval_case_results[{at}]")
            yield _answer(case, app if mark else "")


def _answer(case: Mapping[str, Any], agent: str) -> LoggedAnswer:
    metrics = case.get("overall_eval_metric_results")
    scores = {
        words(metric.get("metric_name")): score_value(metric.get("score"))
        for metric in (metrics if isinstance(metrics, list) else ())
        if isinstance(metric, Mapping)
    }
    turns = case.get("eval_metric_result_per_invocation")
    invocations = [
        turn["actual_invocation"]
        for turn in (turns if isinstance(turns, list) else ())
        if isinstance(turn, Mapping) and isinstance(turn.get("actual_invocation"), Mapping)
    ]
    status = case.get("final_eval_status")
    return LoggedAnswer(
        case=words(case.get("eval_id")),
        agent=agent,
        query="\n".join(_text(one.get("user_content")) for one in invocations),
        response="\n".join(_text(one.get("final_response")) for one in invocations),
        scores=scores,
        passed=True if status in _PASSED else False if status in _FAILED else None,
    )


def _text(content: Any) -> str:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return "".join(
        words(part.get("text")) for part in (parts if isinstance(parts, list) else ()) if isinstance(part, Mapping)
    )


FORMAT = AdkEvalSetResult()
