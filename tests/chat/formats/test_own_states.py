"""A state that its domain does not have can be matched by its own words only, and is noted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import assay_command

from assay.chat.formats.own_states import notes_on_states
from assay.chat.transcript import Transcript


def transcript(*states: str, domain: str = "weather", field: str = "main_condition") -> Transcript:
    turns = [{"user": "And now?", "assistant": "12.", "truth": {field: state}} for state in states]
    return Transcript.model_validate({"agent": "a", "scenario": "s", "domain": domain, "turns": turns})


def test_an_unknown_state_is_noted_with_the_nearest_one() -> None:
    [note] = notes_on_states([transcript("rian", "rian", "rain")])
    assert note.startswith("2 truths have the state 'rian', which the domain 'weather' does not have: ")
    assert "Did you mean 'rain'? Known: clear, clouds, rain, " in note


@pytest.mark.parametrize("state", ["clear", "light rain", "Leichter Regen", "pluie légère", "Thunderstorm"])
def test_states_in_words_of_any_known_language_are_not_noted(state: str) -> None:
    assert not [*notes_on_states([transcript(state)])]


def test_each_domain_has_its_own_states() -> None:
    known = [transcript(state, domain="shop", field="availability") for state in ("in stock", "sold out", "in_stock")]
    assert not [*notes_on_states(known)]
    [note] = notes_on_states([transcript("gggg", domain="shop", field="availability")])
    assert note.endswith("Known: in_stock, out_of_stock, preorder")


def test_many_unknown_states_are_counted() -> None:
    notes = [*notes_on_states([transcript(*(f"zz{letter}q" for letter in "abcdefgh"))])]
    assert len(notes) == 6
    assert notes[-1] == "3 further states of truths are not known either"


@pytest.mark.parametrize("workers", [[], ["--workers", "1"]], ids=["whole", "streamed"])
def test_the_command_notes_them(tmp_path: Path, workers: list[str]) -> None:
    path = tmp_path / "t.jsonl"
    lines = [transcript(state).model_dump(mode="json", exclude_unset=True) for state in ("hurricaneish", "snow")]
    path.write_text("\n".join(json.dumps({**line, "scenario": f"s{at}"}) for at, line in enumerate(lines)), "utf-8")
    done = assay_command("chat", "score", str(path), "--no-store", *workers)
    assert done.returncode == 0
    assert "1 truth has the state 'hurricaneish'" in " ".join(done.stderr.split())
