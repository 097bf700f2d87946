"""Removes keys, passwords and tokens from everything that assay keeps or shows: commands, addresses, settings, errors.

When in doubt it hides: a text with one `***` too many can still be read, but a leaked key cannot be taken back.
Ordinary sentences stay as they are, because what agents say is scored and quoted.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from assay._secret_names import hides, is_ordinary, strength_of_name
from assay._secret_signs import SIGNS_OF_KEYS, SIGNS_OF_SECRETS

HIDDEN = "***"


def redacted(text: str) -> str:
    """A text of any kind (a message, an answer, an address, a log) without its secrets."""
    return text and _redacted(text, _LAYERS)


def redacted_all(texts: Sequence[str]) -> list[str]:
    """As `redacted` of each text, in a fraction of the time if most contain nothing to hide."""
    if len(texts) <= _TEXTS_AT_ONCE:
        return [redacted(text) for text in texts] if _is_suspicious("\n".join(texts)) else list(texts)
    found: list[str] = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        found += redacted_all(texts[start : start + _TEXTS_AT_ONCE])
    return found


def redacted_value(value: Any) -> Any:
    """Data of any JSON shape: every text in it, and everything under a secret name."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {redacted(str(key)): _under(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted_value(inner) for inner in value]
    return value


def harmless_text(value: Any) -> str | None:
    """Every name and text in data of JSON shape, one to a line, if `redacted_value` changes nothing; None in doubt."""
    texts: list[str] = []
    if not _collect_harmless(value, texts):
        return None
    text = "\n".join(texts)
    return None if _is_suspicious(text) else text


def redacted_command(words: Sequence[str]) -> str:
    """A command line as it may be kept, quoted so that it can be pasted."""
    kept: list[str] = []
    hide_next = False
    for word in words:
        if hide_next:
            # Even a word that looks like an option: a key may begin with a dash, and hiding an option does no harm.
            kept.append(HIDDEN)
            hide_next = False
            continue
        option = _OPTION.fullmatch(word)
        if option and is_secret(option["name"]):
            hide_next = option["value"] is None
            kept.append(word if hide_next else f"{word.partition('=')[0]}={HIDDEN}")
        elif option and option["value"] is not None:
            kept.append(f"{word.partition('=')[0]}={_argument(option['value'])}")
        else:
            kept.append(_argument(word))
    # shlex would quote the stars, which no shell can take for names of files here.
    return " ".join(shlex.quote(word).replace(f"'{HIDDEN}'", HIDDEN) for word in kept)


def hide(*secrets: str) -> None:
    """Hide these values from now on: for keys that do not come from a variable with a recognisable name."""
    _HIDDEN_VALUES.update(secrets)


def is_secret(name: str) -> bool:
    """Whether a value under this name may be a secret."""
    return strength_of_name(name) > 0


# --- data -----------------------------------------------------------------------------------------------------------

_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def _under(key: str, value: Any) -> Any:
    """What may be kept under a name. Under `key_env` and the like are names of variables, which a resumed run needs."""
    if key.endswith("_env"):
        if isinstance(value, Mapping):
            return {name: _under("of_env", inner) for name, inner in value.items()}
        return value if isinstance(value, str) and _VARIABLE_NAME.fullmatch(value) else HIDDEN
    if isinstance(value, str):
        return _header_value(key, value) if hides(key, value) else redacted(value)
    if isinstance(value, bytes):
        return HIDDEN if hides(key, value.decode("utf-8", "replace")) else value
    if strength_of_name(key) < 2:
        return redacted_value(value)
    if isinstance(value, Mapping):
        return {redacted(str(name)): _under(key, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_under(key, inner) for inner in value]
    return value if value is None or isinstance(value, bool) else HIDDEN


def _collect_harmless(value: Any, texts: list[str]) -> bool:
    """Add names and texts to `texts`; False if something is under the name of a secret, or is not of JSON shape."""
    kind = type(value)
    if kind is str:
        texts.append(value)
        return True
    if kind is dict:
        for name, inner in value.items():
            if (
                type(name) is not str
                or name.endswith("_env")
                or strength_of_name(name)
                or not _collect_harmless(inner, texts)
            ):
                return False
            texts.append(name)
        return True
    if kind is list:
        return all(_collect_harmless(inner, texts) for inner in value)
    return value is None or kind in (int, float, bool)


def _header_value(name: str, value: str) -> str:
    """Three stars, and for an authorization its scheme."""
    scheme = _SCHEME.match(value) if "auth" in name.lower() else None
    return f"{scheme[0]}{HIDDEN}" if scheme else HIDDEN


# --- commands -------------------------------------------------------------------------------------------------------

_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)


def _argument(word: str) -> str:
    """One word of a command. Unlike in a text, quotes and brackets in it are part of the address or of the value."""
    variable = _VARIABLE.fullmatch(word)
    if variable and is_secret(variable["name"]):
        return f"{variable['name']}={HIDDEN}"
    for secret in _known_secrets(_SHORTEST):
        word = word.replace(secret, HIDDEN)
    return redacted(_without_users(word))


# --- texts ----------------------------------------------------------------------------------------------------------

_LAYERS = 3  # of percent-encoding that are looked into
# Looking for a sign takes about as long in some texts as in one. With many, one of them has a sign more often.
_TEXTS_AT_ONCE = 24


def _is_suspicious(text: str) -> bool:
    """Whether there may be something to hide in a text, or in any of several texts that it consists of."""
    return (
        SIGNS_OF_KEYS.any_in(text)
        or SIGNS_OF_SECRETS.any_in(text.lower())
        or any(map(text.__contains__, _known_secrets(_SHORTEST_IN_TEXT)))
    )


def _redacted(text: str, layers: int) -> str:
    for secret in _known_secrets(_SHORTEST_IN_TEXT):
        text = text.replace(secret, HIDDEN)
    lowered = text.lower()
    if SIGNS_OF_SECRETS.any_in(lowered):
        text = _PEM.sub(HIDDEN, text)
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        if layers:
            text = _RUN.sub(lambda found: _decoded(found[0], layers - 1), text)
    return _KEY.sub(HIDDEN, text) if SIGNS_OF_KEYS.any_in(text) else text


def _decoded(run: str, layers: int) -> str:
    """A percent-encoded run of characters, and what is hidden in it once it is decoded."""
    if "%" not in run or (plain := unquote(run)) == run:
        return run
    kept = _redacted(plain, layers)
    return run if kept == plain else quote(kept, safe="/:?&=*@;,")


# Keys that can be recognised by their form: of model providers, code forges, clouds and chat services, and signed
# tokens.
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[\w-]{12,}"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"|(?:[srp]k_(?:live|test)|whsec)_[A-Za-z0-9]{12,}"  # Stripe
    r"|gh[pousr]_[A-Za-z0-9]{12,}|github_pat_\w{12,}|glpat-[\w-]{12,}"
    r"|(?:hf|gsk|r8|fw|lin_api|dop_v1|shpat|ntn|npm)_[A-Za-z0-9]{12,}|lsv2_[a-z]{2}_\w{12,}|pypi-[\w-]{16,}"
    r"|(?:xai|pplx|tvly-dev|tvly|nvapi)-\w{16,}"
    r"|A(?:KIA|SIA)[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{12,}|GOCSPX-[\w-]{12,}"
    r"|xox[abeoprs]-[\w-]{8,}|xapp-[\w-]{8,}|SG\.[\w-]{12,}\.[\w-]{12,}|hvs\.[\w-]{12,}|dapi[0-9a-f]{32}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON Web Token
    r")"
)
# Whole, or cut off before its end; its line ends may have become spaces or be escaped.
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----"
    r"(?:(?:(?!-----BEGIN).)*?-----END [A-Z0-9 ]+-----|(?:\\+[rn]|[\sA-Za-z0-9+/=,:-])*)",
    re.DOTALL,
)

# Between a name and its value: the name's closing quote (of JSON, of Python, escaped), and a sign.
_QUOTE = r"\\*[\"']"
_SIGN = rf"(?:(?:{_QUOTE}\]?)?\s*(?:=>|:=|==?|:)\s*|{_QUOTE}\s*,\s*(?=[bruf]?{_QUOTE}))"
_SCHEMES = "bearer|basic|token|api-?key|key|negotiate|ntlm|splunk|bot"
_LONG_SCHEMES = "digest|aws4-hmac-sha256|hmac|oauth|hawk"  # several parameters follow
_SPACE = r"(?:%20|[\s+])+"
_SCHEME = re.compile(rf"(?:{_SCHEMES}|{_LONG_SCHEMES}){_SPACE}", re.IGNORECASE)

_AUTHORIZATION = re.compile(
    rf"(?<![A-Za-z])(?P<lead>(?:proxy-|x-)?authorization{_SIGN}(?:[bruf]?{_QUOTE})?)"
    rf"(?P<value>(?:{_SCHEMES}){_SPACE}[^\s\"',;)\]}}]+|(?:{_LONG_SCHEMES}){_SPACE}[^\r\n]*|[^\s\"',;)\]}}]+)",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    rf"(?<![\w-])(?P<lead>(?:set-)?cookie{_SIGN}[bruf]?(?:(?P<quote>{_QUOTE})|(?=[\w.-]+=)))"
    r"(?(quote)(?:(?!(?P=quote)).)*|[^\r\n\"']*)",
    re.IGNORECASE,
)


def _without_authorization(found: re.Match[str]) -> str:
    return found["lead"] + _header_value("authorization", found["value"])


# `name = value`, `name: value`, `"name": "value"`, `('name', 'value')` in all their spellings. Only names that may be
# secret are matched, so that the contents of other values are searched too.
_WORDS = "pass|secret|token|key|auth|credential|cookie|bearer|appid|jwt|pwd|sig|sid|pat|session"
_NAME = rf"(?<![\w.-])(?P<name>(?=[\w.-]{{0,64}}(?:{_WORDS}))[A-Za-z_][\w.-]*)"
# In JSON within JSON a quote inside a value has more backslashes than the one that ends it.
_NESTED = r"(?:(?!(?<!\\)(?P=quote)).)*"
# What Python writes of such a value has two backslashes before a quote, which does not end it if a word follows.
_PLAIN = r"(?:(?:\\\\)+(?P=quote)(?=[^\s,;:}\])])|(?!(?P=quote))(?:\\.|[^\\]))*"
_ASSIGNMENT = re.compile(
    rf"{_NAME}(?P<link>{_SIGN})"
    rf"(?:(?P<lead>[bruf]?(?P<quote>(?P<escape>\\+)?[\"']))(?P<text>(?(escape){_NESTED}|{_PLAIN}))"
    rf"|(?P<bare>[^\s;\"'<>]+))",
    re.DOTALL | re.IGNORECASE,
)
_TRAILING = re.compile(r"[,.)}\]]*\Z")
_END_OF_VALUE = re.compile(r"[ \t]*(?:[\r\n,;)}\]]|\Z)")


def _without_value(found: re.Match[str]) -> str:
    name, value, tail = found["name"], found["text"], ""
    if value is None:
        tail = _TRAILING.search(found["bare"])[0]  # type: ignore[index]  # it matches every text
        value = found["bare"][: len(found["bare"]) - len(tail)]
        if ":" in found["link"] and is_ordinary(value) and not (tail or _END_OF_VALUE.match(found.string, found.end())):
            return found[0]  # a sentence continues after a colon, a value ends
    if not hides(name, value):
        return found[0]
    return f"{name}{found['link']}{found['lead'] or ''}{_header_value(name, value)}{tail}"


_PARAMETER = re.compile(r"(?P<lead>(?:[?&#]|&amp;|\\u0026)(?P<name>[\w.-]+)=)(?P<value>[^&#\s\"'<>\\]+)", re.IGNORECASE)


def _without_parameter(found: re.Match[str]) -> str:
    return found["lead"] + (HIDDEN if is_secret(found["name"]) else found["value"])


_ELEMENT = re.compile(r"(?P<lead><(?P<name>[\w.:-]+)>)(?P<value>[^<]+)(?=</(?P=name)>)")
_FLAG = re.compile(r"(?<!\S)(?P<lead>--?(?P<name>[A-Za-z][\w-]*)\s+)(?P<value>[^\s-]\S*)")
_USER = re.compile(r"(?<!\S)(?P<lead>(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'=]+:)[^\s\"']+")
_WEBHOOK = re.compile(r"(?P<lead>hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)[\w/-]+", re.IGNORECASE)

_TELEGRAM = re.compile(r"(?<!\d)\d{8,10}:[A-Za-z0-9_-]{35}(?![\w-])")


def _without_named(found: re.Match[str]) -> str:
    return found["lead"] + (HIDDEN if hides(found["name"], found["value"].strip()) else found["value"])


_BEARER = re.compile(r"\b(?P<lead>bearer(?:%20|[\s+])+)(?P<value>[\w.~+/=-]{6,})", re.IGNORECASE)
_BASIC = re.compile(r"\b(?P<lead>basic(?:%20|[\s+])+)(?P<value>[A-Za-z0-9+/_-]{4,}={0,2})", re.IGNORECASE)
# "Incorrect API key provided: …", "the token is …": after such words, only what is long and not ordinary text.
_SAID = re.compile(
    r"\b(?P<lead>(?:api[ _-]?key|key|token|secret|password|passphrase|credentials?)"
    r"(?:\s+(?:provided|given|used|value|is|was|of|to|set))*\s*[:=]?\s*[\"'`(]?)(?P<value>[\w.~+/=-]{12,})",
    re.IGNORECASE,
)
# The same of passwords, which are shorter and made of any characters; only where it is said which one it is.
_SAID_PASSWORD = re.compile(
    r"\b(?P<lead>(?:passwords?|passphrase|passcode)(?=\s*[:=]|[\w\s]{0,30}(?:\b(?:is|was)\b|[:=]))"
    r"(?:\s+(?:provided|given|used|value|of|to|set|is|was|now|still))*\s*[:=]?\s*[\"'`(]?)(?P<value>[^\s\"'`<>()]{6,})",
    re.IGNORECASE,
)


def _without_password(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".,;:!?")
    is_word = is_ordinary(value) or value == HIDDEN
    return found[0] if is_word else found["lead"] + HIDDEN + found["value"][len(value) :]


def _without_bearer(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".")
    is_word = is_ordinary(value) and not re.search(r"\d", value)
    return found[0] if is_word else found["lead"] + HIDDEN + found["value"][len(value) :]


def _without_opaque(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".")
    return found[0] if is_ordinary(value) else found["lead"] + HIDDEN + found["value"][len(value) :]


def _without_basic(found: re.Match[str]) -> str:
    """What follows 'basic' is a user and a password only if it says so once it is decoded."""
    value = found["value"]
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return found[0]
    return found["lead"] + HIDDEN if b":" in plain and plain.isascii() else found[0]


# --- addresses ------------------------------------------------------------------------------------------------------

# In a text an address ends with a space or a quote; one that is not quoted may have quotes in its password.
_RUN = re.compile(r"[^\s\"'<>`\\]+")
_UNQUOTED = re.compile(r"(?:(?<=[\s=])|^)[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/@:]*:\S*@\S*")
_END_OF_AUTHORITY = re.compile(r"[/?#]|\Z")
# Words that stand for a user in instructions, and the user of every code forge; any other may be a token.
_NOBODY = ("user", "username", "git")


def _without_users(run: str) -> str:
    """Addresses without users and passwords; those may contain any character, even unescaped ones that end a host."""
    kept, done, last = [], 0, run.rfind("@")
    while (sign := run.find("://", done)) >= 0 and last > sign:
        begin = sign + 3
        end = _END_OF_AUTHORITY.search(run, begin).start()  # type: ignore[union-attr]  # it matches the end at least
        at = run.rfind("@", begin, end)
        host, colon, port = run[begin : end if at < 0 else at].rpartition(":")
        if at < 0 and colon and "]" not in port and not (port.isdigit() and _is_host(run, sign, host)):
            at = last  # what looks like host and path is user and password
        elif at >= 0 and colon:
            at = last  # a password may continue after what looks like its end
        is_nobody = at >= 0 and run[begin:at].lower() in _NOBODY
        kept.append(run[done:begin] + ("" if at < 0 else f"{run[begin:at] if is_nobody else HIDDEN}@"))
        done = at + 1 if at >= 0 else begin
    return "".join(kept) + run[done:]


def _is_host(run: str, sign: int, name: str) -> bool:
    is_web = run[max(0, sign - 5) : sign].lower().endswith(("http", "https", "ws", "wss"))
    return is_web and ("." in name or name == "localhost")


_RULES: tuple[tuple[re.Pattern[str], Any], ...] = (
    (_AUTHORIZATION, _without_authorization),
    (_COOKIE, rf"\g<lead>{HIDDEN}"),
    (_WEBHOOK, rf"\g<lead>{HIDDEN}"),
    (_TELEGRAM, HIDDEN),
    (_RUN, lambda found: _without_users(found[0])),
    (_UNQUOTED, lambda found: _without_users(found[0])),
    (_PARAMETER, _without_parameter),
    (_ASSIGNMENT, _without_value),
    (_ELEMENT, _without_named),
    (_FLAG, _without_named),
    (_USER, rf"\g<lead>{HIDDEN}"),
    (_BEARER, _without_bearer),
    (_BASIC, _without_basic),
    (_SAID, _without_opaque),
    (_SAID_PASSWORD, _without_password),
)


# --- this process's own secrets -------------------------------------------------------------------------------------

_HIDDEN_VALUES: set[str] = set()
_SHORTEST = 6  # a shorter value of a secret variable, such as "true", would hide harmless text everywhere
_SHORTEST_IN_TEXT = 12  # a server on this machine takes any word for a key, and that word may be in every answer
_SHORTEST_OPAQUE = 8  # unless it looks like no word


def _known_secrets(shortest: int) -> tuple[str, ...]:
    """The values of secret variables of this process, longest first, also as addresses and JSON spell them."""
    return _spellings((*_secrets_of_environment(), *_HIDDEN_VALUES), shortest)


_environment_seen: tuple[dict[object, object], tuple[str, ...]] = ({}, ())


def _secrets_of_environment() -> tuple[str, ...]:
    """The values of secret variables, looked for again only if a variable has changed.

    Decoding the name of every variable for every text would take longer than everything else here.
    """
    global _environment_seen
    raw: dict[object, object] | None = getattr(os.environ, "_data", None)
    seen, secrets = _environment_seen
    if not raw or raw != seen:
        secrets = tuple(os.environ[name] for name in _secret_names(tuple(os.environ)))
        _environment_seen = (dict(raw or {}), secrets)
    return secrets


@lru_cache(maxsize=16)
def _secret_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if is_secret(name))


@lru_cache(maxsize=16)
def _spellings(values: tuple[str, ...], shortest: int) -> tuple[str, ...]:
    found: set[str] = set()
    for value in values:
        least = min(shortest, shortest if is_ordinary(value) else _SHORTEST_OPAQUE)
        if len(value) < least or value.startswith(("/", ".")):
            continue
        found |= {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], repr(value)[1:-1]}
    return tuple(sorted(found, key=len, reverse=True))
