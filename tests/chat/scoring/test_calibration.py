"""How far judge and metrics agree with people: labels are read, agreement is counted, and scores are corrected."""

from __future__ import annotations

import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.chat.test_judge import server
from tests.command import assay_command

from assay.chat import Label, Transcript, Turn, calibrate, score
from assay.chat.judge import Judge, Preference
from assay.chat.scoring.answers import Answer
from assay.chat.scoring.calibration import Calibration, LabelledPair, compare_pairs, read_labels
from assay.chat.scoring.metric import Finding, Metric, Rule
from assay.chat.scoring.scores import Scores
from assay.errors import SourceError, UsageError
from assay.report.terminal.calibration import calibration_tables

GOOD, BAD = "It is sunny in Rome, 21 °C.", "No."


def judge_of(says: dict[str, float]) -> Metric:
    """A judge whose verdict on each text is known."""
    rule = Rule("said", 1.0, "a judgement", when=lambda context: Finding(points=says[context.response.text]))
    return Metric("judge", "own", 0.0, (rule,), "How does it judge?")


def scored(texts: list[tuple[str, str, str]], metric: Metric | None = None) -> Scores:
    """Answers by agent, scenario and text."""
    made = [
        Transcript(agent=agent, scenario=scenario, turns=[Turn(user="Weather in Rome?", assistant=text)])
        for agent, scenario, text in texts
    ]
    return score(made, metrics=["task_completion"] if metric is None else [metric, "task_completion"])


def agreement(found: Calibration, name: str) -> Any:
    return next(one for one in found.agreements if one.metric == name)


def test_agreement_is_counted_by_hand() -> None:
    # The judge calls a, b, c good and d bad; people call a, b, d good and c bad.
    says = {"a": 1.0, "b": 0.7, "c": 0.9, "d": 0.69}
    scores = scored([("bot", text, text) for text in says], judge_of(says))
    labels = [Label(agent="bot", scenario=text, label=text != "c") for text in says]
    judge = agreement(calibrate(scores, labels), "judge")
    assert (judge.both, judge.too_kind, judge.too_strict, judge.neither, judge.n) == (2, 1, 1, 0, 4)
    # Seen 0.5; chance 0.75² + 0.25² = 0.625: (0.5 − 0.625) ÷ 0.375.
    assert judge.kappa.value == pytest.approx(-1 / 3)
    assert judge.mean == pytest.approx((1.0 + 0.7 + 0.9 + 0.69) / 4)
    assert judge.corrected.value == 0.75  # all answers have labels: these are the truth


def test_several_people_may_label_one_answer() -> None:
    scores = scored([("bot", "s", GOOD), ("bot", "t", BAD)])
    labels = [Label(agent="bot", scenario="s", label=label, by=by) for label, by in ((1, "a"), (1, "b"), (0, "c"))]
    found = calibrate(scores, labels)
    assert (found.labels, found.answers) == (3, 1)
    assert agreement(found, "task_completion").both == 1


def test_a_judge_that_likes_length_is_found_out() -> None:
    rng = random.Random(5)
    texts = ["x" * 2 ** rng.randrange(3, 10) + str(at) for at in range(80)]
    says = {text: min(1.0, len(text) / 512) for text in texts}
    scores = scored([("bot", f"s{at}", text) for at, text in enumerate(texts)], judge_of(says))
    labels = [Label(agent="bot", scenario=f"s{at}", label=rng.random() < 0.5) for at in range(80)]
    bias = agreement(calibrate(scores, labels), "judge").length_bias
    assert bias.value is not None
    assert bias.low is not None
    assert bias.low > 0.05  # twice as long, and clearly better liked than people do


@pytest.mark.slow
def test_the_corrected_score_is_that_of_people() -> None:
    """A kind judge: it calls every good answer good, and half of the bad ones."""
    rng = random.Random(6)
    truth = {f"answer {at}": rng.random() < 0.6 for at in range(400)}
    says = {text: float(good or rng.random() < 0.5) for text, good in truth.items()}
    scores = scored([(f"bot{at % 2}", f"s{at}", text) for at, text in enumerate(truth)], judge_of(says))
    labels = [
        Label(agent=f"bot{at % 2}", scenario=f"s{at}", label=good) for at, good in enumerate(truth.values()) if at < 100
    ]
    judge = agreement(calibrate(scores, labels), "judge")
    share = sum(truth.values()) / len(truth)
    assert judge.mean is not None
    assert judge.mean > share + 0.1
    assert judge.corrected.low is not None
    assert judge.corrected.high is not None
    assert judge.corrected.low < share < judge.corrected.high < judge.mean
    assert list(judge.by_agent) == ["bot0", "bot1"]


def test_without_labels_there_is_nothing_to_say() -> None:
    with pytest.raises(UsageError, match="there are no labels"):
        calibrate(scored([("bot", "s", GOOD)]), [])


# --- pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preference", "better", "flipped"),
    [
        (Preference("A", "B"), 0, False),
        (Preference("B", "A"), 1, False),
        (Preference("A", "A"), None, True),
        (Preference("B", "B"), None, True),
        (Preference("tie", "A"), None, False),
        (Preference(None, "A"), None, False),
    ],
)
def test_a_preference_counts_only_if_it_holds_in_both_orders(
    preference: Preference, better: int | None, flipped: bool
) -> None:
    assert (preference.better, preference.is_flipped) == (better, flipped)


def test_a_judge_that_prefers_a_position_is_found_out() -> None:
    scores = scored([(agent, f"s{at}", f"{agent} {at}") for at in range(10) for agent in ("a", "b")])
    pairs = [LabelledPair(scenario=f"s{at}", better="a", worse="b") for at in range(10)]

    def first_or_a(query: str, truth: Any, first: str, second: str) -> Preference:
        # In every other pair it takes what it sees first; else it agrees with people.
        return Preference("A", "A") if int(first[-1]) % 2 else Preference("A", "B")

    found = compare_pairs(scores, pairs, first_or_a)
    assert (found.pairs, found.agreed, found.opposed, found.flipped) == (10, 5, 0, 5)
    assert found.first.value == 0.75  # 15 of 20 orders


def test_a_judge_is_asked_in_both_orders_and_its_replies_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    kept = tmp_path / "replies.jsonl"
    with server('{"better": "A", "reason": "clear"}') as (url, asked):
        judge = Judge(url, "m", cache=kept)
        assert judge.compare("Weather?", None, "first one", "second one") == Preference("A", "A")
        prompts = [request["messages"][0]["content"] for request in asked]
        assert prompts[0].index("first one") < prompts[0].index("second one")
        assert prompts[1].index("second one") < prompts[1].index("first one")
        # The same question is not asked again, by this judge or another with the same file.
        assert Judge(url, "m", cache=kept).compare("Weather?", None, "first one", "second one") == Preference("A", "A")
        assert len(asked) == 2
        assert Judge(url, "another", cache=kept).compare("Weather?", None, "first one", "second one").in_order == "A"
        assert len(asked) == 4
    assert len(kept.read_text("utf-8").splitlines()) == 4


def test_a_judge_sees_the_stored_truth_when_it_compares_two_answers(tmp_path: Path) -> None:
    truth = {"current": {"city": "Rome", "temperature": 20.5, "main_condition": "clear"}}
    lines = [
        {"agent": agent, "scenario": "s", "turns": [{"user": "Weather in Rome?", "assistant": text, "truth": truth}]}
        for agent, text in (("a", GOOD), ("b", BAD))
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "labels.jsonl").write_text('{"scenario": "s", "better": "a", "worse": "b"}', encoding="utf-8-sig")
    assert assay_command("chat", "score", "t.jsonl", "--store", "r.db", "--name", "x", cwd=tmp_path).returncode == 0
    with server('{"better": "A", "reason": "clear"}') as (url, asked):
        words = ("chat", "calibrate", "x", "--labels", "labels.jsonl", "--store", "r.db")
        done = assay_command(*words, "--judge-url", url, "--judge-model", "m", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(asked) == 2  # both orders
    assert all('"temperature": 20.5' in request["messages"][0]["content"] for request in asked)


def test_a_truth_from_python_may_have_dates() -> None:
    turn = Turn(user="When?", assistant="On Friday.", truth={"delivery_date": date(2026, 11, 20)})
    (answer,) = score([Transcript(agent="a", scenario="s", turns=[turn])], metrics=["task_completion"]).answers
    stored = json.loads(json.dumps(answer.to_row()))
    assert Answer.from_json(stored).truth == {"delivery_date": "2026-11-20"}


def test_a_reply_that_cannot_be_read_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    kept = tmp_path / "replies.jsonl"
    with server("I prefer neither.") as (url, _):
        assert Judge(url, "m", cache=kept).compare("Weather?", None, "a", "b") == Preference(None, None)
    assert not kept.exists()
    kept.write_text('{"key": 1}\n{"key": "a", "reply": "b"}\n', encoding="utf-8")
    with pytest.raises(SourceError, match=r"replies\.jsonl:1: is not a kept reply"):
        Judge("http://127.0.0.1:9", "m", cache=kept).compare("Weather?", None, "a", "b")


# --- the file and the command ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"agent": "bott", "scenario": "s", "label": 1}', "there is no agent called 'bott'. Did you mean 'bot'?"),
        ('{"agent": "bot", "scenario": "x", "label": 1}', "there is no scenario called 'x'"),
        ('{"agent": "bot", "scenario": "s", "turn": 3, "label": 1}', "no answer of bot in s at repetition 0, turn 3"),
        ('{"agent": "bot", "scenario": "s", "label": 2}', "label: Input should be less than or equal to 1"),
        ('{"agent": "bot", "scenario": "s"}', "label: Field required"),
        ('{"scenario": "s", "better": "bot", "worse": "bat"}', "there is no agent called 'bat'"),
        ("", "has no labels"),
        ("{", "is not valid JSON"),
    ],
)
def test_a_wrong_label_gets_a_sentence_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        read_labels(file, scored([("bot", "s", GOOD)]))
    assert says in str(caught.value)
    assert "labels.jsonl" in str(caught.value)


def test_the_command_prints_agreement_and_corrected_scores(tmp_path: Path) -> None:
    turns = [("bot", f"s{at}", GOOD if at % 3 else BAD) for at in range(30)]
    lines = [
        {"agent": agent, "scenario": scenario, "turns": [{"user": "Weather in Rome?", "assistant": text}]}
        for agent, scenario, text in turns
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    labels = [{"agent": "bot", "scenario": f"s{at}", "label": bool(at % 3)} for at in range(20)]
    pair = {"scenario": "s1", "better": "bot", "worse": "bot"}
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, [*labels, pair])), encoding="utf-8")
    assert assay_command("chat", "score", "t.jsonl", "--store", "r.db", "--name", "x", cwd=tmp_path).returncode == 0
    words = ("chat", "calibrate", "x", "--labels", "labels.jsonl", "--store", "r.db")
    done = assay_command(*words, "--json", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 labelled pairs are left out" in done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    content = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert content["agreements"]["task_completion"]["kappa"]["value"] == 1.0
    assert content["agreements"]["passed"]["both"] == 13
    assert "task_completion" in done.stdout


def test_names_that_others_chose_do_not_break_the_table() -> None:
    from io import StringIO

    from rich.console import Console

    scores = scored([("\x1b[31m[bold]bot", f"s{at}", GOOD if at % 2 else BAD) for at in range(24)])
    labels = [Label(agent="\x1b[31m[bold]bot", scenario=f"s{at}", label=bool(at % 2)) for at in range(24)]
    out = StringIO()
    Console(file=out, width=80).print(calibration_tables(calibrate(scores, labels)))
    assert "\x1b" not in out.getvalue()
    assert "[bold]bot" in out.getvalue()
