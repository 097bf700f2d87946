"""Word lists of a language and a domain, compiled from their data files into look-ups by a word's stem.

Knows the format of the lists (`languages/*.toml`, `domains/*/*.toml`), and nothing of texts or metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from itertools import chain, product
from pathlib import Path
from typing import Any

from assay.chat.reading.language_files import read_language, read_toml
from assay.chat.reading.stems import Stemmer
from assay.errors import UsageError

# The end of an address such as yr.no or www.bbc.co.uk, which is one word. Ends that are also words that often begin a
# sentence are left out: "sunny.it".
_ADDRESS = (
    r"(?:(?:\.[a-z][a-z\d-]{1,30}){0,3}"
    r"\.(?:com|org|net|gov|edu|info|io|app|dev|eu|uk|ie|ca|au|nz|no|se|dk|fi|nl|de|ch|fr|pl|cz|jp)(?![\w'’]))?+"
)
# One alternative for each kind of token; no two can match at the same place, so matching never backtracks.
# Tags, entities and emphasis marks are formatting and are ignored.
_KINDS = {
    "number": r"\d+(?:[.,．，٫٬]\d+)*",
    "degree": r"&deg;|&\#176;|[°º˚]",
    "word": r"[^\W\d_º]+(?:['’ʼ‘`´][^\W\d_º]+)*" + _ADDRESS,
    "newline": r"\n",
    "format": r"</?[A-Za-z][^<>\n]{0,200}>|&nbsp;|[*_~`]+",
    "mark": r"[^\w\s]",
}
TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
# The first two alternatives are what the last one would find; most tokens are these, and they are found faster.
_PLAIN_WORD = r" ?[A-Za-z]++(?=[ ,;:!?\n]|\.(?![a-z]))"
_PLAIN_MARK = r"[.,;:!?()%/]"
PIECE = re.compile(rf"{_PLAIN_WORD}|{_PLAIN_MARK}|[^\S\n]*+(?:{'|'.join(_KINDS.values())}|\Z)")
"""A token with the space before it: the pieces of a text follow one another without gaps. The end of a text is one."""
APOSTROPHES = frozenset("'’ʼ‘`´")
_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ‘`´", "'"))
_LONGEST_ELISION = 8

# Longer words are not natural language; they are kept unchanged and never stemmed.
# Lists whose phrases hide shorter entries inside them: "rain jacket" says nothing about rain.
_HIDING = frozenset({"items", "other", "sympathy", "idiom"})
# In an entry: any number, in digits or words.
ANY_NUMBER = "#"
# A unit written with this mark is only the second part of a compound: the "in" of 2 ft 3 in.
_SECOND_PART = "+"
_GROUP = re.compile(r"\{(\w+)\}")


def normal(word: str) -> str:
    """A word in lower case with plain apostrophes."""
    return word.lower().translate(_APOSTROPHES)


EntryWords = tuple[tuple[str, bool], ...]
"""For each of several words: the stem, or the exact form if the flag is set."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """One entry of a list."""

    parts: EntryWords
    keys: tuple[str, ...]
    """Its list and the lists that contain that list: ('advice.should', 'advice')."""
    hides: bool
    """Whether shorter entries inside it are ignored."""
    reach: int
    """How many words follow its first."""


@dataclass(slots=True, eq=False)
class Pattern:
    """An entry as it is written, which stands for several if it refers to groups: {weekday} or {day} {now}.

    A few entries stand for most of all phrases, and a text needs only those that begin with one of its words.
    """

    start: EntryWords
    """The first words."""
    rest: Sequence[Sequence[EntryWords]]
    """What may follow: for each further word or group, the options."""
    keys: tuple[str, ...]
    hides: bool

    def phrases(self) -> Iterator[Phrase]:
        """The entries that it stands for."""
        for chosen in product(*self.rest):
            parts = (*self.start, *chain(*chosen))
            yield Phrase(parts, self.keys, self.hides, reach=len(parts) - 1)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a kind of quantity: how it is written, and how to convert a value to the kind's own unit."""

    tokens: tuple[str, ...]
    kind: str
    name: str
    zero: float
    times: float
    over: float
    cased: bool
    """Whether it must be written in exactly this case, or directly after the number: 25 C, 25c, but not 25 c."""
    second: bool = False
    """Whether it is only read as the second part of a compound: the "in" of 2 ft 3 in."""

    @property
    def size(self) -> float:
        """How much one of it is, in the unit of its kind."""
        return self.times / self.over

    def convert(self, value: float) -> float:
        return (value - self.zero) * self.times / self.over


@dataclass(frozen=True, slots=True)
class QuantityKind:
    """A kind of quantity, from a domain's data."""

    name: str
    unit: str
    """The unit in which values are stored, as displayed."""
    checked: bool = False
    """Whether accuracy compares it with the truth."""
    near: float = 0.0
    """A figure is exact up to this difference."""
    far: float = 0.0
    """A figure is slightly off up to this difference, and wrong beyond it."""
    agree: float = 0.0
    """Two answers agree within this."""
    support: float = 0.0
    """A source supports a figure within this; 0 means within rounding."""
    kelvin_above: float | None = None
    """A bare number above this in a source is in kelvin."""
    fraction: bool = False
    """Whether a source may give it as a fraction of 1."""
    prefix: bool = False
    """Whether the unit may come before the number."""
    precise: float | None = None
    """A range wider than this is vague; None if ranges are not judged by their width."""
    told_with: str | None = None
    """The list that a sentence must mention for its figures to be data of the domain; None if they always are."""
    sourced_with: str | None = None
    """The list that a sentence must mention for its figures to need a source; None if they always do."""
    decades: Mapping[str, float] = field(default_factory=dict)
    """Units of figures such as "the mid-teens", each with the lowest decade it is used for."""
    states: Mapping[str, str] = field(default_factory=dict)
    """States that a figure of it stands for in an answer that names none: `some` above 0, `none` at 0."""
    asked: str | None = None
    """The role that a question means if it names none: 'How long does it take?'"""
    keys: frozenset[str] = frozenset()
    """Words in the names of fields that hold it."""
    family: str | None = None
    """A name that kinds share if they mean the same in units that do not convert: prices in several currencies."""
    units: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """How each unit converts: (value − zero) · times ÷ over."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Words that give a figure of a kind another object than the domain's: degrees of the sea, of a bearing."""

    subjects: frozenset[str] = frozenset()
    """What the figure is of, before it in its clause: the sea, the oven."""
    verbs: frozenset[str] = frozenset()
    """What is done at such a figure: wash, bake."""
    beside: frozenset[str] = frozenset()
    """Words before a subject that only place something there: by the sea."""
    compounds: frozenset[str] = frozenset()
    """Words after a subject that make it something else: sea breeze."""
    owners: frozenset[str] = frozenset()
    """Words after a figure that say whose it is: the 21 °C your AC is set to."""
    directed: frozenset[str] = frozenset()
    """What has a direction: the wind."""
    directed_kinds: frozenset[str] = frozenset()
    """Kinds of figures that a direction follows: 24 km/h from 240°."""
    directions: frozenset[str] = frozenset()
    """Words directly before a direction: from."""
    origins: frozenset[str] = frozenset()
    """Those of them that only a direction follows: from 240°."""
    bare: frozenset[str] = frozenset()
    """Units of directions, if not all: 240°, and not 24 °C."""
    after: frozenset[str] = frozenset()
    """Words directly after such a figure, also several: north, above the horizon."""
    heads: frozenset[str] = frozenset()
    """Words after such a figure, with one word between: a €5 return fee."""
    predicates: frozenset[str] = frozenset()
    """Words after a subject that say it is what the figure is of, whatever is before it: and shipping is €5."""

    @property
    def words(self) -> frozenset[str]:
        """Words of which a clause has one if its figure is of such an object."""
        return self.subjects | self.verbs | self.directed | self.heads | {words.split()[-1] for words in self.after}


@dataclass(frozen=True, slots=True)
class Counted:
    """Words around a number that counts what is named after it: 'there are 15 bikes left', 'just one'."""

    before: frozenset[str] = frozenset()
    """Words before such a number."""
    after: frozenset[str] = frozenset()
    """What may follow one that stands for itself: five at the moment."""
    none: frozenset[str] = frozenset()
    """Words that count as zero: no stools left."""
    things: frozenset[str] = frozenset()
    """Words that stand for the product: 17 of this item left."""
    never: frozenset[str] = frozenset()
    """Words for what it does not count: 3 sizes left."""
    unless: frozenset[str] = frozenset()
    """Words of its clause, before it, with which it is what somebody buys: you ordered two stools."""


@dataclass(slots=True)
class Lexicon:
    """The words, units and roles of a language and a domain."""

    language: Mapping[str, Any]
    stemmer: Stemmer
    by_stem: dict[str, list[Pattern]] = field(default_factory=dict)
    by_form: dict[str, list[Pattern]] = field(default_factory=dict)
    expanded: dict[tuple[str, bool], list[Phrase]] = field(default_factory=dict)
    """The entries of patterns, by their first word and whether it is a form; made when a text first has that word."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Words that entries refer to as {name}, each standing for any of them."""
    elisions: frozenset[str] = frozenset()
    """Words that end with an apostrophe before the next one."""
    seconds: set[str] = field(default_factory=set)
    """The second word of every entry of several words, as `Phrase.parts` has it, in lower case."""
    inner: set[str] = field(default_factory=set)
    """The same of every word but the first."""
    openings: set[str] = field(default_factory=set)
    """The first two letters of every word in any entry; words that start differently are not stemmed."""
    units: dict[str, list[Unit]] = field(default_factory=dict)
    """By first token, the longest first."""
    kinds: dict[str, QuantityKind] = field(default_factory=dict)
    roles: dict[str, set[str]] = field(default_factory=dict)
    """The roles that figures of a kind can have."""
    foreign: dict[str, Foreign] = field(default_factory=dict)
    bare: dict[str, frozenset[str]] = field(default_factory=dict)
    """By kind, words before a number without a unit that is a figure of it if a state follows: it's 8 and raining."""
    bare_unless: frozenset[str] = frozenset()
    """Words beside such a number that say that it is of something else: the UV index."""
    counted: dict[str, Counted] = field(default_factory=dict)
    """By kind, words around a number that counts what is named after it."""
    not_stocked: frozenset[str] = frozenset()
    """Nouns, and their stems, for things that are not a product: the service, the price."""
    before_state: frozenset[str] = frozenset()
    """What may stand between such a noun and a state: temporarily."""
    this_shop: frozenset[str] = frozenset()
    """Words that speak of this shop, or compare another with it."""
    pieces: dict[str, tuple[EntryWords, ...]] = field(default_factory=dict)
    """What each word of an entry, as it is written there, stands for: many entries have the same words and groups."""

    def add(self, key: str, entries: Iterable[str]) -> None:
        """Add the entries of the list `key`."""
        names = key.split(".")
        keys = tuple(".".join(names[:end]) for end in range(len(names), 0, -1))
        hides = names[0] in _HIDING
        for entry in entries:
            starts, *rest = [self._options(key, piece) for piece in entry.split()] or [((),)]
            while rest and not all(starts):
                starts, rest = tuple(start + parts for start in starts for parts in rest[0]), rest[1:]
            if not all(starts):
                raise UsageError(f"the list '{key}' has an empty entry", hint="Remove it from the word list")
            for start in starts:
                first, exact = start[0]
                table = self.by_form if exact else self.by_stem
                table.setdefault(first.lower() if exact else first, []).append(Pattern(start, rest, keys, hides))
            self._note_inner(starts, rest)

    def _note_inner(self, starts: Sequence[EntryWords], rest: Sequence[Sequence[EntryWords]]) -> None:
        """Remember the words of an entry that are not its first."""
        after_first = [start[1:] for start in starts]
        for options in (after_first, *rest) if rest or any(after_first) else ():
            self.inner.update([form.lower() for parts in options for form, _ in parts])
        for options in (after_first, *rest):
            self.seconds.update([parts[0][0].lower() for parts in options if parts])
            if all(options):
                break

    def _options(self, key: str, piece: str) -> tuple[EntryWords, ...]:
        """What a piece of an entry stands for: itself, or, for a {name} in it, any word of the group."""
        known = self.pieces.get(piece)
        if known is None:
            known = self.pieces[piece] = tuple(self._read_piece(key, piece))
        return known

    def _read_piece(self, key: str, piece: str) -> Iterator[EntryWords]:
        found = _GROUP.search(piece)
        if found is None:
            yield tuple(self._parts(piece))
            return
        words = self.groups.get(found.group(1))
        if words is None:
            raise UsageError(
                f"the list '{key}' refers to {found.group()}, which is not defined",
                hint="Define it under [groups] in the language's or the domain's file",
            )
        for word in words:
            written = f"{piece[: found.start()]}{word}{piece[found.end() :]}"
            for chosen in product(*[self._options(key, inner) for inner in written.split()]):
                yield tuple(chain(*chosen))

    def stem(self, word: str) -> str:
        """The stem of a normalised word, or the word itself if no entry could have its stem."""
        return self.stemmer.stem(word) if word[:2] in self.openings else word

    def phrases(self, word: str) -> list[Phrase]:
        """Entries that start with `word`, a normalised word."""
        return self.starting_with(word, exact=True) + self.starting_with(self.stem(word), exact=False)

    def starting_with(self, first: str, *, exact: bool) -> list[Phrase]:
        """Entries whose first word has the form `first`, or the stem `first`."""
        known = self.expanded.get((first, exact))
        if known is None:
            patterns = (self.by_form if exact else self.by_stem).get(first, ())
            known = [phrase for pattern in patterns for phrase in pattern.phrases()]
            if known:
                self.expanded[first, exact] = known
        return known

    def _parts(self, piece: str) -> Iterator[tuple[str, bool]]:
        if normal(piece) in self.elisions:
            yield normal(piece), True
            return
        exact = piece.startswith("=") and len(piece) > 1
        for match in TOKEN.finditer(piece[1:] if exact else piece):
            for token in self.split_elision(match.group()):
                if match.lastgroup == "word" and not exact:
                    # A stem may begin differently: that of "übermorgen" has no umlaut.
                    self.openings.add(normal(token)[:2])
                    yield self.stemmer.stem(normal(token)), False
                else:
                    yield token.translate(_APOSTROPHES), True

    def split_elision(self, word: str) -> tuple[str, ...]:
        """A word, or its two parts if it begins with an elided one: l'averse."""
        if self.elisions:
            for at, char in enumerate(word[:_LONGEST_ELISION]):
                if char in APOSTROPHES:
                    first = word[: at + 1]
                    return (first, word[at + 1 :]) if normal(first) in self.elisions and word[at + 1 :] else (word,)
        return (word,)

    def by_kind(self, source: Mapping[str, Any], table: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """What a file has in `table` for each kind; that of a family, such as prices, is for all kinds of it."""
        for name, words in source.get(table, {}).items():
            kinds = [kind.name for kind in self.kinds.values() if kind.family == name]
            yield from ((kind, words) for kind in kinds or [name])

    def add_units(self, words: Mapping[str, Mapping[str, list[str]]]) -> None:
        """Add the written forms of units, by kind and unit, without those that the domain does not have."""
        for kind_name, by_unit in words.items():
            kind = self.kinds.get(kind_name)
            if kind is None:
                continue
            for name, forms in by_unit.items():
                how = kind.units.get(name)
                if how is None:
                    continue
                for form in forms:
                    cased, second = form.startswith("="), form.startswith(_SECOND_PART)
                    tokens = tuple(
                        "°" if match.lastgroup == "degree" else match.group() if cased else normal(match.group())
                        for match in TOKEN.finditer(form[1:] if cased or second else form)
                    )
                    unit = Unit(tokens, kind_name, name, how["zero"], how["times"], how["over"], cased, second)
                    self.units.setdefault(tokens[0].lower(), []).append(unit)
        for listed in self.units.values():
            listed.sort(key=lambda unit: -len(unit.tokens))


def compile_lexicon(language: str | Path, domain: Traversable, extra: Mapping[str, Iterable[str]]) -> Lexicon:
    """The lexicon of a language and a domain's folder, with `extra` lists (those of a metric's own rules).

    A language is the name of one that comes with assay, or the path of a file in the same format.
    """
    name = language.stem if isinstance(language, Path) else language
    general = read_language(language)
    special = read_toml(domain / f"{name}.toml", f"the domain's words in '{name}'")
    settings = read_toml(domain / "domain.toml", "the domain")
    lexicon = Lexicon(general, Stemmer(general["stemmer"], general.get("derived_endings", ())))
    lexicon.elisions = frozenset(general.get("elisions", ()))
    for name, values in settings.get("quantities", {}).items():
        lexicon.kinds[name] = QuantityKind(name, **{**values, "keys": frozenset(values.get("keys", ()))})
    for source in (general, special):
        for group, words in source.get("groups", {}).items():
            lexicon.groups[group] = words
    for source in (general, special):
        for key, entries in _flat(source.get("lists", {})):
            lexicon.add(key, entries)
        for kind, roles in lexicon.by_kind(source, "roles"):
            for role, entries in roles.items():
                lexicon.add(f"role.{kind}.{role}", entries)
                lexicon.roles.setdefault(kind, set()).add(role)
        for kind, roles in lexicon.by_kind(source, "roles_after"):
            for role, entries in roles.items():
                lexicon.add(f"role_after.{kind}.{role}", entries)
        for kind, roles in lexicon.by_kind(source, "roles_beside"):
            for role, entries in roles.items():
                lexicon.add(f"role_beside.{kind}.{role}", entries)
        for kind, changes in lexicon.by_kind(source, "changes"):
            lexicon.add(f"change.{kind}", changes["after"])
        for kind, before in source.get("bare", {}).items():
            lexicon.bare[kind] = frozenset(before)
        lexicon.bare_unless |= frozenset(source.get("bare_unless", ()))
        for kind, words in source.get("counted", {}).items():
            lexicon.counted[kind] = Counted(**{name: frozenset(forms) for name, forms in words.items()})
        if "not_stocked" in source:
            nouns = source["not_stocked"]
            lexicon.not_stocked = frozenset([*nouns["words"], *map(lexicon.stemmer.stem, nouns["words"])])
            lexicon.before_state = frozenset(nouns.get("between", ()))
        lexicon.this_shop |= frozenset(source.get("this_shop", {}).get("words", ()))
        for kind, words in lexicon.by_kind(source, "foreign"):
            endings = ("", *general.get("possessive_endings", ()))  # the sea's 18 °C
            subjects = [f"{word}{ending}" for word in words.get("subjects", ()) for ending in endings]
            listed = {**words, "subjects": subjects}
            lexicon.foreign[kind] = Foreign(**{name: frozenset(forms) for name, forms in listed.items()})
        lexicon.add_units(source.get("units", {}))
    lexicon.add("negation", general["negation"]["words"])
    lexicon.add("idiom", general["negation"]["idioms"])
    lexicon.add("ended", general["negation"].get("ended", ()))
    lexicon.add("nowhere", general["negation"].get("nowhere", ()))
    lexicon.add("hypothesis", general["hypothesis"]["words"])
    lexicon.add("earlier", general["hypothesis"].get("earlier", ()))
    lexicon.add("hearsay", general["hypothesis"].get("hearsay", ()))
    lexicon.add("hearsay", general["hypothesis"].get("imagined", ()))
    lexicon.add("attributed", general["hypothesis"].get("attributed", ()))
    lexicon.add("since", general.get("since", {}).get("words", ()))
    lexicon.add("decade", [f"={word}" for word in general.get("decades", {})])
    lexicon.add("single", general.get("single", {}).get("units", ()))
    for name, entries in general.get("relative_days", {}).items():
        lexicon.add(f"relative.{name}", entries)
    for key, words in extra.items():
        lexicon.add(key, words)
    return lexicon


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Lists by dotted name; a list called 'any' belongs to its parent."""
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield (prefix.removesuffix(".") if name == "any" else f"{prefix}{name}"), value
