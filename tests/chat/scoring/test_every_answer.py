"""No answer stops the scoring: small grammars of answers, in both domains and three languages, against many truths."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from assay.chat import ChatbotEvaluator

# Enough for every pair of choices to occur together, at a millisecond or so each.
_ANSWERS = 160
_BARE = ["-7", "−3", "0", "-0.5", "12", "1,5", "1.5", "007", "99999999999999999999"]
_JOINS = [" ", ", ", ". ", "; ", ": ", " – ", " (", "\n", "\n- ", " | "]

_SHOP_TRUTHS: list[dict[str, Any]] = [
    {"delivery_days": 3},
    {"delivery_days": 3, "return_days": 30},
    {"price": 64.5, "currency": "EUR"},
    {"stock": 0, "availability": "out of stock"},
    {"price": 64.5, "currency": "USD", "stock": 12, "availability": "in stock", "delivery_days": 3, "return_days": 30},
    {"warranty_days": 730, "delivery_date": "2026-11-20"},
    {},
]
_WEATHER_TRUTHS: list[dict[str, Any]] = [
    {"current": {"city": "Oslo", "temperature": -5.0, "main_condition": "snow"}},
    {"current": {"city": "Oslo", "temperature": 15.0, "main_condition": "rain", "humidity": 80}},
    {"forecast": [{"date": "2026-11-20", "temp_min": -2, "temp_max": 4, "condition": "clouds"}]},
    {},
]
# By domain and language: questions, words before a statement, what it says, and what follows it.
_GRAMMARS: dict[tuple[str, str], tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]] = {
    ("shop", "en"): (
        ["Tell me about the Nordic Kettle.", "How long does delivery of the Nordic Kettle take?", "Is it in stock?",
         "How many Nordic Kettles are left?", "How much is it?", "Can I return it?", "Does it come with a warranty?"],
        ["", "Not", "No", "It isn't", "No more than", "No fewer than", "It won't take", "Neither", "About", "Between",
         "If", "You said", "We have", "Only", "Up to", "Without", "The service says"],
        ["5 days", "3 days", "a week", "a fortnight", "half a year", "two (2) years", "€64.50", "$70", "12 pieces",
         "in stock", "out of stock", "unavailable", "a dozen", "1½ months", "3–5 days", "-4 days", "a warranty"],
        ["", "or 6", "and a half", "left", "for delivery", "to return it", "if opened", "?", "at all", "not 3 days"],
    ),
    ("shop", "de"): (
        ["Was gibt es zum Nordic Kettle?", "Wie lange dauert die Lieferung?", "Ist er auf Lager?",
         "Wie viele Nordic Kettle habt ihr noch?", "Was kostet er?", "Gibt es eine Garantie?"],
        ["", "Nicht", "Kein", "Es sind nicht", "Nicht mehr als", "Nicht weniger als", "Weder", "Etwa", "Zwischen",
         "Wenn", "Wir haben", "Nur noch", "Bis zu", "Ohne", "Der Dienst ist"],
        ["5 Tage", "3 Tage", "eine Woche", "einen Monat", "ein halbes Jahr", "64,50 €", "70 $", "12 Stück", "auf Lager",
         "ausverkauft", "nicht verfügbar", "ein Dutzend", "anderthalb Jahre", "3–5 Tage", "-4 Tage", "eine Garantie"],
        ["", "oder 6", "noch nicht", "Lieferzeit", "Rückgabe", "wenn geöffnet", "?", "nicht", "nicht 3 Tage"],
    ),
    ("shop", "fr"): (
        ["Parlez-moi du Nordic Kettle.", "Quel est le délai de livraison ?", "Est-il en stock ?",
         "Il reste combien de Nordic Kettle ?", "Combien coûte-t-il ?", "Y a-t-il une garantie ?"],
        ["", "Pas", "Ce n'est pas", "Il n'en reste plus que", "Pas plus de", "Pas moins de", "Ni", "Environ", "Entre",
         "Si", "Nous avons", "Plus que", "Jusqu'à", "Sans", "Le service est"],
        ["5 jours", "3 jours", "une semaine", "une quinzaine de jours", "un an et demi", "64,50 €", "70 $", "12 pièces",
         "en stock", "épuisé", "indisponible", "une douzaine", "un trimestre", "3 à 5 jours", "-4 jours",
         "une garantie"],
        ["", "ou 6", "et demi", "restants", "pour la livraison", "pour le rendre", "si ouvert", "?", "pas 3 jours"],
    ),
    ("weather", "en"): (
        ["What's the weather in Oslo?", "Is it raining in Oslo?", "Will it snow tomorrow?", "How cold is it?"],
        ["", "Not", "No", "It isn't", "No more than", "Between", "If", "You said", "Highs of", "A low of",
         "Feels like"],
        ["15 °C", "-5 °C", "59 °F", "minus 9 degrees", "the mid-teens", "24 °C / 18 °C", "80 %", "rain", "snowing",
         "dry", "a 0 % chance of rain", "12 km/h", "3 to 7 degrees", "two hours"],
        ["", "or 6 °C", "below zero", "in Oslo", "in Rome", "tomorrow", "tonight", "?", "at all", "not 3 °C"],
    ),
    ("weather", "de"): (
        ["Wie ist das Wetter in Oslo?", "Regnet es in Oslo?", "Schneit es morgen?"],
        ["", "Nicht", "Kein", "Es sind nicht", "Nicht mehr als", "Zwischen", "Wenn", "Höchstens", "Gefühlt", "Bis zu"],
        ["15 °C", "-5 °C", "minus 9 Grad", "24 °C / 18 °C", "80 %", "Regen", "Schnee", "trocken", "12 km/h",
         "3 bis 7 Grad"],
        ["", "oder 6 °C", "unter null", "in Oslo", "in Rom", "morgen", "heute Abend", "?", "nicht", "nicht 3 °C"],
    ),
    ("weather", "fr"): (
        ["Quel temps fait-il à Oslo ?", "Est-ce qu'il pleut à Oslo ?", "Va-t-il neiger demain ?"],
        ["", "Pas", "Ce n'est pas", "Il ne fait que", "Pas plus de", "Entre", "Si", "Maximum", "Ressenti", "Jusqu'à"],
        ["15 °C", "-5 °C", "moins 9 degrés", "24 °C / 18 °C", "80 %", "pluie", "neige", "sec", "12 km/h",
         "3 à 7 degrés"],
        ["", "ou 6 °C", "sous zéro", "à Oslo", "à Rome", "demain", "ce soir", "?", "pas 3 °C"],
    ),
}  # fmt: skip


@functools.cache
def evaluator(domain: str) -> ChatbotEvaluator:
    return ChatbotEvaluator(domain=domain)


@pytest.mark.parametrize(("domain", "language"), _GRAMMARS)
def test_every_answer_is_scored(domain: str, language: str) -> None:
    questions, openers, statements, endings = _GRAMMARS[domain, language]
    truths = _SHOP_TRUTHS if domain == "shop" else _WEATHER_TRUTHS
    draw = random.Random(f"{domain} {language}")
    for _ in range(_ANSWERS):
        parts = []
        for _ in range(draw.randint(1, 3)):
            # A bare number stands beside words only in the shop, and for a whole statement in both.
            said = draw.choice(_BARE) if domain == "shop" and draw.random() < 0.2 else draw.choice(statements)
            parts += [f"{draw.choice(openers)} {said} {draw.choice(endings)}".strip(), draw.choice(_JOINS)]
        response = "".join(parts).strip()
        truth = draw.choice(truths)
        if domain == "shop":
            truth = {"product": "Nordic Kettle", **truth}
        question = draw.choice(questions)
        try:
            entries = evaluator(domain).evaluate_response(question, response, "agent", weather_data_used=truth)
        except Exception as error:
            pytest.fail(f"{error!r}: {question!r}, {response!r}, {truth}")
        assert all(0 <= entry["score"] <= 1 for entry in entries.values())


@pytest.mark.parametrize("domain", ["shop", "weather"])
@pytest.mark.parametrize("number", _BARE)
def test_a_bare_number_is_scored(domain: str, number: str) -> None:
    truth = {"product": "Nordic Kettle", "stock": 12} if domain == "shop" else _WEATHER_TRUTHS[0]
    for question in ("How many are left?", "How cold is it in Oslo?"):
        evaluator(domain).evaluate_response(question, number, "agent", weather_data_used=truth)
