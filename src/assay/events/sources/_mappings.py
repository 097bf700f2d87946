"""Rows that are objects, from JSON Lines and Python lists: what they mean, and their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from assay.events.sources import ReadOptions
from assay.events.sources._logprobs import with_episode_logprobs, with_logprobs
from assay.events.sources._memory import are_ids, text_of_ids
from assay.events.sources._rows import (
    EPISODE_ROWS,
    EVENT_START,
    FIELDS,
    MOVEMENT,
    NO_VALUE,
    PREFIX_ROWS,
    Form,
    Shape,
    check_present,
    column_names,
    form_of,
    missing_columns,
    row_name,
    shape_of,
    spoil,
    with_episodes,
)
from assay.events.stream import Episode, EventStream, concatenate

Content = dict[str, Any] | str
"""A row's columns, or the reason why there are none."""

_EMPTY: dict[str, Any] = {}


def read_mappings(rows: list[dict[str, Any]], where: str, reading: ReadOptions) -> Iterator[EventStream]:
    """The events of rows that are already dictionaries."""
    if not any(form_of(row, reading) for row in rows):
        raise missing_columns(where, list(dict.fromkeys(key for row in rows[:100] for key in row)), reading)
    contents: list[Content] = [*rows]
    plan = plan_of(contents, where, reading)
    for at in range(0, len(contents), reading.batch_rows):
        yield plan.stream(contents[at : at + reading.batch_rows], at + 1)


def plan_of(contents: list[Content], address: str, reading: ReadOptions) -> Plan:
    """What the rows of a file mean, judged by its first ones."""
    judged = [content for content in contents[:PREFIX_ROWS] if isinstance(content, dict) and form_of(content, reading)]
    check_present(address, list(dict.fromkeys(key for content in judged for key in content)), reading)
    forms: Counter[Form] = Counter(found for content in judged if (found := form_of(content, reading)))
    form = max(forms, key=lambda name: (forms[name], name == "text"))
    plan = Plan(form, "event", reading, address)
    plan.has_logprobs = any(name in content for content in judged for name in column_names("logprob", reading))
    if plan.form == "text":
        texts = [text for text in plan.values(judged) if isinstance(text, str) and text.strip()]
        plan.shape = shape_of([text.count(EVENT_START) for text in texts], reading)
    return plan


class Plan:
    """How the rows of one file become events; decided once, so that positions are consistent."""

    def __init__(self, form: Form, shape: Shape, reading: ReadOptions, address: str) -> None:
        self.form: Form = "text" if form == "ids" else form
        self.shape = shape
        self._reading = reading
        self._address = address
        self._are_ids = form == "ids"
        self.has_logprobs = False
        """Whether one of the rows that were judged has the column."""

    def stream(self, contents: list[Content], row: int) -> EventStream:
        """The events of rows, of which the first is the file's row number `row`."""
        columns = [content if isinstance(content, dict) else _EMPTY for content in contents]
        names = _names(_column(columns, column_names("episode", self._reading)))
        strata = _names(_column(columns, column_names("stratum", self._reading)))
        values = self.values(columns)
        logprobs = (
            _column(columns, column_names("logprob", self._reading)) if self.has_logprobs else [None] * len(columns)
        )
        reasons = {
            at: content if isinstance(content, str) else NO_VALUE
            for at, (value, content) in enumerate(zip(values, contents, strict=True))
            if type(value) is not (str if self.form == "text" else dict) and not self._is_refusal(content)
        }
        if self.shape == "episode":
            labels = [Episode(name or row_name(row + at, self._reading), strata[at]) for at, name in enumerate(names)]
            if self._reading.decision is not None:
                self._reading.decision.see(labels)
            stream = self._episodes(values, labels, logprobs, row)
        else:
            stream = with_logprobs(self._events(values), logprobs, self._address, row)
            if any(names) or any(strata):
                stream = with_episodes(stream, names, strata)
                if self._reading.decision is not None:
                    self._reading.decision.see_events(stream, self._address)
        stream.notes.update(reasons.values())
        return stream

    def values(self, columns: list[dict[str, Any]]) -> list[Any]:
        """The value of each row's event."""
        if self._are_ids:
            found = _column(columns, column_names("ids", self._reading))
            return [text_of_ids(ids, self._reading) if are_ids(ids) else None for ids in found]
        if self.form != "columns":
            return _column(columns, column_names(self.form, self._reading))
        fields = {ours: column_names(ours, self._reading) for ours in FIELDS}
        return [
            {ours: row[name] for ours, names in fields.items() for name in names if _is_given(ours, name, row)} or None
            for row in columns
        ]

    def _is_refusal(self, content: Content) -> bool:
        """Whether the row itself marks its event as invalid (null), so that the row is not an error."""
        return (
            self.form == "event"
            and isinstance(content, dict)
            and any(name in content and content[name] is None for name in column_names("event", self._reading))
        )

    def _events(self, values: list[Any]) -> EventStream:
        """One event per row."""
        if self.form != "text":
            return EventStream.from_events(value if isinstance(value, dict) else None for value in values)
        bad = [at for at, value in enumerate(values) if type(value) is not str]
        for at in bad:
            values[at] = ""
        stream = self._reading.codec.decode_each(values)
        if bad:
            spoil(stream, bad)
        return stream

    def _episodes(self, values: list[Any], labels: list[Episode], logprobs: list[Any], row: int) -> EventStream:
        """All events of each row; a row that cannot be read is one invalid event."""
        parts = []
        for at, (text, label) in enumerate(zip(values, labels, strict=True)):
            if isinstance(text, str):
                part = with_episode_logprobs(self._reading.codec.decode(text), logprobs[at], self._address, row + at)
            else:
                part = self._events([None])
            parts.append(part.of_episode(label))
        stream = concatenate(parts)
        stream.notes[EPISODE_ROWS] += len(values)
        return stream


def _is_given(ours: str, name: str, row: dict[str, Any]) -> bool:
    """Whether the row has this field. A null movement counts as present and makes a mouse event invalid."""
    return row.get(name) is not None or (ours in MOVEMENT and name in row)


def _column(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[Any]:
    """The values of the column with one of these names, None for rows without it."""
    values = [row.get(names[0]) for row in rows]
    for name in names[1:]:
        if None in values:
            values = [row.get(name) if value is None else value for row, value in zip(rows, values, strict=True)]
    return values


def _names(values: list[Any]) -> list[str]:
    return ["" if value is None else str(value) for value in values]
