"""Another language is a file for it and one for the domain, and no code."""

from __future__ import annotations

import math
import shutil
import tomllib
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from assay.chat import ChatbotEvaluator, Domain
from assay.chat.domains import DOMAINS
from assay.chat.domains.weather import read_truth
from assay.chat.reading.lexicon import compile_lexicon

GERMAN = """
stemmer = "german"
derived_endings = []
function_words = ["der", "die", "das", "ist", "es", "in", "und", "mit", "bei"]
clause_words = ["aber"]
negation_stops = ["und"]
linking_or = ["oder", "noch"]
copulas = ["ist", "sind", "wird"]
place_prepositions = ["in", "bei", "nach"]
months = ["januar", "februar", "märz", "april", "mai", "juni", "juli", "august"]
ordinal_endings = []
day_of_month = []
halves_of_day = {}
signs_before = ["minus"]
signs_after = [["unter", "null"]]
range_words = ["bis"]
between_words = ["zwischen"]
and_words = ["und"]
keyword_lists = ["states", "items", "advice"]
ordinary_names = "essen"

[negation]
words = ["kein", "nicht", "ohne"]
endings = []
idioms = []
after = ["erwartet"]

[hypothesis]
words = ["falls", "wenn"]

[numbers]
"fünf" = 5
zehn = 10

[lists.times]
tomorrow = ["morgen"]

[lists.advice]
recommend = ["empfehle", "empfehlen"]

[lists.reasons]
any = ["weil", "wegen"]
"""

WEATHER = """
[lists.topic]
any = ["Wetter", "Temperatur", "Regen"]

[lists.states]
rain = ["Regen", "regnet", "regnerisch"]
clear = ["klar", "sonnig"]

[lists.items]
umbrella = ["Regenschirm", "Schirm"]

[units.temperature]
celsius = ["°C", "Grad"]
"""


@pytest.fixture
def german(tmp_path: Path) -> ChatbotEvaluator:
    with as_file(files("assay.chat.domains.weather") / "domain.toml") as settings:
        shutil.copy(settings, tmp_path / "domain.toml")
    (tmp_path / "de.toml").write_text(WEATHER, "utf-8")
    language = tmp_path / "languages" / "de.toml"
    language.parent.mkdir()
    language.write_text(GERMAN, "utf-8")
    return ChatbotEvaluator(domain=Domain("wetter", tmp_path, read_truth), language=language)


@pytest.mark.parametrize(
    ("answer", "accuracy"),
    [
        ("In Berlin sind es minus fünf Grad, und es regnet.", 1.0),
        ("In Berlin sind es −5 °C mit Regen.", 1.0),
        ("In Berlin sind es zehn Grad mit Regen.", 0.7),
        ("In Berlin sind es fünf Grad unter null, kein Regen.", 0.8),
        ("In Berlin sind es −5 °C, klar und sonnig.", 0.8),
    ],
)
def test_german(german: ChatbotEvaluator, answer: str, accuracy: float) -> None:
    truth = {"current": {"city": "Berlin", "temperature": -5, "main_condition": "Regen"}}
    entries = german.evaluate_response("Wie ist das Wetter in Berlin?", answer, "agent", truth)
    assert entries["accuracy"]["score"] == accuracy, entries["accuracy"]["details"]


def test_german_advice(german: ChatbotEvaluator) -> None:
    answer = "Ich empfehle einen Regenschirm, weil es regnet."
    entry = german.evaluate_response("Wie ist das Wetter in Berlin?", answer, "agent")["recommendation_quality"]
    assert entry["score"] == 0.9
    assert [line["words"] for line in entry["evidence"]] == ["Regenschirm", "weil"]


def test_the_shipped_files_have_the_keys_that_a_copy_needs() -> None:
    english = tomllib.loads((files("assay.chat.reading") / "languages" / "en.toml").read_text("utf-8"))
    assert set(tomllib.loads(GERMAN)) <= set(english)


@pytest.mark.parametrize("domain", ["weather", "shop"])
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_no_word_begins_too_many_entries(domain: str, language: str) -> None:
    """Entries of several groups stand for the product of them: all are made when a text first has their first word."""
    lexicon = compile_lexicon(language, DOMAINS.get(domain).folder, {})
    begun: Counter[str] = Counter()
    for table in (lexicon.by_stem, lexicon.by_form):
        for first, patterns in table.items():
            begun[first] += sum(math.prod(map(len, pattern.rest)) for pattern in patterns)
    assert {word: number for word, number in begun.items() if number > 5_000} == {}
    assert begun.total() < 40_000
