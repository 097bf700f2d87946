"""Truths of transcripts are checked when they are read: an error names the file, the line and the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import assay_command

from assay.chat.formats import read_transcripts
from assay.chat.scoring.scores import score
from assay.errors import SourceError

FIELD = "there is no field of a truth called"
GOOD = {"product": "Tent", "price": 89.9}


def messages(truth: Any, **more: Any) -> str:
    said = [{"role": "user", "content": "How much is the Tent?"}, {"role": "assistant", "content": "It costs €89.90."}]
    return json.dumps({"agent": "b", "messages": said, "truth": truth, **more})


def turns(*truths: Any, **more: Any) -> str:
    asked = [{"user": "How much is the Tent?", "assistant": "It costs €89.90.", "truth": truth} for truth in truths]
    return json.dumps({"agent": "b", "scenario": "s", "turns": asked, **more})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (messages({"prize": 5}), f"truth.prize: {FIELD} 'prize'. Did you mean 'price'? Known: availability"),
        (turns(GOOD, {"prize": 5}), f"turns[1].truth.prize: {FIELD} 'prize'. Did you mean 'price'?"),
        (
            turns({"current": {"temprature": 5}}, domain="weather"),
            f"turns[0].truth.current.temprature: {FIELD} 'temprature'. Did you mean 'temperature'?",
        ),
        (messages({"price": float("nan")}), "truth.price: must be a finite number, got NaN"),
        (messages({"price": 1}).replace('"price": 1', '"price": 1e999'), "truth.price: must be a finite number"),
        (turns({"price": -float("inf")}), "turns[0].truth.price: must be a finite number, got -Infinity"),
        (messages({"price": "nan"}), "truth: truth.price is 'nan', not a number"),
        (
            turns({"forecast": [{"high": float("nan")}]}, domain="weather"),
            "turns[0].truth.forecast[0].high: must be a finite number, got NaN",
        ),
        (messages("2.50"), "truth: truth is a text, not a table of fields"),
        (turns("2.50"), "turns[0].truth: truth is a text, not a table of fields"),
        (turns({"price": "cheap"}), "turns[0].truth: truth.price is 'cheap', not a number"),
        (turns(GOOD, domain="shp"), "there is no domain called 'shp'. Did you mean 'shop'?"),
        (turns({"price": json.loads("[" * 900 + "]" * 900)}), "turns[0].truth:"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_the_error_names_file_line_field_and_the_nearest_name(
    tmp_path: Path, line: str, says: str, before: int
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([*[messages(GOOD)] * before, line]), "utf-8")
    place = f"{path}:{before + 1}: "
    with pytest.raises(SourceError) as caught:
        read_transcripts(path, domain="shop")
    assert str(caught.value).startswith(place + says)
    if before == 2:
        done = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--workers", 1)
        assert (done.returncode, done.stderr.startswith(f"assay: {place}{says}")) == (2, True)


@pytest.mark.parametrize("more", [{"truth": [GOOD]}, {"truth": [GOOD, GOOD]}, {"truths": [GOOD]}])
def test_a_message_list_has_one_truth(tmp_path: Path, more: dict[str, Any]) -> None:
    path = tmp_path / "t.jsonl"
    for domain in ("shop", "weather"):
        path.write_text(messages(**{"truth": None, **more, "domain": domain}), "utf-8")
        (name,) = more
        with pytest.raises(SourceError, match=rf"t\.jsonl:1: {name}: a message list has one truth, of its last turn"):
            read_transcripts(path)


def test_an_unknown_field_may_be_one_of_another_domain(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(messages(GOOD), "utf-8")
    with pytest.raises(SourceError, match=r"called 'product'.*The domain is 'weather', because neither the file nor"):
        read_transcripts(path)
    path.write_text(messages(GOOD, domain="weather"), "utf-8")
    with pytest.raises(SourceError) as caught:
        read_transcripts(path)
    assert "because neither" not in str(caught.value)


def test_the_truth_of_a_message_list_is_that_of_its_last_turn(tmp_path: Path) -> None:
    record = json.loads(messages(GOOD))
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(record | {"messages": record["messages"] * 2}), "utf-8")
    assert [answer.truth for answer in score(read_transcripts(path, domain="shop")).answers] == [None, GOOD]


def test_a_bad_truth_can_be_left_out_as_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([messages(GOOD), messages({"prize": 5}), messages(GOOD)]), "utf-8")
    done = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--allow-missing", "--json", "-")
    assert len(json.loads(done.stdout)["answers"]) == 2
    assert "note: 1 transcripts could not be read and are left out" in done.stderr


@pytest.mark.parametrize("lines", [1, 3])
def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([messages(GOOD)] * lines), "utf-8-sig")
    assert len(read_transcripts(path, domain="shop")) == lines
    for more in ((), ("--workers", "1")):
        done = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--json", "-", *more)
        assert len(json.loads(done.stdout)["answers"]) == lines
    path.write_text(f"\n{messages(GOOD)}\n{messages(GOOD)}", "utf-8-sig")
    done = assay_command("chat", "score", path, "--domain", "shop", "--no-store", "--json", "-", "--workers", 1)
    assert len(json.loads(done.stdout)["answers"]) == 2
