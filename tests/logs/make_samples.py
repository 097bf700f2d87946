"""Writes the samples of other tools' logs with those tools themselves: python make_samples.py FOLDER TOOL.

The tools are not needed by the tests, only here: pip install inspect-ai deepeval pydantic-evals lm_eval torch, in an
environment of its own. Two models answer six sums; `poor` errs in the last three, and the second time in the third too.
"""

# mypy: ignore-errors
# The tools are not installed where types are checked.

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SUMS = [(f"sum-{n}", f"What is {n} + {n}?", str(2 * n)) for n in range(1, 7)]
MODELS = ("good", "poor")


def answer(model: str, question: str, time: int = 0) -> str:
    """What a model answers to a question, the first or the second time."""
    n = int(question.split()[2])
    wrong = model == "poor" and n > (3 if time == 0 else 2)
    return f"It is {2 * n + wrong}."


def inspect_ai(folder: Path) -> None:
    """Two epochs, two scorers; one file for each model and format."""
    from collections import Counter

    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score, accuracy, includes, mean, scorer
    from inspect_ai.solver import solver

    @scorer(metrics=[mean()])
    def brevity():
        async def score(state: Any, target: Any) -> Score:
            return Score(value=round(1 / len(state.output.completion), 4), explanation="shorter is better")

        return score

    _ = accuracy
    for model in MODELS:
        asked: Counter[str] = Counter()

        @solver
        def sums(model: str = model, asked: Counter[str] = asked):
            async def solve(state: Any, generate: Any) -> Any:
                time = asked[state.input_text]
                asked[state.input_text] += 1
                state.output = ModelOutput.from_content(f"mockllm/{model}", answer(model, state.input_text, time))
                return state

            return solve

        samples = [Sample(id=name, input=question, target=right) for name, question, right in SUMS]
        task = Task(dataset=samples, solver=sums(), scorer=[includes(), brevity()], epochs=2, name="sums")
        for suffix in ("eval", "json"):
            asked.clear()
            [log] = eval(task, model=f"mockllm/{model}", log_dir=str(folder / "tmp"), log_format=suffix, display="none")
            Path(log.location).replace(folder / f"inspect-{model}.{suffix}")


def pydantic_evals(folder: Path) -> None:
    """A report of two runs of each case, written by the package's own adapter."""
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext
    from pydantic_evals.reporting import EvaluationReportAdapter

    class Right(Evaluator[str, str]):
        def evaluate(self, ctx: EvaluatorContext[str, str]) -> dict[str, bool | float]:
            right = f"{ctx.expected_output}." in ctx.output
            return {"right": right, "closeness": 1.0 if right else 0.5}

    cases = [Case(name=name, inputs=question, expected_output=right) for name, question, right in SUMS]
    for model in MODELS:

        def task(question: str, model: str = model) -> str:
            return answer(model, question)

        dataset = Dataset(name="sums", cases=cases, evaluators=[Right()])
        report = dataset.evaluate_sync(task, name=model, progress=False)
        (folder / f"pydantic-evals-{model}.json").write_bytes(EvaluationReportAdapter.dump_json(report, indent=1))


def deepeval(folder: Path) -> None:
    """The file that the package writes of its latest run, into its hidden folder."""
    import os

    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    class Right(BaseMetric):
        threshold, async_mode, evaluation_model = 1.0, False, None

        def measure(self, case: Any, *given: Any, **more: Any) -> float:
            self.score = float(f"{case.expected_output}." in case.actual_output)
            self.success, self.reason = self.score == 1.0, "compared with the sum"
            return self.score

        async def a_measure(self, case: Any, *given: Any, **more: Any) -> float:
            return self.measure(case)

        def is_successful(self) -> bool:
            return self.success

        @property
        def __name__(self) -> str:
            return "Right"

    os.chdir(folder)
    for model in MODELS:
        os.environ["DEEPEVAL_RESULTS_FOLDER"] = str(folder / "tmp" / f"deepeval-{model}")
        evaluate(
            [
                LLMTestCase(name=name, input=question, actual_output=answer(model, question), expected_output=right)
                for name, question, right in SUMS
            ],
            [Right()],
            identifier=model,
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            async_config=AsyncConfig(run_async=False),
            cache_config=CacheConfig(write_cache=True),
        )
        [written] = (folder / "tmp" / f"deepeval-{model}").glob("*.json")
        written.replace(folder / f"deepeval-{model}.json")


def adk(folder: Path) -> None:
    """Results of an eval set, as `adk eval` writes them: a JSON text of the package's model."""
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.eval_metrics import EvalMetricResult, EvalMetricResultPerInvocation
    from google.adk.evaluation.eval_result import EvalCaseResult
    from google.adk.evaluation.evaluator import EvalStatus
    from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
    from google.genai.types import Content, Part

    manager = LocalEvalSetResultsManager(str(folder / "tmp"))
    for model in MODELS:
        results = []
        for name, question, right in SUMS:
            said = answer(model, question)
            score = float(f"{right}." in said)
            status = EvalStatus.PASSED if score else EvalStatus.FAILED
            metric = EvalMetricResult(
                metric_name="response_match_score", threshold=0.8, score=score, eval_status=status
            )

            def content(role: str, text: str) -> Content:
                return Content(role=role, parts=[Part(text=text)])

            invocation = Invocation(
                invocation_id=name, user_content=content("user", question), final_response=content("model", said)
            )
            results.append(
                EvalCaseResult(
                    eval_set_id="sums",
                    eval_id=name,
                    final_eval_status=status,
                    overall_eval_metric_results=[metric],
                    eval_metric_result_per_invocation=[
                        EvalMetricResultPerInvocation(
                            actual_invocation=invocation, expected_invocation=invocation, eval_metric_results=[metric]
                        )
                    ],
                    session_id=f"session-{name}",
                    user_id="ada",
                )
            )
        manager.save_eval_set_result(model, "sums", results)
    for file in sorted((folder / "tmp").rglob("*.evalset_result.json")):
        model = next(name for name in MODELS if name in str(file))
        file.replace(folder / f"adk-{model}.evalset_result.json")


def lm_eval(folder: Path) -> None:
    """One document a case, two filters; one folder for each model, as `lm_eval run --log_samples` writes it."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Sums(LM):
        def __init__(self, model: str) -> None:
            super().__init__()
            self.model = model

        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            return [answer(self.model, request.args[0]) for request in requests]

        def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    documents = folder / "sums.jsonl"
    documents.write_text("".join(json.dumps({"question": q, "answer": right}) + "\n" for _, q, right in SUMS))
    task = {
        "task": "sums",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(documents)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"until": ["\n"]},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "filter_list": [
            {"name": "strict", "filter": [{"function": "take_first"}]},
            {
                "name": "number",
                "filter": [{"function": "regex", "regex_pattern": r"(\d+)\.$"}, {"function": "take_first"}],
            },
        ],
    }
    for model in MODELS:
        tracker = EvaluationTracker(output_path=str(folder))
        found = simple_evaluate(
            Sums(model),
            tasks=[dict(task)],
            task_manager=TaskManager(include_defaults=False),
            evaluation_tracker=tracker,
            log_samples=True,
            bootstrap_iters=0,
        )
        tracker.general_config_tracker.model_name_sanitized = f"lm-eval-{model}"
        samples = found.pop("samples")
        tracker.save_results_aggregated(results=found, samples=samples)
        for name in found["configs"]:
            tracker.save_results_samples(task_name=name, samples=samples[name])
    documents.unlink()


def promptfoo_config(folder: Path) -> None:
    """What promptfoo needs: npx promptfoo eval -c promptfooconfig.json -o promptfoo.json --no-cache --repeat 2."""
    body = "module.exports = class { constructor(o) { this.model = o.config.model; } id() { return this.model; }\n"
    body += "  async callApi(q) { const n = Number(q.split(' ')[2]);\n"
    body += "    return { output: `It is ${2 * n + (this.model === 'poor' && n > 3 ? 1 : 0)}.` }; } };\n"
    (folder / "provider.js").write_text(body)
    config = {
        "prompts": ["{{question}}"],
        "providers": [{"id": "file://provider.js", "config": {"model": model}} for model in MODELS],
        "tests": [
            {
                "description": name,
                "vars": {"question": question},
                "assert": [{"type": "contains", "value": f"{right}."}],
            }
            for name, question, right in SUMS
        ],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config, indent=1))


if __name__ == "__main__":
    {one.__name__: one for one in (inspect_ai, pydantic_evals, deepeval, adk, lm_eval, promptfoo_config)}[sys.argv[2]](
        Path(sys.argv[1]).resolve()
    )
