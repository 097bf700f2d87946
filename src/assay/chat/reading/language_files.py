"""Data files of languages and domains: which there are, and what they state. Knows nothing of words."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from assay.errors import UsageError, unknown_name

_TABLE = re.compile(r"^\[", re.MULTILINE)


def shipped_languages() -> list[str]:
    """Names of the languages that come with assay."""
    folder = files("assay.chat.reading") / "languages"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def language_file(language: str | Path) -> Traversable:
    """The file of a language. A name, which may come from a transcript, is only ever one of those that assay ships."""
    if isinstance(language, Path):
        return language
    if language not in shipped_languages():
        raise unknown_name("language", f"{language:.60}", shipped_languages())
    return files("assay.chat.reading") / "languages" / f"{language}.toml"


def read_language(language: str | Path) -> Mapping[str, Any]:
    """The tables of a language's file. One that comes with assay is read once; it must not be changed."""
    return _shipped(language) if isinstance(language, str) else read_toml(language, f"the language '{language}'")


@functools.cache
def _shipped(name: str) -> Mapping[str, Any]:
    return read_toml(language_file(name), f"the language '{name}'")


@functools.cache
def read_head(language: str | Path) -> Mapping[str, Any]:
    """What a language's file states before its first table: enough to recognise a text, in a fraction of the time."""
    try:
        return tomllib.loads(_TABLE.split(language_file(language).read_text("utf-8"), maxsplit=1)[0])
    except (FileNotFoundError, tomllib.TOMLDecodeError):  # or a line of an array looked like a table
        return read_language(language)


def read_toml(path: Traversable, what: str) -> dict[str, Any]:
    """The tables of a data file; if it is missing or malformed, the error says what it is for."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"there is no file for {what}", where=str(path), hint="Add one; copy en.toml") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what} is not valid TOML: {error}", where=str(path)) from error
