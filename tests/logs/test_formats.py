"""Logs that the tools themselves wrote: the same six sums of two models, one of which errs in the last three."""

from __future__ import annotations

import functools
import json
import random
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assay.chat.scoring.scores import Scores
from assay.errors import AssayError, SourceError
from assay.logs import LOG_FORMATS, read_logs
from assay.logs.contents import LogContent
from assay.logs.logged import LogOptions

SAMPLES = Path(__file__).parent / "samples"
SUMS = [f"sum-{n}" for n in range(1, 7)]


def means(scores: Scores) -> dict[str, float]:
    return {row["metric"]: row["mean"] for row in scores.rows()}


@pytest.mark.parametrize(
    ("sample", "format", "agents", "good", "poor"),
    [
        # Two epochs: the poor model errs in 3 of 6 the first time and in 4 the second; brevity is 1/8 or 1/9.
        ("inspect-{}.eval", "inspect", "mockllm/{}", {"includes": 1.0}, {"includes": 5 / 12}),
        ("inspect-{}.json", "inspect", "mockllm/{}", {"includes": 1.0}, {"includes": 5 / 12}),
        ("pydantic-evals-{}.json", "pydantic_evals", "{}", {"right": 1.0, "closeness": 1.0},
         {"right": 0.5, "closeness": 0.75}),
        ("deepeval-{}.json", "deepeval", "{}", {"Right": 1.0}, {"Right": 0.5}),
        ("adk-{}.evalset_result.json", "adk", "{}", {"response_match_score": 1.0}, {"response_match_score": 0.5}),
    ],
)  # fmt: skip
def test_scores_are_those_of_the_tool(
    sample: str, format: str, agents: str, good: dict[str, float], poor: dict[str, float]
) -> None:
    for model, expected in (("good", good), ("poor", poor)):
        path = SAMPLES / sample.format(model)
        scores = read_logs(path)
        assert LOG_FORMATS.get(format).recognises(LogContent(path))
        assert scores.agents == [agents.format(model)]
        assert sorted(scores.scenarios) == SUMS
        found = means(scores)
        assert {name: found[name] for name in expected} == pytest.approx(expected)
        first = next(answer for answer in scores.answers if answer.scenario == "sum-4" and answer.repetition == 0)
        assert first.query.endswith("What is 4 + 4?")
        assert first.response == ("It is 8." if model == "good" else "It is 9.")
        assert first.passed is (model == "good")


def test_every_sample_is_in_one_format_only() -> None:
    for path in filter(Path.is_file, SAMPLES.iterdir()):
        found = [name for name in LOG_FORMATS.names() if LOG_FORMATS.get(name).recognises(LogContent(path))]
        assert len(found) == 1, (path.name, found)


def test_a_table_is_read_as_its_rows_say(tmp_path: Path) -> None:
    """Fields over several lines, empty lines, gaps, numbered cases as pandas writes them, and a secret in one text."""
    path = tmp_path / "table.csv"
    path.write_text(
        'id,model,trial,question,right,f1\n'
        '1.0,m,1,"two\nlines",1,0.25\n\n2.0,m,1,plain,0,\n3.0,m,1,Authorization: Bearer abcdefghijkl0123,yes,nan\n'
    )  # fmt: skip
    scores = read_logs(path)
    assert [answer.key for answer in scores.answers] == [("m", "1", 1), ("m", "2", 1), ("m", "3", 1)]
    assert [answer.query for answer in scores.answers] == ["two\nlines", "plain", "Authorization: Bearer ***"]
    assert [answer.entries["right"].score for answer in scores.answers] == [1.0, 0.0, 1.0]
    assert [answer.entries["f1"].measured for answer in scores.answers] == [True, False, False]
    path.write_text(path.read_text() + "4.0,m,1,plain,maybe,1\n")
    with pytest.raises(SourceError, match=r"table\.csv:7: 'maybe' in the column 'right' is not a score"):
        read_logs(path, options=LogOptions(scores=("right",)))


def test_epochs_are_repetitions() -> None:
    scores = read_logs(SAMPLES / "inspect-poor.eval")
    [metric] = [metric for metric in scores.metrics if metric.name == "includes"]
    assert metric.scale == "binary"
    assert scores.trials("mockllm/poor")["sum-3"] == {0: True, 1: False}
    assert scores.passes("mockllm/poor")["pass^k"][2].value == pytest.approx(2 / 6)


def test_promptfoo_has_all_providers_and_repetitions_in_one_file() -> None:
    scores = read_logs(SAMPLES / "promptfoo.json")
    assert scores.agents == ["good", "poor"]
    assert [row["mean"] for row in scores.rows()] == [1.0, 0.5]
    assert {
        (one.repetition, one.passed) for one in scores.answers if one.agent == "poor" and one.scenario == "sum-5"
    } == {
        (0, False),
        (1, False),
    }


def test_what_promptfoo_could_not_run_is_not_measured(tmp_path: Path) -> None:
    def row(provider: str, test: int, success: bool, **more: object) -> dict[str, object]:
        return {
            "promptIdx": 0,
            "testIdx": test,
            "testCase": {"description": f"sum-{test}", "vars": {"n": test}},
            "provider": {"id": f"file://{provider}.js", "label": provider},
            "prompt": {"raw": f"What is {test} + {test}?", "label": "{{question}}"},
            "response": {"output": "It is 2."},
            "success": success,
            "score": float(success),
            "namedScores": {"tone": 0.25},
            "gradingResult": {"pass": success, "score": float(success), "reason": "contains 2"},
        } | more

    rows = [row("a", 1, True), row("b", 1, False), row("a", 2, True)]
    rows.append(row("b", 2, False, error="no key", gradingResult=None, score=0))
    path = tmp_path / "promptfoo.json"
    path.write_text(json.dumps({"evalId": "x", "results": {"version": 3, "results": rows}, "config": {}}))
    scores = read_logs(path)
    assert scores.agents == ["a", "b"]
    by_key = {(one.agent, one.scenario): one for one in scores.answers}
    assert by_key["a", "sum-1"].passed
    assert by_key["a", "sum-1"].entries["tone"].score == 0.25
    failed = by_key["b", "sum-2"]
    assert not failed.entries["score"].measured
    assert failed.failures[0].says == "no key"


def test_samples_that_the_harness_wrote() -> None:
    for model, right in (("good", 1.0), ("poor", 0.5)):
        [path] = (SAMPLES / f"lm-eval-{model}").iterdir()
        scores = read_logs(path)
        assert scores.inputs["log"]["format"] == "lm-evaluation-harness"
        assert scores.agents == [f"lm-eval-{model}"]
        # Two filters: one compares the whole answer "It is 8.", the other the number in it.
        assert means(scores) == {"exact_match_strict": 0.0, "exact_match_number": right}
        assert [answer.scenario for answer in scores.answers] == ["0", "1", "2", "3", "4", "5"]
        assert scores.answers[3].query == "What is 4 + 4?"
        assert scores.answers[3].response == ("It is 8." if model == "good" else "It is 9.")


def test_the_harness_logs_of_two_models_are_compared() -> None:
    from assay.runs import compare

    files = [str(next((SAMPLES / f"lm-eval-{model}").iterdir())) for model in ("good", "poor")]
    [found] = compare(*files)
    number = next(one for one in found.verdicts if one.metric == "exact_match_number")
    assert number.difference == -0.5


def test_samples_of_the_harness(tmp_path: Path) -> None:
    folder = tmp_path / "org__model"
    folder.mkdir()
    path = folder / "samples_gsm8k_2026-11-16T10-00-00.000000.jsonl"
    lines = [
        {
            "doc_id": doc,
            "doc": {"question": f"q{doc}"},
            "target": "1",
            "arguments": {"gen_args_0": {"arg_0": f"Q: q{doc}", "arg_1": {}}},
            "resps": [["one"]],
            "filtered_resps": [f"{name} answer"],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": float(name == "flexible-extract" or doc == 0),
        }
        for name in ("strict-match", "flexible-extract")
        for doc in range(4)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    scores = read_logs(path)
    assert scores.agents == ["org__model"]
    assert means(scores) == {"exact_match_strict_match": 0.25, "exact_match_flexible_extract": 1.0}
    assert [answer.query for answer in scores.answers] == [f"Q: q{doc}" for doc in range(4)]
    other = folder / "samples_mmlu_2026-11-16T10-00-00.000000.jsonl"
    other.write_text("\n".join(json.dumps(line) for line in lines[:4]))
    assert sorted(read_logs([path, other]).scenarios) == sorted(
        f"{task}/{doc}" for task in ("gsm8k", "mmlu") for doc in range(4)
    )


def test_tables(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "model": "m", "epoch": 1, "accuracy": True, "stars": 4, "seconds": 1.5},
        {"question_id": "a", "model": "m", "epoch": 2, "accuracy": False, "stars": 5, "seconds": 0.5},
        {"question_id": "b", "model": "m", "epoch": 1, "accuracy": True, "stars": None, "seconds": 2.5},
    ]
    jsonl, table, parquet = (tmp_path / f"t.{suffix}" for suffix in ("jsonl", "csv", "parquet"))
    jsonl.write_text("\n".join(map(json.dumps, rows)))
    lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
    table.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), parquet)
    for path in (jsonl, table, parquet):
        scores = read_logs(path, lower=["seconds"])
        assert means(scores) == pytest.approx({"accuracy": 2 / 3, "stars": 4.5, "seconds": 1.5})
        assert {metric.name: (metric.scale, metric.direction) for metric in scores.metrics} == {
            "accuracy": ("binary", "higher"),
            "stars": ("ordinal", "higher"),
            "seconds": ("positive", "lower"),
        }
        assert [(one.scenario, one.repetition, one.passed) for one in scores.answers] == [
            ("a", 1, True),
            ("a", 2, False),
            ("b", 1, True),
        ]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", "a,b\n1,2\n", "has no column for the case"),
        ("x.csv", "case,score\na,1\na\n", "different number of fields"),
        ("x.csv", "case,score\n", "has no rows"),
        ("x.csv", "case,note\na,hello\n", "no column of numbers"),
        ("x.jsonl", '{"case": "a", "score": 1}\n{"case": ', "x.jsonl:2: is not JSON"),
        ("x.jsonl", '{"case": "a", "score": 1}\n[3]', "is not a JSON object"),
        ("x.jsonl", '{"score": 1, "case": ""}', "has no value in the column 'case'"),
        ("x.json", "{", "is not a log that assay knows"),
        ("x.json", '{"eval": {}, "version": 2, "samples": [3]}', "is not a sample"),
        ("x.json", '{"eval": {}, "version": 2, "samples": []}', "has no scored answers"),
        ("x.eval", "PK\x03\x04 and nothing else", "is a damaged archive"),
        ("x.jsonl", '{"case": "a", "repetition": 1, "score": 1}\n' * 2, "two answers for repetition 1 of 'a'"),
        ("x.jsonl", "[" * 100_000, "is not a log that assay knows"),
    ],
)
def test_a_damaged_log_gives_one_sentence(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(SourceError) as raised:
        read_logs(path)
    assert says in str(raised.value)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    sample = (SAMPLES / "inspect-good.eval").read_bytes()
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(SAMPLES / "inspect-good.eval") as archive:
        info = archive.getinfo("samples/sum-1_epoch_1.json")
    # The size in the central directory, which is the last place where it stands.
    at = sample.rindex(info.file_size.to_bytes(4, "little"), 0, sample.rindex(b"samples/sum-1_epoch_1.json"))
    path.write_bytes(sample[:at] + (info.file_size - 7).to_bytes(4, "little") + sample[at + 4 :])
    with pytest.raises(SourceError, match="bytes and not"):
        read_logs(path)


@pytest.mark.slow
def test_values_of_any_type_in_any_place_are_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random(3)
    odd: list[Any] = [None, -1, 1e308, 10**400, True, "", [], {}, [[]], {"a": None}, [None], [1, 2], {"value": [1]}]

    def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        for key, value in items:
            yield (*path, key)
            if len(path) < 5:
                yield from places(value, (*path, key))

    for sample in sorted(SAMPLES.glob("*.json")):
        whole = sample.read_text(encoding="utf-8")
        everywhere = list(places(json.loads(whole)))
        for _ in range(25):
            data = json.loads(whole)
            *above, last = chance.choice(everywhere)
            functools.reduce(lambda part, key: part[key], above, data)[last] = chance.choice(odd)
            path = tmp_path / sample.name
            path.write_text(json.dumps(data))
            with suppress(AssayError):
                read_logs(path).rows()
