"""`--domain`: transcripts of a domain by its name or its folder; and checks in the form of the suites'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import assay_command

from assay.chat.domains import DOMAINS
from assay.chat.domains._own import domain_name
from assay.chat.formats import read_transcripts
from assay.chat.scoring.scores import score
from assay.chat.transcript import parse
from assay.errors import AssayError, SourceError, UsageError

LIBRARY = Path(__file__).parents[2] / "plugins" / "assay-sample" / "src" / "assay_sample" / "library"
TRUTH = {"product": "Trail Runner", "price": 89.9, "currency": "EUR", "stock": 4}


def messages(path: Path, *, truth: dict[str, Any], **fields: Any) -> Path:
    said = [
        {"role": "user", "content": "How much is the Trail Runner?"},
        {"role": "assistant", "content": "The Trail Runner costs €98.90."},
    ]
    path.write_text(json.dumps({"messages": said, "truth": truth, **fields}), "utf-8")
    return path


def test_a_domain_decides_what_is_wrong(tmp_path: Path) -> None:
    path = messages(tmp_path / "shop.jsonl", truth=TRUTH)
    done = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--json", "-")
    (answer,) = json.loads(done.stdout)["answers"]
    assert answer["metrics"]["accuracy"]["details"].startswith("A figure is wrong: off by 9 €")
    path.write_text(path.read_text("utf-8") + "\n" + path.read_text("utf-8"), "utf-8")
    streamed = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--json", "-", "--workers", 1)
    assert [one["metrics"] for one in json.loads(streamed.stdout)["answers"]] == [answer["metrics"]] * 2


def test_the_domain_that_a_transcript_names_is_its_own(tmp_path: Path) -> None:
    path = messages(tmp_path / "shop.jsonl", truth=TRUTH, domain="shop")
    assert read_transcripts(path, domain="weather")[0].domain == "shop"
    assert read_transcripts(messages(path, truth={}), domain="shop")[0].domain == "shop"
    assert read_transcripts(path)[0].domain == "weather"


def test_a_domain_can_be_a_folder_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DOMAINS, "_here", {})
    name = domain_name(str(LIBRARY))
    assert domain_name(str(LIBRARY / "__init__.py")) == name
    path = messages(tmp_path / "t.jsonl", truth={})
    (answer,) = score(read_transcripts(path, domain=name)).answers
    assert answer.entries["task_completion"].measured


def test_a_domain_that_is_not_there_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'shop'.*path of its folder"):
        domain_name("shp")
    with pytest.raises(SourceError, match="is not a Python file"):
        domain_name(str(tmp_path))
    (tmp_path / "__init__.py").write_text("DOMAIN = 3")
    with pytest.raises(SourceError, match="has no DOMAIN"):
        domain_name(str(tmp_path / "__init__.py"))
    (tmp_path / "bad.py").write_text("import nothing_of_this_name")
    with pytest.raises(AssayError, match=r"bad\.py: cannot be imported: ModuleNotFoundError"):
        domain_name(str(tmp_path / "bad.py"))


def test_checks_of_transcripts_have_the_form_of_the_suites() -> None:
    turn = {"user": "Hi", "assistant": "Hello!"}
    checks = ["accuracy >= 0.9", "ambiguity_handling measured", {"metric": "accuracy", "is": "==", "value": 1}]
    transcript = parse({"agent": "a", "scenario": "s", "turns": [{**turn, "checks": checks}]}, "t")
    assert [str(check) for check in transcript.turns[0].checks] == [*checks[:2], "accuracy == 1"]
    with pytest.raises(SourceError, match=r"turns.0.checks.0: 'accuracy high' is not a check. Write 'accuracy >= 0.9'"):
        parse({"agent": "a", "scenario": "s", "turns": [{**turn, "checks": ["accuracy high"]}]}, "t")


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ("acuracy >= 0.9", r"t: turns.1.checks.0: there is no metric called 'acuracy'. Did you mean 'accuracy'\?"),
        ({"metric": "accuracy", "is": ">=", "value": 1.5}, "turns.1.checks.0: a score is between 0 and 1, got 1.5"),
        ("accuracy > 1", "so that no answer passes 'accuracy > 1'. Write accuracy >= 1"),
    ],
)
def test_checks_of_transcripts_that_no_answer_could_pass_are_errors(check: object, says: str) -> None:
    turn = {"user": "Hi", "assistant": "Hello!"}
    with pytest.raises(SourceError, match=says):
        parse({"agent": "a", "scenario": "s", "turns": [turn, {**turn, "checks": [check]}]}, "t")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"turns": "x"}, r"t.jsonl:1: turns: must be a list, got 'x'"),
        ({"agent": 5}, r"t.jsonl:1: agent: must be text, got the number 5. Put it in quotes"),
        ({"domain": "wether"}, r"t.jsonl:1: there is no domain called 'wether'. Did you mean 'weather'\?"),
        ({"language": "xx"}, r"t.jsonl:1: there is no language called 'xx'. Known: de, en, fr"),
        (
            {"turns": [{"user": "x", "tool_calls": [{"nam": "x"}]}]},
            r"t.jsonl:1: turns.0.tool_calls.0.name: must be given",
        ),
    ],
)
def test_a_wrong_line_is_told_with_its_place_and_in_plain_words(
    line: dict[str, object], says: str, tmp_path: Path
) -> None:
    whole = {"agent": "a", "scenario": "s", "turns": [{"user": "Hi", "assistant": "Hello!"}]}
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(whole | line), encoding="utf-8")
    with pytest.raises(SourceError, match=says):
        read_transcripts(file)


def test_a_misspelt_role_of_a_message_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    for role, is_wrong in (("usr", True), ("assitant", True), ("developer", False), ("tracing", False)):
        messages = [{"role": role, "content": "x"}, {"role": "user", "content": "Hi"}]
        file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
        if is_wrong:
            with pytest.raises(SourceError, match=rf"messages\[0\]: there is no role '{role}'. Did you mean"):
                read_transcripts(file)
        else:
            assert len(read_transcripts(file)) == 1
