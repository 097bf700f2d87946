"""Preferences are read from sentences and stored."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.chat import ChatbotEvaluator
from assay.chat.domains.weather import DOMAIN
from assay.chat.scoring.context.preferences import read_preferences
from assay.chat.world.preferences import INSIGHTS, Preferences, flags, parse_preferences
from assay.errors import SourceError


@pytest.mark.parametrize(
    ("sentence", "known"),
    [
        ("hates the cold", {"dislikes_cold": True}),
        ("I hate the cold and rain", {"dislikes_cold": True, "dislikes_rain": True}),
        ("I don't like cold, rain or wind", {"dislikes_cold": True, "dislikes_rain": True, "dislikes_wind": True}),
        ("User dislikes cold weather", {"dislikes_cold": True}),
        ("avoids wet weather", {"dislikes_rain": True}),
        ("sensitive to cold", {"dislikes_cold": True}),
        ("I can’t stand the heat", {"dislikes_heat": True}),
        ("I'm not a big fan of rain, but I love snow", {"dislikes_rain": True, "dislikes_snow": False}),
        ("hates it when it rains", {"dislikes_rain": True}),
        ("prefers warm weather", {"dislikes_cold": True, "dislikes_heat": False}),
        ("doesn't mind the cold", {"dislikes_cold": False}),
        ("I no longer hate the cold", {"dislikes_cold": False}),
        ("loves rainy days", {"dislikes_rain": False}),
        ("prefers indoor activities", {"prefers_indoor": True}),
        ("prefers to stay indoors when it rains", {"prefers_indoor": True}),
        ("not a fan of indoor activities", {"prefers_indoor": False}),
        ("goes hiking every weekend", {"outdoor_activities": True}),
        ("hates the cold and goes hiking every weekend", {"dislikes_cold": True, "outdoor_activities": True}),
        ("I hate going out in the rain", {"dislikes_rain": True}),
        ("I prefer museums to hiking", {"prefers_indoor": True, "outdoor_activities": False}),
        ("likes running, not rain", {"outdoor_activities": True, "dislikes_rain": True}),
        ("I really hate cold weather. I love running.", {"dislikes_cold": True, "outdoor_activities": True}),
        ("uses Fahrenheit", {"units": "imperial"}),
        ("I'd like it in °F please", {"units": "imperial"}),
        ("prefers Celsius rather than Fahrenheit", {"units": "metric"}),
        ("I don't want imperial units", {"units": "metric"}),
        ("lives in Helsinki", {"home_city": "Helsinki"}),
        ("i live in new york and prefer fahrenheit", {"home_city": "New York", "units": "imperial"}),
        ("home city: São Paulo", {"home_city": "São Paulo"}),
        ("I'm from Aberystwyth", {"home_city": "Aberystwyth"}),
        ("enjoys live music", {}),
        ("It will be cold tomorrow", {}),
        ("gets up early", {}),
    ],
)
def test_preferences_of_a_sentence(sentence: str, known: dict[str, Any]) -> None:
    assert parse_preferences(sentence) == known


@pytest.mark.parametrize(
    "sentence", ["hates the cold", "hates the rain", "prefers indoor activities", "loves outdoor activities"]
)
def test_scoring_reads_what_was_learned(sentence: str) -> None:
    stored = Preferences().learn("u", sentence)
    [flag] = flags(stored)
    assert flag in DOMAIN.preferences
    assert read_preferences(flags(stored), DOMAIN, ChatbotEvaluator().reader) == {flag}


def test_every_preference_of_the_domain_can_be_learned() -> None:
    said = "hates cold. hates rain. prefers indoor activities. loves hiking."
    assert set(DOMAIN.preferences) <= set(parse_preferences(said))


def test_later_sentences_override_earlier_ones() -> None:
    preferences = Preferences()
    preferences.learn("anna", "hates the cold")
    preferences.learn("anna", "  hates   the cold ")
    assert preferences.learn("anna", "loves the cold now") == {
        "dislikes_cold": False,
        INSIGHTS: ["hates the cold", "loves the cold now"],
    }
    assert preferences.learn("anna", " ") == preferences.read("anna")
    assert preferences.read("bert") == {}


def test_number_and_length_of_sentences_are_limited() -> None:
    preferences = Preferences()
    for number in range(60):
        known = preferences.learn("anna", f"fact {number} " + "x" * 1000)
    assert len(known[INSIGHTS]) == 50
    assert max(map(len, known[INSIGHTS])) == 500
    assert known[INSIGHTS][-1].startswith("fact 59")


def test_read_returns_a_copy() -> None:
    preferences = Preferences()
    preferences.write("anna", {"home": {"city": "Oslo"}})
    preferences.read("anna")["home"]["city"] = "Paris"
    assert preferences.read("anna") == {"home": {"city": "Oslo"}}


USERS = ["anna", "../../etc/passwd", "a/b", "", "\x00", "\ud800", "Ünï ©", "x" * 5000]


@pytest.mark.parametrize("user", USERS)
def test_user_name_may_be_any_text(user: str, tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    Preferences(path).learn(user, "hates the rain")
    assert Preferences(path).read(user)["dislikes_rain"] is True
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "preferences.json"
    preferences = Preferences(path)
    preferences.learn("anna", "hates the rain")
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            preferences.learn("anna", "hates the cold")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert "dislikes_cold" not in preferences.read("anna")


@pytest.mark.parametrize("text", ["{", "[]", '{"anna": 1}', "\xff"])
def test_invalid_file_is_an_error_that_names_the_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SourceError, match=r"preferences\.json: preferences"):
        Preferences(path)


def test_what_json_cannot_say_becomes_what_it_can() -> None:
    preferences = Preferences()
    preferences.write("ada", {"cities": {"Rome", "Oslo"}, "limit": float("nan"), 1: b"x"})  # type: ignore[dict-item]
    assert preferences.read("ada") == {"cities": ["Oslo", "Rome"], "limit": "NaN", "1": "x"}


def test_concurrent_learning_loses_no_sentence(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    preferences = Preferences(path)
    threads = [
        threading.Thread(target=lambda n=n: [preferences.learn("anna", f"fact {n}.{i}") for i in range(5)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(preferences.read("anna")[INSIGHTS]) == 40
    assert json.loads(path.read_text())["anna"] == preferences.read("anna")


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_can_be_an_insight(text: str) -> None:
    preferences = Preferences()
    known = preferences.learn("anna", text)
    assert known == preferences.read("anna")
    assert all(isinstance(value, (bool, str, list)) for value in known.values())
