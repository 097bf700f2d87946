"""Which names stand for secrets, and which values under them look like ordinary words. Changes no text itself."""

from __future__ import annotations

import re
from functools import lru_cache

# Under these names everything is hidden, wherever in a name they occur (PGPASSWORD, aws_secret_access_key).
_STRONG = re.compile(
    r"passw(?:or)?d|passphrase|secret|credential|authorization|cookie|bearer|appid|sessionid"
    r"|(?:api|access|account|private|shared|signing|encryption|subscription|master|app|auth|license|service)-?key"
    r"|(?:access|refresh|auth|id|session|security|bot|api|private|personal-access)-?token"
    r"|(?<![a-z])(?:pwd|jwt|pat|x-[a-z-]*key)(?![a-z])",
    re.IGNORECASE,
)
# Under these, as a separate word (a key, but not a keyboard), values that do not look like ordinary words are hidden.
_WEAK = re.compile(r"(?<![a-z])(?:keys?|tokens?|pass|auth|signature|sig|sid)(?![a-z])|token(?!i[sz])", re.IGNORECASE)
# Names that only look like secrets: numbers of tokens, the token that stands for an image, `KeyError`.
_HARMLESS = re.compile(
    r"(?:image|eos|bos|pad|unk|stop)-tokens?"
    r"|.*-(?:errors?|exception|types?|counts?|limits?|usage|expiry|lengths?|budgets?|buckets?|rates?|env)"
    r"|(?:max|min|prompt|completion|input|output|total|cached|reasoning|num|n)-(?:[a-z]+-)*tokens",
    re.IGNORECASE,
)
# A variable of the environment: the last word of its name is enough.
_VARIABLE_OF_A_SECRET = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|PASS|PWD|AUTH|SIG|SIGNATURE)")


@lru_cache(maxsize=4096)
def strength_of_name(name: str) -> int:
    """2 if all values under this name are secret, 1 if only those that do not look like words are, else 0."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_.\s]+|\d+", "-", name).strip("-")
    if _HARMLESS.fullmatch(words):
        return 0
    if _STRONG.search(words) or _VARIABLE_OF_A_SECRET.fullmatch(name):
        return 2
    return 1 if _WEAK.search(words) else 0


# Pieces that ordinary names and sentences are made of: words, small numbers, `2m`, `v1`.
_PIECE = re.compile(r"[A-Za-z]?[a-z]{0,19}|[A-Z]{1,12}|\d{1,6}|\d{1,3}[A-Za-z]{1,3}|[A-Za-z]{1,2}\d{1,2}")
_BETWEEN = re.compile(r"[\s\-_./:,;!?()\[\]{}<>*+'\"]+|(?<=[a-z])(?=[A-Z])")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")
_MOST_HUMPS = 4


def is_ordinary(value: str) -> bool:
    """Whether a value is made of words and small numbers, as keys hardly ever are."""
    if _TIME.fullmatch(value):
        return True
    pieces = [piece for piece in _BETWEEN.split(value) if piece]
    humps = len(re.findall(r"[a-z][A-Z]", value))
    return humps <= _MOST_HUMPS and all(_PIECE.fullmatch(piece) for piece in pieces)


_EMPTY = re.compile(r"(?:null|none|true|false|undefined|missing|required|\[(?:redacted|secure|filtered)\])?", re.I)


def hides(name: str, value: str) -> bool:
    """Whether a value is hidden under this name."""
    strength = strength_of_name(name)
    return strength > 0 and not _EMPTY.fullmatch(value) and (strength == 2 or not is_ordinary(value))
