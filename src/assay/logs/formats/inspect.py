"""Logs of Inspect (`.eval` archives and JSON): epochs are repetitions, and each scorer gives a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions


class InspectLog:
    """An archive has a file for each sample; JSON has them all in one."""

    title = "Inspect"
    lower_is_better: frozenset[str] = frozenset()

    def recognises(self, content: LogContent) -> bool:
        if content.is_archive:
            return b"_journal/start.json" in content.head or content.path.suffix == ".eval"
        return isinstance(content.field("eval"), Mapping) and content.field("version") is not None

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        if content.is_archive:
            # An evaluation that was cancelled has no header, but always a start.
            [(_, start), *_] = [*content.members("_journal/start.json"), ("", {})]
            header = start if isinstance(start, Mapping) else {}
            samples = content.members("samples/")
        else:
            header = content.data
            listed = header.get("samples") or []
            samples = ((f"samples[{at}]", sample) for at, sample in enumerate(listed))
        evaluation = header.get("eval")
        evaluation = evaluation if isinstance(evaluation, Mapping) else {}
        model, task = words(evaluation.get("model")), words(evaluation.get("task"))
        for where, sample in samples:
            if not isinstance(sample, Mapping) or "id" not in sample:
                raise SourceError("is not a sample with an id", where=f"{content.path}!{where}")
            yield _answer(sample, model, task)


def _answer(sample: Mapping[str, Any], model: str, task: str) -> LoggedAnswer:
    scores: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    found = sample.get("scores")
    for name, score in found.items() if isinstance(found, Mapping) else ():
        if not isinstance(score, Mapping):
            continue
        value = score.get("value")
        # A scorer may give several values by name.
        parts = {f"{name}_{key}": one for key, one in value.items()} if isinstance(value, Mapping) else {name: value}
        for key, one in parts.items():
            scores[key] = score_value(one)
            reasons[key] = words(score.get("explanation"))
    error = sample.get("error")
    output = sample.get("output")
    epoch = sample.get("epoch")
    return LoggedAnswer(
        case=words(sample["id"]) if isinstance(sample["id"], str) else str(sample["id"]),
        task=task,
        agent=model,
        repetition=epoch - 1 if isinstance(epoch, int) and not isinstance(epoch, bool) and epoch > 0 else None,
        query=words(sample.get("input")),
        response=_completion(output) if isinstance(output, Mapping) else "",
        scores=scores,
        reasons=reasons,
        error=words(error.get("message")) if isinstance(error, Mapping) else "",
    )


def _completion(output: Mapping[str, Any]) -> str:
    if output.get("completion"):
        return words(output["completion"])
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    message = first.get("message")
    return words(message.get("content")) if isinstance(message, Mapping) else ""


FORMAT = InspectLog()
