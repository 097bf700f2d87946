"""Sample logs of lm-evaluation-harness (`samples_*.jsonl`): a document is a case, scored by metric and filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.errors import SourceError
from assay.logs.contents import AnswerBudget, LogContent, score_value, words
from assay.logs.logged import LoggedAnswer, LogOptions

_LONGEST_NAME = 200
_BYTES_A_SCORE = 300


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
        agent = content.path.resolve().parent.name if content.path.name.startswith("samples_") else ""
        # One document has a line for each filter; together they are one answer with several scores.
        found: dict[str, tuple[str, str, dict[tuple[str, str], float | None]]] = {}
        filters: set[str] = set()
        budget = AnswerBudget(bytes_each=200)
        for number, line in content.lines():
            names = line.get("metrics")
            if not isinstance(names, list) or "doc_id" not in line:
                raise SourceError("is not a sample with doc_id and metrics", where=content.line(number))
            case = str(line["doc_id"])
            if case not in found:
                found[case] = _question(line), _response(line.get("filtered_resps")), {}
                budget.spend(len(case) + sum(map(len, found[case][:2])), str(content.path))
            used = words(line.get("filter"), _LONGEST_NAME)
            filters.add(used)
            budget.spend(_BYTES_A_SCORE * len(names), str(content.path))
            for name in (words(name, _LONGEST_NAME) for name in names):
                value = line.get(name)
                # Metrics that are computed of the whole corpus leave their parts here.
                found[case][2][name, used] = None if isinstance(value, list | dict) else score_value(value)
        for case, (query, response, scores) in found.items():
            yield LoggedAnswer(
                case=case,
                task=task,
                agent=agent,
                query=query,
                response=response,
                scores={
                    name if len(filters) < 2 else f"{name}_{used}": score for (name, used), score in scores.items()
                },
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
