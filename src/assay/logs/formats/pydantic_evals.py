"""Reports of pydantic-evals (JSON): assertions are scores of 0 or 1, and a case passes if all of them hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions


class PydanticEvalsReport:
    """What `EvaluationReportAdapter.dump_json` writes."""

    title = "pydantic-evals"
    lower_is_better: frozenset[str] = frozenset()

    def recognises(self, content: LogContent) -> bool:
        cases = content.field("cases")
        return isinstance(cases, list) and all(
            isinstance(case, Mapping) and "assertions" in case and "scores" in case for case in cases[:3]
        )

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        agent = words(content.field("name"))
        for at, case in enumerate(content.field("cases")):
            if not isinstance(case, Mapping):
                raise SourceError("is not a case", where=f"{content.path}: cases[{at}]")
            yield _answer(case, agent)
        failures = content.field("failures")
        for failure in failures if isinstance(failures, list) else ():
            if isinstance(failure, Mapping):
                yield LoggedAnswer(
                    case=words(failure.get("source_case_name") or failure.get("name")),
                    agent=agent,
                    query=words(failure.get("inputs")),
                    scores={},
                    error=words(failure.get("error_message")) or "the task failed",
                )


def _answer(case: Mapping[str, Any], agent: str) -> LoggedAnswer:
    scores: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    held = []
    for kind in ("assertions", "scores"):
        found = case.get(kind)
        for name, result in found.items() if isinstance(found, Mapping) else ():
            value = result.get("value") if isinstance(result, Mapping) else result
            scores[str(name)] = score_value(value)
            reasons[str(name)] = words(result.get("reason")) if isinstance(result, Mapping) else ""
            if kind == "assertions":
                held.append(bool(value))
    return LoggedAnswer(
        case=words(case.get("source_case_name") or case.get("name")),
        agent=agent,
        query=words(case.get("inputs")),
        response=words(case.get("output")),
        scores=scores,
        passed=all(held) if held else None,
        reasons=reasons,
    )


FORMAT = PydanticEvalsReport()
