"""Whether a figure of an answer is supported by a number in tool results of any JSON shape.

A number's kind is read from its unit if it has one ("15 °C"), else from the names of the fields around it
(`wind.speed`); a number of unknown kind may support a figure of any kind. Its place and day are read from the fields
beside it and from the call's arguments; if they are known, they have to be those of the figure.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import NamedTuple

from assay.chat.domains import Truth
from assay.chat.reading.lexicon import QuantityKind
from assay.chat.reading.places import main_name, words_of
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Reader, Reading
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.context.calendar import PAST, PRESENT, is_later
from assay.chat.scoring.context.claims import FigureClaim
from assay.chat.scoring.context.places import is_one_of
from assay.chat.transcript import ToolCall

_NAME = re.compile(r"[a-z]+|\d+[a-z]+", re.IGNORECASE)
_KELVIN = 273.15
_EPSILON = 1e-9
_DEEPEST = 64
_EXTREMES = ("high", "low")
# How many subjects and days are remembered with the numbers that can support figures about them.
_MOST_KEPT = 256
# How many paths of fields are remembered with the kind of number that they stand for.
_MOST_PATHS = 4_096
# Names of fields that are days by themselves: {"tomorrow": {...}}.
_DAY_NAMES = frozenset({"yesterday", "today", "tomorrow"})


class _Origin(NamedTuple):
    """What the fields around a number say that it is about."""

    place: str | None = None
    day: str | None = None
    unit_kind: str | None = None
    """The kind of the unit that a field beside it names: a currency."""
    in_list: bool = False
    """Whether it is one of several entries; a single one has the date it was made, which depends on the time zone."""


@dataclass(slots=True)
class _Numbers:
    """The numbers of one place and day."""

    exact: dict[str, list[float]] = field(default_factory=dict)
    """By kind, in the unit of the kind."""
    bare: dict[str | None, list[float]] = field(default_factory=dict)
    """By kind, in a unit that is not known."""


class _Supporting(NamedTuple):
    """The numbers that can support a figure of one kind, place and day: lists of them, each ascending."""

    exact: list[list[float]]
    """In the unit of the kind."""
    bare: list[list[float]]
    """In a unit that is not known."""


class Sources:
    """The numbers in the tool results and the ground truth of an answer, by place and day."""

    def __init__(self, context: ScoringContext, calls: Sequence[ToolCall]) -> None:
        """The context may be any of the same ground truth with an answer in the same language."""
        self._calendar = context.calendar
        self._uses_places = context.domain.uses_places
        self._reader = context.reader
        self._kinds = context.kinds
        self._fields = context.domain.fields
        self._numbers: dict[tuple[str | None, str | None], _Numbers] = {}
        self._read_all(calls, context.truth)
        self._known: dict[tuple[tuple[str, ...], str | None, bool, bool, str], _Supporting] = {}
        self._has_days = any(day is not None for _, day in self._numbers)
        self._has_present = any(day is None for _, day in self._numbers)

    @classmethod
    def of(cls, context: ScoringContext) -> Sources:
        """The sources of an answer; if no tool gave a result, those of its truth, which all answers about it share."""
        calls = [call for call in context.tool_calls or () if call.error is None]
        if calls:
            return cls(context, calls)
        memory, key = context.truth.memory, ("sources", context.reader)
        known = memory.get(key)
        if not isinstance(known, Sources):
            known = memory[key] = cls(context, ())
        return known

    def _read_all(self, calls: Sequence[ToolCall], truth: Truth) -> None:
        for call in calls:
            self._read(call.result, (), _Origin(self._place(call.arguments)), ())
        self._read(truth.source, (), _Origin(self._name(truth.subject)), ())
        for numbers in self._numbers.values():
            for values in (*numbers.exact.values(), *numbers.bare.values()):
                values.sort()

    def support(self, claim: FigureClaim, *, is_day_told: bool, asked_day: str | None) -> bool:
        """Whether a source contains the figure, within the kind's tolerance or the rounding it was written with.

        If the answer does not tell its day, which is then that of the question, `asked_day`, numbers of any day can
        support it. A range that is too wide to say much is supported only if both ends are numbers of one day, or of
        the days that the answer tells.
        """
        figure = claim.said
        is_asked = claim.day == asked_day and not is_day_told
        about = (tuple(claim.subjects), claim.day, is_asked, figure.role in _EXTREMES, figure.kind)
        kind, low, high = self._kinds[figure.kind], figure.low, figure.high
        if low < high and kind.precise is not None and high - low > kind.precise + _EPSILON:
            numbers_of_days = self._numbers_of(*about[:-1])
            is_any_day = claim.day is None or is_asked
            days = [[numbers] for numbers in numbers_of_days] if is_any_day else [numbers_of_days]
            return any(_contains_ends(_supporting(day, kind.name), kind, figure) for day in days)
        numbers = self._known.get(about)
        if numbers is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            numbers = self._known[about] = _supporting(self._numbers_of(*about[:-1]), kind.name)
        return _contains(numbers, kind, figure, low, high, figure.written)

    def support_beside(self, claim: FigureClaim, response: Reading) -> bool:
        """Whether a source has the figure of another product that the sentence names: 'A is €50, and B is €35'."""
        if self._uses_places or not claim.subjects:
            return False
        first, last = response.sentence(claim.said.first)
        names = [place for place in {place for place, _ in self._numbers} if place and place not in claim.subjects]
        known: dict[str, list[tuple[str, ...]]] = {}
        for words in (tuple(name.split()) for name in names):
            known.setdefault(words[0], []).append(words)
        found = [one.name for one in response.find(known) if first <= one.first <= last] if known else []
        if not found:
            return False
        figure = claim.said
        numbers = _supporting(self._numbers_of(tuple(found), None, False, False), claim.what)
        return _contains(numbers, self._kinds[figure.kind], figure, figure.low, figure.high, figure.written)

    def _numbers_of(self, names: tuple[str, ...], said: str | None, is_asked: bool, is_extreme: bool) -> list[_Numbers]:
        """The numbers that can support a figure about `names`, said of a day; `is_extreme` if it is a high or low."""
        return [
            numbers
            for (place, day), numbers in self._numbers.items()
            if (place is None or not names or is_one_of(names, [place]))
            and self._is_day(day, said, is_asked=is_asked, is_extreme=is_extreme)
        ]

    def _is_day(self, day: str | None, said: str | None, *, is_asked: bool, is_extreme: bool) -> bool:
        """Whether numbers of `day` can be about the day that a figure is said of; true if either is not known."""
        if said is None or (is_asked and not is_extreme):
            return True  # the answer need not have said it of the day asked about
        if day is None:
            return said not in PAST and not (is_later(said) and self._has_days)
        calendar = self._calendar
        if said in PRESENT and calendar.today is None and day not in _DAY_NAMES:
            return is_extreme or not self._has_present
        if day == said:
            return True
        dates = calendar.dates_of(said) if calendar.dates else None
        if day in _DAY_NAMES:
            own = calendar.dates_of(day)
            return not (own is not None and dates is not None) or not own.isdisjoint(dates)
        return is_later(said) if dates is None else date.fromisoformat(day) in dates

    def _read(self, value: object, path: tuple[str, ...], at: _Origin, above: tuple[int, ...]) -> None:
        """Collect the numbers in nested data; `path` are the names of the fields around it.

        `above` are the tables and lists that it is in, by identity: cycles are cut.
        """
        if isinstance(value, str):
            self._read_text(value, path, at)
        elif isinstance(value, (int, float)):
            if not isinstance(value, bool) and math.isfinite(value):
                self._add_bare(float(value), path, at)
        elif value is None or id(value) in above or len(above) > _DEEPEST:
            return
        elif isinstance(value, Mapping):
            above = (*above, id(value))
            inside = self._origin_in(value, at)
            for name, item in value.items():
                here = inside._replace(day=name) if name in _DAY_NAMES else inside
                self._read(item, (*path, str(name)), here, above)
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            above = (*above, id(value))
            entry = at._replace(in_list=True)
            for item in value:
                self._read(item, path, entry, above)

    def _origin_in(self, table: Mapping[str, object], at: _Origin) -> _Origin:
        """What a table's own fields say of its numbers; of the rest, what was known outside."""
        place = self._place(table) or at.place
        day = (self._day(table) if at.in_list else None) or at.day
        return _Origin(place, day, self._unit_kind(table) or at.unit_kind, at.in_list)

    def _read_text(self, text: str, path: tuple[str, ...], at: _Origin) -> None:
        reading = self._reader.read(text)
        if not reading.quantities and not reading.numbers:
            return
        covered: set[int] = set()
        for quantity in reading.quantities:
            covered.update(range(quantity.first, quantity.last + 1))
            for value in {quantity.low, quantity.high}:
                if math.isfinite(value):
                    self._at(at).exact.setdefault(quantity.kind, []).append(value)
        for index in reading.numbers:
            if index not in covered:
                try:
                    value = float(reading.tokens[index].raw.replace(",", ""))
                except ValueError:
                    continue
                self._add_bare(value, path, at)

    def _add_bare(self, value: float, path: tuple[str, ...], at: _Origin) -> None:
        numbers = self._at(at)
        for kind in _kinds_named(self._reader, path, at.unit_kind):
            numbers.bare.setdefault(kind, []).append(value)

    def _at(self, origin: _Origin) -> _Numbers:
        about = origin.place, origin.day
        known = self._numbers.get(about)
        if known is None:
            known = self._numbers[about] = _Numbers()
        return known

    def _place(self, table: Mapping[str, object]) -> str | None:
        for name in filter(table.__contains__, self._fields.subject):
            value = table[name]
            if isinstance(value, Mapping):
                value = value.get("name")
            if isinstance(value, str) and value.strip():
                return self._name(value)
        return None

    def _name(self, subject: str | None) -> str | None:
        """A subject's name in the form in which texts are searched for it."""
        words = words_of(subject.split(",")[0]) if subject else ()
        if not words:
            return None
        return main_name(words) if self._uses_places else " ".join(words)

    def _day(self, table: Mapping[str, object]) -> str | None:
        """The ISO date of a table, if it has one."""
        for name in self._fields.day:
            value = table.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e11:
                return datetime.fromtimestamp(value, UTC).date().isoformat()
            if isinstance(value, str):
                try:
                    return date.fromisoformat(value.strip()[:10]).isoformat()
                except ValueError:
                    continue
        return None

    def _unit_kind(self, table: Mapping[str, object]) -> str | None:
        for name in filter(table.__contains__, self._fields.unit):
            value = table[name]
            if isinstance(value, str) and value.strip():
                return next((one.kind for one in self._reader.read(f"1 {value.strip().upper()}").quantities), None)
        return None


def _contains_ends(numbers: _Supporting, kind: QuantityKind, figure: Quantity) -> bool:
    """Whether a source contains both ends of a range."""
    ends = zip((figure.low, figure.high), figure.written, strict=True)
    return not math.isinf(figure.high - figure.low) and all(
        _contains(numbers, kind, figure, end, end, (as_written, as_written)) for end, as_written in ends
    )


def _supporting(sources: Sequence[_Numbers], kind: str) -> _Supporting:
    """The numbers that can support figures of a kind."""
    exact = [values for numbers in sources if (values := numbers.exact.get(kind))]
    bare = [values for numbers in sources for name in (kind, None) if (values := numbers.bare.get(name))]
    return _Supporting(exact, bare)


@functools.lru_cache(maxsize=_MOST_PATHS)
def _kinds_named(reader: Reader, path: tuple[str, ...], unit_kind: str | None) -> Sequence[str | None]:
    """The kind that the innermost meaningful field name stands for; without a currency, a price may be in any.

    The name itself may say in which (`price_usd`), else a field beside it, whose kind is `unit_kind`. Truths and the
    results of a tool have the same few names again and again.
    """
    kinds = reader.lexicon.kinds.values()
    for name in reversed(path):
        words = {word.lower() for word in _NAME.findall(name)}
        first = next((kind for kind in kinds if words & kind.keys), None)
        if first is None:
            continue
        if first.family is None:
            return [first.name]
        family = [kind for kind in kinds if kind.family == first.family]
        most = max(len(words & kind.keys) for kind in family)
        named = [kind.name for kind in family if len(words & kind.keys) == most]
        return [unit_kind] if len(named) > 1 and unit_kind in named else named
    return [None]


def _contains(
    numbers: _Supporting, kind: QuantityKind, figure: Quantity, low: float, high: float, written: tuple[float, ...]
) -> bool:
    """Whether a figure, or an end of it, is among the numbers, within its tolerance."""
    unit = figure.unit
    size = unit.times / unit.over
    tolerance = max(kind.support, 0.5 * 10.0**-figure.decimals * size)
    least, most = low - tolerance, high + tolerance
    for values in numbers.exact:
        if _within(values, least, most):
            return True
    # A bare number may be in the kind's unit, in the answer's unit, or in another form.
    for values in numbers.bare:
        if _within(values, least, most):
            return True
    if not numbers.bare:
        return False
    forms = _other_forms(kind, low, high, tolerance)
    if size != 1 or unit.zero:
        as_written = tolerance / size
        forms.append((written[0] - as_written, written[1] + as_written))
    for values in numbers.bare:
        for form in forms:
            if _within(values, *form):
                return True
    return False


def _other_forms(kind: QuantityKind, low: float, high: float, tolerance: float) -> list[tuple[float, float]]:
    """Ranges of bare numbers with the same meaning in another form: kelvin, or a fraction of 1."""
    forms = []
    if kind.kelvin_above is not None:
        forms.append((low + _KELVIN - tolerance, high + _KELVIN + tolerance))
    if kind.fraction and high <= 100:
        forms.append(((low - tolerance) / 100, (high + tolerance) / 100))
    return forms


def _within(values: Sequence[float], low: float, high: float) -> bool:
    """Whether one of the ascending `values` lies between."""
    at = bisect_left(values, low - _EPSILON)
    return at < len(values) and values[at] <= high + _EPSILON
