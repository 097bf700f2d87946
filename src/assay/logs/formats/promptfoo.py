"""Results of promptfoo (JSON): a case is a test, an agent a provider, with the prompt if there are several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions


class PromptfooResults:
    """What `promptfoo eval --output results.json` writes."""

    title = "promptfoo"
    lower_is_better: frozenset[str] = frozenset()

    def recognises(self, content: LogContent) -> bool:
        results = content.field("results", "results")
        return isinstance(results, list) and all(
            isinstance(one, Mapping) and "success" in one and "provider" in one for one in results[:3]
        )

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        rows = content.field("results", "results")
        prompts = {words(one.get("promptIdx")) for one in rows if isinstance(one, Mapping)}
        providers = {_provider(one) for one in rows if isinstance(one, Mapping)}
        for at, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise SourceError("is not a result", where=f"{content.path}: results.results[{at}]")
            agent = _provider(row)
            # Each column of promptfoo's table is a prompt with a provider.
            if len(prompts) > len(providers):
                agent = f"{agent} · {_prompt(row)}"
            yield _answer(row, agent)


def _answer(row: Mapping[str, Any], agent: str) -> LoggedAnswer:
    grading = row.get("gradingResult")
    grading = grading if isinstance(grading, Mapping) else {}
    failed = bool(row.get("error")) and not grading
    scores: dict[str, float | None] = {"score": None if failed else score_value(row.get("score"))}
    named = row.get("namedScores")
    scores |= {str(name): score_value(value) for name, value in named.items()} if isinstance(named, Mapping) else {}
    test = row.get("testCase")
    test = test if isinstance(test, Mapping) else {}
    response = row.get("response")
    prompt = row.get("prompt")
    return LoggedAnswer(
        case=words(test.get("description") or row.get("description")) or f"test {row.get('testIdx', 0)}",
        agent=agent,
        query=words(prompt.get("raw")) if isinstance(prompt, Mapping) else words(row.get("vars")),
        response=words(response.get("output")) if isinstance(response, Mapping) else "",
        scores=scores,
        passed=None if failed else bool(row.get("success")),
        reasons={"score": words(grading.get("reason"))},
        error=words(row.get("error")) if failed else "",
    )


def _provider(row: Mapping[str, Any]) -> str:
    provider = row.get("provider")
    if isinstance(provider, Mapping):
        return words(provider.get("label") or provider.get("id"))
    return words(provider)


def _prompt(row: Mapping[str, Any]) -> str:
    prompt = row.get("prompt")
    return words(prompt.get("label") if isinstance(prompt, Mapping) else row.get("promptIdx"), 60)


FORMAT = PromptfooResults()
