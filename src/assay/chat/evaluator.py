"""`ChatbotEvaluator`: scores an answer with every metric.

A wrong type is an error that names the field (`arguments.py`). Any text is scored.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from assay.chat.arguments import (
    checked_calls,
    checked_characteristics,
    checked_content,
    checked_count,
    checked_seconds,
    checked_sequence,
    checked_text,
    type_of,
)
from assay.chat.domains import DOMAINS, Domain, Outline, Truth
from assay.chat.reading.places import words_of
from assay.chat.reading.recognition import Read, Readers
from assay.chat.reading.text import Reader, Reading
from assay.chat.scoring.context import Exchange, ScoringContext
from assay.chat.scoring.context.calendar import Calendar
from assay.chat.scoring.context.places import Subjects
from assay.chat.scoring.context.preferences import read_preferences
from assay.chat.scoring.context.question import Question
from assay.chat.scoring.context.word_names import word_names
from assay.chat.scoring.kept import KeptByValue
from assay.chat.scoring.metric import METRICS, Entry, Metric
from assay.chat.transcript import ToolCall
from assay.errors import UsageError, unknown_name

METRIC_NAMES = (
    "accuracy",
    "task_completion",
    "recommendation_quality",
    "context_retention",
    "adaptation_quality",
    "response_time",
    "tool_call_count",
    "action_planning",
    "implementation_effort",
    "integration_simplicity",
    "debuggability",
    "error_recovery",
    "ambiguity_handling",
    "repeatability",
    "groundedness",
)
"""The built-in metrics in the order in which they are shown; metrics of other packages follow by name."""

_T = TypeVar("_T")
_COLLECTED: AbstractContextManager[None] = nullcontext()
_CACHED_EXCHANGES = 1024
_LONGEST_CACHED = 4_000
_MOST_QUESTIONS = 512
# The arguments of `evaluate_response`, and what a context calls them.
_TRUTH = "weather_data_used"
_REQUIRED = ("user_query", "response", "framework_name")
_FIELDS = {
    **dict(zip(_REQUIRED, _REQUIRED, strict=True)),
    _TRUTH: "truth",
    "conversation_history": "history",
    "user_preferences": "preferences",
    **{name: name for name in ("response_time", "tool_call_count", "tool_calls", "expected_calls", "characteristics")},
}
# So many answers are scored together, with at most so many characters: the readings of more of them do not fit into the
# caches of a processor.
_TOGETHER = 100
_CHARACTERS_TOGETHER = 100_000
_USER_ROLES = ("user", "human")
_ASSISTANT_ROLES = ("assistant", "model", "ai", "bot")
_USER_SIDES = ("user", "query", "user_query", "user_message", "human", "question", "message")
_ASSISTANT_SIDES = ("assistant", "response", "assistant_response", "bot_response", "agent", "ai", "bot", "answer")


class ChatbotEvaluator:
    """Scores answers about one domain, each text in its own language."""

    def __init__(
        self,
        *,
        domain: str | Domain = "weather",
        language: str | Path = "en",
        metrics: Iterable[str | Metric] | None = None,
        names: Iterable[str] = (),
    ) -> None:
        """`metrics` restricts or extends the metrics (all that are installed by default).

        `language` is that of texts too short to be recognised: one that comes with assay, or the path of a file like
        `languages/en.toml`; the domain needs a file of the same name. `names` are cities or products that the gazetteer
        does not have.
        """
        self.domain = DOMAINS.get(domain) if isinstance(domain, str) else domain
        self.language = language
        self.metrics = chosen_metrics(metrics)
        self.names: dict[str, list[tuple[str, ...]]] = {}
        for name in names:
            words = words_of(checked_text(name, "names"))
            if words:
                self.names.setdefault(words[0], []).append(words)
        own_words = {key: words for metric in self.metrics for key, words in metric.own_words().items()}
        self.readers = Readers(language, self.domain.folder, own_words, use_places=self.domain.uses_places)
        self.reader = self.readers.primary
        self._exchange = functools.lru_cache(maxsize=_CACHED_EXCHANGES)(self._read_exchange)
        self._no_truth = Truth()
        self._questions: dict[tuple[int, int, Outline, tuple[str, ...]], Question] = {}
        self._subjects = functools.lru_cache(maxsize=_MOST_QUESTIONS)(self._make_subjects)
        self._calendar = functools.lru_cache(maxsize=_MOST_QUESTIONS)(Calendar)
        self._read_truth = KeptByValue(self.domain.read_truth)
        self._read_preferences = KeptByValue(lambda data: read_preferences(data, self.domain, self.reader))

    def evaluate_response(
        self,
        user_query: str,
        response: str,
        framework_name: str,
        weather_data_used: Any = None,
        conversation_history: Sequence[Mapping[str, Any]] | None = None,
        user_preferences: Mapping[str, Any] | None = None,
        response_time: float | None = None,
        tool_call_count: int | None = None,
        *,
        tool_calls: Sequence[ToolCall | Mapping[str, Any]] | None = None,
        expected_calls: Sequence[ToolCall | Mapping[str, Any]] | None = None,
        characteristics: Mapping[str, Any] | None = None,
    ) -> dict[str, Entry]:
        """One entry for each metric: score, measured, band, details, evidence.

        `weather_data_used` is the ground truth in the domain's own shape, whatever the domain.
        `tool_calls` have name, arguments, result, error and duration; `expected_calls` a name and arguments.
        """
        with uncollected():
            # The context ends before collections begin again, which would otherwise go through all that was read.
            return self.entries(
                self.context(
                    user_query,
                    response,
                    framework_name,
                    truth=weather_data_used,
                    truth_name=_TRUTH,
                    history=conversation_history,
                    preferences=user_preferences,
                    response_time=response_time,
                    tool_call_count=tool_call_count,
                    tool_calls=tool_calls,
                    expected_calls=expected_calls,
                    characteristics=characteristics,
                )
            )

    def evaluate_responses(self, cases: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Entry]]:
        """The entries of many answers, in order; each case has the arguments of `evaluate_response` by name.

        It takes two thirds of the time of evaluating one after the other, and any number of cases may be streamed.
        """
        for batch in answer_batches(enumerate(cases), lambda case: sum(map(len, _texts_of(case[1])))):
            with uncollected():
                found, failed = self._evaluate_together(batch)
            yield from found
            if failed is not None:
                raise failed

    def _evaluate_together(
        self, batch: Sequence[tuple[int, Mapping[str, Any]]]
    ) -> tuple[list[dict[str, Entry]], UsageError | None]:
        """The entries of some numbered cases, up to the first wrong one, and what is wrong with that one.

        Nothing but the entries is left when it returns, so that no garbage collection goes through the contexts.
        """
        self.readers.read_ahead(text for _, case in batch for text in _texts_of(case))
        contexts: list[ScoringContext] = []
        failed = None
        for at, case in batch:
            try:
                contexts.append(self._context_of(case))
            except UsageError as error:
                error.where, failed = f"case {at}", error
                break
        return self.all_entries(contexts), failed

    def _context_of(self, case: Mapping[str, Any]) -> ScoringContext:
        """The context of a case of `evaluate_responses`."""
        if not isinstance(case, Mapping):
            raise UsageError(
                f"a case is {type_of(case)}, not a table", hint="Give the arguments by name, as a dictionary"
            )
        for name in case:
            if name not in _FIELDS:
                raise unknown_name("argument", str(name), _FIELDS)
        absent = [name for name in _REQUIRED if name not in case]
        if absent:
            raise UsageError(f"{absent[0]} is missing", hint=f"Give {', '.join(_REQUIRED)}")
        return self.context(truth_name=_TRUTH, **{_FIELDS[name]: value for name, value in case.items()})

    def entries(self, context: ScoringContext) -> dict[str, Entry]:
        """One entry for each metric, of an answer in its context."""
        with uncollected():
            return {metric.name: metric.score(context) for metric in self.metrics}

    def all_entries(self, contexts: Sequence[ScoringContext]) -> list[dict[str, Entry]]:
        """The entries of several answers, metric by metric: each looks at all of them before the next one does.

        What the processor's caches hold of a metric, and of what it needs, then serves all answers.
        """
        found: list[dict[str, Entry]] = [{} for _ in contexts]
        with uncollected():
            for metric in self.metrics:
                for name in metric.needs:
                    for context in contexts:
                        getattr(context, name)
                for entries, context in zip(found, contexts, strict=True):
                    entries[metric.name] = metric.score(context)
        return found

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Read the questions and answers of which contexts will be made next: together, which is faster."""
        with uncollected():
            self.readers.read_ahead(texts)

    def context(
        self,
        user_query: str,
        response: str,
        framework_name: str,
        *,
        truth: Any = None,
        truth_name: str = "truth",
        history: Sequence[Mapping[str, Any]] | None = None,
        preferences: Mapping[str, Any] | None = None,
        response_time: float | None = None,
        tool_call_count: int | None = None,
        tool_calls: Sequence[ToolCall | Mapping[str, Any]] | None = None,
        are_calls_unknown: bool = False,
        expected_calls: Sequence[ToolCall | Mapping[str, Any]] | None = None,
        characteristics: Mapping[str, Any] | None = None,
    ) -> ScoringContext:
        """What metrics see of an answer: its texts read, its data checked.

        Errors call the truth by the name under which the user gave it.
        """
        user_query, response = checked_text(user_query, "user_query"), checked_text(response, "response")
        usual = self.readers.language_between(user_query, response)
        with uncollected():
            asked = self.readers.read(user_query, usual=usual)
            answered = self.readers.read(response, usual=usual)
        known = self._no_truth if truth is None else self._truth(truth, truth_name)
        calls, fields = checked_calls(tool_calls, "tool_calls"), self.domain.fields.subject
        others = word_names(asked.reading, calls, answered.reader, fields) if self.domain.uses_places else ()
        return ScoringContext(
            question=self._question(asked, answered.reader, known.outline, others),
            response=answered.reading,
            unknown_language=answered.unknown,
            framework=checked_text(framework_name, "framework_name"),
            domain=self.domain,
            reader=answered.reader,
            truth_reader=self.readers.primary,
            truth=known,
            history=self._history(history, usual),
            preferences=self._preferences(preferences),
            response_time=checked_seconds(response_time),
            tool_call_count=checked_count(tool_call_count),
            tool_calls=calls,
            are_calls_unknown=are_calls_unknown,
            expected_calls=checked_calls(expected_calls, "expected_calls"),
            characteristics=checked_characteristics(characteristics),
        )

    def _truth(self, data: Any, name: str) -> Truth:
        try:
            return self._read_truth(data)
        except UsageError as error:
            if error.what.startswith("truth"):
                raise UsageError(name + error.what.removeprefix("truth"), hint=error.hint) from error
            raise

    def _question(self, asked: Read, reader: Reader, outline: Outline, others: tuple[str, ...]) -> Question:
        """What a query asks; kept for as long as its reading is, which the question itself holds.

        `others` are cities whose names are words.
        """
        key = id(asked.reading), id(reader), outline, others
        known = self._questions.get(key)
        if known is None:
            if len(self._questions) >= _MOST_QUESTIONS:
                self._questions.clear()
            known = self._questions[key] = Question(
                asked.reading,
                query_reader=asked.reader,
                domain=self.domain,
                outline=outline,
                subjects=self._subjects(reader, outline.subject or self._place_asked(asked, outline), others),
                calendar=self._calendar(outline.days, outline.today),
            )
        return known

    def _place_asked(self, asked: Read, outline: Outline) -> str | None:
        """The one place that a query names, which a truth without a place is then of."""
        if not self.domain.uses_places or not (outline.facts or outline.states):
            return None
        named = {place.name for place in asked.reading.places}
        return named.pop() if len(named) == 1 else None

    def _make_subjects(self, reader: Reader, true: str | None, others: tuple[str, ...]) -> Subjects:
        return Subjects(domain=self.domain, reader=reader, true=true, names=self.names, others=others)

    def _history(self, turns: Sequence[Mapping[str, Any]] | None, usual: str | None) -> tuple[Exchange, ...]:
        """Earlier turns, as pairs ({'user': …, 'assistant': …}) or as messages ({'role': …, 'content': …})."""
        if turns is None:
            return ()
        exchanges: list[Exchange] = []
        for at, turn in enumerate(checked_sequence(turns, "conversation_history")):
            if type(turn) is dict and len(turn) == 2:  # the usual form of an earlier turn
                user, assistant = turn.get("user"), turn.get("assistant")
                if type(user) is str and type(assistant) is str:
                    is_short = len(user) + len(assistant) <= _LONGEST_CACHED
                    exchanges.append((self._exchange if is_short else self._read_exchange)(user, assistant, usual))
                    continue
            where = f"conversation_history[{at}]"
            if type(turn) is not dict and not isinstance(turn, Mapping):
                raise UsageError(
                    f"{where} is {type_of(turn)}, not a turn", hint="Give a dictionary with user and assistant"
                )
            if "role" in turn:
                role, said = turn["role"], self._side(turn, ("content", "parts", "text"), where, usual)
                if role in _USER_ROLES:
                    exchanges.append(Exchange(said, None))
                elif role in _ASSISTANT_ROLES and said is not None:
                    open_turn = exchanges and exchanges[-1].assistant is None
                    asked = exchanges.pop().user if open_turn else None
                    exchanges.append(Exchange(asked, said))
            else:
                sides = (self._side(turn, names, where, usual) for names in (_USER_SIDES, _ASSISTANT_SIDES))
                exchanges.append(Exchange(*sides))
        return tuple(exchanges)

    def _read_exchange(self, user: str, assistant: str, usual: str | None) -> Exchange:
        return Exchange(self.readers.read(user, usual=usual).reading, self.readers.read(assistant, usual=usual).reading)

    def _side(self, turn: Mapping[str, Any], names: Sequence[str], where: str, usual: str | None) -> Reading | None:
        for name in names:
            if turn.get(name) is not None:
                return self.readers.read(checked_content(turn[name], f"{where}.{name}"), usual=usual).reading
        return None

    def _preferences(self, data: Mapping[str, Any] | None) -> frozenset[str]:
        if data is None:
            return frozenset()
        if type(data) is not dict and not isinstance(data, Mapping):
            raise UsageError(f"user_preferences is {type_of(data)}, not a table", hint="Give a dictionary")
        return self._read_preferences(data)


class _Uncollected:
    """No garbage collection while a text, or many texts, are read and scored.

    What is found in them has no cycles, so that a collection would look at all of it in vain: in a long text again and
    again, which would take more than linear time.
    """

    def __enter__(self) -> None:
        gc.disable()

    def __exit__(self, *raised: object) -> None:
        gc.enable()


_UNCOLLECTED: AbstractContextManager[None] = _Uncollected()


def uncollected() -> AbstractContextManager[None]:
    """No garbage collection inside a `with` block."""
    return _UNCOLLECTED if gc.isenabled() else _COLLECTED


def answer_batches(items: Iterable[_T], length: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Items in groups that are scored together; `length` gives the characters of the answer that an item has."""
    batch: list[_T] = []
    characters = 0
    for item in items:
        size = length(item)
        if batch and (len(batch) >= _TOGETHER or characters + size > _CHARACTERS_TOGETHER):
            yield batch
            batch, characters = [], 0
        batch.append(item)
        characters += size
    if batch:
        yield batch


def _texts_of(case: object) -> list[str]:
    """The question and the answer of a case, if they are texts."""
    texts = (case.get("user_query"), case.get("response")) if isinstance(case, Mapping) else ()
    return [text for text in texts if isinstance(text, str)]


def chosen_metrics(metrics: Iterable[str | Metric] | None) -> tuple[Metric, ...]:
    """Metrics given by name or as they are; without any, all that are installed, in the order of tables."""
    chosen = _in_order(METRICS.names()) if metrics is None else metrics
    return tuple(METRICS.get(metric) if isinstance(metric, str) else metric for metric in chosen)


def _in_order(names: Iterable[str]) -> list[str]:
    rank = {name: at for at, name in enumerate(METRIC_NAMES)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))
