"""What must never be kept: passwords in addresses, keys and tokens in options, in variables, and by their look.

When in doubt it hides: a command with one `***` too many can be repeated by its owner, a leaked key cannot be recalled.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "***"

# Words that make the value of an option, a variable or a query parameter secret: some wherever they stand in a name
# (PGPASSWORD), some only as a word of their own (a key, but no keyboard).
_SECRET = re.compile(
    r"passw(?:or)?d|passphrase|secret|token(?!i[sz])|credential|api-?key"
    r"|(?<![a-z])(?:keys?|pwd|pass|auth|authorization|bearer|signature|sig)(?![a-z])",
    re.IGNORECASE,
)
# Options that only sound like it: the token that stands for an image in an encoding, and numbers of tokens.
_HARMLESS = {"image-token", "max-tokens", "min-tokens"}

_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_PARAMETER = re.compile(r"(?P<lead>[?&;#\s](?P<name>[\w.-]+)\s*=\s*)(?P<value>[^&;#\s]+)")
_HEADER = re.compile(r"\b(?P<lead>(?:bearer|basic|token|authorization:)\s+)(?P<value>\S+)", re.IGNORECASE)
# Keys that can be told by their look: of model providers, code forges, clouds and chat services, and signed tokens.
_KEY = re.compile(
    r"\b(?:sk-[\w-]{12,}|(?:gh[pousr]|hf|glpat|npm|pypi)[_-][\w-]{12,}|github_pat_\w{12,}|A(?:KIA|SIA)[0-9A-Z]{12,}"
    r"|AIza[\w-]{20,}|xox[abpr]-[\w-]{8,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_SHORTEST_IN_PROSE = 12  # a server on this machine takes any word for a key, and that word may be in every answer
_SHORTEST = 6  # a shorter value of a secret variable, such as "true", would hide harmless text everywhere


def is_secret(name: str) -> bool:
    """Whether the value under this name is to be hidden."""
    return name.lower().replace("_", "-") not in _HARMLESS and _SECRET.search(_words(name)) is not None


def _words(name: str) -> str:
    """The name with its words apart: apiKey as api-Key."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_|\d+", "-", name)


def redacted_command(words: Sequence[str]) -> str:
    """A command line as it may be kept, quoted so that it can be pasted."""
    kept: list[str] = []
    hide_next = False
    for word in words:
        if hide_next:
            # Even a word that looks like an option: a key may begin with a dash, and an option is no loss.
            kept.append(HIDDEN)
            hide_next = False
            continue
        option = _OPTION.fullmatch(word)
        if option and is_secret(option["name"]):
            hide_next = option["value"] is None
            kept.append(word if hide_next else f"{word.partition('=')[0]}={HIDDEN}")
        elif option and option["value"] is not None:
            kept.append(f"{word.partition('=')[0]}={redacted(option['value'])}")
        else:
            kept.append(redacted(word))
    # shlex would quote the stars, which no shell can take for names of files here.
    return " ".join(shlex.quote(word).replace(f"'{HIDDEN}'", HIDDEN) for word in kept)


def redacted(text: str) -> str:
    """One piece of text without what is secret in it: an argument, an address, a message."""
    for value in _known_secrets():
        text = text.replace(value, HIDDEN)
    variable = _VARIABLE.fullmatch(text)
    if variable and is_secret(variable["name"]):
        return f"{variable['name']}={HIDDEN}"
    text = _ADDRESS.sub(_without_user, text)
    text = _PARAMETER.sub(_without_value, text)
    text = _HEADER.sub(rf"\g<lead>{HIDDEN}", text)
    return _KEY.sub(HIDDEN, text)


def without_keys(value: Any) -> Any:
    """What an agent said or left behind, in any JSON shape, without keys: those of this process's variables and those
    that can be told by their look. Unlike `redacted` it leaves all other text alone: answers are quoted, not repeated.
    """
    if isinstance(value, str):
        for secret in _known_secrets(_SHORTEST_IN_PROSE):
            value = value.replace(secret, HIDDEN)
        return _KEY.sub(HIDDEN, value)
    if isinstance(value, Mapping):
        return {without_keys(str(key)): without_keys(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_keys(inner) for inner in value]
    return value


def redacted_value(value: Any) -> Any:
    """The same for settings: every text in it, and everything under a secret name."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {redacted(str(key)): _under(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted_value(inner) for inner in value]
    return value


def _under(key: str, value: Any) -> Any:
    """What may be kept under a name. Under `key_env` and the like are names of variables, which a resumed run needs."""
    if key.endswith("_env"):
        if isinstance(value, Mapping):
            return {name: _under("of_env", inner) for name, inner in value.items()}
        return value if isinstance(value, str) and _VARIABLE_NAME.fullmatch(value) else HIDDEN
    return HIDDEN if is_secret(key) and isinstance(value, str) else redacted_value(value)


def _known_secrets(shortest: int = _SHORTEST) -> list[str]:
    """The values of secret variables of this process, longest first: wherever they turn up, they are hidden."""
    found = {value for name, value in os.environ.items() if len(value) >= shortest and is_secret(name)}
    return sorted((value for value in found if not value.startswith(("/", "."))), key=len, reverse=True)


def _without_user(found: re.Match[str]) -> str:
    scheme, authority, rest = found["scheme"], found["authority"], found["rest"]
    port = authority.rpartition(":")[2]
    if "@" in authority:
        authority = f"{HIDDEN}@{authority.rpartition('@')[2]}"
    elif ":" in authority and not port.isdigit() and "]" not in port and "@" in rest:
        # A password with an unescaped slash in it: what looks like host and path is user and password.
        authority, rest = f"{HIDDEN}@{rest.rpartition('@')[2]}", ""
    return scheme + authority + _ADDRESS.sub(_without_user, rest)


def _without_value(found: re.Match[str]) -> str:
    return found["lead"] + (HIDDEN if is_secret(found["name"]) else found["value"])
