"""Answers as rows of the database: encoded where they are made, so that whatever cannot be stored is refused there.

Imports no database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from assay.store.texts import json_text, plain_text

AnswerRow = Mapping[str, Any]
"""One scored answer as plain data: agent, scenario, repetition, turn, query, response, passed, failures, metrics and,
if the turn was played, record, and if it is known, truth. The store does not look into the last four."""

EncodedMetrics = tuple[str, list[tuple[str, float, bool]]]
"""The entries of an answer as JSON, and the names and scores of metrics that measured something."""


class EncodedAnswer(NamedTuple):
    """An answer whose values are as the database stores them. Creating it fails if something cannot be stored."""

    agent: str
    scenario: str
    repetition: int
    turn: int
    values: tuple[Any, ...]
    """Query, response, passed, entries, record, failures, truth."""
    scores: list[tuple[str, float, bool]]
    """Names and scores of metrics that measured something, for queries in SQL; the entries have the others too."""

    @classmethod
    def of(
        cls, answer: AnswerRow, encode: Callable[[Mapping[str, Any]], EncodedMetrics] | None = None
    ) -> EncodedAnswer:
        """Encode an answer; raises TypeError or ValueError if something in it cannot be stored.

        `encode` encodes the entries, by default anew each time.
        """
        texts = (plain_text(answer["query"]), plain_text(answer["response"]))
        entries, scores = (encode or _encoded_metrics)(answer["metrics"])
        outcome = (bool(answer["passed"]), entries, json_text(answer.get("record")))
        return cls(
            answer["agent"],
            answer["scenario"],
            answer["repetition"],
            answer["turn"],
            (*texts, *outcome, _json_or(answer.get("failures") or None, "[]"), _json_or(answer.get("truth"), "null")),
            scores,
        )


_KNOWN_FIELDS = ("score", "measured", "band", "details", "base", "group", "version")
_fields_of = itemgetter(*_KNOWN_FIELDS)
_entry_texts: dict[tuple[Any, ...], str] = {}
_MOST_TEXTS = 4096


def _json_or(value: Any, nothing: str) -> str:
    """A value as JSON; most answers have neither failures nor a truth."""
    return nothing if value is None else json_text(value)


def _encoded_metrics(
    metrics: Mapping[str, Any], entry_text: Callable[[Mapping[str, Any]], str] | None = None
) -> EncodedMetrics:
    """Entries by metric as JSON, and their scores."""
    encode = entry_text or encoded_entry
    text = "{" + ",".join([_json_name(name) + encode(entry) for name, entry in metrics.items()]) + "}"
    return text, [
        (_plain_name(name), float(entry["score"]), True) for name, entry in metrics.items() if entry["measured"]
    ]


class FrozenEntries:
    """What was encoded of entries that never change once they were: many answers share the same objects."""

    def __init__(self) -> None:
        # By the number of the object, with the object, so that its number is not given again.
        self._texts: dict[int, tuple[Mapping[str, Any], str]] = {}
        self._metrics: dict[int, tuple[Mapping[str, Any], EncodedMetrics]] = {}

    def encoded(self, metrics: Mapping[str, Any]) -> EncodedMetrics:
        """The entries of an answer as JSON, and its scores."""
        found = self._metrics.get(id(metrics))
        if found is None:
            if len(self._metrics) >= _MOST_TEXTS:
                self._metrics.clear()
            found = self._metrics[id(metrics)] = (metrics, _encoded_metrics(metrics, self._text))
        return found[1]

    def _text(self, entry: Mapping[str, Any]) -> str:
        """An entry as JSON."""
        found = self._texts.get(id(entry))
        if found is None:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            found = self._texts[id(entry)] = (entry, encoded_entry(entry))
        return found[1]


@lru_cache(maxsize=1024)
def _json_name(name: str) -> str:
    return f"{json_text(name)}:"


def encoded_entry(entry: Mapping[str, Any]) -> str:
    """An entry as JSON. Those without evidence repeat from answer to answer, so their texts are kept."""
    if entry.get("evidence") != [] or len(entry) != len(_KNOWN_FIELDS) + 1:
        return json_text(entry)
    try:
        values = _fields_of(entry)
        # 1 and 1.0 are the same key, and different texts.
        key = (values, type(values[0]), type(values[4]))
        known = _entry_texts.get(key)
    except (KeyError, TypeError):  # other fields, or a value that cannot be a key
        return json_text(entry)
    if known is None:
        if len(_entry_texts) >= _MOST_TEXTS:
            _entry_texts.clear()
        known = _entry_texts[key] = json_text(entry)
    return known


@lru_cache(maxsize=1024)
def _plain_name(name: str) -> str:
    """The name of a metric as it is stored; a run has few metrics and many answers."""
    return plain_text(name)
