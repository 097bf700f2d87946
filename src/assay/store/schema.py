"""The tables as the current version of the schema has them, for building statements. `migrations` makes them.

Runs are numbered by the database, cases and turns within their run by us: rows stay short, and the order in which
things were written can be read back.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

_ESCAPE = "\x1b"


class AnyText(TypeDecorator[str]):
    """Text of any kind. PostgreSQL takes no zero byte and neither database a lone surrogate, and a model may say both:
    such text is kept as JSON behind an escape character.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else plain_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else kept_text(value)


def plain_text(text: str) -> str:
    """Text as both databases take it."""
    return text if _is_plain(text) else _ESCAPE + json.dumps(text)


def kept_text(text: str) -> str:
    """What `plain_text` was given."""
    return str(json.loads(text[1:])) if text.startswith(_ESCAPE) else text


def json_text(value: Any) -> str:
    """A value as JSON, in as few letters as it takes."""
    return _encoder.encode(value)


def _is_plain(text: str) -> bool:
    if "\0" in text or text.startswith(_ESCAPE):
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Json(TypeDecorator[Any]):
    """A value as JSON text, in the order it was given in."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def _plain(value: object) -> object:
    """What JSON has no word for: paths as text, sets and tuples as lists, numbers of NumPy as numbers."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


# Made once: making one takes longer than encoding an answer.
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)
_metadata = MetaData()

runs = Table(
    "runs",
    _metadata,
    Column("number", Integer, primary_key=True),
    Column("id", AnyText),
    Column("kind", AnyText),
    Column("name", AnyText),
    Column("created", AnyText),
    Column("status", Text),
    Column("command", AnyText),
    Column("settings", Json),
    Column("seed", Text),
    Column("versions", Json),
    Column("inputs", Json),
    Column("environment", Json),
    Column("group_names", Json),
    Column("case_count", Integer),
)
cases = Table(
    "cases",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", AnyText),
    Column("stratum", AnyText),
)
tallies = Table(
    "tallies",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("group_number", Integer, primary_key=True),
    Column("case_number", Integer, primary_key=True),
    Column("states", LargeBinary),
)
turns = Table(
    "turns",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("group_number", Integer),
    Column("case_number", Integer),
    Column("repetition", Integer),
    Column("turn", Integer),
    Column("query", AnyText),
    Column("response", AnyText),
    Column("passed", Boolean),
    Column("entries", Json),
    Column("record", Json),
)
scores = Table(
    "scores",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("turn_number", Integer, primary_key=True),
    Column("metric", AnyText, primary_key=True),
    Column("score", Float(53)),
    Column("measured", Boolean),
)
artefacts = Table(
    "artefacts",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("media_type", AnyText),
    Column("content", LargeBinary),
)
tags = Table(
    "tags",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("tag", AnyText, primary_key=True),
)
