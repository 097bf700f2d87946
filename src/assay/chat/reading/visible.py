"""What a reader sees of a text: without comments, hidden elements, attributes of tags, words in the place of pictures,
a model's reasoning, struck words and characters of no width.

An answer is scored by what it shows. What is found has the positions of the text as it was written. Knows no words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

# Characters of no width, among them those that change the direction of what follows (U+202A to U+202E).
_NO_WIDTH = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_SOFT_HYPHEN = "\u00ad"
_STRUCK = "\u0335-\u0338"
# Most texts have nothing of all this, and are shown as they are.
_MARKUP = ("<", "~~", "](", "]:", "&")
_SUSPECT = re.compile(rf"<[!/A-Za-z]|~~|\]\(|\]:|&[#A-Za-z]|[{_NO_WIDTH}{_STRUCK}]")
_INVISIBLE = re.compile(f"[{_NO_WIDTH}{_STRUCK}]")
_TAG = r"[^<>]{0,300}"
# Not `border-width: 0` or `background-color: transparent`, which hide nothing.
_STYLES = (
    r"(?<![\w-])(?:display\s*:\s*none|visibility\s*:\s*hidden"
    r"|color\s*:\s*(?:transparent|(?:rgb|hsl)a?\([^()]*[,/]\s*0(?:\.0*)?%?\s*\)|\#(?:[\da-f]{3}0|[\da-f]{6}00)\b)"
    r"|(?:(?:max-)?(?:height|width)|opacity)\s*:\s*0(?![.\d])|font-size\s*:\s*(?:0|1px)"
    r"|(?:left|top|right|bottom|text-indent|margin(?:-\w+)?)\s*:\s*-\d{3}"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?\b|clip-path\s*:\s*inset\((?:50|100)%|transform\s*:\s*scale\(0\))"
)
_HIDDEN_BY = rf"(?:\shidden\b|{_STYLES}|size\s*=\s*[\"']?0\b)"
# Like the page behind it, unless a background is given.
_WHITE = (
    r"(?<![\w-])color\s*[:=]\s*[\"']?\s*"
    r"(?:white\b|\#f{3}(?:f{3})?\b|rgb\(\s*255\s*,\s*255\s*,\s*255\s*\)|hsl\([^()]*\b100%\s*\))"
)
_IS_HIDDEN = (
    rf"(?:(?=[^<>]{{0,300}}?{_HIDDEN_BY})|(?![^<>]{{0,300}}?\b(?:background|bgcolor))(?=[^<>]{{0,300}}?{_WHITE}))"
)
# What a browser shows in none of its pages, or only where it cannot show something else.
_NEVER_SHOWN = "script|style|template|head|title|noscript|datalist|object|iframe|audio|video|canvas"
# What models write before their answer, if nobody has taken it out.
_REASONING = "think|thinking|thought|reasoning"
_REASONED = re.compile(rf"</(?:{_REASONING})>", re.IGNORECASE)
_EMPTY = "area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"
_OPENING = re.compile(
    rf"(?P<comment><!--)|<(?P<element>{_NEVER_SHOWN}|del|strike|s|{_REASONING})\b{_TAG}>"
    rf"|<(?!(?:{_EMPTY})\b)(?P<hidden>[A-Za-z][A-Za-z0-9]*)\b{_IS_HIDDEN}{_TAG}>"
    r"|(?P<attributes><[A-Za-z][A-Za-z0-9]*\s[^<>=]{0,200}=[^<>]{0,2000}>)"
    r"|(?P<struck>~~)|(?P<picture>!\[[^\[\]]{0,2000}\]\()|(?P<target>\]\()"
    r"|(?P<note>^\[[^\]\n]{1,100}\]:)|(?P<reversed>\u202e)",
    re.IGNORECASE | re.MULTILINE,
)
_ENTITY = r"&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});"
_SMALL = re.compile(rf"[{_NO_WIDTH}]|{_ENTITY}|[^{_STRUCK}\n][{_STRUCK}]+")
_CLOSED_BY = {"comment": "-->", "struck": "~~", "reversed": "\u202c", "note": "\n", "target": ")", "picture": ")"}
# The target of a link is at most this long.
_LONGEST_TARGET = 2_000
# Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "асеорхуіѕјһԁӏАВЕКМНОРСТХЅІЈοναιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aceopxyisjhdlABEKMHOPCTXSIJovaiABEZHIKMNOPTYX"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a text."""

    text: str
    positions: list[int]
    """Of each character, and of the end, the position in the text as it was written."""


def visible_part(text: str) -> Shown | None:
    """What is shown of a text; None if all of it is."""
    if not _may_hide(text):
        return None
    kept: list[str] = []
    positions: list[int] = []
    at = 0
    for start, end, instead in _changes(text):
        kept.append(text[at:start])
        positions.extend(range(at, start))
        kept.append(instead)
        positions.extend([start] * len(instead))
        at = end
    kept.append(text[at:])
    positions.extend(range(at, len(text) + 1))
    return Shown("".join(kept), positions)


def _may_hide(text: str) -> bool:
    """Whether a text may show less than it has; a search for each mark is much faster than one for all of them."""
    for mark in _MARKUP:
        if mark in text:
            return _SUSPECT.search(text) is not None
    if text.isascii():
        return False
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return _INVISIBLE.search(text) is not None
    return _SOFT_HYPHEN in text  # the only one of them in the first 256 characters, where most texts stay


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Parts of a text that are shown differently: start, end, and what is shown instead."""
    at = 0
    for start, end in _hidden(text):
        yield from _small_changes(text, at, start)
        yield start, end, " "
        at = end
    yield from _small_changes(text, at, len(text))


def _small_changes(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    for match in _SMALL.finditer(text, start, end):
        found = match.group()
        instead = unescape(found) if found[0] == "&" else ""
        if instead != found:
            yield match.start(), match.end(), instead


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Hidden parts of a text: each is closed by the next mark that can close it, or by the end of the text."""
    at = _end_of_reasoning(text)
    if at:
        yield 0, at
    absent: set[str] = set()
    while (opening := _OPENING.search(text, at)) is not None:
        start, at = opening.start(), opening.end()
        kind = str(opening.lastgroup)
        if kind == "attributes":
            yield start, at
            continue
        is_link = kind in ("target", "picture")
        closing = _CLOSED_BY.get(kind) or f"</{opening.group(kind)}>"
        if closing in absent:
            continue
        end = text.find(closing, at, at + _LONGEST_TARGET) if is_link else text.find(closing, at)
        if end >= 0:
            at = end + len(closing)
        elif kind == "struck" or is_link:
            absent.update({closing} if kind == "struck" else ())
            continue
        else:
            at = len(text)
        is_text = kind in ("target", "note")  # "[words](target)": the bracket stays
        yield start + is_text, at


def _end_of_reasoning(text: str) -> int:
    """Where the answer begins after reasoning that the prompt has opened: "… so 15 °C.</think>Hello!"."""
    closing = _REASONED.search(text) if "</" in text else None
    if closing is None or f"<{closing.group()[2:]}".lower() in text[: closing.start()].lower():
        return 0
    return closing.end()


def as_latin(word: str) -> str:
    """A word in Latin letters, if it only looks as if it were: 'rаin' with a Cyrillic а, full-width letters."""
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFKC", word)
    latin = plain if plain.isascii() else plain.translate(_LOOKALIKES)
    return latin if latin.isascii() else word
