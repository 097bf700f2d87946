"""The contract of a metric: a base, rules with their points, and a condition under which nothing can be measured.

A metric is declared once, in one file, as data; this module turns the rules that fire into a score with its evidence.
The score is the base plus the points, clipped to 0–1; every change of the score has a line of evidence.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from assay.errors import UsageError
from assay.registry import Registry

if TYPE_CHECKING:
    from assay.chat.scoring.context import ScoringContext

CHAT_PROTOCOL = "chat@1"
LOG_VERSION = "log@"
"""How the versions of scores begin that another tool gave."""

Group = Literal["functional", "developer experience", "behavioural", "own"]
GROUPS: tuple[Group, ...] = ("functional", "developer experience", "behavioural", "own")
ScoreScale = Literal["binary", "share", "ordinal", "positive", "any"]
"""What scores can be: 0 or 1, from 0 to 1, one of a few levels, above 0, or any number. assay's own are shares."""
MEASURED_ONCE: Group = "developer experience"
"""The group whose metrics are one measurement of each agent: scenarios do not vary it, and give it no interval."""
# Rules that the details of an entry name.
_MOST_SHOWN = 6
# Reasons for not measuring anything that a metric remembers with their entries.
_MOST_REASONS = 256
BANDS = ((0.4, "poor"), (0.7, "acceptable"), (0.9, "good"))


class TextSpan(Protocol):
    """Anything with a position in the response: a mention, a figure, a city."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Finding(msgspec.Struct):
    """Why a rule fires."""

    spans: Sequence[TextSpan] = ()
    """The words of the response that make it fire; empty if something is missing."""
    points: float | None = None
    """The points, if they vary; None for the rule's own."""
    note: str = ""
    """Added to the rule's sentence: figures, names."""


Found = Finding | Sequence[Finding] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a metric: what it looks for, its points, and its explanation for users."""

    id: str
    points: float
    says: str
    """The sentence for the user, without a full stop."""
    words: str | tuple[str, ...] = ()
    """A list of the language or the domain by name ('advice'), or the words themselves; fires if one is stated."""
    when: Callable[[ScoringContext], Found] | None = None
    """A predicate, if words are not enough."""
    alone: bool = False
    """Whether it decides alone: if it fires, only its points count and later rules are skipped."""
    blank: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """A line of evidence without words; a copy of a dictionary takes half the time of a new one."""
    shown: str = field(init=False, repr=False, compare=False)
    """What it says, with its points, as details show it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", f"{self.says} ({signed_points(self.points)})")
        line = {"id": self.id, "points": self.points, "says": self.says, "words": "", "start": 0, "end": 0, "also": []}
        object.__setattr__(self, "blank", line)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of an answer."""

    name: str
    group: Group
    base: float
    rules: tuple[Rule, ...]
    asks: str
    """What it measures, as one question."""
    unmeasured: Callable[[ScoringContext], str | None] = lambda context: None
    """Why nothing can be measured, as a sentence without a full stop; None if something can."""
    neutral: float = 0.5
    """The score if nothing was measured."""
    direction: Literal["higher", "lower"] = "higher"
    scale: ScoreScale = "share"
    by_words: bool = True
    """Whether it reads the words of the answer; then it cannot measure one in a language that no word list covers."""
    version: str = CHAT_PROTOCOL
    remark: Callable[[ScoringContext], str] | None = None
    """A remark added to the details, whatever the score."""
    needs: tuple[str, ...] = ()
    """What it reads of nearly every context. If several answers are scored together, each of these is found in all of
    them before the next.
    """
    searches: tuple[tuple[Rule, Callable[[ScoringContext], Found] | None, str], ...] = field(
        init=False, repr=False, compare=False
    )
    """Each rule with its predicate or, if it has none, the list that it looks for."""
    blank: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """An entry that has not been scored."""
    nothing_fired: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """An entry without evidence."""
    not_measured: dict[str, Entry] = field(init=False, repr=False, compare=False)
    """Entries that say why nothing could be measured, by the reason; most answers have one of a few."""

    def __post_init__(self) -> None:
        entry = {"score": self.base, "measured": True, "band": "", "details": "", "evidence": [], "base": self.base}
        object.__setattr__(self, "blank", {**entry, "group": self.group, "version": self.version})
        searches = tuple((rule, rule.when, "" if rule.when else self.list_of(rule)) for rule in self.rules)
        object.__setattr__(self, "searches", searches)
        details = f"No rule fired; the score is the base of {self.base:g}."
        unfired = Entry.make(self, self.base, measured=True, details=details, evidence=[])
        object.__setattr__(self, "nothing_fired", unfired)
        object.__setattr__(self, "not_measured", {})
        if not self.name.isidentifier():
            raise UsageError(
                f"'{self.name}' is not a valid name for a metric", hint="Use letters, digits and underscores"
            )
        if self.group not in GROUPS:
            raise UsageError(
                f"the metric '{self.name}' has the unknown group '{self.group}'", hint=f"Use: {', '.join(GROUPS)}"
            )
        if len({rule.id for rule in self.rules}) < len(self.rules):
            raise UsageError(
                f"the metric '{self.name}' has two rules with the same id", hint="Give each rule its own id"
            )
        for rule in self.rules:
            if bool(rule.words) == (rule.when is not None):
                raise UsageError(
                    f"the rule '{rule.id}' of '{self.name}' needs either words or a predicate",
                    hint="Give `words` or `when`",
                )

    def to_json(self) -> dict[str, Any]:
        """What is needed to show and compare its scores where the metric itself is not known."""
        stated: dict[str, Any] = {"group": self.group, "version": self.version}
        if self.scale != "share":
            stated["scale"] = self.scale
        if self.direction != "higher":
            stated["direction"] = self.direction
        return stated

    @property
    def version_number(self) -> int:
        """The number in 'chat@1'. A version that is more than a number, such as a judge's prompt and model, is hashed
        to one: equal versions give equal numbers.
        """
        number = self.version.rpartition("@")[2]
        return int(number) if number.isdecimal() else int(hashlib.sha256(self.version.encode()).hexdigest()[:12], 16)

    def own_words(self) -> dict[str, tuple[str, ...]]:
        """The word lists that its rules define."""
        return {self.list_of(rule): rule.words for rule in self.rules if isinstance(rule.words, tuple) and rule.words}

    def list_of(self, rule: Rule) -> str:
        """The name of the list that a rule looks for."""
        return rule.words if isinstance(rule.words, str) else f"rule.{self.name}.{rule.id}"

    def score(self, context: ScoringContext) -> Entry:
        """The result for one answer; metrics that build on this one get the same entry."""
        scored, key = context.scored, id(self)
        entry = scored.get(key)
        if entry is None:
            reason = self.unmeasured(context)
            if reason is None and self.by_words and context.unknown_language is not None:
                reason = f"the answer is in a language without word lists ({context.unknown_language})"
            entry = self._measure(context) if reason is None else self._not_measured(reason)
            scored[key] = entry
        return entry

    def _not_measured(self, reason: str) -> Entry:
        known = self.not_measured.get(reason)
        if known is None:
            if len(self.not_measured) >= _MOST_REASONS:
                self.not_measured.clear()
            details = f"Not measured: {reason}."
            known = self.not_measured[reason] = Entry.make(
                self, self.neutral, measured=False, details=details, evidence=[]
            )
        return _copy(known)

    def _measure(self, context: ScoringContext) -> Entry:
        evidence: list[Evidence] = []
        shown: list[str] = []
        total: float = 0
        response = context.response
        text, lists = response.text, response.lists
        for rule, when, listed in self.searches:
            found: Found
            if when is not None:
                found = when(context)
                if not found:
                    continue
            else:
                said = context.said(listed) if listed in lists else None
                if not said:
                    continue
                found = Finding(said[:1])
            if rule.alone:
                evidence, shown, total = [], [], 0
            for finding in (found,) if isinstance(found, Finding) else found:
                line = Evidence(rule.blank)
                says = rule.shown
                if finding.note or finding.points is not None:
                    says = _explain(line, rule, finding)
                total += line["points"]
                spans = finding.spans
                if spans:
                    first = spans[0]
                    start, end = line["start"], line["end"] = first.start, first.end
                    line["words"] = text[start:end]
                line["also"] = [_quoted(span, text) for span in spans[1:]] if len(spans) > 1 else []
                evidence.append(line)
                shown.append(says)
            if rule.alone:
                break
        if evidence:
            entry = Entry(self.blank)
            entry["score"], entry["band"] = _score_and_band(self.base + total)
            entry["details"], entry["evidence"] = _sentence(shown), evidence
        else:
            entry = _copy(self.nothing_fired)
        if self.remark is not None:
            entry["details"] = f"{entry['details']} {self.remark(context)}".rstrip()
        return entry


def _explain(line: dict[str, Any], rule: Rule, finding: Finding) -> str:
    """Add what is particular to a finding to its line of evidence; how details show it."""
    if finding.note:
        line["says"] = f"{rule.says}: {finding.note}"
    if finding.points is not None:
        line["points"] = finding.points
    return f"{line['says']} ({signed_points(line['points'])})"


class Evidence(dict[str, Any]):
    """One rule that fired, as a dictionary: id, points, says, words, start, end, and also for further words.

    `response[start:end] == words`; both are 0 and the words empty if something is missing.
    """

    __slots__ = ()

    @property
    def id(self) -> str:
        return str(self["id"])

    @property
    def points(self) -> float:
        return float(self["points"])

    @property
    def says(self) -> str:
        return str(self["says"])

    @property
    def words(self) -> str:
        return str(self["words"])

    @property
    def start(self) -> int:
        return int(self["start"])

    @property
    def end(self) -> int:
        return int(self["end"])


def _quoted(span: TextSpan, text: str) -> dict[str, Any]:
    """Further words of a line of evidence."""
    return {"words": text[span.start : span.end], "start": span.start, "end": span.end}


class Entry(dict[str, Any]):
    """The result of one metric, as a dictionary whose fields can also be read as attributes."""

    __slots__ = ()

    @property
    def score(self) -> float:
        """0–1, rounded to 2 places; the neutral value if nothing was measured."""
        return float(self["score"])

    @property
    def measured(self) -> bool:
        return bool(self["measured"])

    @property
    def band(self) -> str:
        """poor, acceptable, good or excellent."""
        return str(self["band"])

    @property
    def details(self) -> str:
        """One sentence."""
        return str(self["details"])

    @property
    def base(self) -> float:
        """The value that the points were added to."""
        return float(self["base"])

    @property
    def evidence(self) -> list[Evidence]:
        """The rules that fired."""
        found: list[Evidence] = self["evidence"]
        return found

    @classmethod
    def make(cls, metric: Metric, base: float, *, measured: bool, details: str, evidence: list[Evidence]) -> Entry:
        entry = cls(metric.blank)
        total = base
        if evidence:
            total += sum([line["points"] for line in evidence])
        entry["score"], entry["band"] = _score_and_band(total)
        entry["measured"], entry["details"], entry["evidence"], entry["base"] = measured, details, evidence, base
        return entry


def _copy(entry: Mapping[str, Any]) -> Entry:
    """The same entry without evidence, whose owner may change it."""
    own = Entry(entry)
    own["evidence"] = []
    return own


@functools.lru_cache(maxsize=4096)
def _score_and_band(total: float) -> tuple[float, str]:
    """The score of a sum of points, and its band; rounding costs more than the rest of an entry, and few sums occur."""
    # Points are decimal fractions; without this, 0.65 summed from 0.5 and 0.15 could round to either side.
    score = round(min(1.0, max(0.0, round(total, 9))), 2)
    return score, band(score)


def band(score: float) -> str:
    """The name of a score's range."""
    for limit, name in BANDS:
        if score < limit:
            return name
    return "excellent"


@functools.lru_cache(maxsize=1024)
def signed_points(points: float) -> str:
    """Points as they are shown: +0.2, −0.3."""
    return f"{'−' if points < 0 else '+'}{abs(points):.2f}".rstrip("0").rstrip(".")


def _sentence(shown: Sequence[str]) -> str:
    """What fired, each with its points, as one sentence."""
    text = "; ".join(
        shown if len(shown) <= _MOST_SHOWN else [*shown[:_MOST_SHOWN], f"and {len(shown) - _MOST_SHOWN} more"]
    )
    return f"{text[:1].upper()}{text[1:]}."


METRICS: Registry[Metric] = Registry("metric", package="assay.chat.metrics", attribute="METRIC", group="assay.metrics")
