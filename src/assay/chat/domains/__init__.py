"""Domains: the words, quantities and states of a subject of conversation, and how to read its ground truth.

A domain's folder holds its data (`domain.toml`, and a file of words for each language); its one function turns the
ground truth, in the shape that the caller has, into facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import Any

from assay.chat.reading.language_files import read_toml
from assay.errors import UsageError
from assay.registry import Registry

# For domains without their own text.
_STOCK_TEXT = (
    "Thank you for your question! I checked everything for you: it is available today, it costs between 1 and 100, and "
    "it takes 1 to 30 days. I recommend to plan ahead, because it is better to be prepared. If something is missing, I "
    "am sorry, please try again later. Which one did you mean?"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A true value."""

    kind: str
    """The kind of quantity, as `domain.toml` names it."""
    value: float
    """In the unit of its kind."""
    role: str = "actual"
    """'actual', or a role of the kind: 'feels_like', 'high', 'low'."""
    day: str | None = None
    """None for now; else an ISO date, or a name from the language's list of times."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a ground truth is about, without its values: many truths have the same."""

    subject: str | None
    facts: tuple[tuple[str, str, str | None], ...]
    """Kind, role and day of each fact."""
    states: tuple[str | None, ...]
    """The days that it has a state for."""
    today: str | None

    @property
    def days(self) -> frozenset[str | None]:
        """The days that it has data for; None is now."""
        return frozenset((*self.states, *(day for _, _, day in self.facts), self.today))


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of the ground truth about a subject."""

    subject: str | None = None
    """What the facts are about: a city, a product."""
    facts: tuple[Fact, ...] = ()
    states: Mapping[str | None, str] = field(default_factory=dict)
    """The state in words ('light rain') by day; None is now."""
    dates: Mapping[str, date] = field(default_factory=dict)
    """Dates of events ('delivery'), with the names of the domain's list `dated`."""
    today: str | None = None
    """The ISO date on which it was true, if known."""
    as_of: date | None = None
    """The date from which answers count days to the dates of events, if known: 'it arrives in two days'."""
    source: object = None
    """The data it was read from; numbers in it support figures in an answer."""
    memory: dict[object, object] = field(default_factory=dict, compare=False, repr=False)
    """Results derived from it alone; answers to the same scenario share it."""

    def __bool__(self) -> bool:
        return bool(self.facts or self.states or self.dates)

    @property
    def outline(self) -> Outline:
        """What it is about, without its values."""
        known = self.memory.get("outline")
        if not isinstance(known, Outline):
            facts = tuple([(fact.kind, fact.role, fact.day) for fact in self.facts])
            known = self.memory["outline"] = Outline(self.subject, facts, tuple(self.states), self.today)
        return known


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of fields in a domain's data that say what the numbers beside them are about, and in which currency."""

    subject: tuple[str, ...] = ()
    day: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()


@dataclass(frozen=True)
class Domain:
    """A subject of conversation."""

    name: str
    folder: Traversable
    """Holds `domain.toml` and a file of words for each language."""
    read_truth: Callable[[Any], Truth]
    """Facts from the ground truth as the caller has it; raises UsageError on a field of the wrong type."""

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return read_toml(self.folder / "domain.toml", f"the domain '{self.name}'")

    def stock_text(self, language: str) -> str:
        """The constant text of the baseline `stock`: something of everything that metrics reward, for no question."""
        words = read_toml(self.folder / f"{language}.toml", f"the words of the domain '{self.name}'")
        return str(words.get("stock_text", _STOCK_TEXT))

    @cached_property
    def uses_places(self) -> bool:
        """Whether its subjects are cities of the gazetteer."""
        return bool(self.settings.get("uses_places", False))

    @cached_property
    def by_day(self) -> bool:
        """Whether the truth depends on the day."""
        return bool(self.settings.get("by_day", True))

    @cached_property
    def fields(self) -> Fields:
        """Names of fields that hold a subject, a day or a currency."""
        return Fields(**{name: tuple(listed) for name, listed in self.settings.get("fields", {}).items()})

    @cached_property
    def states(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """For each state: other states by what they are to it.

        It `contradicts` some, `includes` others as another way to name it, and `implies` others. Those of `instead` are
        wrong if an answer names them and not the state itself.
        """
        states: Mapping[str, Mapping[str, Sequence[str]]] = self.settings.get("states", {})
        return states

    @cached_property
    def needed_in(self) -> Mapping[str, Sequence[str]]:
        """For things that one may need, the states in which one does: an umbrella if it rains."""
        needed: Mapping[str, Sequence[str]] = self.settings.get("needed_in", {})
        return needed

    def states_named(self, words: str) -> frozenset[str]:
        """The state whose own name this is, 'on loan' or 'on_loan'; empty if there is none."""
        name = "_".join(words.casefold().split())
        return frozenset({name} if name in self.states else ())

    @property
    def aspects(self) -> Mapping[str, Mapping[str, Any]]:
        """Conditions under which a preference matters."""
        aspects: Mapping[str, Mapping[str, Any]] = self.settings.get("aspects", {})
        return aspects

    @property
    def preferences(self) -> Mapping[str, Mapping[str, Any]]:
        """What users may prefer: patterns to recognise it, and the aspect that it needs."""
        preferences: Mapping[str, Mapping[str, Any]] = self.settings.get("preferences", {})
        return preferences

    @property
    def other_preferences(self) -> Sequence[str]:
        """Names of preferences that agents may store and no metric reads: 'units', 'home_city'."""
        names: Sequence[str] = self.settings.get("other_preferences", ())
        return names

    @property
    def tools(self) -> Sequence[str]:
        """Names of the tools that its agents have; empty if any name may be one."""
        tools: Sequence[str] = self.settings.get("tools", ())
        return tools

    @property
    def arguments(self) -> Mapping[str, Sequence[str]]:
        """The arguments of tools that its agents have, by the name of the tool; of others any name may be one."""
        arguments: Mapping[str, Sequence[str]] = self.settings.get("arguments", {})
        return arguments

    @property
    def truth_fields(self) -> Sequence[str]:
        """Names of fields that a ground truth may have, at any depth; empty if any name may be one."""
        names: Sequence[str] = self.settings.get("truth_fields", ())
        return names

    @property
    def truth_tables(self) -> Sequence[str]:
        """Those of `truth_fields` that may hold a table with a table for each day or thing, under any name."""
        names: Sequence[str] = self.settings.get("truth_tables", ())
        return names

    @property
    def steps(self) -> Sequence[Sequence[str]]:
        """Words in the names of tools, in the order in which the tools should be called."""
        steps: Sequence[Sequence[str]] = self.settings.get("steps", ())
        return steps


DOMAINS: Registry[Domain] = Registry("domain", package="assay.chat.domains", attribute="DOMAIN", group="assay.domains")


def read_number(value: object, field_name: str) -> float | None:
    """A number of a ground truth; None if it is missing or NaN. Raises UsageError if it is not a number.

    NaN is how tables of Python write a missing number; a text of that name is none.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UsageError(f"{field_name} is {_kind(value)}, not a number", hint="Give a number, or leave it out")
    try:
        parsed = float(value)
        if isinstance(value, str) and not math.isfinite(parsed):
            raise ValueError
    except (ValueError, OverflowError):
        raise UsageError(
            f"{field_name} is {value!r:.60}, not a number", hint="Give a number, or leave it out"
        ) from None
    return parsed if math.isfinite(parsed) else None


def read_text(value: object, field_name: str) -> str | None:
    """A text of a ground truth; None if it is missing or blank. Raises UsageError if it is not a text."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f"{field_name} is {_kind(value)}, not a text", hint="Give a text, or leave it out")
    return value.strip() or None


def read_mapping(value: object, field_name: str) -> Mapping[str, Any]:
    """A table of a ground truth; empty if it is missing. Raises UsageError if it is something else."""
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        raise UsageError(f"{field_name} is {_kind(value)}, not a table of fields", hint="Give a dictionary")
    return value


def first_value(table: Mapping[str, Any], names: Sequence[str]) -> tuple[str, Any]:
    """The first of `names` that `table` has a value for, and the value."""
    for name in filter(table.__contains__, names):  # few of many names are there
        if table[name] is not None:
            return name, table[name]
    return names[0], None


def leaves(data: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value in nested data with the names of the fields around it, in order. Cycles are cut."""
    stack: list[tuple[tuple[str, ...], object, tuple[int, ...]]] = [(path, data, ())]
    while stack:
        names, value, above = stack.pop()
        scalar = isinstance(value, (str, bytes, int, float)) or value is None
        if not scalar and isinstance(value, (Mapping, Sequence)):
            if id(value) in above or len(names) > 64:
                continue
            inside = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
            children = [(names if key is None else (*names, str(key)), item) for key, item in inside]
            stack.extend((*child, (*above, id(value))) for child in reversed(children))
        else:
            yield names, value


def _kind(value: object) -> str:
    return {"list": "a list", "dict": "a table", "str": "a text", "bool": "true or false"}.get(
        type(value).__name__, f"of type {type(value).__name__}"
    )
