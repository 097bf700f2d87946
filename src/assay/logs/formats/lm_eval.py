"""Sample logs of lm-evaluation-harness (`samples_*.jsonl`): a document is a case, scored by metric and filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions


class HarnessSamples:
    """What `lm_eval --log_samples` writes; the folder it writes into is called after the model."""

    title = "lm-evaluation-harness"
    lower_is_better = frozenset(
        {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "brier_score"}
    )

    def recognises(self, content: LogContent) -> bool:
        first = content.first_line
        return isinstance(first, dict) and {"doc_id", "metrics", "resps"} <= first.keys()

    def answers(self, content: LogContent, options: LogOptions) -> Iterator[LoggedAnswer]:
        # samples_TASK_TIME.jsonl
        name = content.path.stem
        task = name.removeprefix("samples_").rpartition("_")[0] if name.startswith("samples_") else ""
        lines = list(content.lines())
        filters = {words(line.get("filter")) for _, line in lines}
        # One document has a line for each filter; together they are one answer with several scores.
        found: dict[str, dict[str, Any]] = {}
        for number, line in lines:
            names = line.get("metrics")
            if not isinstance(names, list) or "doc_id" not in line:
                raise SourceError("is not a sample with doc_id and metrics", where=content.line(number))
            of_document = found.setdefault(str(line["doc_id"]), {"line": line, "scores": {}})
            for name in map(words, names):
                key = name if len(filters) < 2 else f"{name}_{words(line.get('filter'))}"
                value = line.get(name)
                # Metrics that are computed of the whole corpus leave their parts here.
                of_document["scores"][key] = None if isinstance(value, list | dict) else score_value(value)
        for case, document in found.items():
            line = document["line"]
            yield LoggedAnswer(
                case=case,
                task=task,
                agent=content.path.resolve().parent.name if content.path.name.startswith("samples_") else "",
                query=_question(line),
                response=_response(line.get("filtered_resps")),
                scores=document["scores"],
            )


def _question(line: dict[str, Any]) -> str:
    arguments = line.get("arguments")
    if isinstance(arguments, dict):  # {"gen_args_0": {"arg_0": prompt, …}}
        first = next(iter(arguments.values()), None)
        return words(first.get("arg_0")) if isinstance(first, dict) else ""
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list) and arguments[0]:
        return words(arguments[0][0])
    return words(line.get("doc"))


def _response(given: Any) -> str:
    while isinstance(given, list) and len(given) == 1:
        given = given[0]
    return words(given)


FORMAT = HarnessSamples()
