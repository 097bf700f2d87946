"""The command `assay events eval` on tables of token ids and on episodes that occur twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay import events
from tests.command import assay_command

KEYS = [f"<EVENT_START><KEYBOARD><0><{at}><2><65><press><EVENT_END>" for at in range(4)]


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def evaluated(*words: object) -> tuple[int, str, str]:
    done = assay_command("events", "eval", *words, "--protocol", "owa", "--reps", "20", "--json", "-")
    return done.returncode, done.stdout, done.stderr


def test_columns_of_token_ids_are_scored_with_a_tokenizer(tmp_path: Path) -> None:
    vocabulary = {token: number for number, token in enumerate(events.codec("hierarchical").vocabulary())}  # type: ignore[attr-defined]
    ids = [[vocabulary[f"<{token}"] for token in key.split("<")[1:]] for key in KEYS]
    tokenizer = tmp_path / "vocab.json"
    tokenizer.write_text(json.dumps(vocabulary), encoding="utf-8")
    predicted = written(tmp_path / "p.jsonl", [{"episode": "a", "token_ids": row} for row in ids])
    truth = written(tmp_path / "t.jsonl", [{"episode": "a", "text": key} for key in KEYS])
    code, out, err = evaluated(predicted, truth, "--tokenizer", tokenizer)
    assert code == 0, err
    figures = json.loads(out)["protocols"]["owa@1"]
    assert (figures["events"], figures["keyboard_accuracy_all"]) == (4, 1.0)
    code, out, err = evaluated(predicted, truth)
    assert (code, out) == (2, "")
    assert "token ids need a tokenizer" in err
    assert "--tokenizer PATH" in err


@pytest.mark.parametrize("shape", ["event", "episode"])
@pytest.mark.slow
def test_episodes_that_occur_twice_are_joined_if_asked(shape: str, tmp_path: Path) -> None:
    texts = KEYS if shape == "event" else ["".join(KEYS)]
    rows: list[dict[str, object]] = [{"episode": name, "text": text} for name in "aba" for text in texts]
    path = written(tmp_path / "x.jsonl", rows)
    code, out, err = evaluated(path, path, "--rows", shape)
    assert (code, out) == (2, "")
    assert "1 episode in more than one row" in " ".join(err.split())
    assert "--allow-duplicates" in err
    code, out, err = evaluated(path, path, "--rows", shape, "--allow-duplicates")
    assert code == 0, err
    found = json.loads(out)
    assert found["protocols"]["owa@1"]["events"] == 12
    assert found["inputs"]["truth"]["doubled"] == ["a"]
