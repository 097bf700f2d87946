"""Which language a text is in, and what is measured if no word list covers it."""

from __future__ import annotations

import functools
import subprocess
import sys
import tomllib
from importlib.resources import files

import pytest

from assay.chat import ChatbotEvaluator

TRUTH = {"current": {"city": "Helsinki", "temperature": 15, "main_condition": "rain"}}


@functools.cache
def evaluator() -> ChatbotEvaluator:
    return ChatbotEvaluator()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("It's 15 °C and raining in Helsinki right now, so take an umbrella with you.", "en"),
        ("Rome is 27 °C.", "en"),
        ("Helsinki: 15 °C, rain", "en"),
        ("Weather in Oslo?", "en"),
        ("What is question 7?", "en"),
        ("In Helsinki scheint die Sonne bei 25 °C.", "de"),
        ("Regnet es in Berlin?", "de"),
        ("Il fait 15 °C et il pleut à Helsinki.", "fr"),
        ("Quel temps fait-il à Helsinki ?", "fr"),
        ("Helsingissä on 25 °C ja sataa.", "fi"),
        ("Hace 15 grados y llueve en Madrid.", "es"),
        ("La temperatura en Madrid es de 15 grados y la probabilidad de lluvia es del 20 %.", "es"),
        ("Het is 15 graden en het regent in Amsterdam.", "nl"),
        ("В Москве 15 градусов, дождь.", "ru"),
        ("東京は15度で雨です。", "ja"),
        ("Oslo", None),
        ("Hi", None),
        ("15 °C", None),
        ("", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert evaluator().readers.language(text) == language


def test_a_short_text_is_in_the_language_of_the_conversation() -> None:
    context = evaluator().context("Regnet es in Berlin?", "Ja.", "agent")
    assert context.reader is evaluator().readers.reader("de")
    assert context.yes_or_no is not None
    assert context.yes_or_no.yes


def test_an_answer_in_another_language_than_the_question_is_read_in_its_own() -> None:
    entries = evaluator().evaluate_response(
        "What's the weather in Helsinki?", "In Helsinki sind es 15 °C und es regnet.", "agent", TRUTH
    )
    assert entries["accuracy"]["score"] == 1.0


@pytest.mark.parametrize(
    ("answer", "score"), [("Helsingissä on 25 °C ja sataa.", 0.7), ("Helsingissä on 15 °C ja sataa.", 1.0)]
)
def test_without_a_word_list_only_figures_are_measured(answer: str, score: float) -> None:
    entries = evaluator().evaluate_response("Millainen sää on Helsingissä?", answer, "agent", TRUTH, response_time=1.0)
    assert entries["accuracy"]["score"] == score
    assert entries["accuracy"]["measured"]
    assert entries["groundedness"]["measured"]
    assert entries["response_time"]["measured"]
    for metric in ("task_completion", "recommendation_quality", "error_recovery", "ambiguity_handling"):
        assert not entries[metric]["measured"], metric
        assert entries[metric]["evidence"] == []


def test_the_reason_names_the_language() -> None:
    entry = evaluator().evaluate_response("Millainen sää?", "Tänään sataa vettä koko päivän.", "agent")
    assert entry["task_completion"]["details"] == ("Not measured: the answer is in a language without word lists (fi).")


@pytest.mark.parametrize("language", ["de", "fr"])
def test_a_language_has_the_lists_of_english(language: str) -> None:
    folder = files("assay.chat")
    for path in ("reading/languages", "domains/weather", "domains/shop"):
        english, other = (
            tomllib.loads((folder / path / f"{name}.toml").read_text("utf-8")) for name in ("en", language)
        )
        assert set(english["lists"]) == set(other["lists"]), path
        for name in ("states", "items", "adapts", "times", "roles", "units"):
            assert set(english["lists"].get(name, ())) == set(other["lists"].get(name, ())), (path, name)
            assert set(english.get(name, ())) == set(other.get(name, ())), (path, name)


def test_english_with_mostly_english_words_does_not_need_the_detector() -> None:
    program = (
        "import sys; from assay.chat import ChatbotEvaluator; evaluator = ChatbotEvaluator(); "
        "print(evaluator.readers.language('What is question 7?'), 'py3langid' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["en", "False"]


def test_a_text_of_known_words_does_not_need_the_detector() -> None:
    texts = ("weather in lagos", "temperature in vienna pls", "It is cold and rainy in Oslo, so take a warm jacket.")
    program = (
        "import sys; from assay.chat import ChatbotEvaluator; evaluator = ChatbotEvaluator(); "
        f"print(*map(evaluator.readers.language, {texts!r}), 'py3langid' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["en", "en", "en", "False"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I prefer Fahrenheit.", "en"),  # a name that looks German
        ("in Berlin?", None),  # a word of several languages
        ("Thanks!", None),  # people of many languages say it
        ("Temps pluvieux à Lyon, ciel couvert.", "fr"),  # "temps" is English too
    ],
)
def test_few_words_show_a_language_only_if_no_other_has_them(text: str, language: str | None) -> None:
    assert evaluator().readers.language(text) == language
